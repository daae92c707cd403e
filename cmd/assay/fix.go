package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/report/safefile"
)

var fixCommand = command{
	group: judging, name: "fix", args: "TEMPLATE...", takes: arity{1, -1, "at least one template"},
	files: templateFiles,
	short: "patch the faults of a template that need no judgement",
	long: `Null content, arguments as text, tools without a description or parameters, values in
Python's spelling, unions in types, names that the language does not have. Patches are printed as a
unified diff; --write writes the files. A patch is offered only where it is proven: every
conversation that was rendered well is rendered as before, the fault is gone, and no rule of "assay
check" finds anything that it did not find before. Faults that cannot be mended are listed with the
reason, and make the exit status 1. docs/fix.md has more.`,
	setup: func(flags *flagSet) func(*call) error {
		f := new(fixing)
		flags.BoolVar(&f.write, "write", false, "write the files in place of a diff")
		flags.BoolVar(&f.options.Refuse, "refuse", false, "refuse arguments as text in words "+
			"where the template needs an object")
		flags.StringArrayVar(&f.options.Only, "select", nil, "mend the kinds of fault that the rule "+
			"with this `ID` finds and no others; may be given again")
		flags.completes("select", fix.Rules)
		flags.BoolVar(&f.json, "json", false, "print JSON")
		limits := limitFlag(flags, edited)
		return func(c *call) error {
			f.options.Limits = limits.Limits
			return f.run(c)
		}
	},
}

type fixing struct {
	options     fix.Options
	write, json bool
}

func (f *fixing) run(c *call) error {
	named, err := c.found(c.args)
	if err != nil {
		return err
	}
	f.options.Rest = f.options.Only == nil
	all := []fix.Report{}
	mended, left := 0, 0
	var cut []error
	for _, name := range named {
		sources, err := f.mendable(c, name)
		if err != nil {
			return err
		}
		for _, src := range sources {
			m := fix.Mend(c.ctx, src, f.options, check.Options{})
			if f.write && len(m.Patches) > 0 {
				if err := rewrite(m); err != nil {
					return err
				}
			}
			mended, left = mended+len(m.Patches), left+len(m.Left)+len(m.Rest)
			if m.Unjudged != nil {
				cut = append(cut, m.Unjudged)
			}
			all = append(all, f.report(c, m))
		}
	}
	switch {
	case f.json:
		if err := writeJSON(c.data(), all); err != nil {
			return err
		}
	case mended+left == 0 && cut == nil:
		fmt.Fprintln(c.stderr, "there is nothing to mend")
	case mended+left == 0: // the reason follows
	default:
		of := ""
		if f.options.Only != nil { // the errors of other rules are not looked at
			of = " of " + strings.Join(f.options.Only, ", ")
		}
		fmt.Fprintf(c.stderr, "%d mended, %d left%s\n", mended, left, of)
	}
	switch {
	case cut != nil:
		return &failure{errors.Join(cut...)}
	case left > 0:
		return errFailed
	}
	return nil
}

// mendable returns the templates of an argument, each in a file that can be written: of a model
// folder those of all its files but model files.
func (f *fixing) mendable(c *call, name string) ([]subject.Source, error) {
	if !subject.IsModel(name) {
		return c.templates(name)
	}
	m, err := subject.OpenModel(name)
	if err != nil {
		return nil, err
	}
	var all []subject.Source
	for _, src := range m.Sources {
		if !strings.EqualFold(filepath.Ext(src.File), ".gguf") &&
			!slices.ContainsFunc(all, func(s subject.Source) bool {
				return s.File == src.File && s.Text == src.Text
			}) {
			all = append(all, src)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no template in a file that can be edited; for a GGUF file "+
			"see `assay help retemplate`", name)
	}
	return all, nil
}

// report prints the result for a template, and returns it.
func (f *fixing) report(c *call, m *fix.Mended) fix.Report {
	one := m.Report()
	if f.json {
		return one
	}
	if !f.write {
		fmt.Fprint(c.data(), m.Diff())
	}
	for _, p := range m.Patches {
		gone := ""
		if ids := p.Rules(); len(ids) > 0 {
			gone = " [" + strings.Join(ids, ", ") + "]"
		}
		fmt.Fprintf(c.stderr, "%s: mended: %s%s\n", m.Source.Name, p.Kind, gone)
	}
	for _, r := range one.Left {
		fmt.Fprintf(c.stderr, "%s: left: %s: %s\n", r.Place, r.Kind, r.Reason)
	}
	for _, e := range one.Errors {
		fmt.Fprintf(c.stderr, "%s: left: %s [%s]\n", e.Place, e.Text, e.Rule)
	}
	return one
}

// rewrite writes the file of a template with its patches, as a whole or not at all.
func rewrite(m *fix.Mended) error {
	name := m.Source.File
	if name == "-" {
		return usageError{errors.New("--write needs a file; standard input has none")}
	}
	was, err := readFile(name)
	if err != nil {
		return err
	}
	is, err := m.Into(string(was))
	if err != nil {
		return err
	}
	return replaceText(name, is)
}

// replaceText writes another text in the place of a file's. The file keeps who may read and write
// it.
func replaceText(name, text string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file, and is not written; name the file itself",
			filepath.Clean(name))
	}
	return errors.Join(safefile.Write(name, safefile.Text(text)),
		os.Chmod(name, info.Mode().Perm()))
}

// offer notes at the findings of a template that "assay fix" mends them, where it does. The proof
// of each patch costs as much as another check, so offer omits it where no output would have the
// note, and gives up where the search is long: "assay fix" itself goes on.
func (k *checking) offer(c *call, one *checked, src subject.Source) error {
	var mendable, ofClients []*rule.Result
	var ids []string
	const ofRenderer = "A010" // the proof has no second renderer
	rules := fix.Rules()
	if !k.fix && !k.diff {
		rules = slices.DeleteFunc(fix.Offers(), func(id string) bool { return id == ofRenderer })
	}
	for i := range one.results {
		res := &one.results[i]
		isFound := res.IsFinding() && (k.fix || k.diff || k.output.tells(c, res))
		if isFound && res.Suite == src.Name && slices.Contains(rules, res.Rule) {
			mendable, ids = append(mendable, res), append(ids, res.Rule)
		}
		if isFound && res.Suite == src.Name && check.OfClients(res.Rule) {
			ofClients = append(ofClients, res)
		}
	}
	o := fix.Options{Only: ids, Limits: k.limits.Limits}
	if ofClients != nil {
		o.Only = nil
	} else if mendable == nil {
		return nil
	}
	if k.since == nil && k.options.Only == nil && k.options.Fallbacks == nil {
		for _, res := range one.results {
			if res.Suite == src.Name && !check.OfClients(res.Rule) && res.Rule != ofRenderer {
				o.Findings = append(o.Findings, res)
			}
		}
	}
	if !k.fix && !k.diff {
		o.Offered, o.Limits = ofClients == nil, fix.Offering(o.Limits)
	}
	m := fix.Mend(c.ctx, src, o, check.Options{})
	if len(m.Patches) == 0 {
		return nil
	}
	var still []rule.Result
	if ofClients != nil {
		still = check.Clients(src.WithText(m.Text).Limited(c.ctx, o.Limits), k.options, k.clients)
	}
	for _, res := range ofClients {
		if !slices.ContainsFunc(still, func(s rule.Result) bool { return s.Same(res) }) {
			res.Advise("`assay fix " + src.File + "` mends it")
			res.Fixable = true
		}
	}
	m.Mark(mendable)
	return k.mend(one, m)
}

// mend writes the patches, or keeps their diff, where that was asked for.
func (k *checking) mend(one *checked, m *fix.Mended) error {
	switch {
	case k.diff:
		one.diff += m.Diff()
	case k.fix:
		one.results = slices.DeleteFunc(one.results,
			func(res rule.Result) bool { return res.Fixable && res.Suite == m.Source.Name })
		one.mended += len(m.Patches)
		return rewrite(m)
	}
	return nil
}
