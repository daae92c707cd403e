package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/clients"
	"github.com/goassay/assay/harness/gonja"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/manifest"
	"github.com/goassay/assay/harness/provider"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/revision"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/service"
	"github.com/goassay/assay/harness/storage"
	"github.com/goassay/assay/harness/subject"
	"github.com/goassay/assay/harness/survey"
)

var checkCommand = command{
	group: judging, name: "check", args: "[TEMPLATE...]",
	takes: arity{0, -1, ""}, files: templateFiles,
	short: "run the automatic checks on templates, model folders and model files",
	long: `A template is a Jinja file, a tokenizer_config.json, or "-" for standard input. Of a model
folder, a GGUF file or a model on the Hub, hf:OWNER/REPO[:FILE], all templates are checked, which of
them each engine takes (A050 to A055), and the response_template (A108, A109).
In any other folder the command looks for model folders and *.jinja files. Errors fail the check,
warnings and notes do not; docs/rules.md and "assay explain" explain each rule. The comment
{# assay:ignore A021 reason #} in a template suppresses a rule there; with --base only where the
base does so too, and with --untrusted nowhere. The last lines name the templates that are
tool-capable, which is a condition only with --require-tools, and count the checks that passed and
failed.

--base judges an edit: templates that differ from that commit are compared with their text there, as
by "assay diff", under their old name where they were renamed, and each is called identical, safe,
risky or breaking. A check that failed there already does not fail. --baseline does the latter with
an earlier report in place of a commit.

--client compares a template with the requests that a client really sends, such as claude-code or
langchain (A095, A096).

--untrusted is for templates of strangers: tight limits on every render and on all of them together,
no second renderer; docs/untrusted.md has the limits.`,
	setup: func(flags *flagSet) func(*call) error {
		k := checking{}
		flags.StringVar(&k.manifest, "manifest", "", "check the templates of the manifest `FILE`, each "+
			"text once; the status is 3 where one cannot be read or is another one")
		flags.BoolVar(&k.tools, "require-tools", false, "fail where no template of an argument "+
			"is tool-capable and verified")
		flags.category("Earlier versions")
		flags.StringVar(&k.commit, "base", "", "judge the edit since this `COMMIT` of git: a check that "+
			"failed there does not fail")
		baseline := flags.String("baseline", "", "`FILE` with an earlier report (--format json): "+
			"a check that failed there does not fail")
		known := flags.StringArray("known", nil, "`FILE` with known failures, lines of the form "+
			"\"file rule\"; may be given again")
		flags.category("The checks")
		only := flags.StringArray("only", nil, "run the rule with this `ID` and no other; "+
			"may be given again")
		flags.completes("only", ruleNames)
		asked := flags.StringArray("client", nil, "try the template on the requests of "+
			"this `CLIENT`, or all; may be given again")
		flags.completes("client", func() []string { return append(clients.Names(), allClients) })
		fallbacks := fallbackFlag(flags)
		flags.Uint64Var(&k.seed, "seed", 0, "draw the words of probes with seed `N`; 0: the "+
			"usual words, and a new seed with --base or --untrusted")
		k.output = outputFlags(flags)
		k.limits = limitFlag(flags, lookedAt)
		k.remote = remoteFlags(flags)
		return func(c *call) error {
			if err := knownFallbacks(*fallbacks); err != nil {
				return err
			}
			for _, id := range *only {
				if !slices.ContainsFunc(check.Rules(),
					func(r rule.Rule) bool { return r.ID == id }) {
					return fmt.Errorf("--only %s: there is no such rule; `assay "+
						"explain all` lists them", id)
				}
			}
			var err error
			if k.clients, err = clientsNamed(*asked); err != nil {
				return err
			}
			if k.known, err = readReasons(*known); err != nil {
				return err
			}
			if *baseline != "" {
				before, err := readReport(c, *baseline)
				if err != nil {
					return err
				}
				k.baseline = before.Results
			}
			k.output.all = len(k.known) > 0
			k.options = check.Options{Differ: survey.Differ, Fallbacks: *fallbacks, Only: *only}
			return k.run(c)
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
	known    map[string]string // "file rule" -> why it fails
	options  check.Options
	since    *base // of commit
	tools    bool  // a template must serve tools
	seed     uint64
	baseline []rule.Result
	clients  []clients.Client // whose requests are asked for
}

// incomplete are the rules that tell that the limits ended a look. An earlier report that has them
// tells nothing of the templates, so it excuses nothing.
var incomplete = []string{check.TooCostly, revision.Incomplete}

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
	r := &report.Report{Command: "check", Version: version(), Rules: check.Rules()}
	if k.limits.untrusted || k.commit != "" {
		k.options.Accepted = new([]string)
		for k.seed == 0 {
			k.seed = uint64(rand.Uint32())
		}
	}
	if k.commit != "" {
		var err error
		if k.since, err = openBase(k.commit); err != nil {
			return err
		}
		r.Rules = append(r.Rules, revision.Rules()...)
	}
	named, err := k.named(c)
	if err != nil {
		return err
	}
	if err := k.output.shard.choose(c); err != nil {
		return err
	}
	names := take(k.output.shard, named, func(name string) string {
		if digest := k.digests[name]; digest != "" {
			return digest
		}
		return contents(name)
	})
	unusable, unread := 0, 0
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
		k.output.keep(c, r, nil, one.results...)
		edits, able = append(edits, one.edits...), append(able, one.able...)
		if k.output.html != "" && len(names) == 1 { // all of many would fill the memory
			sources = one.sources
		}
		return nil
	}, func(complete bool) error {
		rule.Expect(r.Results, k.known, knownKey)
		if complete && k.output.shard.Of == 0 {
			r.Results = append(r.Results, rule.Unused(r.Results, k.known, knownKey)...)
		}
		rule.Settle(r.Results, k.baseline, "The baseline has it.", slices.Concat(
			[]string{check.ToolsRequired}, incomplete)...)
		r.Conclusions = append(able, edits...)
		if k.seed != 0 {
			r.Conclusions = append(r.Conclusions, fmt.Sprintf("the words of probes were "+
				"drawn with --seed %d", k.seed))
		}
		if unusable == len(names) && unusable > unread {
			return errUnusable
		}
		if k.output.html != "" && len(sources) == 1 {
			view, err := c.service(k.options, k.limits.of(c)).View(sources[0], r.Results)
			if err != nil {
				return err
			}
			k.output.page = view.HTML
		}
		if unusable > 0 {
			r.Verdict = fmt.Sprintf("%d of %d could "+
				"not be used; %s", unusable, len(names), r.Line())
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

// named returns the templates to check: those of the manifest, each once, or of the arguments.
func (k *checking) named(c *call) ([]string, error) {
	switch {
	case k.manifest == "" && len(c.args) == 0:
		return nil, usageError{errors.New("takes at least one template, found none")}
	case k.manifest == "":
		return c.found()
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

// found returns the arguments with the contents of folders in their place, and reports these.
func (c *call) found() ([]string, error) {
	var all []string
	for _, name := range c.args {
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

// knownKey is how a list of known failures names a result: the template's file and the rule.
func knownKey(res *rule.Result) string { return filepath.Base(res.Suite) + " " + res.Rule }

// checked is the result for an argument.
type checked struct {
	results []rule.Result
	sources []subject.Source
	edits   []string // the change of each template since the base
	able    []string // which template is tool-capable
}

// judge reports whether a template is tool-capable. Where the limits hid the answer, it prints
// nothing.
func (one *checked) judge(src subject.Source) {
	t, err := src.Compile()
	var gate engine.Verdict
	switch {
	case src.Exhausted() != nil:
		return
	case err != nil:
		gate.Incapable = errors.New("it does not compile")
	default:
		gate = t.Gate()
	}
	able := "yes"
	switch {
	case gate.Incapable != nil:
		able = "no, " + gate.Incapable.Error()
	case gate.Unverified != nil:
		able = "yes, but " + gate.Unverified.Error()
	}
	one.able = append(one.able, fmt.Sprintf("tool-capable: %s: %s", src.Name, able))
	if t != nil {
		one.able = append(one.able, fmt.Sprintf("exercised: %s: %s", src.Name,
			src.Explored().Summary()))
		if unset := check.Unset(t); unset != "" {
			one.able = append(one.able, fmt.Sprintf("thinking: %s: unset is %s", src.Name, unset))
		}
	}
}

// able is the source that must pass the gate where that is required: the first that does, else the
// first.
func able(sources []subject.Source) subject.Source {
	for _, src := range sources {
		if t, err := src.Compile(); err == nil && t.Gate().Pass() {
			return src
		}
	}
	return sources[0]
}

// one checks a template, or a model with its templates.
func (k *checking) one(c *call, name string) (one checked, err error) {
	if err := k.listed(c, name); err != nil {
		return one, err
	}
	// one bound for all that comes with an argument: its templates, and their revisions at the base
	o := engine.Options{Limits: k.limits.of(c), Seed: k.seed}.Together()
	onHub := strings.HasPrefix(name, hub.Scheme)
	if onHub || subject.IsModel(name) && !storage.InBucket(name) {
		m, err := k.open(c, name, onHub)
		if err != nil {
			return one, err
		}
		m = m.With(o)
		err = k.model(&one, m, o)
		for _, src := range check.Distinct(m) {
			if len(k.clients) > 0 {
				one.results = append(one.results, check.Clients(src, k.options, k.clients)...)
			}
		}
		k.judge(&one, m.Sources)
		return one, err
	}
	sources, err := c.templates(name)
	if err != nil {
		return one, err
	}
	if config, err := subject.OpenConfig(name); err == nil {
		one.results = append(one.results, check.Response(config.With(o), k.options)...)
	}
	sources = subject.With(sources, o)
	for _, src := range sources {
		if k.since == nil || name == "-" {
			one.results = append(one.results, check.Template(src, k.options)...)
		} else if err := k.edited(&one, src, k.since.open(src), o); err != nil {
			return one, err
		}
		if len(k.clients) > 0 {
			one.results = append(one.results, check.Clients(src, k.options, k.clients)...)
		}
		if !k.limits.untrusted {
			k.offer(c, &one, src)
		}
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
	ref, err := k.ref(name)
	if err != nil {
		return nil, err
	}
	_, folder, err := k.folder(c, ref, false)
	if err != nil {
		return nil, err
	}
	return subject.NewModel(ref.String(), ref.String(), folder), nil
}

// model checks a model and its changes since the base, with one bound on the renders of both.
func (k *checking) model(one *checked, m *subject.Model, o engine.Options) error {
	if k.since == nil {
		one.results = check.Model(m, k.options)
		return nil
	}
	findings := check.ModelOnly(m, k.options)
	was, err := k.since.model(m.Path)
	if err != nil {
		return err
	}
	if was != nil {
		was = was.With(o)
		k.settle(findings, check.ModelOnly(was, k.options), slices.Concat(m.Sources, was.Sources))
	}
	one.results = findings
	for _, src := range check.Distinct(m) {
		var old *subject.Source
		if was != nil {
			if i := slices.IndexFunc(was.Sources,
				func(s subject.Source) bool { return s.Name == src.Name }); i >= 0 {
				old = &was.Sources[i]
			}
		}
		if err := k.edited(one, src, old, o); err != nil {
			return err
		}
	}
	return nil
}

// settled marks a failure that is no news.
func (k *checking) settled() string { return "It failed at " + k.commit + ", too." }

// settle marks the failures that the base has already. Where the limits ended the look at a
// template it marks none: the base may have failed because of the new revision, with which it has
// them together.
func (k *checking) settle(now, before []rule.Result, sources []subject.Source) {
	if !slices.ContainsFunc(sources, func(s subject.Source) bool { return s.Exhausted() != nil }) {
		rule.Settle(now, before, k.settled())
	}
}

// service answers the questions of a template's page.
func (c *call) service(o check.Options, limits engine.Limits) *service.Service {
	return service.New(service.Options{Version: version(), Check: o, Limits: limits, Tight: limits})
}

// judge says of templates that come together which are tool-capable, and fails where one must and
// none does.
func (k *checking) judge(one *checked, sources []subject.Source) {
	one.sources = sources
	for _, src := range sources {
		one.judge(src)
	}
	if k.tools && len(sources) > 0 {
		one.results = append(one.results, check.ToolCapable(able(sources), k.options)...)
	}
}

// edited checks a template and its changes since the base, with one bound on the renders of both. A
// finding that the base has already does not fail.
func (k *checking) edited(one *checked, src subject.Source, was *subject.Source,
	together engine.Options) error {
	o := k.options
	o.Accepted = new([]string)
	if was != nil {
		*o.Accepted = check.Suppressed(was.Text)
	}
	findings := check.Template(src, o)
	edit, err := since(was, src, together)
	if err != nil {
		return err
	}
	switch {
	case edit.was == nil:
	case edit.was.Text == src.Text:
		rule.Settle(findings, slices.Clone(findings), k.settled())
	default:
		before := check.Template(*edit.was, o)
		for i := range before {
			before[i].Suite = src.Name
		}
		k.settle(findings, before, []subject.Source{src, *edit.was})
	}
	one.results = append(append(one.results, findings...), edit.changes...)
	if edit.was == nil || edit.was.Text != src.Text {
		one.edits = append(one.edits, fmt.Sprintf("edit: %s: %s", src.Name, edit.class(findings)))
	}
	return nil
}

// allClients is the client that means every client.
const allClients = "all"

// clientsNamed returns the clients of names.
func clientsNamed(names []string) ([]clients.Client, error) {
	var list []clients.Client
	for _, name := range names {
		if name == allClients {
			return clients.All(), nil
		}
		client, ok := clients.Named(name)
		if !ok {
			return nil, fmt.Errorf("--client %s: no such client%s; there are %s and all", name,
				meant(name, clients.Names()), strings.Join(clients.Names(), ", "))
		}
		list = append(list, client)
	}
	return list, nil
}

var explainCommand = command{
	group: judging, name: "explain", args: "RULE", takes: arity{1, 1, "a rule"},
	files: words(ruleNames),
	short: "explain a rule: its damage and its fix",
	long: "RULE is an id, such as A012, D004 of changes or S014 of servers, or a name, such as " +
		"null-content-printed. \"all\" prints every rule.",
	setup: func(flags *flagSet) func(*call) error {
		json := flags.Bool("json", false, "print JSON")
		return func(c *call) error {
			return explain(c, *json)
		}
	},
}

// books have all rules: those of templates, of edits and of servers.
func books() []*rule.Book {
	return []*rule.Book{check.Book(), revision.Book(), live.Book(), provider.Book()}
}

func explain(c *call, json bool) error {
	if c.args[0] == allRules {
		return explainAll(c, json)
	}
	for _, book := range books() {
		r, ok := book.Lookup(c.args[0])
		switch {
		case !ok:
		case json:
			return writeJSON(c.stdout, r)
		default:
			_, err := fmt.Fprint(c.stdout, strings.TrimPrefix(r.Markdown(), "## "))
			return err
		}
	}
	return fmt.Errorf("there is no rule %q%s; `assay "+
		"explain all` lists them", c.args[0], meant(c.args[0], ruleNames()))
}

func explainAll(c *call, json bool) error {
	var rules []rule.Rule
	var pages []string
	for _, book := range books() {
		rules = append(rules, book.Rules...)
		pages = append(pages, book.Manual())
	}
	if json {
		return writeJSON(c.stdout, rules)
	}
	_, err := fmt.Fprint(c.stdout, strings.Join(pages, "\n"))
	return err
}

// allRules is the argument of explain that means every rule.
const allRules = "all"

// ruleNames names every rule, and all.
func ruleNames() []string {
	names := []string{allRules}
	for _, book := range books() {
		for _, r := range book.Rules {
			names = append(names, r.ID, r.Name)
		}
	}
	return names
}
