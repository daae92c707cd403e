package conditions

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/words"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// KnowsThatItIsTested is the rule A113: the template does something else with the words that tests
// use than with any others.
var KnowsThatItIsTested = &probe.Rule{
	Rule: rule.Rule{
		ID: "A113", Name: "knows-that-it-is-tested", Severity: rule.Error, Harm: rule.Changed,
		Short:  "The template treats the words that tests use differently from any others.",
		Damage: "Tests see another prompt than users do: whatever they find says nothing.",
		Fix:    "Let nothing depend on the text of messages.",
	},
	Unsuppressible: true,
	Find:           checkTested,
}

// face is a template's behaviour on a conversation.
type face struct {
	text     string // the prompt or the error, with the usual words in the place of drawn ones
	coverage jinja.Coverage
}

func (f *face) sameWay(other *face) bool {
	return within(&f.coverage, &other.coverage) && within(&other.coverage, &f.coverage)
}

// within reports whether a coverage reached nothing that another one did not.
func within(a, b *jinja.Coverage) bool {
	var all jinja.Coverage
	all.Add(b)
	return !all.Add(a)
}

// checkTested renders conversations with the usual words of probes, and with two sets of drawn ones
// that are as long. Where both of these are treated alike and the usual ones are not, the template
// knows them.
func checkTested(s *probe.Subject, find probe.Finder) {
	for _, turns := range [][]ordered.Value{
		sample.Talk(sample.System, sample.User, sample.Answer, sample.LaterUser),
		sample.Talk(sample.User, sample.CallTurn, sample.Result),
		sample.Talk(chat.User("Hello there, Weather? Vqx vq_x vqcall1 SECONDCITY")),
	} {
		usual, one, two := faceOf(s, turns, nil), faceOf(s, turns, mask(s, 1)), faceOf(s, turns,
			mask(s, 2))
		switch {
		case one.text == two.text && usual.text != one.text:
			find(probe.Nowhere, "the template knows the words of this check, and writes "+
				"another prompt for them\n%s",
				report.Sides("tested", usual.text, "otherwise", one.text))
			return
		case one.sameWay(&two) && !usual.sameWay(&one):
			find(probe.Nowhere, "the template knows the words of this check, and takes "+
				"another branch for them")
			return
		}
	}
}

// mask returns a mask that is not the one of a gate's seed.
func mask(s *probe.Subject, n uint64) *words.Mask {
	const apart = 0x9e3779b97f4a7c15 // far from any seed that is drawn
	return words.NewMask(n*apart, s.Source.Text)
}

// faceOf renders a conversation with the words that a mask draws, or with the usual ones.
func faceOf(s *probe.Subject, turns []ordered.Value, m *words.Mask) face {
	t := *s.Template.ChatTemplate()
	t.Mask = m
	o, err := t.ObserveBranches(chattemplate.Input{
		Messages: turns, Tools: s.Tools(), Generate: true, Kwargs: s.Template.Caps().Needs.Bound,
	})
	if err != nil {
		return face{"error: " + probe.FirstLine(err), o.Coverage}
	}
	return face{o.String, o.Coverage}
}
