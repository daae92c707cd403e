# The frequent tasks, one word each; `make help` lists them. CI calls these targets and nothing
# else.

GO          ?= go
VENDOR      := .deps/llama.cpp/models/templates
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.8
BENCHSTAT   := golang.org/x/perf/cmd/benchstat@latest
T           ?= 10s
FUZZTIME    ?= $(T)

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: deps ## set up and run all tests, vendor templates included
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./...

.PHONY: test-short
test-short: ## the tests that need nothing but Go: no vendor templates, no network
	$(GO) test ./...

.PHONY: race
race: ## the tests under the race detector
	$(GO) test -race ./...

.PHONY: check
check: lint test no-change ## everything before a push: format, lint, tests, goldens and documents up to date

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, actionlint, go mod tidy
	@out=$$(gofmt -l .) && if [ -n "$$out" ]; then echo "gofmt -w is due:" && echo "$$out" && exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(ACTIONLINT)
	$(GO) mod tidy -diff

.PHONY: update
update: deps ## rewrite the scripts' expectations and the goldens; read the diff before committing it
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/script -run TestCorpus -update
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/script ./golden -update
	$(GO) test ./engine/codegen -run "TestForms|TestRequests" -update
	$(GO) test ./ci -run 'TestRulesPage|TestAPI|TestEmbedding' -update

.PHONY: golden
golden: deps ## rewrite the goldens only
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./golden -update

.PHONY: no-change
no-change: deps ## prove in a scratch copy that updating changes nothing
	ci/no-change.sh

.PHONY: oracle
oracle: deps ## render the goldens' prompts again with Python's jinja2 and compare
	ci/oracle.sh

.PHONY: moved
moved: ## compare the corpus with the one in which each case was a file: nothing is missing without a reason
	ci/moved.sh

.PHONY: page
page: ## write out/page.html, the report as a page, and look at it in headless Chromium
	ci/page.sh

.PHONY: site
site: ## build the page that runs in a browser as out/site, and try it in headless Chromium
	ci/site.sh

.PHONY: snapshot
snapshot: ## build the parts of a release, install it from the built files and run it; nothing is published: PLATFORMS=all
	ci/snapshot.sh $(PLATFORMS)

.PHONY: scale
scale: ## judge 100,000 entries in 64 shards on this machine, one of them killed; needs no cluster
	ci/scale.sh

.PHONY: cloud
cloud: ## the edition for buckets: vet and test it with buckets of S3 and of Google on loopback
	$(GO) vet -tags cloud ./harness/storage/... ./cmd/assay
	$(GO) run $(STATICCHECK) -tags cloud ./harness/storage/... ./cmd/assay
	$(GO) test -tags cloud -count 1 ./harness/storage
	$(GO) test -tags cloud -count 1 -run TestBucket ./cmd/assay

.PHONY: slurm
slurm: ## run the survey's array on a Slurm of this one machine, one of whose three nodes is killed
	ci/scale/slurm/test.sh

.PHONY: observatory
observatory: ## survey the corpus on two days, write the site as out/observatory, and look at it in headless Chromium
	ci/observatory.sh

.PHONY: publish
publish: ## survey the Hub, from where the last run stopped, and write the site as out/hub/site: DATE=2026-01-31
	@mkdir -p out
	$(GO) build -o out/assay ./cmd/assay
	ASSAY=out/assay ci/scale/publish.sh out/hub $(DATE)

.PHONY: drift
drift: ## seed edits of every class in all families between two surveys, and print how each is classed: EVERY=6 REST=0 for a sixth
	$(GO) test ./harness/census -run TestDrift -count 1 -v -timeout 30m -args -every=$(or $(EVERY),1) -rest=$(or $(REST),0)

.PHONY: crawl
crawl: ## list 100,000 repositories of a Hub on loopback and fetch their templates, killed in between; needs no network
	$(GO) test ./cmd/assay -run TestCrawl -count 1 -timeout 30m -v -args -repositories=100000

.PHONY: provider
provider: ## ask a provider on loopback 100,000 requests, killed ten times, and compare 4,000 clean runs with a reference
	$(GO) test ./cmd/assay -run TestProviderKilled -v -count 1 -timeout 0 -args -requests 100000
	$(GO) test ./harness/provider -run 'TestFound|TestClean|TestEnd' -v -count 1 -timeout 0 -args -seeds 4000

.PHONY: lock
lock: deps ## rewrite corpus/vendor.lock from corpus/families.txt and the fetched templates
	ci/lock.sh

.PHONY: deps
deps: ## fetch llama.cpp 0.5.0 with the vendor templates (LLAMA_SOURCE=npm|git, LLAMA_DIR=...)
	@ci/deps.sh

.PHONY: llama
llama: ## build bin/assay with llama.cpp in it; the library is built where none is installed (LLAMA_BACKEND=cpu|cuda|vulkan)
	@ci/llama.sh $(GO) build -tags llama -o bin/assay ./cmd/assay

.PHONY: hub
hub: ## fetch 786 templates of the Hugging Face Hub as .deps/hub; `make test` does not need them
	@ci/sets.sh hub

.PHONY: fixtures
fixtures: ## fetch 469 public fixtures of outputs and their messages as .deps/fixtures; `make test` does not need them
	@ci/sets.sh fixtures

.PHONY: mutants
mutants: deps ## make the mistakes of authors at every site of 25 templates, and count which the checks notice
	@mkdir -p out
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/mutate -v -count 1 -timeout 0 -args \
		-mutants=0 -survivors=$(CURDIR)/out/survivors.txt

PROVEN := $(addprefix --only ,A001 A003 A004 A005 A006 A007)

.PHONY: hostile-short
hostile-short: ## the checks of templates that grow to 16 KiB; `make test` has all else that grows
	$(GO) test ./harness/hostile -run TestGrowth -timeout 30m -args -only "^check: "

.PHONY: hostile
hostile: ## let foreign inputs grow up to a megabyte along every dimension, compare their cost with the bounds, put wrong answers to clients, and measure the steps of all operators: ONLY='^schema: '
	$(GO) test ./harness/hostile -run 'TestGrowth|TestServers' -v -timeout 0 -args -whole -only "$(ONLY)"
	[ -n "$(ONLY)" ] || $(GO) test ./engine/jinja -run TestCostOfSteps -count 1 -timeout 0 -args -whole

TRIES ?= 4000

.PHONY: unreached
unreached: hub ## list the branches of the Hub's templates that no conversation reaches, in out/unreached.txt: TRIES=400
	@mkdir -p out
	ASSAY_HUB=$(CURDIR)/.deps/hub $(GO) test ./harness/conversation -run TestHub -v -count 1 -timeout 0 -args -tries=$(TRIES) -unreached=$(CURDIR)/out/unreached.txt

.PHONY: cost
cost: hub ## measure the processor time of assay check for each template of the Hub's set
	ASSAY_HUB=$(CURDIR)/.deps/hub $(GO) test ./cmd/assay -run TestCheckCost -v -count 1 -timeout 0

# The tokenisers that llama.cpp carries for its own tests, by the repositories whose fixtures they
# read; ci/tokenizers has the ids of added tokens that are newer than those files.
VOCABS := .deps/llama.cpp/models/ggml-vocab
BY_IDS := --tokenizer google/gemma-4-31B-it=$(VOCABS)-gemma-4.gguf \
	$(foreach file,$(VOCABS)-llama-bpe.gguf ci/tokenizers/llama3,--tokenizer unsloth/Llama-3.3-70B-Instruct=$(file)) \
	$(foreach repo,0.6B 4B-Instruct-2507 4B-Thinking-2507 Coder-Next Coder-30B-A3B-Instruct,\
	$(foreach file,$(VOCABS)-qwen2.gguf ci/tokenizers/qwen3,--tokenizer Qwen/Qwen3-$(repo)=$(file)))

.PHONY: sets
sets: deps hub fixtures ## hold the engine to both: read the fixtures, and prove the templates' formats
	$(GO) run ./cmd/assay verify --known ci/known/fixtures.txt $(BY_IDS) --templates .deps/hub --templates $(VENDOR) --templates corpus .deps/fixtures
	ASSAY_HUB=$(CURDIR)/.deps/hub $(GO) test ./harness/conversation -run TestHub -v
	$(GO) run ./cmd/assay check --format brief $(PROVEN) --known ci/known/hub.txt .deps/hub/*.jinja

.PHONY: clients
clients: ## record the requests of clients: fetch their packages, let them talk to a server on loopback, rewrite harness/clients
	ci/clients/record.sh

.PHONY: fixes
fixes: deps hub ## mend all templates of the Hub's set and llama.cpp's, and prove every patch
	ASSAY_HUB=$(CURDIR)/.deps/hub ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/fix -run TestWhole -count=1 -timeout 60m -v

.PHONY: serve-clients
serve-clients: ## hold assay serve to the official Go and Python clients, and its deployments to their schemas
	@GO="$(GO)" ci/serve/clients.sh

.PHONY: train
train: deps hub ## tag all templates of the Hub's set and llama.cpp's, and try tags and prefixes on unseen conversations
	ASSAY_HUB=$(CURDIR)/.deps/hub ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/train -run TestHub -count=1 -timeout 60m -v

.PHONY: tokens
tokens: ## compare segments, outputs by ids and masks with Hugging Face's tokenizers and transformers, and with TRL's training templates
	@ci/tokens.sh $(GO) test ./harness/tokens ./harness/train -run 'TestTokenizers|TestTransformers|TestTRL' -count 1 -v

.PHONY: model
model: ## fetch a small real model for live runs: make live MODEL=.deps/SmolLM2-135M-Instruct.Q4_1.gguf
	@ci/model.sh

.PHONY: live
live: llama ## run every family's battery on the tiny model, by llama.cpp; MODEL=FILE.gguf and ARGS=... for another one
	@ci/llama.sh $(GO) test -tags llama ./engine/llama ./harness/serve/local
	@ci/llama.sh $(GO) test -tags llama -run 'TestBattery|TestRetemplated|TestLive|TestSoak' ./harness/live ./harness/soak ./cmd/assay
	$(if $(MODEL),ASSAY_MODEL=$(abspath $(MODEL)) ci/llama.sh $(GO) test -tags llama -run "TestTexts|TestTwoRounds" -count 1 ./harness/serve/local)
	bin/assay live $(if $(MODEL),$(MODEL),--tiny) $(ARGS)

.PHONY: serve-families
serve-families: ## put the probe's battery to assay serve with the tiny model: every tool family, three protocols; ASSAY_FAMILY=NAME for one
	@ASSAY_FAMILY=$(or $(ASSAY_FAMILY),all) ci/llama.sh $(GO) test -tags llama -count 1 -timeout 0 -v -run TestFamilies ./harness/serve/local

.PHONY: live-race
live-race: ## the binding and one family's battery under the race detector
	@ci/llama.sh $(GO) test -race -tags llama -count 1 ./engine/llama
	@ci/llama.sh $(GO) test -race -tags llama -count 1 -run TestBattery ./harness/live

.PHONY: engines
engines: ## set up other engines and renderers and hold them to the corpus: ENGINE=sglang for one; the results go to out/engines.jsonl, the readings into the program
	@ci/engines.sh $(ENGINE)
	@mkdir -p out
	$(GO) run ./cmd/assay engines run --results out/engines.jsonl --page out/engines.md --html out/engines.html --published harness/engines/published.jsonl --date $$(date -u +%F) $(if $(ENGINE),ci/engines/$(ENGINE)/run,$(wildcard ci/engines/*/run))

.PHONY: faults
faults: ## put the ten faults of the matrix with the smallest digests to their engines, without our adapters: ENGINE=smg for one
	@ci/engines.sh $(or $(ENGINE),$(sort $(shell sed -n 's/.*"engine":"\([^"]*\)".*/\1/p' ci/engines/faults.jsonl)))
	@ci/faults.sh $(ENGINE)

.PHONY: canitoolcall
canitoolcall: ## write the corpus as CanIToolCall's records, and have its own validator judge them
	@ci/canitoolcall/validate.sh

.PHONY: grammars
grammars: ## set up xgrammar and llguidance and have them judge turns by our grammars, as our matcher does: TURNS=10000 SEED=1
	@ci/engines.sh grammars
	$(GO) run ./cmd/assay engines judge --turns $(or $(TURNS),10000) --seed $(or $(SEED),1) ci/engines/grammars/xgrammar ci/engines/grammars/llguidance

.PHONY: picks
picks: hub ## have SGLang pick its parsers for the Hub's templates, and hold the picks to those that are known: PART=1 to 5 for a fifth
	@ci/engines.sh sglang
	$(GO) run ./cmd/assay engines pick --engine sglang --known ci/known/sglang-picks.txt $$(ls .deps/hub/*.jinja | awk -v part="$(PART)" 'part == "" || NR % 5 == part - 1')

.PHONY: live-soak
live-soak: deps llama ## soak with llama.cpp as the second engine for grammars: T, SEED and CASE as for soak
	@ASSAY_VENDOR=$(CURDIR)/$(VENDOR) ci/llama.sh $(GO) test -tags llama ./harness/soak -run '^TestSoak$$' -v -count=1 -timeout 0 -args -soak=$(T) -soak-seed=$(or $(SEED),0) -soak-case=$(or $(CASE),0)

.PHONY: live-leak
live-leak: ## the same under the address sanitizer, which also reports leaks
	@ci/llama.sh $(GO) test -asan -tags llama -count 1 ./engine/llama
	@ci/llama.sh $(GO) test -asan -tags llama -count 1 -run TestBattery ./harness/live

.PHONY: live-server
live-server: ## put llama-server with the tiny model through the battery; ASSAY_FAMILY=NAME for one family
	@ci/server.sh $(GO) test -count 1 -timeout 60m -run TestLlamaServer -v ./harness/live

.PHONY: gpu
gpu: ## bundle the live suite for a machine with an NVIDIA GPU that may have neither Go nor a network: BUNDLE=FILE.tar.gz
	@ci/gpu.sh $(BUNDLE)

.PHONY: gpu-check
gpu-check: ## run such a bundle here, for the CPU, in an empty directory, without Go and without a network
	@ci/gpu.sh --check $(OUT)

.PHONY: bench
bench: deps ## measure the works that have a bar and print how far each is from it: ARGS='-rounds 3 -only stream'
	$(GO) build -o out/bars ./harness/bench/bars
	out/bars -vendor $(VENDOR) $(ARGS)

.PHONY: bench-peers
bench-peers: deps ## have jinja2, @huggingface/jinja, minijinja, gonja, llama.cpp, Dynamo, smg, xgrammar and llguidance do the same work, and print how they compare: ARGS='-rounds 3'
	ci/peers.sh -vendor $(VENDOR) $(ARGS)

.PHONY: performance
performance: deps ## write the tables of bench and bench-peers into docs/performance.md
	$(MAKE) bench bench-peers ARGS='-page docs/performance.md $(ARGS)'

.PHONY: bench-go
bench-go: deps ## Go's benchmarks; keep the output and compare two with `make benchcmp OLD=... NEW=...`
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: benchcmp
benchcmp: ## compare two outputs of make bench-go: OLD=file NEW=file
	$(GO) run $(BENCHSTAT) $(OLD) $(NEW)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 10s); FUZZ=NAME runs those whose name contains NAME
	ci/fuzz.sh $(FUZZTIME) $(FUZZ)

.PHONY: soak
soak: deps ## draw random cases for T (default 10s) and compare streams with whole outputs; SEED=N CASE=N draw a case again
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/soak -run '^TestSoak$$' -v -count=1 -timeout 0 -args -soak=$(T) -soak-seed=$(or $(SEED),0) -soak-case=$(or $(CASE),0)
