# The tasks of the project. `make` shows the frequent ones, `make help` all of them, in the groups
# in which they stand here.

GO          ?= go
# On a machine that is busy with other work the tests of a package take many times as long as on a
# quiet one; Go's own limit is ten minutes.
TEST        := $(GO) test -timeout 1h
VENDOR      := .deps/llama.cpp/models/templates
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.8
BENCHSTAT   := golang.org/x/perf/cmd/benchstat@latest
T           ?= 10s
FUZZTIME    ?= $(T)

# The version of a build that is no release.
VERSION      = $(shell sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' docs/changes.md | head -1)-dev

.DEFAULT_GOAL := usual

.PHONY: usual
usual:
	@awk -F ':.*## ' '/^(test|check|update|golden|bench):/ { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "make help lists all targets."

.PHONY: help
help:
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Every day

.PHONY: test
test: ## set up and run all tests, vendor templates included
	@GO="$(GO)" ci/test/run.sh

.PHONY: test-short
test-short: ## the tests that need nothing but Go: no vendor templates, no network
	@GO="$(GO)" ci/test/run.sh --short

.PHONY: check
check: lint test no-change ## everything before a push: format, lint, tests, goldens and documents up to date

.PHONY: update
update: deps ## rewrite scripts, goldens and generated pages; read the diff before you commit
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(TEST) ./harness/corpus/script -run TestCorpus -update
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(TEST) ./harness/corpus/script ./golden -update
	$(TEST) ./engine/codegen -run "TestForms|TestRequests" -update
	$(TEST) ./harness/check/config -run TestSchema -update
	$(TEST) ./harness/corpus/relatives -run TestFingerprints -update
	$(TEST) ./ci -run 'TestRulesPage|TestAPI|TestEmbedding|TestOutputs' -update

.PHONY: golden
golden: deps ## rewrite the goldens only
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(TEST) ./golden -update

.PHONY: bench
bench: deps ## measure the work that has a bar, and print the distance from it: ARGS='-rounds 3'
	$(GO) build -o out/bars ./harness/testkit/measure/bench/bars
	out/bars -vendor $(VENDOR) $(ARGS)

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, actionlint, go mod tidy
	@out=$$(gofmt -l .) && if [ -n "$$out" ]; then echo "gofmt -w is due:" && echo "$$out" && exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(ACTIONLINT)
	$(GO) mod tidy -diff

.PHONY: vulnerabilities
vulnerabilities: ## ask Go's database for known vulnerabilities in what the programs call
	$(GO) run $(GOVULNCHECK) ./...

.PHONY: test-whole
test-whole: deps ## all cases of the tests of which `make test` runs a share: those of each template, mutants
	ASSAY_WHOLE=1 ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(TEST) ./harness/check ./harness/serve/... -run 'TestNothingInvented|TestUnseenKinds|TestFamilies|TestSampled'
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(TEST) ./harness/edit/mutate -args -mutants 150 -edits 0

.PHONY: no-change
no-change: deps ## prove in a scratch copy that updating changes nothing
	ci/test/no-change.sh

.PHONY: race
race: ## the tests under the race detector
	@GO="$(GO)" ci/test/run.sh --short -race

##@ The inputs of tests

.PHONY: deps
deps: ## fetch llama.cpp 0.5.0 with the vendor templates: LLAMA_SOURCE=git LLAMA_DIR=DIR
	@ci/fetch/deps.sh

.PHONY: hub
hub: ## fetch 786 templates of the Hugging Face Hub as .deps/hub
	@ci/fetch/sets.sh hub

.PHONY: real
real: ## fetch the templates that vendors had to mend (1 GB), and count the faults that the checks notice
	@mkdir -p .deps/real
	python3 ci/fetch/fixes.py harness/testkit/measure/real/fixes/fixes.jsonl .deps/real $${XDG_CACHE_HOME:-$$HOME/.cache}/assay/fixes
	$(GO) run ./harness/testkit/measure/real -page docs/results/real-fixes.md -date $$(date -u +%F) .deps/real

OSV = github.com/ossf/osv-schema@v1.9.0
PROVE = ASSAY_OSV_SCHEMA=$$($(GO) mod download -json $(OSV) | sed -n 's/^.*"Dir": "\(.*\)".*$$/\1/p')/validation/schema.json $(TEST) ./harness/hub/advisory -count 1
.PHONY: advisories
advisories: hub ## fetch the templates that vendors had to mend (1 GB), and prove the records of known faults on them
	@mkdir -p .deps/real
	python3 ci/fetch/fixes.py harness/testkit/measure/real/fixes/fixes.jsonl .deps/real $${XDG_CACHE_HOME:-$$HOME/.cache}/assay/fixes
	ASSAY_TEXTS=$(CURDIR)/.deps/real:$(CURDIR)/.deps/hub $(PROVE)
	ASSAY_TEXTS=$(CURDIR)/.deps/real:$(CURDIR)/.deps/hub $(TEST) ./harness/hub/audit -run 'TestKnown|TestEdited|TestRelatives' -v -count 1

.PHONY: advisories-slice
advisories-slice: hub ## the same for the records whose texts are templates of the Hub's set
	ASSAY_TEXTS=$(CURDIR)/.deps/hub $(PROVE) -args -slice

.PHONY: index
index: ## write the index of known faults and its signature into out: KEY=PRIVATE.pem
	@mkdir -p out
	$(GO) run ./harness/testkit/measure/advise -index out/index.json
	openssl pkeyutl -sign -rawin -inkey $(KEY) -in out/index.json -out out/index.json.sig

.PHONY: capabilities
capabilities: deps hub ## render every value of the variables that the records of 856 templates name
	ASSAY_HUB=$(CURDIR)/.deps/hub ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(TEST) ./engine/capability -run TestRecords -count 1

.PHONY: planted
planted: hub ## count the bugs planted blind in templates of the Hub's set that the checks notice
	ASSAY_HUB=$(CURDIR)/.deps/hub $(GO) test ./harness/edit/mutate -run TestPlanted -v -count 1 -timeout 60m

.PHONY: fixtures
fixtures: ## fetch 469 public outputs with their messages as .deps/fixtures
	@ci/fetch/sets.sh fixtures

.PHONY: model
model: ## fetch a small real model as .deps/SmolLM2-135M-Instruct.Q4_1.gguf
	@ci/fetch/model.sh

.PHONY: lock
lock: deps ## rewrite corpus/vendor.lock from corpus/families.txt and the fetched templates
	ci/fetch/lock.sh

##@ The corpus and the engine

.PHONY: oracle
oracle: deps ## render the goldens' prompts again with Python's jinja2 and compare
	ci/test/oracle.sh

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME=10s; FUZZ=NAME: those whose name contains NAME
	ci/test/fuzz.sh $(FUZZTIME) $(FUZZ)

.PHONY: soak
soak: deps ## draw random cases for T=10s, compare streams with whole outputs: SEED=N CASE=N FURTHER=20
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/corpus/soak -run '^TestSoak$$' -v -count=1 -timeout 0 -args -soak=$(T) -soak-seed=$(or $(SEED),0) -soak-case=$(or $(CASE),0) -soak-further=$(or $(FURTHER),20)

PROVEN := --select A001,A003,A004,A005,A006,A007

# The tokenisers that llama.cpp carries for its own tests, by the repositories whose fixtures they
# read; ci/tokens/tokenizers has the ids of added tokens that are newer than those files.
VOCABS := .deps/llama.cpp/models/ggml-vocab
BY_IDS := --tokenizer google/gemma-4-31B-it=$(VOCABS)-gemma-4.gguf \
	$(foreach file,$(VOCABS)-llama-bpe.gguf ci/tokens/tokenizers/llama3,--tokenizer unsloth/Llama-3.3-70B-Instruct=$(file)) \
	$(foreach repo,0.6B 4B-Instruct-2507 4B-Thinking-2507 Coder-Next Coder-30B-A3B-Instruct,\
	$(foreach file,$(VOCABS)-qwen2.gguf ci/tokens/tokenizers/qwen3,--tokenizer Qwen/Qwen3-$(repo)=$(file)))

.PHONY: sets
sets: deps hub fixtures ## read the public outputs, and prove the formats of the Hub's templates
	$(GO) run ./cmd/assay verify --known ci/known/fixtures.txt $(BY_IDS) --templates .deps/hub --templates $(VENDOR) --templates corpus .deps/fixtures
	ASSAY_HUB=$(CURDIR)/.deps/hub $(TEST) ./harness/conversation -run TestHub -v
	$(GO) run ./cmd/assay check --format brief $(PROVEN) --baseline ci/known/hub.toml .deps/hub/*.jinja

FINDINGS = $(GO) run ./cmd/assay check --no-cache --seed 1 --format json .deps/hub/*.jinja $(VENDOR)/*.jinja > out/findings.json; \
	python3 ci/test/findings.py < out/findings.json

.PHONY: findings
findings: deps hub ## hold the findings on the Hub's and the vendors' templates to ci/known/findings.txt; UPDATE=1 rewrites it
	@mkdir -p out
	$(FINDINGS) > out/findings.txt
	$(if $(UPDATE),cp out/findings.txt ci/known/findings.txt,diff -u ci/known/findings.txt out/findings.txt)

OF_RULES  = ./harness/check/rules/...
OF_ENGINE = ./engine/codec,./engine/peg/...,./engine/stream,./engine/schema,./engine/gbnf,./engine/jinja,./engine/wire,./engine/format
.PHONY: conditions
conditions: deps ## count the conditions of the engine that tests decide both ways, and those of rules that no test misses
	@mkdir -p out
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) run ./harness/testkit/measure/conditions -of $(OF_ENGINE) -skip TestCostOfSteps -list out/undecided.txt ./engine/... ./harness/corpus/script
	$(GO) run ./harness/testkit/measure/conditions -of $(OF_RULES) -files '^a[0-9]{3}_' -negate -split TestExamples -list out/unmissed.txt ./harness/check/rules

.PHONY: train
train: deps hub ## tag the templates of the Hub and of llama.cpp, and try the tags on conversations
	ASSAY_HUB=$(CURDIR)/.deps/hub ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/edit/train -run TestHub -count=1 -timeout 60m -v

.PHONY: fixes
fixes: deps hub ## patch the templates of the Hub and of llama.cpp, and prove every patch
	ASSAY_HUB=$(CURDIR)/.deps/hub ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/edit/fix -run TestWhole -count=1 -timeout 60m -v

.PHONY: tokens
tokens: ## compare segments, ids and masks with tokenizers, transformers and TRL
	@ci/tokens/run.sh $(TEST) ./harness/corpus/tokens ./harness/edit/train -run 'TestTokenizers|TestTransformers|TestTRL' -count 1 -v

.PHONY: hostile-short
hostile-short: ## count the work on inputs that grow to 16 KiB; `make test` measures their memory
	$(TEST) ./harness/testkit/hostile -run TestGrowth -args -counted
	$(TEST) ./harness/testkit/hostile -run TestGrowth -args -counted -only "^check: "

.PHONY: hostile
hostile: ## foreign inputs that grow to a megabyte, wrong answers, operators: ONLY=^schema:
	$(GO) test ./harness/testkit/hostile -run 'TestGrowth|TestServers|TestManyFiles' -v -timeout 0 -args -whole -only "$(ONLY)"
	[ -n "$(ONLY)" ] || $(GO) test ./engine/jinja -run TestCostOfSteps -count 1 -timeout 0 -args -whole

.PHONY: mutants
mutants: deps ## make the mistakes of authors in 25 templates, and count those that checks notice
	@mkdir -p out
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test ./harness/edit/mutate -v -count 1 -timeout 0 -args \
		-mutants=0 -edits=0 -survivors=$(CURDIR)/out/survivors.txt

TRIES ?= 4000

.PHONY: unreached
unreached: hub ## list the branches of the Hub's templates that no conversation reaches: TRIES=400
	@mkdir -p out
	ASSAY_HUB=$(CURDIR)/.deps/hub $(GO) test ./harness/conversation -run TestHub -v -count 1 -timeout 0 -args -tries=$(TRIES) -unreached=$(CURDIR)/out/unreached.txt

##@ Pages and releases

.PHONY: libassay
libassay: deps ## build the C library, test it from C, C++ and under sanitizers: VECTORS=FILES
	@GO="$(GO)" ci/library/test.sh $(VECTORS)

.PHONY: libraries
libraries: ## build the C library for the platforms of a release by zig, judge each, run it in emulators: PLATFORMS=host
	@GO="$(GO)" ci/library/platforms.sh $(PLATFORMS)

.PHONY: wheel
wheel: ## build the Python wheel of this machine alone, into out/wheel
	$(GO) run ./ci/package -version $(VERSION) -out out/wheel -platforms host -wheel

.PHONY: node
node: ## build the npm package of the engine in WebAssembly into out/node, and test it: DELTAS=FILE
	@GO="$(GO)" ci/package/npm/test.sh $(DELTAS)

.PHONY: page
page: ## write out/page.html, the report as a page, and open it in headless Chromium
	ci/pages/page.sh

.PHONY: site
site: ## build the page that runs in a browser as out/site; open it in headless Chromium
	ci/pages/site.sh

.PHONY: docs-site
docs-site: ## build the site of the documents as out/docs; open it in headless Chromium
	ci/pages/docs.sh

.PHONY: vscode
vscode: ## build the extension for VS Code as out/assay.vsix; test the server with VS Code's library
	@GO="$(GO)" ci/package/vscode/test.sh

.PHONY: snapshot
snapshot: ## build the parts of a release, install each and run it: PLATFORMS=all
	ci/package/snapshot.sh $(PLATFORMS)

.PHONY: rehearse
rehearse: ## rehearse a release on loopback: built twice, published, installed, upgraded, rolled back: PLATFORMS=all
	ci/package/rehearse.sh $(PLATFORMS)

.PHONY: observatory
observatory: ## survey the corpus on two days, write out/observatory; open it in headless Chromium
	ci/pages/observatory.sh

.PHONY: publish
publish: ## survey the Hub, write the site as out/hub/site: DATE=2026-01-31
	@mkdir -p out
	$(GO) build -tags cloud -o out/assay ./cmd/assay
	ASSAY=out/assay ci/scale/publish.sh out/hub $(DATE)

##@ Models by llama.cpp

.PHONY: llama
llama: ## build bin/assay with llama.cpp in it: LLAMA_BACKEND=cpu|cuda|vulkan
	@ci/live/llama.sh $(GO) build -tags llama -o bin/assay ./cmd/assay

.PHONY: live
live: llama ## every family's battery on the tiny model, by llama.cpp: MODEL=FILE.gguf ARGS=...
	@ci/live/llama.sh $(TEST) -tags llama ./engine/llama ./harness/serve/local
	@ci/live/llama.sh $(TEST) -tags llama -run 'TestBattery|TestRetemplated|TestLive|TestSoak' ./harness/serve/live ./harness/corpus/soak ./cmd/assay
	$(if $(MODEL),ASSAY_MODEL=$(abspath $(MODEL)) ci/live/llama.sh $(TEST) -tags llama -run "TestTexts|TestTwoRounds" -count 1 ./harness/serve/local)
	bin/assay live $(if $(MODEL),$(MODEL),--tiny) $(ARGS)
	@GO="$(GO)" ci/live/llama.sh examples/llama.cpp/build.sh out/example
	@ASSAY_EXAMPLE=$(CURDIR)/out/example/chat $(TEST) ./harness/serve/live -run TestExample -count 1

.PHONY: live-race
live-race: ## the binding and one family's battery under the race detector
	@ci/live/llama.sh $(TEST) -race -tags llama -count 1 ./engine/llama
	@ci/live/llama.sh $(TEST) -race -tags llama -count 1 -run TestBattery ./harness/serve/live

.PHONY: live-leak
live-leak: ## the same under the address sanitizer, which also reports leaks
	@ci/live/llama.sh $(TEST) -asan -tags llama -count 1 ./engine/llama
	@ci/live/llama.sh $(TEST) -asan -tags llama -count 1 -run TestBattery ./harness/serve/live

.PHONY: live-soak
live-soak: deps llama ## soak with llama.cpp as the second engine for grammars: T SEED CASE
	@ASSAY_VENDOR=$(CURDIR)/$(VENDOR) ci/live/llama.sh $(GO) test -tags llama ./harness/corpus/soak -run '^TestSoak$$' -v -count=1 -timeout 0 -args -soak=$(T) -soak-seed=$(or $(SEED),0) -soak-case=$(or $(CASE),0)

.PHONY: gpu
gpu: ## bundle the live suite for a machine with an NVIDIA GPU: BUNDLE=FILE.tar.gz
	@ci/live/gpu.sh $(BUNDLE)

.PHONY: gpu-check
gpu-check: ## run such a bundle here on the CPU, without Go and without a network: OUT=DIR
	@ci/live/gpu.sh --check $(OUT)

##@ Servers and clients

.PHONY: serve-clients
serve-clients: ## assay serve with the official Go and Python clients; its deployments and schemas
	@GO="$(GO)" ci/serve/clients.sh

.PHONY: exchanges
exchanges: ## have the official clients take drawn answers from assay serve, in 6,000 exchanges: ARGS='-exchanges 600'
	ASSAY_PYTHON=$$(ci/fetch/venv.sh serve ci/serve/requirements.txt)/bin/python $(TEST) ./harness/testkit/measure/answers -run TestExchanges -count 1 -v -args -exchanges 6000 $(ARGS)

.PHONY: serve-families
serve-families: ## the battery of probe on assay serve with the tiny model: ASSAY_FAMILY=NAME
	@ASSAY_FAMILY=$(or $(ASSAY_FAMILY),all) ci/live/llama.sh $(GO) test -tags llama -count 1 -timeout 0 -v -run TestFamilies ./harness/serve/local

.PHONY: provider
provider: ## ask a provider on loopback 100,000 requests, killed ten times; 4,000 clean runs
	$(GO) test ./cmd/assay -run TestProviderKilled -v -count 1 -timeout 0 -args -requests 100000
	$(GO) test ./harness/serve/provider -run 'TestFound|TestClean|TestEnd' -v -count 1 -timeout 0 -args -seeds 4000

.PHONY: clients
clients: ## record the requests of clients again, into harness/conversation/clients
	ci/clients/record.sh

##@ Other engines

.PHONY: engines
engines: ## set up other engines, hold them to the corpus, keep the readings: ENGINE=sglang
	@ci/engines/setup.sh $(ENGINE)
	@mkdir -p out
	$(GO) run ./cmd/assay engines run --results out/engines.jsonl --page out/engines.md --html out/engines.html --published harness/foreign/engines/published.jsonl --date $$(date -u +%F) $(if $(ENGINE),ci/engines/$(ENGINE)/run,$(wildcard ci/engines/*/run))

.PHONY: encoders
encoders: deps hub ## hold templates to openai-harmony, mistral-common and DeepSeek's encoders: ARGS='-rendered 2000 -answers 5000'
	@ci/engines/setup.sh harmony mistral-common deepseek
	$(GO) run ./harness/testkit/measure/oracles $(ARGS)

.PHONY: views
views: deps hub ## hold the views of engines to their packages, an hour: ENGINE=vllm, EVERY=8 for a part of the Hub's set
	@ci/engines/setup.sh $(or $(ENGINE),transformers vllm sglang mlx-lm llama.cpp)
	$(GO) run ./harness/testkit/measure/views $(if $(ENGINE),-engine $(ENGINE)) $(ARGS) $$(ls .deps/hub/*.jinja | awk 'NR % $(or $(EVERY),1) == 0') corpus/*/template.jinja

.PHONY: faults
faults: ## put ten faults of the matrix to their engines, without our adapters: ENGINE=smg
	@ci/engines/setup.sh $(or $(ENGINE),$(sort $(shell sed -n 's/.*"engine":"\([^"]*\)".*/\1/p' ci/engines/faults.jsonl)))
	@ci/engines/faults.sh $(ENGINE)

.PHONY: picks
picks: hub ## have SGLang pick its parsers for the Hub's templates: PART=1 to 5 for a fifth
	@ci/engines/setup.sh sglang
	$(GO) run ./cmd/assay engines pick --engine sglang --known ci/known/sglang-picks.txt $$(ls .deps/hub/*.jinja | awk -v part="$(PART)" 'part == "" || NR % 5 == part - 1')

.PHONY: vllm
vllm: hub ## serve the corpus and 40 templates of the Hub by vLLM's classes with assay_chat.vllm, and over HTTP: ten minutes
	@GO="$(GO)" ci/engines/vllm/test.sh

.PHONY: vllm-suites
vllm-suites: deps hub ## fetch vLLM's own tests of parsers (47 MB), and run them with assay_chat.vllm in their parsers' place
	@GO="$(GO)" ci/engines/vllm/suites.sh

.PHONY: plugins
plugins: hub ## the same for SGLang, transformers and mlx-lm: ENGINE=sglang
	@GO="$(GO)" ci/engines/test.sh $(ENGINE)

.PHONY: grammars
grammars: ## have xgrammar and llguidance judge turns by our grammars: TURNS=10000 SEED=1
	@ci/engines/setup.sh grammars
	$(GO) run ./cmd/assay engines judge --turns $(or $(TURNS),10000) --seed $(or $(SEED),1) ci/engines/grammars/xgrammar ci/engines/grammars/llguidance

.PHONY: response-templates
response-templates: hub ## emit the response templates of the Hub's templates, and try them on drawn answers: ARGS='-seed 2 -every 6'
	ASSAY_HUB=$(CURDIR)/.deps/hub $(TEST) ./harness/testkit/measure/answers -run TestObjects -count 1 -v -args $(ARGS)

.PHONY: canitoolcall
canitoolcall: ## write the corpus as CanIToolCall's records, and validate them with its own tool
	@ci/canitoolcall/validate.sh

##@ Many templates

.PHONY: scale
scale: ## judge 100,000 entries in 64 shards on this machine, one of them killed
	ci/scale/run.sh

.PHONY: slurm
slurm: ## run the survey's array on a Slurm of this machine; one of three nodes is killed
	ci/scale/slurm/test.sh

.PHONY: cloud
cloud: ## vet and test the edition for large collections: Parquet, and buckets on loopback
	$(GO) vet -tags cloud ./harness/hub/... ./cmd/assay
	$(GO) run $(STATICCHECK) -tags cloud ./harness/hub/... ./cmd/assay
	$(TEST) -tags cloud -count 1 ./harness/hub/storage ./harness/hub/observatory
	$(TEST) -tags cloud -count 1 -run 'TestBucket|TestScripts/survey' ./cmd/assay

.PHONY: crawl
crawl: ## list a Hub on loopback of 100,000 repositories and fetch its templates
	$(GO) test ./cmd/assay -run TestCrawl -count 1 -timeout 30m -v -args -repositories=100000

.PHONY: drift
drift: ## seed edits of every class between two surveys, and class them: EVERY=6 REST=0
	$(GO) test ./harness/hub/survey -run TestDrift -count 1 -v -timeout 30m -args -every=$(or $(EVERY),1) -rest=$(or $(REST),0)

##@ Time

.PHONY: bench-go
bench-go: deps ## Go's benchmarks; compare two outputs with make benchcmp OLD=FILE NEW=FILE
	ASSAY_VENDOR=$(CURDIR)/$(VENDOR) $(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: benchcmp
benchcmp: ## compare two outputs of make bench-go: OLD=FILE NEW=FILE
	$(GO) run $(BENCHSTAT) $(OLD) $(NEW)

.PHONY: bench-peers
bench-peers: deps ## have nine other implementations do the same work, and compare: ARGS='-rounds 3'
	ci/engines/peers.sh -vendor $(VENDOR) $(ARGS)

.PHONY: performance
performance: deps ## write the tables of bench and bench-peers into docs/results/performance.md
	$(MAKE) bench bench-peers ARGS='-page docs/results/performance.md $(ARGS)'

.PHONY: cost
cost: hub ## measure the processor time of assay check for each of the Hub's templates, and of a key in an editor
	ASSAY_HUB=$(CURDIR)/.deps/hub $(GO) test ./cmd/assay -run TestCheckCost -v -count 1 -timeout 0
	ASSAY_HUB=$(CURDIR)/.deps/hub $(GO) test ./harness/editor -run '^$$' -bench Keystroke -benchtime 5x
