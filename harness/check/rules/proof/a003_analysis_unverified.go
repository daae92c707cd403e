package proof

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// AnalysisUnverified is the rule A003: the text that the template writes for a message is not read
// back as that message, or the format that was found spells it otherwise.
var AnalysisUnverified = &probe.Rule{
	Rule: rule.Rule{
		ID: "A003", Name: "analysis-unverified", Severity: rule.Error, Harm: rule.Misread,
		Short: "An assistant message that the template writes is not read back as it was.",
		Damage: "Clients get tool calls as content, arguments of another type, or no " +
			"reasoning_content.",
		Fix: "Write content, reasoning and tool calls each in one way, between markers that " +
			"nothing else uses. `assay analyze --explain TEMPLATE` shows which marker was found " +
			"where.",
	},
	Group: probe.GroupVerify,
	Find:  checkVerified,
}

func checkVerified(s *probe.Subject, find probe.Finder) {
	g, known := grouped(s), map[string]string{}
	for _, shape := range s.Template.Verify().Shapes {
		text, short := "", ""
		for _, fault := range shape.Faults {
			switch {
			case fault.Proof == verify.Grammar: // A006
			case shape.Turn == "":
				text += "\nno parser can be made for it: " + fault.Text
				short = wrong(fault.Text)
			case fault.Proof == verify.Parse:
				text += "\na parser of this format reads another message: " + fault.Text
				short = wrong(fault.Text)
			default:
				text += "\nother messages have it in another form: " +
					strings.Replace(fault.Text, "where the format has", "where they have", 1)
				short = cmp.Or(other(fault.Text), short)
			}
		}
		if text == "" {
			continue
		}
		cause := cmp.Or(known[text], fmt.Sprint(shape.Tools))
		known[text] = cause
		text = "an assistant message with " + shape.Name + " cannot be read back as it was: " +
			cmp.Or(short, "it is written in another form than others") + text
		if shape.Turn != "" {
			text += fmt.Sprintf("\nthe template writes: %q", shape.Turn)
		}
		// Of shapes with calls that fail a proof the first one says why, and so it is with those
		// without.
		g.add(shape, cause, "%s", text)
	}
	// Where nothing failed and nothing is proven, a template that writes no answers shows nothing
	// that could be wrong; one that refuses them, or that declares calls and writes none, hides
	// them. One that refuses answers and never looks at whether an answer is asked for has none: it
	// serves an embedding or a judge, and no chat.
	report, gate := s.Template.Verify(), s.Template.Gate()
	refuses := report.Shapes[0].Verdict == verify.Refused && prompts(s)
	if gate.Unverified != nil && report.OK() && (gate.ToolCapable() || refuses) {
		probe.Unjudged(find, gate.Unverified)
	}
	var whys []string
	names := map[string][]string{}
	for _, shape := range s.Template.Verify().Shapes {
		if shape.Verdict == verify.Unjudged {
			if names[shape.Note] == nil {
				whys = append(whys, shape.Note)
			}
			names[shape.Note] = append(names[shape.Note], shape.Name)
		}
	}
	for _, why := range whys {
		probe.Unjudged(find, fmt.Errorf("%s: %s", strings.Join(names[why], ", "), why))
	}
	g.find(find, "the same", func(shape verify.Shape) probe.Where { return turn(s, shape) })
}

// wrong names the part of a message that is read as another one, by the fault that quotes both.
func wrong(fault string) string {
	for _, verb := range []string{" is read as ", " are read as "} {
		if part, _, ok := strings.Cut(fault, verb); ok {
			return part + strings.TrimSuffix(verb, "read as ") + "read as another text"
		}
	}
	return shortened(fault, brief)
}

// shortened is a text up to so many bytes.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return source.Head(text, most) + "..."
}

// brief bounds a text in a headline, in bytes.
const brief = 50

// other names the two forms of a fault that quotes what the template writes, and what it writes of
// other messages; "" where it does not.
func other(fault string) string {
	wrote, want, ok := strings.Cut(fault, ", where the format has ")
	if _, text, found := strings.Cut(wrote, " the template writes "); ok && found {
		return "it has " + quoted(text) + " where others have " + quoted(want)
	}
	return ""
}

// quoted shortens a quoted text for a headline.
func quoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return strconv.Quote(shortened(plain, brief/2))
	}
	return shortened(text, brief)
}

// prompts reports whether the template looks at whether an answer is asked for.
func prompts(s *probe.Subject) bool {
	asked, err := s.Fitted(sample.Talk(sample.User), false, true)
	o, ok := asked.Observe()
	if err != nil || !ok {
		return true // nothing is known of it
	}
	_, looked := o.Trace.Reading("add_generation_prompt")
	return looked
}
