package requests

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
	"github.com/goassay/assay/harness/report"
)

// place is where in the template a fault is: the place that wrote the first byte that differs.
func place(s *probe.Subject, f variant.Fault) probe.Where {
	if e := (*source.Error)(nil); errors.As(f.Err, &e) {
		return probe.Offset(e.Off).Shown(f.Input)
	}
	if f.Kind == variant.Lost {
		if at := s.Rendered(f.Got, f.Input).Near(f.Text); at.Known() {
			return at
		}
	}
	got := s.Rendered(f.Got, f.Input)
	return got.Instead(min(f.Off, len(f.Got)), f.Want[f.WantOff:], got.At(min(f.Off, len(f.Got)-1)))
}

// cause is faults with one cause: those at one place of the template.
type cause struct {
	at     probe.Where
	faults []variant.Fault
}

// causes sorts the faults that a rule is about by their places, in the order of the first ones.
func causes(s *probe.Subject, about func(variant.Fault) bool) []cause {
	var all []cause
	for _, f := range variant.Faults.Of(s) {
		if !about(f) {
			continue
		}
		at := place(s, f)
		i := slices.IndexFunc(all, func(c cause) bool {
			return c.at.Off() == at.Off()
		})
		if i < 0 {
			all = append(all, cause{at: at, faults: []variant.Fault{f}})
		} else {
			all[i].faults = append(all[i].faults, f)
		}
	}
	return all
}

// others are the further spellings of a cause, a line each; and the clients that send the first.
func (c cause) others() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sent by: %s", c.faults[0].In.By)
	for _, f := range c.faults[1:] {
		fmt.Fprintf(&b, "\nthe same: %s (%s)", f.In.Name, view.Names(f.Views))
	}
	return b.String()
}

// asked is the test of the template that takes calls which are there and empty for calls, as a
// line; "" where a fault is about something else, or there is none.
func asked(s *probe.Subject, f variant.Fault) string {
	if strings.Contains(f.In.Name, `"tool_calls"`) {
		for n := range s.Source.Parts().All() {
			if n.Is(edit.Test, "defined") && n.X.Is(edit.Member, "tool_calls") ||
				n.Is(edit.Compare, "in") && n.X.Is(edit.Text, "tool_calls") {
				return fmt.Sprintf("\nthe cause: `%s` in line %d holds for null and for [], which "+
					"`message.tool_calls` alone does not", n.Source,
					probe.PlaceAt(s.Source, n.Off).Line)
			}
		}
	}
	return ""
}

// excerpts shows a prompt and that of the plain request where they part, a line each; nothing where
// they are alike there, of which the place tells.
func excerpts(f variant.Fault) string {
	got, want := report.Quote(f.Got, f.Off), report.Quote(f.Want, f.WantOff)
	if got == want || f.Kind == variant.Lost && !strings.Contains(f.Want, f.Text) {
		return ""
	}
	return fmt.Sprintf("the model sees: %s\nit should see:  %s\n", got, want)
}

// says reports whether a fault is of a spelling that says the same as its plain request.
func says(f variant.Fault) bool {
	return slices.Contains([]sent.Relation{sent.Same, sent.Alike, sent.Renamed}, f.In.Relation)
}

// late reports whether a fault is of instructions that come late or twice.
func late(f variant.Fault) bool {
	return f.In.Relation == sent.Whole && slices.ContainsFunc(f.In.Sent.At("messages").Items()[1:],
		func(m ordered.Value) bool { return m.At("role").Text() == "system" })
}
