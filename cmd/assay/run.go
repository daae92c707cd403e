package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/golden"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/equivalence"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/reduce"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/foreign/gonja"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/spelling"
)

var runCommand = command{
	group: proving, name: "run", args: "[CORPUS]", takes: arity{0, 1, "at most one corpus"},
	files: folders,
	short: "run a corpus: automatic checks, scripts and goldens of every template",
	long: `Without CORPUS the embedded one runs. CORPUS is a folder of families:
<family>/template.jinja and <family>/*.txtar. With --vendor every case runs with the vendors'
templates as well, which must have the SHA-256 that vendor.lock pins and be equivalent to their
family's own template: the same capabilities, the same spelling of reasoning, content and calls. The
last lines are a matrix of templates and checks. Failures that known.txt of the corpus lists with a
reason must occur.`,
	setup: func(flags *flagSet) func(*call) error {
		r := new(corpusRun)
		flags.StringVar(&r.vendor, "vendor", "", "`DIR` with the vendors' templates (make deps: "+
			".deps/llama.cpp/models/templates)")
		flags.BoolVar(&r.suite.Update, "update", false, "rewrite the expectations of CORPUS's scripts")
		flags.BoolVar(&r.suite.Continue, "continue", false, "go on after a command of a "+
			"script that failed")
		flags.StringVar(&r.suite.WorkDir, "work", "", "keep the scripts' folders below `DIR`")
		flags.BoolVar(&r.shrink, "minimize", false, "shrink the first case that fails, and print "+
			"a script that shows it")
		flags.StringVar(&r.only, "run", "", "run only the template or family with this `NAME`")
		flags.completes("run", familyNames)
		r.output, r.limits = outputFlags(flags), limitFlag(flags, lookedAt)
		r.output.least = rule.Error // of all those templates
		return r.run
	},
}

type corpusRun struct {
	output       *output
	limits       *limits
	suite        script.Suite
	vendor, only string
	shrink       bool
	embedded     bool // the corpus is the embedded one, whose goldens are embedded too
	second       gonja.Renderer
}

func (r *corpusRun) run(c *call) error {
	if err := r.load(c); err != nil {
		return err
	}
	defer r.second.Close()
	if err := r.output.shard.choose(c); err != nil {
		return err
	}
	variants := take(r.output.shard, r.choose(r.suite.Variants()),
		func(v script.Variant) string { return r.contents(c, v) })
	switch {
	case len(variants) > 0:
	case r.only != "":
		return fmt.Errorf("--run %s: no template or family "+
			"has that name%s", r.only, spelling.Meant(r.only, r.names()))
	case r.output.shard.Of > 0:
		return errors.New("the shard has no templates: there are fewer than shards")
	default:
		return fmt.Errorf("%s has no family with a case; a family is a folder with %s and %s or "+
			"a case of its own, *.txtar",
			r.suite.Dir, families.OwnTemplate, families.Outputs)
	}
	all := &report.Report{Command: "run", Version: version(), Rules: check.Rules()}
	matrix := report.NewMatrix(append(check.Groups(), script.Group, equivalence.Group,
		golden.Group)...)
	var failed []failedScripts
	return each(c, "templates", variants,
		func(v script.Variant) ([]rule.Result, error) { return r.template(c, v) },
		func(v script.Variant, results []rule.Result, err error) error {
			if err != nil {
				return err
			}
			rule.Expect(results, r.suite.Corpus.Known, key)
			matrix.Add(results...)
			r.output.keep(c, all, nil, results...)
			if broken := failing(results); r.shrink && len(broken) > 0 {
				failed = append(failed, failedScripts{v, broken})
			}
			return nil
		}, func(complete bool) error {
			if r.shrink {
				return r.minimize(c, failed)
			}
			if complete && r.vendor != "" && r.only == "" && r.output.shard.Of == 0 {
				// listed cases fail, so they were kept
				unused := rule.Unused(all.Results, r.suite.Corpus.Known, key)
				all.Results = append(all.Results, unused...)
			}
			if form := r.output.form(c); form == formLong || form == formGitHub {
				fmt.Fprint(c.stdout, matrix)
			}
			if complete && r.embedded && r.only == "" {
				all.Conclusions = append(all.Conclusions, "next: `assay check FILE` judges a "+
					"template of yours, `assay help` lists the other commands")
			}
			return r.output.write(c, all)
		})
}

// contents names a variant by the digest of its template; one that cannot be read by its name.
func (r *corpusRun) contents(c *call, v script.Variant) string {
	src, err := r.suite.Source(c.ctx, v)
	if err != nil {
		return v.Name
	}
	return manifest.Digest(src.Text)
}

// failedScripts are the scripts that fail with a template.
type failedScripts struct {
	variant script.Variant
	results []rule.Result
}

// failing returns the results of scripts that fail.
func failing(results []rule.Result) []rule.Result {
	return lists.Filter(results, func(res rule.Result) bool {
		return res.Group == script.Group && res.Status == rule.Failed
	})
}

// minimize shrinks the first case that fails.
func (r *corpusRun) minimize(c *call, all []failedScripts) error {
	var failed error
	for _, broken := range all {
		v := broken.variant
		src, err := r.suite.Source(c.ctx, v)
		if err != nil {
			return err
		}
		for _, res := range broken.results {
			cases, err := script.Read(r.suite.Corpus.FS, v.Family.Name+"/"+res.Name+".txtar")
			if err != nil { // the script itself is at fault
				fmt.Fprintln(c.stderr, source.Detail(err))
			}
			for _, s := range cases {
				big, err := reduce.FromScript(src, s)
				if err != nil {
					return fmt.Errorf("%s %s: %w", v.Name, res.Name, err)
				}
				if holds, err := c.minimize(big); !holds {
					return err
				}
			}
			failed = errFailed
			fmt.Fprintf(c.stderr, "%s %s fails otherwise than by parse, stream, finish, accept "+
				"or roundtrip, and cannot be shrunk\n", v.Name, res.Name)
		}
	}
	if failed == nil {
		fmt.Fprintln(c.stderr, "no case fails, so there is nothing to shrink")
	}
	return failed
}

// load opens the corpus.
func (r *corpusRun) load(c *call) (err error) {
	if len(c.args) == 1 {
		r.suite.Dir = c.args[0]
	} else {
		if r.suite.Update {
			return errors.New("the embedded corpus cannot be updated; name the folder")
		}
		r.embedded, r.suite.Root = true, "corpus"
	}
	if r.suite.Corpus, err = loadCorpus(c.args); err != nil {
		return err
	}
	r.suite.Limits = r.limits.Limits
	if r.vendor != "" {
		r.suite.Vendor, r.suite.Vendors = os.DirFS(r.vendor), r.vendor
	}
	return nil
}

// loadCorpus loads the corpus of the folder that the arguments name, the embedded one without any.
func loadCorpus(args []string) (*families.Corpus, error) {
	fsys := fs.FS(corpus.FS)
	if len(args) == 1 {
		var err error
		if fsys, err = openCorpus(args[0]); err != nil {
			return nil, err
		}
	}
	return families.Load(fsys)
}

// openCorpus is the folder of a corpus. Errors of files in it have names below it, so that the
// folder is looked for here. A link in it that leads out of it is an error where it is followed.
func openCorpus(dir string) (fs.FS, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, expected the folder of a corpus", dir)
	}
	return families.Open(dir)
}

// template runs everything on one template.
func (r *corpusRun) template(c *call, v script.Variant) ([]rule.Result, error) {
	src, err := r.suite.Source(c.ctx, v)
	if err != nil {
		return nil, err
	}
	var options check.Options
	if !r.limits.untrusted {
		options.Renderer = &r.second
	}
	results := check.Template(src, options)
	if len(v.Family.Cases) > 0 {
		cases, err := r.suite.Results(c.ctx, v, src, r.output.verbose)
		if err != nil {
			return nil, err
		}
		results = append(results, cases...)
	}
	t, err := src.Compile()
	if err != nil {
		return results, nil // the checks say so
	}
	if v.Vendor != nil {
		own, ok, err := r.own(c, v.Family.Name)
		if err != nil {
			return nil, err
		}
		if ok {
			results = append(results, equivalence.Compare(*v.Vendor, own, t))
		}
	}
	if r.embedded {
		results = append(results, golden.Compare(v.Name, folder(v), t)...)
	}
	return results, nil
}

// own returns the common properties of a family's templates, read off its own one. One that does
// not compile fails in its own checks.
func (r *corpusRun) own(c *call, family string) (shared string, ok bool, err error) {
	text, err := r.suite.Corpus.Text(family)
	if err != nil {
		return "", false, err
	}
	t, err := subject.New(family, text).Limited(c.ctx, r.limits.Limits).Compile()
	if err != nil {
		return "", false, nil
	}
	return equivalence.Text(t), true, nil
}

// folder is a variant's place in the store of goldens.
func folder(v script.Variant) string {
	if v.Vendor != nil {
		return golden.Vendor(v.Vendor.Name)
	}
	return golden.Own(v.Family.Name)
}

// key is how known.txt names a result: the template, and the rule, script or golden.
func key(res *rule.Result) string {
	if res.Rule != "" {
		return res.Suite + " " + res.Rule
	}
	return res.Suite + " " + res.Name
}

// names are the names that --run may have.
func (r *corpusRun) names() []string {
	var names []string
	for _, v := range r.suite.Variants() {
		names = append(names, v.Name, v.Family.Name)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func (r *corpusRun) choose(variants []script.Variant) []script.Variant {
	if r.only == "" {
		return variants
	}
	return slices.DeleteFunc(variants,
		func(v script.Variant) bool { return v.Name != r.only && v.Family.Name != r.only })
}
