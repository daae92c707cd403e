package markers

import (
	"index/suffixarray"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// MarkerUnpaired is the rule A080: a marker is opened and not closed, or closed and not opened,
// though the template has both.
var MarkerUnpaired = &probe.Rule{
	Rule: rule.Rule{
		ID: "A080", Name: "marker-unpaired", Severity: rule.Warning, Harm: rule.Glued,
		Short: "A marker is opened and not closed, or closed and not opened.",
		Damage: "The model learns to write what no parser reads, or takes the text that follows " +
			"for a part of the open one.",
		Fix: "Write both markers in every branch, and set the flag that decides about one of them " +
			"back only after the other.",
	},
	Requires: []string{"A058", "A059", "A073"},
	Find:     checkPaired,
}

// unpaired is a marker without its other half.
type unpaired struct {
	markup.Marker
	in   *prompts.Prompt
	what string
}

// pairs counts, for a key, the prompts in which all is well and those in which something is not.
type pairs struct {
	well, ill int
	unopened  int  // of those that are not, where it is closed and was not opened
	closes    bool // the template has its closer
	opens     bool // and its opener
	slash     bool
	start     bool // it stands at the very start of a prompt
	first     unpaired
}

// section reports whether a pair is well in some prompts, or in none of many, and in nearly all
// others closed and not opened.
func (p *pairs) section() bool {
	said := p.first.in != nil && p.first.At < p.first.in.Spans[0].From // in the instructions
	return p.opens && p.closes && 10*p.unopened >= 9*p.ill &&
		(p.well > 0 || p.ill >= prompts.Enough && !said)
}

// thought reports whether reasoning stands right before a marker.
func (u unpaired) thought() bool {
	path := ""
	for at, r := range u.in.Seen.All() {
		if at+r.Len > u.At {
			break
		}
		if r.Role != jinja.Literal {
			path = r.Path
		}
	}
	return slices.ContainsFunc(chat.ReasoningFields[:], func(field string) bool {
		return strings.HasSuffix(path, "."+field)
	})
}

func checkPaired(s *probe.Subject, find probe.Finder) {
	all := map[string]*pairs{}
	var keys []string
	for t := range prompts.Rendered(s) {
		if len(t.Spans) == 0 {
			continue
		}
		for key, faults := range unpairedIn(t) {
			p := all[key]
			if p == nil {
				p = &pairs{}
				all[key] = p
				keys = append(keys, key)
			}
			p.closes, p.opens, p.slash = p.closes || faults.closes, p.opens || faults.opens,
				p.slash || faults.slash
			p.start = p.start || faults.start
			switch {
			case faults.first.in == nil && faults.closes && faults.opens:
				p.well++
			case faults.first.in != nil:
				if p.ill++; p.ill == 1 {
					p.first = faults.first
				}
				if faults.first.Side == markup.Closing {
					p.unopened++
				}
			}
		}
	}
	slices.Sort(keys)
	headers := boundary.Headers(s)
	checkHalves(s, find, keys, all, headers)
	checkOpeners(s, find, all, headers)
	checkEmptyPairs(s, find)
	checkCrossed(s, find, headers)
	checkHeaders(s, find)
	sections := !s.Fires("A073")
	turns := !s.Fires("A058") && !s.Fires("A059")
	shown := 0
	for _, key := range keys {
		p := all[key]
		if !sections && p.ill > 0 && len(p.first.in.Kinds) > 1 &&
			slices.Contains(p.first.in.Kinds, conversation.Call) {
			continue
		}
		if p.ill == 0 || !p.closes || !p.slash && (!p.opens || p.ill >= p.well && !p.section()) ||
			p.start || headers[key] && (!turns || p.first.Side != markup.Closing ||
			prompts.Few*p.ill > p.well) {
			continue
		}
		text := p.first.in.Text[p.first.At:p.first.To]
		if own := p.first.in.Own(); !p.opens && (p.first.At == 0 || own[p.first.At-1] == 0) {
			continue // it ends a message, and so the turn
		}
		if p.first.Side == markup.Closing &&
			strings.TrimSpace(s.Template.Analysis().Format.Reasoning.Close.Text) == text &&
			!p.first.thought() {
			continue // a prompt may close reasoning that the header opens
		}
		first := p.first
		if shown++; shown <= rule.MaxFindings { // of the others only the number is told
			first.in.Smallest(s, func(t *prompts.Prompt) bool {
				now := unpairedIn(t)[key]
				if now == nil || now.first.in == nil || now.first.what != first.what {
					return false
				}
				first = now.first
				return true
			})
		}
		find(first.in.At(first.At).Needing(), "%s is %s", probe.JSON(text), first.what)
	}
}

// checkEmptyPairs looks for prompts in which reasoning that is left out has both of its markers in
// one place, and the closing one alone in another.
func checkEmptyPairs(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	open, end := strings.TrimSpace(r.Open.Text), strings.TrimSpace(r.Close.Text)
	if open == "" || end == "" {
		return
	}
	for t := range prompts.Rendered(s) {
		own := t.Own()[:t.Tail()]
		last, before := begins(t), 0 // the last question: many write older answers otherwise
		for i, span := range t.Spans {
			switch {
			case t.Kinds[i] != conversation.Question:
			case span.To > 0:
				last = max(last, span.From)
			default:
				last = max(last, before)
			}
			before = max(before, span.To)
		}
		for _, part := range [...]prompts.Span{
			{From: begins(t), To: last}, {From: last, To: len(own)}} {
			alone, both := -1, false
			for at := part.From; at < part.To; {
				next := strings.Index(own[at:part.To], end)
				if next < 0 {
					break
				}
				at += next
				before := strings.TrimRight(own[:at], " \n")
				empty := strings.HasSuffix(before, open)
				both = both || empty
				if !empty && alone < 0 && !markup.Mentioned(own, markup.Marker{At: at, To: at +
					len(end)}) && !strings.HasSuffix(before, "\x00") &&
					strings.LastIndex(before, open) <= strings.LastIndex(before, end) {
					alone = at
				}
				at += len(end)
			}
			if alone >= 0 && both {
				find(t.At(alone), "%s stands alone here, and after %s elsewhere in this prompt",
					probe.JSON(end), probe.JSON(open))
				return
			}
		}
	}
}

// checkCrossed looks for a pair of markers that is open where the header of the next turn stands,
// and closed right after it.
func checkCrossed(s *probe.Subject, find probe.Finder, headers map[string]bool) {
	reasoning := strings.TrimSpace(s.Template.Analysis().Format.Reasoning.Close.Text)
	for t := range prompts.Rendered(s) {
		open := map[string]bool{}
		last := markup.Marker{Side: markup.Closing} // before m
		for m := range t.Markers() {
			if headers[last.Key] && last.Side != markup.Closing && !last.Spoken && m.Slash &&
				!headers[m.Key] && open[m.Key] && t.Text[m.At:m.To] != reasoning &&
				strings.TrimSpace(t.Text[last.To:m.At]) == "" {
				t.Show(s, find, m.At, "%s is written after the header of the next message",
					probe.JSON(t.Text[m.At:m.To]))
				return
			}
			if last = m; !m.Spoken {
				open[m.Key] = m.Side != markup.Closing
			}
		}
	}
}

// checkHeaders looks for a generation prompt that ends within a header: everywhere else the marker
// that begins it is closed right after the role.
func checkHeaders(s *probe.Subject, find probe.Finder) {
	var last unpaired // what the end of a prompt leaves open
	closed := map[string]int{}
	for _, t := range prompts.All.Of(s) {
		own, was := t.Own(), markup.Marker{Side: markup.Closing}
		for m := range t.Markers() {
			if m.Key == was.Key && m.Side == markup.Closing && word.MatchString(own[was.To:m.At]) {
				closed[m.Key]++
			} else if was.Side != markup.Closing {
				closed[was.Key] = math.MinInt32
			}
			was = m
		}
		if was.Side != markup.Closing && word.MatchString(own[was.To:]) {
			last = unpaired{Marker: was, in: t}
		}
	}
	if last.in != nil && closed[last.Key] >= prompts.Enough {
		last.in.Show(s, find, last.At, "%s is not closed at the end of the prompt, as in the headers "+
			"of all messages", probe.JSON(last.in.Text[last.At:last.To]))
	}
}

// word matches a role in the template's own text, or one from a message.
var word = regexp.MustCompile(`^(\w+|\x00+)$`)

// checkHalves looks for markers whose other half stands nowhere, where those beside them have
// theirs: an element that is never closed, or the end of a section that never begins.
func checkHalves(s *probe.Subject, find probe.Finder, keys []string, all map[string]*pairs,
	headers map[string]bool) {
	slashed, worded := 0, 0
	for _, p := range all {
		if p.opens && p.closes && p.slash {
			slashed++
		} else if p.opens && p.closes {
			worded++
		}
	}
	halves := halvesOf(s, all)
	sections := !s.Fires("A073")
	end := boundary.UsualEnd(boundary.Gaps.Of(s), conversation.Answer) +
		boundary.UsualEnd(boundary.Gaps.Of(s), conversation.Question)
	for _, key := range keys {
		p := all[key]
		if p.opens == p.closes || headers[key] || p.start {
			continue
		}
		least, times := prompts.Enough, prompts.Few
		if p.opens && slashed >= prompts.Enough { // all else is an element with two halves
			least, times = prompts.Few, 1
		}
		if h := halves[key]; h != nil && !h.whole && h.n >= least && h.n > times*h.others {
			t, m := h.first.in, h.first
			text := t.Text[m.At:m.To]
			switch {
			case strings.Contains(end, text):
			case !sections && slices.Contains(t.Kinds, conversation.Call): // it is a section's
			case p.opens && slashed >= prompts.Few:
				t.Show(s, find, m.At, "%s is never closed", probe.JSON(text))
			case p.closes && m.Slash && slashed >= prompts.Few, p.closes && !m.Slash &&
				worded >= prompts.Few:
				t.Show(s, find, m.At, "%s is closed and never opened", probe.JSON(text))
			}
		}
	}
}

// checkOpeners looks for openers, by their words, that no conversation closes: the instructions
// speak of the other half, or the template opens them again while they are open, or its own text
// stands in them. One that a text of the request follows may be no more than a separator.
func checkOpeners(s *probe.Subject, find probe.Finder, all map[string]*pairs,
	headers map[string]bool) {
	closed, said, told := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for t := range prompts.Rendered(s) {
		begins := begins(t)
		for m := range t.Markers() {
			switch {
			case m.Side != markup.Closing:
			case m.Spoken:
				said[m.Key] = true
			case m.At < begins:
				told[m.Key] = true
			default:
				closed[m.Key] = true
			}
		}
	}
	others := 0 // pairs of the same sort
	for key, p := range all {
		if (closed[key] || told[key]) && p.opens && !p.slash {
			others++
		}
	}
	count, seen := map[string]int{}, map[string]bool{}
	for t := range prompts.Rendered(s) {
		own, tail, begins := t.Own(), t.Tail(), begins(t)
		var open []markup.Marker // around the place
		for m := range t.Markers() {
			if m.At >= tail {
				break
			}
			last := -1
			for i := range open {
				if open[i].Key == m.Key {
					last = i
				}
			}
			if m.Side == markup.Closing {
				if last >= 0 {
					open = open[:last]
				}
				continue
			}
			again := last >= 0 && spoke(t, open[last].To, m.At)
			if open = append(open, m); len(open) > prompts.MaxKept {
				break
			}
			p := all[m.Key]
			if m.Side != markup.Opening || m.Spoken || closed[m.Key] || p == nil ||
				p.start || seen[m.Key] || told[m.Key] && m.At < begins {
				continue
			}
			what := ""
			word, _ := utf8.DecodeRuneInString(own[m.To:])
			switch {
			case headers[m.Key] && others > 0:
				what = "though the template has both halves of others"
			case headers[m.Key]:
			case said[m.Key] || told[m.Key]:
				what = "which the instructions say is closed"
			case others < prompts.Few:
			case again:
				what = "and opened again while it is open"
			case word != 0 && !unicode.IsSpace(word) && word != '<':
				if count[m.Key]++; count[m.Key] >= prompts.Enough {
					what = "though the template has both halves of others"
				}
			}
			if what != "" {
				seen[m.Key] = true
				t.Show(s, find, m.At, "%s is opened and never closed, %s",
					probe.JSON(t.Text[m.At:m.To]), what)
			}
		}
	}
}

// spoke reports whether the text of a message ends in a stretch of a prompt.
func spoke(t *prompts.Prompt, from, to int) bool {
	return slices.ContainsFunc(t.Spans, func(s prompts.Span) bool {
		return s.To > from && s.To <= to
	})
}

// halves tells of the markers of a key whether they have one side only.
type halves struct {
	first     occurrence
	n, others int
	whole     bool // no
}

// occurrence is a marker and the prompt that it stands in.
type occurrence struct {
	in *prompts.Prompt
	markup.Marker
}

// halvesOf looks at the markers that never have another side. Most opening ones are elements around
// a text of the request; closing ones say by a word or a slash that they close, and open no answer:
// they are not in the text before one.
func halvesOf(s *probe.Subject, all map[string]*pairs) map[string]*halves {
	before := suffixarray.New([]byte(boundary.Asked(s)))
	found := map[string]*halves{}
	for t := range prompts.Rendered(s) {
		own := t.Own()
		for m := range t.Markers() {
			p := all[m.Key]
			if m.Spoken || p == nil || p.opens == p.closes {
				continue
			}
			h := found[m.Key]
			if h == nil {
				h = &halves{}
				found[m.Key] = h
			}
			element := m.Side == markup.Alone && own[m.At] == '<' && markup.IsLetter(own[m.At+1])
			rest := strings.TrimLeft(own[m.To:], "\n")
			switch {
			case h.whole:
			case p.opens && !element, !p.opens && len(before.Lookup([]byte(own[m.At:m.To]), 1)) > 0:
				h.whole = true
			case p.opens && (rest == "" || rest[0] != 0):
				h.others++
			default:
				if h.n++; h.n == 1 {
					h.first = occurrence{t, m}
				}
			}
		}
	}
	return found
}

// begins is where the first text of a message stands that is no instructions; all before it is the
// preamble.
func begins(t *prompts.Prompt) int {
	for i, s := range t.Spans {
		if s.To > 0 && !prompts.Instructs(t.Kinds[i]) {
			return s.From
		}
	}
	return len(t.Text)
}

// unpairedIn goes through the markers of a prompt up to the last message. A marker at its very
// start is that of the text.
func unpairedIn(t *prompts.Prompt) map[string]*pairs {
	found := map[string]*pairs{}
	open := map[string][]markup.Marker{}
	tail := t.Tail()
	for m := range t.Markers() {
		p := found[m.Key]
		if p == nil {
			p = &pairs{}
			found[m.Key] = p
		}
		p.closes, p.slash = p.closes || m.Side == markup.Closing, p.slash || m.Slash
		p.opens = p.opens || m.Side != markup.Closing
		switch n := len(open[m.Key]); {
		case m.Side != markup.Closing && m.At >= tail:
		case m.Side != markup.Closing:
			open[m.Key] = append(open[m.Key], m)
			p.start = p.start || m.At == 0
		case n > 0:
			open[m.Key] = open[m.Key][:n-1]
		case !m.Spoken && m.At < tail && p.first.in == nil:
			p.first = unpaired{m, t, "closed and was not opened"}
		}
	}
	for key, rest := range open {
		rest = slices.DeleteFunc(rest, func(m markup.Marker) bool { return m.Spoken })
		if p := found[key]; len(rest) > 0 && p.first.in == nil {
			p.first = unpaired{rest[0], t, "opened and not closed"}
		}
	}
	return found
}
