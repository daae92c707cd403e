package mutate

import (
	"context"
	_ "embed" // the conversations
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/diff"
)

//go:embed testdata/reference.jsonl
var reference string

// Reference returns the conversations by whose renderings mutants are divided, as a server gives
// them to a template that fits nothing. They are fixed, and have no part in the checks.
var Reference = sync.OnceValue(func() []chattemplate.Input {
	var all []chattemplate.Input
	for line := range strings.Lines(reference) {
		in := chattemplate.Input{}
		for _, m := range ordered.MustParse(line).Members() {
			switch m.Key {
			case "messages":
				in.Messages = m.Value.Items()
			case "tools":
				in.Tools = m.Value.Items()
			case "add_generation_prompt":
				in.Generate = m.Value.Bool()
			default:
				in.Kwargs = append(in.Kwargs, m)
			}
		}
		all = append(all, in)
	}
	return all
})

// failed stands for the rendering of a conversation that a template refuses.
const failed = "\x00failed"

// Renders renders the conversations of the reference. The error is that of a template that is no
// valid Jinja.
func Renders(text string) ([]string, error) {
	t, err := chattemplate.Compile(context.Background(), source.New("template", text), subject.BOS,
		subject.EOS,
		subject.Now)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(Reference()))
	for i, in := range Reference() {
		if all[i], err = t.Render(in); err != nil {
			all[i] = failed
		}
	}
	return all, nil
}

// Gate judges an edit as `assay check --base` does: it returns the rules of the errors and warnings
// that the edit brings, and those by which the gate fails.
func Gate(was, is subject.Source) (loud, fails []string) {
	var found []Found // in the edited one and in the original
	edit := diff.Since(context.Background(), &was, is, nil, engine.Options{},
		func(s subject.Source) []rule.Result {
			results := check.Template(s, check.Options{Requests: true})
			_, more := Count(results)
			found = append(found, more)
			return results
		})
	rule.Settle(edit.Findings[1], edit.Findings[0], "")
	rule.Close(edit.Findings[1], "")
	for _, res := range slices.Concat(edit.Findings[1], edit.Changes) {
		if res.Bad() {
			fails = append(fails, res.Rule)
		}
	}
	return found[0].More(found[1]), fails
}

// Template is a template that mutants are made of.
type Template struct {
	Name, Text string

	renders []string
	found   func() (all, loud Found)
}

// NewTemplate looks at a template before any mutant.
func NewTemplate(name, text string) (*Template, error) {
	renders, err := Renders(text)
	if err != nil {
		return nil, err
	}
	return &Template{Name: name, Text: text, renders: renders,
		found: sync.OnceValues(func() (all, loud Found) {
			return Check(subject.New(name, text))
		})}, nil
}

// Verdict is how a mutant was judged.
type Verdict struct {
	Changes bool     // a rendering of the reference
	Noticed []string // the rules by which the checks find more than they did, notes included
	Loud    []string // those among them that are errors and warnings
	Class   string   // its class by the comparison of revisions; "" where it was not asked
}

// Changes reports whether a mutant changes a rendering of the reference. One that does not compile
// does.
func (t *Template) Changes(m Mutant) bool {
	renders, err := Renders(m.Text)
	return err != nil || !slices.Equal(renders, t.renders)
}

// Judge judges a mutant. The comparison of revisions is asked where compare is true.
func (t *Template) Judge(m Mutant, compare bool) Verdict {
	v := Verdict{Changes: t.Changes(m)}
	src := subject.New(t.Name, m.Text)
	all, loud := Check(src)
	allBefore, loudBefore := t.found()
	v.Noticed, v.Loud = all.More(allBefore), loud.More(loudBefore)
	if compare {
		v.Class = diff.Between(subject.New(t.Name, t.Text), src).Class
	}
	return v
}
