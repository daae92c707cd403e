package lists

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/fact/spelling"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// InstructionsDiffer is the rule A084: the prompt shows how to write a call, and the calls of the
// history are spelt otherwise.
var InstructionsDiffer = &probe.Rule{
	Rule: rule.Rule{
		ID: "A084", Name: "instructions-differ", Severity: rule.Warning, Harm: rule.Misread,
		Short:  "The instructions show one form of tool call, and the history has another.",
		Damage: "The model mixes the two, and no parser reads the mixture.",
		Fix:    "Copy a tool call as the template writes it into the instructions.",
	},
	Find: checkInstructions,
}

// The most pieces of a call and of instructions that are compared, which costs the square of the
// former times the latter. Those of templates in public use have a third of it at most.
const maxSpelled, maxShown = 100, 1_000

// checkInstructions aligns the pieces of a call in the history with those of the instructions.
// Where most of them are found in a row and not all, or with other line feeds or quotes, the
// instructions show another spelling.
func checkInstructions(s *probe.Subject, find probe.Finder) {
	checkSpoken(s, find)
	checkHalved(s, find)
	c := s.Template.Caps()
	if !c.ToolCalls || !c.Tools {
		return
	}
	history, ok := spelling.Spelled(s)
	if !ok || len(history.Pieces) < 2 {
		return
	}
	shown, ok := shown(s)
	if !ok {
		return
	}
	known := map[string]bool{}
	for _, p := range history.Pieces {
		known[p.Word] = true
	}
	var found []spelling.Piece
	for _, p := range shown.Pieces {
		if known[p.Word] {
			found = append(found, p)
		}
	}
	if found = collapse(found); len(history.Pieces) > maxSpelled || len(found) > maxShown {
		probe.Unjudged(find, fmt.Errorf(
			"a call has %d pieces and the instructions have %d, more than %d "+
				"and %d that are compared", len(history.Pieces), len(found), maxSpelled, maxShown))
		return
	}
	best, differences, matched := 0, 0, [][2]spelling.Piece(nil)
	for i := range found {
		window := found[i:min(i+2*len(history.Pieces), len(found))]
		m := align(history.Pieces, window)
		n := len(differing(history, shown, m))
		if len(m) > best || len(m) == best && n < differences {
			best, differences, matched = len(m), n, m
		}
	}
	said := 0
	for _, m := range matched {
		if m[1].Spoken {
			said++
		}
	}
	if best == 0 || 2*best < len(history.Pieces) || 2*said > best {
		return // the instructions show no call
	}
	from, to := matched[0][1].At, matched[len(matched)-1][1].To
	blame := func(off int, what string) {
		find(shown.At(off), "the instructions show tool calls in another form than the history: "+
			"%s\n- shown:   %s\n+ history: %s", what,
			probe.JSON(shown.Text[from:min(to+40, shown.End)]), probe.JSON(history.Text))
	}
	for i, p := range history.Pieces {
		if !slices.ContainsFunc(matched,
			func(m [2]spelling.Piece) bool { return m[0].At == p.At }) &&
			!history.Around(i, matched) {
			blame(from, "they lack "+probe.JSON(p.Text))
			return
		}
	}
	for _, m := range matched {
		other := func(p spelling.Piece) bool {
			return p.Key == m[0].Key && p.Side == markup.Closing && p.Quote == 0 && !p.Spoken &&
				p.At > m[1].At
		}
		if m[0].Side == markup.Closing || m[0].Quote != 0 || slices.ContainsFunc(history.Pieces,
			other) {
			continue
		}
		if at := slices.IndexFunc(shown.Pieces, other); at >= 0 {
			blame(from, probe.JSON(shown.Pieces[at].Text)+" is not in the calls of the history")
			return
		}
	}
	if at, ok := history.Quotes(shown, matched); ok {
		blame(at, "a string stands in the history without quotes")
		return
	}
	if differ := differing(history, shown, matched); differ != nil {
		found := differ[0]
		blame(found.off, found.what)
	}
}

// checkSpoken looks for an opening marker that the instructions speak of without its closing one,
// though turns have both.
func checkSpoken(s *probe.Subject, find probe.Finder) {
	closed := map[string]bool{} // keys that some turn closes
	for _, t := range prompts.All.Of(s) {
		for m := range t.Markers() {
			if m.Side == markup.Closing && !m.Slash && !m.Spoken {
				closed[m.Key] = true
			}
		}
	}
	for t := range prompts.Rendered(s) {
		if len(t.Spans) == 0 {
			continue
		}
		said := map[string]bool{}
		var opened []markup.Marker
		for m := range t.Markers() {
			switch {
			case m.At >= t.Spans[0].From:
			case m.Side == markup.Closing:
				said[m.Key] = true
			case m.Side == markup.Opening && m.Spoken && closed[m.Key]:
				opened = append(opened, m)
			}
		}
		for _, m := range opened {
			if !said[m.Key] {
				t.Show(s, find, m.At, "the instructions mention %s and not the marker that "+
					"belongs to it", probe.JSON(t.Text[m.At:m.To]))
				return
			}
		}
	}
}

// checkHalved looks for the same words around a pair of markers and around a half of one.
func checkHalved(s *probe.Subject, find probe.Finder) {
	type words struct{ before, after string }
	for _, p := range prompts.Preambles(s) {
		pairs, halves := map[words]bool{}, map[words]markup.Marker{}
		var order []words
		found := markup.In(p.Own)
		for i := 0; i < len(found); i++ {
			m, to := found[i], found[i].To
			pair := i+1 < len(found) && found[i+1].At == to && found[i+1].Key == m.Key &&
				found[i+1].Side == markup.Closing
			if pair {
				to = found[i+1].To
			}
			before, after := strings.Fields(p.Own[max(0, m.At-markup.Longest):m.At]),
				strings.Fields(p.Own[to:min(len(p.Own), to+markup.Longest)])
			if !m.Spoken || len(before) == 0 || len(after) < 2 {
				continue
			}
			around := words{before[len(before)-1], after[0] + " " + after[1]}
			if pair {
				pairs[around] = true
				i++
			} else if _, known := halves[around]; !known {
				halves[around] = m
				order = append(order, around)
			}
		}
		for _, around := range order {
			if m := halves[around]; pairs[around] {
				p.In.Show(s, find, m.At, "the instructions name %s alone, and both markers of "+
					"another pair in the same sentence", probe.JSON(p.Own[m.At:m.To]))
				return
			}
		}
	}
}

// difference is where two spellings of the same pieces differ.
type difference struct {
	off  int
	what string
}

// differing compares quotes and line feeds of pieces that belong together. The text before the
// first and after the last is no part of a call, and where the instructions have words between two
// and the history has none, those stand for more.
func differing(history, shown spelling.Spelling, matched [][2]spelling.Piece) []difference {
	var all []difference
	worded := func(i int) bool { // before the piece
		said := func(s spelling.Spelling, side int) bool {
			from, to := matched[i-1][side].To, matched[i][side].At
			return from < to && strings.TrimSpace(s.Rendering.Text[from:to]) != ""
		}
		return said(shown, 1) && !said(history, 0)
	}
	for i, m := range matched {
		h, p := m[0], m[1]
		switch {
		case h.Quote != p.Quote:
			all = append(all, difference{p.At, "other quotes around " + h.Word})
		case h.Quote == 0 && h.After != p.After && i < len(matched)-1 && !p.Spoken &&
			!worded(i+1):
			all = append(all, difference{p.At, lineFeed(h.After) + " after " + probe.JSON(p.Text)})
		case h.Quote == 0 && h.Before != p.Before && i > 0 && h.Side == markup.Closing &&
			!p.Spoken && !worded(i):
			all = append(all, difference{p.At,
				lineFeed(h.Before) + " before " + probe.JSON(p.Text)})
		}
	}
	return all
}

func lineFeed(wanted bool) string {
	if wanted {
		return "the line feed is missing"
	}
	return "there is a line feed"
}

// shown returns the text that a prompt has before the first question because of the tools.
func shown(s *probe.Subject) (spelling.Spelling, bool) {
	with, err1 := prompts.Observe(s, sample.Talk(sample.User), true, true)
	without, err2 := prompts.Observe(s, sample.Talk(sample.User), false, true)
	if err1 != nil || err2 != nil {
		return spelling.Spelling{}, false
	}
	end := strings.Index(with.Text, "USERNEEDLE")
	if end < 0 {
		return spelling.Spelling{}, false
	}
	from := report.Parting(with.Text, without.Text)
	from = min(from, end)
	return spelling.Spelling{Rendering: with.Rendering, Text: with.Text, End: end,
		Pieces: spelling.Pieces(with, from, end)}, true
}

// collapse leaves one of pieces that repeat in a row: an example often has two parameters.
func collapse(all []spelling.Piece) []spelling.Piece {
	same := func(a, b spelling.Piece) bool { return a.Word == b.Word }
	for n := 1; n <= 4; n++ {
		var kept []spelling.Piece
		for _, p := range all {
			kept = append(kept, p)
			if k := len(kept); k >= 2*n && slices.EqualFunc(kept[k-2*n:k-n], kept[k-n:], same) {
				kept = kept[:k-n]
			}
		}
		all = kept
	}
	return all
}

// align returns the longest common subsequence of pieces.
func align(a, b []spelling.Piece) (matched [][2]spelling.Piece) {
	same := func(a, b spelling.Piece) bool { return a.Word == b.Word }
	for _, pair := range report.Common(a, b, same) {
		matched = append(matched, [2]spelling.Piece{a[pair[0]], b[pair[1]]})
	}
	return matched
}
