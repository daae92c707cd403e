package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/baseline"
	"github.com/goassay/assay/harness/check/cache"
	"github.com/goassay/assay/harness/check/config"
	probes "github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/rules/compile"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/clients"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/relatives"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/diff/commit"
	"github.com/goassay/assay/harness/foreign/encoder"
	"github.com/goassay/assay/harness/foreign/gonja"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/hub/templates"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/safefile"
	"github.com/goassay/assay/harness/report/spelling"
	"github.com/goassay/assay/harness/serve/pipe"
)

var checkCommand = command{
	group: judging, name: "check", args: "[TEMPLATE...]",
	takes: arity{0, -1, ""}, files: templateFiles,
	short: "run the automatic checks on templates, model folders and model files",
	long: `A template is a Jinja file, a tokenizer_config.json, or "-" for standard input. Of a model
folder, a GGUF file or a model on the Hub, hf:OWNER/REPO[:FILE], all templates are checked, which of
them each engine takes (A050 to A055), and the response_template (A108, A109).
In any other folder the command looks for model folders and *.jinja files. Errors fail the check,
warnings and notes do not; docs/reference/rules.md and "assay explain" explain each rule. The comment
{# assay:ignore A021 reason #} in a template suppresses a rule there; with --base only where the
base does so too, and with --untrusted nowhere. The last lines name the templates that are not
tool-capable, which is a condition only with --require-tools, and count the findings.

--base judges an edit: templates that differ from that commit are compared with their text there, as
by "assay diff", under their old name where they were renamed, and each is called identical, safe,
risky or breaking. Only what is new fails and is listed; the rest is counted. --baseline does the
latter with a file of accepted findings, which --write-baseline writes. --whole-models is for lists
of edited files.

--request prints with each finding the request that shows it, whole; --format json has it then, too.
"assay render --as sent --request FILE" shows what the template makes of it.

What is found in a template file is kept in the user's cache folder (XDG_CACHE_HOME), by the digest of
the program, the template and the flags, so that a second look is immediate.

assay.toml, or [tool.assay] of pyproject.toml, has settings for the templates beside and below it;
with --base they are those of the base. docs/configuration.md explains them.

--client compares a template with the requests that a client really sends, such as claude-code or
langchain (A095, A096).

--against compares the prompts with those of the format's own encoder (A190 to A192): of a package of
python3, or of a command that is an adapter (docs/reference/adapters.md); docs/check.md has examples.

--untrusted is for templates of strangers: tight limits on every render and on all of them together,
no second renderer; docs/untrusted.md has the limits.`,
	apart: [][]string{{"base", "baseline", "write-baseline"}, {"config", "no-config"},
		{"fix", "diff"}, {"diff", "statistics"}, {"diff", "format"}, {"against", "base"}},
	setup: func(flags *flagSet) func(*call) error {
		k := checking{}
		flags.StringVar(&k.manifest, "manifest", "", "check the templates of the manifest `FILE`, each "+
			"text once; the status is 3 where one cannot be read or is another one")
		flags.BoolVar(&k.whole, "whole-models", false, "where an argument is a file of a model "+
			"folder, such as tokenizer_config.json, judge the folder")
		k.settings = settingFlags(flags)
		flags.category("Earlier versions")
		flags.StringVar(&k.commit, "base", "", "judge the edit since this `COMMIT` of git: a check that "+
			"failed there does not fail")
		flags.StringVar(&k.settings.Baseline, "baseline", "", "`FILE` of accepted findings: as many "+
			"do not fail")
		flags.StringVar(&k.write, "write-baseline", "", "write what is found now to this `FILE`, "+
			"to be accepted")
		k.settings.acceptFlag(flags)
		flags.category("The checks")
		fallbacks := fallbackFlag(flags)
		flags.StringVar(&k.against, "against", "", "compare the prompts with those of this "+
			"`ENCODER`: harmony, mistral-common VERSION or a command")
		flags.Uint64Var(&k.seed, "seed", 0, "draw the words of probes with seed `N`; 0: the "+
			"usual words, and a new seed with --base or --untrusted")
		k.output = outputFlags(flags)
		flags.BoolVar(&k.output.statistics, "statistics", false, "print how often each rule found "+
			"something in place of the findings")
		flags.BoolVar(&k.requests, "request", false, "print with each finding the request that "+
			"shows it")
		flags.category("Patches, and the next check")
		flags.BoolVar(&k.fix, "fix", false, "write the patches of the findings that need no judgement, "+
			"and report the others")
		flags.BoolVar(&k.diff, "diff", false, "print these patches before the report as a diff")
		flags.BoolVar(&k.watch, "watch", false, "check again each time a file changes, until it is "+
			"interrupted")
		flags.BoolVar(&k.noCache, "no-cache", false, "look at every template anew, and keep "+
			"nothing of what is found")
		k.limits = limitFlag(flags, lookedAt)
		k.remote = remoteFlags(flags)
		return func(c *call) error {
			if err := knownFallbacks(*fallbacks); err != nil {
				return err
			}
			if _, err := clientsNamed(k.settings.Clients); err != nil {
				return err
			}
			k.options = check.Options{Differ: templates.Differ, Fallbacks: *fallbacks,
				Evidence: relatives.Evidence}
			if !k.watch {
				return k.run(c)
			}
			return config.Watch(c.ctx, c.args, func() {
				again := k
				if err := again.run(c); err != nil && !errors.Is(err, errFailed) {
					c.fail(err)
				}
			})
		}
	},
}

// checking holds the command's arguments.
type checking struct {
	output *output
	limits *limits
	*remote
	manifest string            // of templates to check; "": those of the arguments
	digests  map[string]string // of the files that the manifest names
	commit   string
	settings *checkSettings
	options  check.Options
	since    *commit.Base // of commit
	whole    bool         // a file of a model folder stands for the folder
	seed     uint64
	against  string // the encoder's name or command; "": none
	encoder  *encoder.Encoder
	write    string // the file of a baseline to be written; "": none

	fix, diff, watch, requests, noCache bool

	cache    *cache.Store
	program  []any              // what tells this program from another one, for keys of the cache
	baseline *baseline.Baseline // nil: none

	// of an argument, as its settings have them
	filter  *config.Filter
	tools   bool             // a template must serve tools
	clients []clients.Client // whose requests are asked for
}

// incomplete are the rules that tell that the limits ended a look. An earlier report that has them
// tells nothing of the templates, so it excuses nothing.
var incomplete = []string{compile.TooCostly.ID, diff.Incomplete}

// checkMemory is the memory, in bytes, from which on the collector works harder: some templates
// need a hundred times the memory of others, and the heap would grow to several times theirs.
const checkMemory = 400 << 20

func (k *checking) run(c *call) error {
	if k.limits.memory == 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(min(checkMemory, debug.SetMemoryLimit(-1))))
	}
	if !k.limits.untrusted {
		second := new(gonja.Renderer)
		defer second.Close()
		k.options.Renderer = second
	}
	var err error
	if k.encoder, err = encoder.Start(c.ctx, k.against); err != nil {
		return err
	}
	defer k.encoder.Close()
	r := &report.Report{Command: "check", Version: version(), Rules: check.Rules()}
	names, err := k.begin(c, r)
	if err != nil {
		return err
	}
	page := k.output.html != "" && len(names) == 1 // all of many would fill the memory
	k.options.Requests = k.requests || page
	k.openCache()
	defer k.cache.Trim()
	if k.settings.show {
		return k.settings.print(c, names)
	}
	unusable, unread, mended := 0, 0, 0
	var edits, able []string
	var sources []subject.Source
	return each(c, "templates", names, func(name string) (checked, error) {
		return k.one(c, name)
	}, func(_ string, one checked, err error) error {
		if err != nil { // the others are checked all the same
			c.fail(err)
			if unusable++; errors.Is(err, errUnread) {
				unread++
			}
			return nil
		}
		if k.baseline == nil {
			one.results = rule.Join(one.results)
		}
		k.output.keep(c, r, nil, one.results...)
		fmt.Fprint(c.data(), one.diff)
		mended += one.mended
		edits, able = append(edits, one.edits...), append(able, one.able...)
		r.Templates += max(len(one.sources), 1)
		if page {
			sources = one.sources
		}
		return nil
	}, func(complete bool) error {
		if k.write != "" {
			return k.writeBaseline(c, r)
		}
		if k.baseline != nil {
			gone := k.baseline.Settle(r.Results, notExcused...)
			r.Results = append(rule.Join(r.Results), gone...)
		}
		if k.output.form(c) == formShort {
			able = nil
		}
		r.Conclusions = slices.Concat(able, edits, k.settings.acceptances())
		if k.seed != 0 {
			r.Conclusions = append(r.Conclusions, fmt.Sprintf("the words of probes were "+
				"drawn with --seed %d", k.seed))
		}
		if unusable == len(names) && unusable > unread {
			return errUnusable
		}
		if err := k.page(c, r, sources); err != nil {
			return err
		}
		if unusable > 0 {
			r.Verdict = fmt.Sprintf("%d of %d could "+
				"not be used; %s", unusable, len(names), r.Line())
		}
		if k.fix {
			c.note("patches written: %d", mended)
		}
		if err := k.output.write(c, r); unusable == 0 || err != nil && !errors.Is(err, errFailed) {
			return err
		}
		if unread == unusable {
			return fmt.Errorf("%w: %d of %d; run it again", errUnread, unread, len(names))
		}
		return errUnusable
	})
}

// page makes the page of one template. The requests of its findings are in the other reports only
// where they were asked for.
func (k *checking) page(c *call, r *report.Report, sources []subject.Source) error {
	if len(sources) == 1 {
		view, err := c.service(k.options, k.limits.Limits).View(sources[0], r.Results)
		if err != nil {
			return err
		}
		k.output.page = view.HTML
	}
	if !k.requests {
		forget(r.Results)
	}
	return nil
}

// forget takes the requests out of results.
func forget(results []rule.Result) {
	for i := range results {
		results[i].Request = nil
	}
}

// begin opens what the run needs, by the settings of the first argument, and returns the templates
// to check.
func (k *checking) begin(c *call, r *report.Report) ([]string, error) {
	if err := k.settings.open(); err != nil {
		return nil, err
	}
	named, err := k.named(c)
	if err != nil {
		return nil, err
	}
	first := "."
	if len(c.args) > 0 {
		first = c.args[0]
	}
	of, err := k.settings.of(c, first)
	if err != nil {
		return nil, err
	}
	if k.commit == "" && k.settings.Baseline == "" && k.write == "" {
		k.commit = of.Base
	}
	if k.commit != "" {
		if k.since, err = commit.Open(k.commit); err != nil {
			return nil, err
		}
		k.settings.at(c, k.since, k.commit)
		r.Rules = append(r.Rules, diff.Rules()...)
		if of, err = k.settings.of(c, first); err != nil {
			return nil, err
		}
	}
	if k.limits.untrusted || k.commit != "" {
		k.options.Accepted = new([]string)
		for k.seed == 0 {
			k.seed = uint64(rand.Uint32())
		}
	}
	if err := k.output.settings(of); err != nil {
		return nil, err
	}
	if err := k.openBaseline(of); err != nil {
		return nil, err
	}
	if named, err = k.settings.kept(c, named); err != nil {
		return nil, err
	}
	if err := k.output.shard.choose(c); err != nil {
		return nil, err
	}
	return take(k.output.shard, named, func(name string) string {
		if digest := k.digests[name]; digest != "" {
			return digest
		}
		return contents(name)
	}), nil
}

// openBaseline reads the file of accepted findings. An edit that is judged by a base has none: what
// the base has is no news, and what it has no more does not fail.
func (k *checking) openBaseline(of *config.Settings) error {
	name := cmp.Or(k.write, of.BaselineFile())
	if name == "" || k.since != nil {
		return nil
	}
	text, err := readFile(name)
	switch {
	case err == nil:
		k.baseline, err = baseline.Parse(source.New(name, string(text)), check.Rules())
	case k.write != "" && errors.Is(err, fs.ErrNotExist):
		k.baseline, err = baseline.New(name), nil
	}
	k.output.all = k.baseline != nil
	return err
}

// notExcused are the rules that must hold whatever was found before.
var notExcused = slices.Concat([]string{compile.ToolsRequired.ID}, incomplete)

// writeBaseline writes what was found, to be accepted.
func (k *checking) writeBaseline(c *call, r *report.Report) error {
	k.baseline.Take(r.Results, min(rule.Warning, k.output.failsFrom()), notExcused...)
	findings, templates := k.baseline.Counts()
	if err := safefile.Write(k.write, safefile.Text(k.baseline.String())); err != nil {
		return err
	}
	c.note("%s accepts %d findings in %d templates; `baseline = %q` in %s makes every check "+
		"take it", k.write, findings, templates, k.write, config.FileName)
	return nil
}

// as returns the check of an argument by its own settings.
func (k *checking) as(c *call, name string) (*checking, error) {
	of, err := k.settings.of(c, name)
	if err != nil {
		return nil, err
	}
	one := *k
	if one.clients, err = clientsNamed(of.Clients); err != nil {
		return nil, err
	}
	one.options.Only = of.Chosen(check.Rules())
	one.filter, one.tools = of.Filter(k.settings.words.Rules), of.RequireTools
	return &one, nil
}

// told returns results as the settings have them, without those that were accepted for this run.
func (k *checking) told(results []rule.Result) []rule.Result {
	results = k.filter.Apply(results)
	rule.Accept(results, k.settings.accepted)
	return results
}

// named returns the templates to check: those of the manifest, each once, or of the arguments.
func (k *checking) named(c *call) ([]string, error) {
	switch {
	case k.manifest == "" && len(c.args) == 0:
		return nil, usageError{errors.New("takes at least one template, found none")}
	case k.manifest == "" && k.whole:
		models, others := c.partModels()
		found, err := c.found(others)
		return append(models, found...), err
	case k.manifest == "":
		return c.found(c.args)
	case len(c.args) > 0:
		return nil, usageError{errors.New("--manifest takes the place of templates")}
	}
	f, err := c.files.Open(c.ctx, k.manifest)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	k.digests = map[string]string{}
	seen := map[string]bool{}
	_, _, err = manifest.Read(f, manifest.Template, func(e manifest.Entry) error {
		if name := e.Path(storage.Dir(k.manifest)); !seen[e.Digest] {
			seen[e.Digest], k.digests[name] = true, e.Digest
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", storage.Shown(k.manifest), err)
	}
	return names, nil
}

// listed returns an error where a file that the manifest names is not the one that it lists.
func (k *checking) listed(c *call, name string) error {
	digest := k.digests[name]
	if digest == "" {
		return nil
	}
	src, err := c.template(name)
	if err == nil && manifest.Digest(src.Text) != digest {
		err = errors.New("it holds another text than the manifest lists")
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errUnread, storage.Shown(name), err)
	}
	return nil
}

// partModels parts the arguments into the model folders that files among them belong to, and the
// others.
func (c *call) partModels() (models, others []string) {
	for _, name := range c.args {
		if dir, ok := subject.ModelOf(name); !ok {
			others = append(others, name)
		} else if !slices.Contains(models, dir) {
			models = append(models, dir)
		}
	}
	return models, others
}

// found returns arguments with the contents of folders in their place, and reports these.
func (c *call) found(names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			all = append(all, name)
			continue
		}
		found, err := subject.Find(name)
		if err != nil {
			return nil, err
		}
		if len(found.Templates) > 0 || len(found.Models) > 1 || found.Models[0] != name {
			c.note("%s has %s", name, found)
		}
		all = append(append(all, found.Templates...), found.Models...)
	}
	return all, nil
}

// checked is the result for an argument.
type checked struct {
	results []rule.Result
	sources []subject.Source
	edits   []string // the change of each template since the base, or how the encoder differs
	able    []string // which template is tool-capable
	diff    string   // of the patches, for --diff
	mended  int      // patches that --fix has written
}

// judge reports whether a template is tool-capable: of one that is, only where the whole is asked
// for, with how it thinks and how much of it was reached. Where the limits hid the answer, it
// prints nothing.
func (one *checked) judge(src subject.Source, whole bool) {
	t, err := src.Compile()
	var gate engine.Verdict
	switch {
	case src.Exhausted() != nil:
		return
	case err != nil:
		gate.Incapable = subject.Unusable(err)
	default:
		gate = t.Gate()
	}
	if !whole && gate.Pass() {
		return
	}
	line := fmt.Sprintf("tool-capable: %s: %s", src.Name, probes.Plain(gate.Tools()))
	if whole && t != nil {
		if unset := check.Unset(t); unset != "" {
			line += "; thinking unset is " + unset
		}
		reached, all := src.Explored().Counts()
		line += fmt.Sprintf("; requests reached %d of %d outcomes of its branches", reached, all)
	}
	one.able = append(one.able, line)
}

// one checks a template, or a model with its templates.
func (k *checking) one(c *call, name string) (one checked, err error) {
	if err := k.listed(c, name); err != nil {
		return one, err
	}
	if k, err = k.as(c, name); err != nil {
		return one, err
	}
	one, err = k.look(c, name)
	one.results = k.told(one.results)
	return one, err
}

// look runs the rules on what comes with an argument.
func (k *checking) look(c *call, name string) (one checked, err error) {
	// one bound for all that comes with an argument: its templates, and their revisions at the base
	o := engine.Options{Limits: k.limits.Limits, Seed: k.seed}.Together()
	onHub := strings.HasPrefix(name, hub.Scheme)
	if onHub || subject.IsModel(name) && !storage.InBucket(name) {
		m, err := k.open(c, name, onHub)
		if err != nil {
			return one, err
		}
		m = m.With(c.ctx, o)
		err = k.model(c.ctx, &one, m, o)
		k.judge(&one, m.Sources)
		return one, err
	}
	sources, err := c.templates(name)
	if err != nil {
		return one, err
	}
	return k.cached(c, name, sources, o)
}

// templates runs the rules on the templates of a file.
func (k *checking) templates(c *call, name string, sources []subject.Source,
	o engine.Options) (one checked, err error) {
	config, err := subject.OpenConfig(name)
	if err == nil {
		one.results = append(one.results, check.Response(config.With(c.ctx, o), k.options)...)
	}
	old := k.since.Source
	if err == nil && k.since != nil && filepath.Base(name) == modeldir.TokenizerConfig {
		// the files beside it have a say in its templates and tokens, at the base too
		was, err := k.since.Model(filepath.Dir(name))
		if err != nil {
			return one, err
		}
		old = func(src subject.Source) *subject.Source {
			found := was.Counterpart(config, src)
			if found == nil {
				return nil
			}
			if taken, err := was.Taken(); err == nil && taken.Name == found.Name {
				return &taken // which knows the templates that it shadows
			}
			return found
		}
	}
	sources = subject.With(c.ctx, sources, o)
	of := k.options
	of.Requests = true // patches start from them
	for _, src := range sources {
		if k.since == nil || name == "-" {
			one.results = append(one.results, k.findings(src, of)...)
		} else if err := k.edited(c.ctx, &one, src, old(src), o); err != nil {
			return one, err
		}
		if k.limits.untrusted && !k.fix && !k.diff {
			continue
		}
		if err := k.offer(c, &one, src); err != nil {
			return one, err
		}
	}
	if !k.options.Requests {
		forget(one.results)
	}
	k.judge(&one, sources)
	return one, nil
}

// open opens a model of the disk or of the Hub.
func (k *checking) open(c *call, name string, onHub bool) (*subject.Model, error) {
	switch {
	case !onHub && k.revision != "":
		return nil, fmt.Errorf("--revision is for models on the Hub, %sOWNER/REPO", hub.Scheme)
	case !onHub:
		return subject.OpenModel(name)
	case k.commit != "":
		return nil, fmt.Errorf("--base compares with a commit of git, which %s has none of", name)
	}
	return k.remote.model(c, name)
}

// model checks a model and its changes since the base, with one bound on the renders of both.
func (k *checking) model(ctx context.Context, one *checked, m *subject.Model,
	o engine.Options) error {
	if k.since == nil {
		one.results = check.ModelOnly(m, k.options)
		for _, src := range m.Distinct() {
			one.results = append(one.results, k.findings(src, k.options)...)
		}
		return nil
	}
	findings := check.ModelOnly(m, k.options)
	was, err := k.since.Model(m.Path)
	if err != nil {
		return err
	}
	if was != nil {
		was = was.With(ctx, o)
		k.settle(findings, check.ModelOnly(was, k.options), slices.Concat(m.Sources, was.Sources))
	}
	one.results = findings
	for _, src := range m.Distinct() {
		if err := k.edited(ctx, one, src, was.Counterpart(m, src), o); err != nil {
			return err
		}
	}
	return nil
}

// findings are those of a template, with those on the requests of clients that were asked for.
func (k *checking) findings(src subject.Source, o check.Options) []rule.Result {
	found := check.Template(src, o)
	if len(k.clients) > 0 {
		found = append(found, check.Clients(src, o, k.clients)...)
	}
	return found
}

// settled marks a failure that is no news.
func (k *checking) settled() string { return "It failed at " + k.commit + ", too." }

// settle marks what the base has already, and makes failures of the new warnings that the gate does
// not let through. Where the limits ended the look at a template it does neither: the base may have
// failed because of the new revision, with which it has them together.
func (k *checking) settle(now, before []rule.Result, sources []subject.Source) {
	if !slices.ContainsFunc(sources, func(s subject.Source) bool { return s.Exhausted() != nil }) {
		rule.Settle(now, before, k.settled())
		rule.Close(now, "It is new since "+k.commit+", and a new warning of this kind fails.")
	}
}

// service answers the questions of a template's page.
func (c *call) service(o check.Options, limits engine.Limits) *pipe.Service {
	return pipe.New(c.ctx, pipe.Options{Version: version(), Check: o, Limits: limits,
		Tight: limits})
}

// judge says of templates that come together which are tool-capable, and fails where one must and
// none does.
func (k *checking) judge(one *checked, sources []subject.Source) {
	one.sources = sources
	for _, src := range sources {
		one.judge(src, k.output.listed() == rule.Note)
		if k.encoder != nil {
			results, counts := check.Against(src, k.options, k.encoder)
			one.results = append(one.results, results...)
			one.edits = append(one.edits, fmt.Sprintf("against %s: %s: %s", k.encoder, src.Name,
				counts))
		}
	}
	if k.tools && len(sources) > 0 {
		one.results = append(one.results, check.ToolCapable(sources, k.options)...)
	}
}

// edited checks a template and its changes since the base, with one bound on the renders of both. A
// finding that the base has already does not fail, and is not told.
func (k *checking) edited(ctx context.Context, one *checked, src subject.Source,
	was *subject.Source, together engine.Options) error {
	o := k.options
	o.Accepted, o.Requests = new([]string), true // which tell what the base did with them
	if was != nil {
		*o.Accepted = check.Suppressed(was.Text)
	}
	*o.Accepted = slices.AppendSeq(*o.Accepted, maps.Keys(k.settings.accepted))
	var cases []families.Case
	if was != nil && !was.Same(src) {
		var err error
		if cases, err = readCases(filepath.Dir(src.File)); err != nil {
			return err
		}
	}
	edit := diff.Since(ctx, was, src, cases, together, func(s subject.Source) []rule.Result {
		return k.findings(s, o)
	})
	before, findings := edit.Findings[0], edit.Findings[1]
	switch {
	case edit.Was == nil:
	case edit.Was.Same(src):
		rule.Settle(findings, slices.Clone(findings), k.settled())
	default:
		k.settle(findings, before, []subject.Source{src, *edit.Was})
	}
	one.results = append(append(one.results, findings...), edit.Changes...)
	if edit.Was == nil || !edit.Was.Same(src) {
		edit.Changes = k.told(edit.Changes)
		one.edits = append(one.edits, fmt.Sprintf("edit: %s: %s", src.Name,
			edit.Class(k.told(findings))))
	}
	return nil
}

// clientsNamed returns the clients of names.
func clientsNamed(names []string) ([]clients.Client, error) {
	var list []clients.Client
	for _, name := range names {
		if name == config.AllClients {
			return clients.All(), nil
		}
		client, ok := clients.Named(name)
		if !ok {
			return nil, fmt.Errorf("--client %s: no such client%s; there are %s and all", name,
				spelling.Meant(name, clients.Names()), strings.Join(clients.Names(), ", "))
		}
		list = append(list, client)
	}
	return list, nil
}
