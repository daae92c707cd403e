package conversation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Usual returns the conversations of the seed that is used where no other is asked for.
var Usual = sync.OnceValue(func() *Grammar { return New(1) })

// UsualRenders is how many conversations are tried with a template where nothing else is asked for.
// Most templates show everything that they do to a tenth of them.
const UsualRenders = 400

// Decision is a site of a template with its outcomes that were reached.
type Decision struct {
	flow.Site
	Line, Col int // 1-based, in runes
	Reached   []flow.Outcome
	Searched  bool // some only by requests of the search
	Missing   []flow.Outcome
	Proofs    map[flow.Outcome]string // why missing ones are out of reach, where that is known
}

// Counts returns how many outcomes were reached of how many that count.
func (d Decision) Counts() (reached, all int) {
	count := func(outcomes []flow.Outcome) (n int) {
		for _, o := range outcomes {
			if o != flow.Empty {
				n++
			}
		}
		return n
	}
	return count(d.Reached), count(d.Reached) + count(d.Missing)
}

// Decisions returns the template's decisions in the order of the source.
func (x *Exploration) Decisions() []Decision {
	all := make([]Decision, len(x.Template.Sites()))
	for i, s := range x.Template.Sites() {
		pos := x.Template.Source.Position(s.Off)
		all[i] = Decision{Site: s, Line: pos.Line, Col: pos.Col, Proofs: map[flow.Outcome]string{}}
		for _, o := range s.Kind.Outcomes() {
			if x.Coverage.Reached(i, o) {
				all[i].Reached = append(all[i].Reached, o)
				all[i].Searched = all[i].Searched || o != flow.Empty && !x.Derived.Reached(i, o)
			} else {
				all[i].Missing = append(all[i].Missing, o)
				key := reach.Outcome{Kind: s.Kind, Off: s.Off, Outcome: o}
				if why, ok := x.Proofs[key]; ok {
					all[i].Proofs[o] = why
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Decision) int { return cmp.Compare(a.Off, b.Off) })
	return all
}

const (
	maxLines = 8        // so many lines does a summary name
	maxShown = 16 << 10 // so many bytes are shown of a line of the template, and of a request
)

// Summary says in a line how much of the template was exercised, and which lines decide something
// that no request reached, or only one that was made for it: a rule has judged the others alone.
func (x *Exploration) Summary() string {
	reached, all := x.Counts()
	if all == 0 {
		return "it decides nothing"
	}
	text := fmt.Sprintf("%d of %d outcomes of its branches (%d%%)", reached, all, 100*reached/all)
	var lines, searched []string
	proven := 0
	for _, d := range x.Decisions() {
		line := fmt.Sprint(d.Line)
		proven += len(d.Proofs)
		if got, of := d.Counts(); got+len(d.Proofs) < of && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		if d.Searched && !slices.Contains(searched, line) {
			searched = append(searched, line)
		}
	}
	switch {
	case proven == 1:
		text += "; 1 is out of any request's reach"
	case proven > 1:
		text += fmt.Sprintf("; %d are out of any request's reach", proven)
	}
	if len(lines) > 0 {
		text += "; no request reached all of lines " + some(lines)
	}
	if len(searched) > 0 {
		text += "; only requests made for it reached all of lines " + some(searched)
	}
	return text
}

// some lists lines, up to maxLines.
func some(lines []string) string {
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines:maxLines], fmt.Sprintf("%d more", more))
	}
	return strings.Join(lines, ", ")
}

// String shows the template line by line: how many outcomes were reached of how many the line has,
// and after it those that no request reached. That a loop never had nothing to go through is listed
// in brackets and does not count.
func (x *Exploration) String() string {
	var b strings.Builder
	decisions := x.Decisions()
	for i, line := range strings.Split(x.Template.Source.Text, "\n") {
		reached, all := 0, 0
		var missing []string
		for len(decisions) > 0 && decisions[0].Line == i+1 {
			d := decisions[0]
			decisions = decisions[1:]
			got, of := d.Counts()
			reached, all = reached+got, all+of
			for _, o := range d.Missing {
				text := fmt.Sprintf("%d:%d: %s: never %s", d.Line, d.Col, d.Kind, o)
				if why, ok := d.Proofs[o]; ok {
					text += ", out of reach: " + why
				}
				if o == flow.Empty {
					text = "(" + text + ")"
				}
				missing = append(missing, text)
			}
		}
		counts := ""
		if all > 0 {
			counts = fmt.Sprintf("%d/%d", reached, all)
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%5d %5s | %s", i+1, counts,
			source.Cut(line, maxShown)), " ") + "\n")
		for _, text := range missing {
			b.WriteString("            ! " + text + "\n")
		}
	}
	fmt.Fprintf(&b, "%s\n%d conversations reach them, of %d "+
		"that were tried\n%s", x.Summary(), len(x.Conversations), x.Renders, x.refusals())
	return b.String()
}

// refusals names the errors of a template that renders no conversation of the grammar, and the
// first one of the search that it renders.
func (x *Exploration) refusals() string {
	if x.Rendered != nil && !x.Rendered.Beyond || len(x.Refusals) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("the template renders none of the conversations that clients send:\n")
	for _, r := range x.Refusals {
		fmt.Fprintf(&b, "  %d times: %s\n", r.Count, r.Text)
	}
	if x.Rendered == nil {
		fmt.Fprintf(&b, "and none of the %d that were made of them\n", x.Renders)
		return b.String()
	}
	fmt.Fprintf(&b, "of those that were made of them it renders %d, first: %s\n",
		x.Renders-x.Refused,
		source.Cut(x.Template.Vars(x.Rendered.Input(x.Bound)).String(), maxShown))
	return b.String()
}

// proofs are the reasons why outcomes of a decision are out of reach, as JSON.
func proofs(d Decision) ordered.Value {
	var members []ordered.Member
	for _, o := range d.Missing {
		if why, ok := d.Proofs[o]; ok {
			members = append(members, ordered.MemberOf(o.String(), ordered.Str(why)))
		}
	}
	return ordered.ObjectOf(members...)
}

// Value is the exploration as JSON.
func (x *Exploration) Value() ordered.Value {
	names := func(outcomes []flow.Outcome) ordered.Value {
		return ordered.ListOf(outcomes, func(o flow.Outcome) ordered.Value {
			return ordered.Str(o.String())
		})
	}
	reached, all := x.Counts()
	var sites []ordered.Value
	for _, d := range x.Decisions() {
		sites = append(sites, ordered.Pairs("line", d.Line, "column", d.Col,
			"kind", d.Kind.String(), "reached", names(d.Reached), "missing", names(d.Missing),
			"proofs", proofs(d)))
	}
	return ordered.Pairs("reached", reached, "outcomes", all, "conversations", len(x.Conversations),
		"tried", x.Renders, "refused", x.Refused, "sites", sites)
}
