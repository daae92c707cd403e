package fix

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/rules/turns"
)

// unclosed are turns that the template leaves open in some places and closes in others. The twin of
// a prompt is the prompt with the end of the turn in each of these places.
var unclosed = kindOf{kind: OpenTurn, rules: []string{"A058"}}

// leftOpen is a prompt in which turns are left open, or may be.
type leftOpen struct {
	kept
	places []turns.Unclosed
}

// doubtful reports whether the prompt has another fault as well: it may stay as it is.
func (l leftOpen) doubtful() bool {
	return slices.ContainsFunc(l.places, func(p turns.Unclosed) bool { return p.Doubt })
}

// filled returns in how many of its places a prompt has the end of the turn; false where it differs
// in anything else.
func (l leftOpen) filled(prompt string) (n int, ok bool) {
	at := 0
	for _, p := range l.places {
		if prompt, ok = strings.CutPrefix(prompt, l.text[at:p.At]); !ok {
			return 0, false
		}
		at = p.At
		if rest, ends := strings.CutPrefix(prompt, p.End); ends {
			prompt = rest
			n++
		}
	}
	return n, prompt == l.text[at:]
}

// closeTurns looks for statements that end the turns which the template leaves open.
func (m *mender) closeTurns() {
	known, err := check.TurnsOf(m.source(m.now.text), m.check)
	if err != nil || !known.Open() {
		return
	}
	var open []leftOpen
	all := m.good
	m.good = nil
	for _, k := range all {
		text, places, err := known.Unclosed(k.in)
		if err == nil && text == k.text && len(places) > 0 {
			open = append(open, leftOpen{k, places})
		} else {
			m.good = append(m.good, k)
		}
	}
	before, st := m.now, m.now
	m.moves = true
	cured, stuck := 0, -1
	for i, l := range open {
		if l.doubtful() {
			continue
		}
		for n := -1; n < len(l.places); {
			was := n
			if n, _ = l.filled(st.render(l.in).text); n == was || n == len(l.places) {
				break
			}
			st = m.ending(before, st, l, open)
		}
		if n, _ := l.filled(st.render(l.in).text); n == len(l.places) {
			cured++
		} else if stuck < 0 {
			stuck = i
		}
	}
	if stuck >= 0 {
		if next, n := m.tracking(before, known, open); n > cured {
			st, cured, stuck = next, n, -1
		}
	}
	reason := "no statement was found that ends the turn there and keeps every other prompt"
	gone := []*rule.Result(nil)
	if st != before && !closesAlike(known, before, st, open) {
		reason = "the turn would end otherwise than in the same conversation without instructions"
		st = before
	}
	if st != before {
		gone, reason = m.proves(st)
		if reason == "" && !slices.ContainsFunc(gone, func(g *rule.Result) bool {
			return slices.Contains(unclosed.rules, g.Rule)
		}) {
			reason = "some turns would still be left open"
		}
	}
	switch {
	case st != before && reason == "":
		m.accept(unclosed, before, st, gone, cured)
		if stuck >= 0 {
			m.refuse(unclosed, fault{in: open[stuck].in}, "some turns are still left open")
		}
		for _, l := range open { // what is correct by now must stay so
			if text := st.render(l.in).text; !l.doubtful() {
				m.good = append(m.good, kept{in: l.in, text: text})
			}
		}
	default:
		m.good = all
		if len(open) > 0 {
			m.refuse(unclosed, fault{in: open[max(stuck, 0)].in}, reason)
		}
	}
}

// closesAlike reports whether a patch gives conversations with instructions the turns that the
// template writes without them, where it closes these. A missing end can be due to another fault: a
// header that stands there too often, say, since the messages are miscounted.
func closesAlike(known *turns.Turns, before, st *state, open []leftOpen) bool {
	for _, l := range open {
		want, ok := asUntold(before, l.in, l.text)
		if !ok {
			continue
		}
		other, _, _ := untold(l.in)
		_, places, err := known.Unclosed(other)
		if err == nil && len(places) == 0 && st.render(l.in).text != want {
			return false
		}
	}
	return true
}

// ending returns the state with one more statement: the one that ends the most open turns, at least
// one of them in l's prompt; st itself where there is none.
func (m *mender) ending(from, st *state, l leftOpen, open []leftOpen) *state {
	score := func(st *state) int {
		sum := 0
		for _, l := range open {
			n, ok := l.filled(st.render(l.in).text)
			if !ok {
				return -1
			}
			sum += n
		}
		return sum
	}
	best, most := st, score(st)
	had, _ := l.filled(st.render(l.in).text)
	for _, p := range l.places {
		for _, step := range st.steps(from) {
			p.Off, p.Last = moved(p.Off, step), moved(p.Last, step)
		}
		for _, e := range st.endings(p) {
			next, ok := m.apply(st, []Edit{e})
			if !ok {
				continue
			}
			if n, ok := l.filled(next.render(l.in).text); !ok || n <= had {
				continue
			}
			if n := score(next); n > most && m.keeps(next) {
				best, most = next, n
			}
		}
	}
	return best
}

// tracking returns the state with a flag that tells whether a turn is open. Where headers and ends
// are written the flag is set, and before a header an open turn is closed. It also returns how many
// prompts that mends, all or none.
func (m *mender) tracking(st *state, known *turns.Turns, open []leftOpen) (*state, int) {
	marks := map[int]bool{}
	inputs := slices.Clone(m.good)
	end := ""
	for _, l := range open {
		inputs = append(inputs, l.kept)
		for _, p := range l.places {
			if end == "" {
				end = p.End
			}
			if p.End != end {
				return st, 0
			}
		}
	}
	for _, k := range inputs {
		if !known.Marks(k.in, marks) {
			return st, 0
		}
	}
	name := st.parsed().Unused("turns")
	edits := []Edit{{Text: "{%- set " + name + " = namespace(open=false) -%}\n"}}
	offs := slices.Sorted(maps.Keys(marks))
	for _, off := range offs {
		print := st.printed(off)
		if print == nil {
			return st, 0
		}
		at, t := print.Print.From, st.parsed()
		if marks[off] {
			edits = append(edits, t.Guarded(at, name+".open", "{{- "+edit.Quote(end, "'")+" }}"))
		}
		set := "{%- set " + name + ".open = " + strconv.FormatBool(marks[off]) + " %}"
		edits = append(edits, edit.Insert(at, t.Like(at, set)+t.Indent(at)))
	}
	edits = edit.Sorted(edits)
	next, cured := m.ends(st, edits, open)
	for i := 1; i < len(edits) && cured > 0; { // an edit that can be left out need not be reviewed
		fewer := slices.Delete(slices.Clone(edits), i, i+1)
		if other, n := m.ends(st, fewer, open); n == cured {
			edits, next = fewer, other
		} else {
			i++
		}
	}
	return next, cured
}

// ends applies edits that are to end all turns of the prompts, and returns the state and how many
// prompts they mend; 0 where a turn is left open or another prompt changes.
func (m *mender) ends(st *state, edits []Edit, open []leftOpen) (*state, int) {
	next, ok := m.apply(st, edits)
	if !ok || !m.keeps(next) {
		return st, 0
	}
	cured := 0
	for _, l := range open {
		n, ok := l.filled(next.render(l.in).text)
		if !ok || n < len(l.places) && !l.doubtful() {
			return st, 0
		}
		if !l.doubtful() {
			cured++
		}
	}
	return next, cured
}

// endings returns edits that write the end of a turn right before a header is printed, or right
// after what is printed before it: always, or on a condition, such as the role of the message
// before.
func (st *state) endings(p turns.Unclosed) []Edit {
	t, print, before := st.parsed(), st.printed(p.Off), st.printed(p.Last)
	if print == nil {
		return nil
	}
	at, loops := print.Print.From, print.In(edit.For)
	end := "{{- " + edit.Quote(p.End, "'") + " }}"
	var all []Edit
	if before != nil {
		after := end
		if strings.HasSuffix(st.text[:before.Print.To], "-}}") {
			after = strings.TrimSuffix(end, " }}") + " -}}"
		}
		all = append(all, edit.Insert(before.Print.To, after))
	}
	all = append(all, edit.Insert(at, t.Like(at, end)))
	var conditions []string
	if len(loops) > 0 {
		loop := loops[len(loops)-1]
		list := loop.X.Source
		if !loop.X.Is(edit.Name) {
			list = "(" + list + ")"
		}
		if loop.Test == nil && p.Before != "" {
			last := "loop.index0 > 0 and " + list + "[loop.index0 - 1]"
			for _, c := range []string{last + ".role == " + edit.Quote(p.Before, "'"),
				last + ".tool_calls"} {
				conditions = append(conditions, c)
				if loop.Target.Is(edit.Name) && p.After != "" {
					role := c + " and " + loop.Target.Word + ".role "
					conditions = append(conditions, role+"!= 'assistant'",
						role+"== "+edit.Quote(p.After, "'"))
				}
			}
		}
		conditions = append(conditions, "loop.first", "loop.first and tools")
	} else if p.Before != "" {
		conditions = append(conditions, "messages and messages[-1].role == "+edit.Quote(p.Before, "'"))
	}
	for _, c := range conditions {
		all = append(all, t.Guarded(at, c, end))
	}
	return all
}

// printed returns the part of an output that an offset is in; nil: none.
func (st *state) printed(off int) (at *edit.Node) {
	for n := range st.parsed().All() {
		if n.Up.Is(edit.Output) && n.Print.From <= off && off < n.Print.To {
			at = n
		}
	}
	return at
}
