package check

import (
	"index/suffixarray"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// markerRules look at the template's own text in a prompt: it closes each marker that it opens, it
// stands apart from the texts of others, and it stands there once.
var markerRules = []lookout{
	{Rule: rule.Rule{ID: "A080", Name: "marker-unpaired", Severity: rule.Warning,
		Short: "A marker is opened and not closed, or closed and not opened, though the " +
			"template has both.",
		Damage: "The model learns a spelling that no parser reads, or takes the next text for a " +
			"part of the open one.",
		Fix: "Write both markers in every branch, in this order."}, Group: groupLint,
		Find: checkPaired},
	{Rule: rule.Rule{ID: "A082", Name: "text-glued", Severity: rule.Warning,
		Short: "The text of a message runs into other text with nothing between.",
		Damage: "The last word of one text and the first of the next become a word that nobody " +
			"said; tokens change.",
		Fix: "Write a line feed, a space or a marker between them, in every branch."},
		Group: groupLint, Find: checkGlued},
	{Rule: rule.Rule{ID: "A083", Name: "own-text-repeated", Severity: rule.Warning,
		Short:  "The template writes the same text of its own twice in a row, from two places.",
		Damage: "The model reads a header, a list or an instruction twice.",
		Fix:    "Write it in one place."}, Group: groupLint, Find: checkRepeated},
}

// side is the side of a part on which a marker stands.
type side uint8

const (
	alone side = iota
	opening
	closing
)

// marker is a token in brackets in the template's own text.
type marker struct {
	at, to int // in the prompt
	key    string
	side   side
	slash  bool // it closes by a slash, as XML does
	spoken bool // it stands in a sentence, which speaks of it and need not open or close anything
}

// few is the number of good prompts for each bad one, before the rule reports a missing marker that
// opens turns: the rules of turns look at those first.
const few = 2

// longest bounds a token in brackets, in bytes.
const longest = 82

// nextMarker returns where the next token in brackets stands, from an offset on: <...> without
// white space after the first bracket, or [CAPITALS]. Its name decides nothing but which other one
// it belongs to.
func nextMarker(own string, from int) (at, to int, ok bool) {
	for {
		i := strings.IndexAny(own[from:], "<[")
		if i < 0 {
			return 0, 0, false
		}
		at = from + i
		if n := inBrackets(own[at:]); n > 0 {
			return at, at + n, true
		}
		from = at + 1
	}
}

// inBrackets returns the length of the token in brackets that a text begins with, 0 where there is
// none.
func inBrackets(text string) int {
	if text[0] == '<' {
		for i := 1; i < len(text) && i < longest; i++ {
			switch c := text[i]; {
			case c == '>' && i > 1:
				return i + 1
			case c == '<' || c == '>' || c == '\n' ||
				i == 1 && strings.IndexByte(" \t\r\x00[]", c) >= 0:
				return 0
			}
		}
		return 0
	}
	start := 1
	if strings.HasPrefix(text[1:], "/") {
		start = 2
	}
	i := start
	for i < len(text) && ('A' <= text[i] && text[i] <= 'Z' || i > start && text[i] == '_') {
		i++
	}
	if i-start < 2 || i == len(text) || text[i] != ']' {
		return 0
	}
	return i + 1
}

// markersOf returns the markers in a text of the template's own; holes are the texts of others.
func markersOf(own string) []marker { return slices.Collect(eachMarker(own)) }

func eachMarker(own string) iter.Seq[marker] {
	return func(yield func(marker) bool) {
		last := marker{to: -1}
		for at, to, ok := nextMarker(own, 0); ok; at, to, ok = nextMarker(own, to) {
			m, ok := markerAt(own, at, to)
			if !ok {
				continue
			}
			m.spoken = m.spoken || last.spoken && last.to == m.at
			if last = m; !yield(m) {
				return
			}
		}
	}
}

// markerAt reads the token in brackets at an offset; ok reports whether it is a marker.
func markerAt(own string, at, to int) (m marker, ok bool) {
	m = marker{at: at, to: to}
	inner := own[m.at+1 : m.to-1]
	if inner[0] == '!' || inner[0] == '?' || strings.HasSuffix(inner, "/") {
		return m, false
	}
	m.spoken = mentioned(own, m)
	if name, ok := strings.CutPrefix(inner, "/"); ok {
		m.side, m.slash, inner = closing, true, name
	}
	if at := strings.IndexAny(inner, " =\x00"); at > 0 {
		inner = inner[:at]
	}
	if inner == "" || inner[0] == 0 {
		return m, false // it is called after a tool or a parameter
	}
	if open, end := inner[0] == '|', inner[len(inner)-1] == '|'; open != end && len(inner) > 1 {
		m.side = closing
		if open {
			m.side = opening
		}
		m.key = strings.Trim(inner, "|")
		return m, true
	}
	words := strings.FieldsFunc(inner, func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r) && r != 0
	})
	kept := words[:0]
	for _, w := range words {
		switch lower := strings.ToLower(w); {
		case m.side == alone && (lower == "begin" || lower == "start" || lower == "open"):
			m.side = opening
		case m.side == alone && (lower == "end" || lower == "close" || lower == "stop"):
			m.side = closing
		default:
			kept = append(kept, w)
		}
	}
	if m.key = inner; m.side != alone && !m.slash {
		m.key = " " + strings.Join(kept, " ")
	}
	if own[m.at] == '[' {
		m.key = "[" + m.key
	}
	return m, true
}

// mentioned reports whether a marker stands among the words of a sentence, or in quotes.
func mentioned(own string, m marker) bool {
	before, _ := utf8.DecodeLastRuneInString(own[:m.at])
	after, _ := utf8.DecodeRuneInString(own[m.to:])
	if strings.ContainsRune("`'\"(", before) && strings.ContainsRune("`'\").,", after) {
		return true
	}
	said, _ := utf8.DecodeLastRuneInString(strings.TrimRight(own[:m.at], " "))
	return before == ' ' && (unicode.IsLetter(said) || unicode.IsDigit(said) ||
		strings.ContainsRune(",:;.'\"`>", said))
}

// own returns a prompt with holes for the texts that the template did not write itself.
func (t *talked) own() string {
	if t.holed != "" || t.text == "" {
		return t.holed
	}
	b := []byte(t.text)
	at := 0
	for _, r := range t.o.Runs {
		if r.Role != jinja.Literal {
			for i := at; i < at+r.Len; i++ {
				b[i] = 0
			}
		}
		at += r.Len
	}
	t.holed = string(b)
	return t.holed
}

// maxKept bounds how many markers of a prompt are kept; more are searched again when they are asked
// for.
const maxKept = 1_000

// markers returns the markers of a prompt.
func (t *talked) markers() iter.Seq[marker] {
	if t.found == nil {
		t.found = []marker{} // kept, and none
		for m := range eachMarker(t.own()) {
			if t.found = append(t.found, m); len(t.found) > maxKept {
				t.many = true
				break
			}
		}
	}
	if t.many {
		return eachMarker(t.own())
	}
	return slices.Values(t.found)
}

// unpaired is a marker without its other half.
type unpaired struct {
	marker
	in   *talked
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
	said := p.first.in != nil && p.first.at < p.first.in.spans[0].from // in the instructions
	return p.opens && p.closes && 10*p.unopened >= 9*p.ill &&
		(p.well > 0 || p.ill >= enough && !said)
}

// thought reports whether reasoning stands right before a marker.
func (u unpaired) thought() bool {
	at := 0
	path := ""
	for _, r := range u.in.o.Runs {
		if at+r.Len > u.at {
			break
		}
		if at += r.Len; r.Role != jinja.Literal {
			path = r.Path
		}
	}
	return slices.ContainsFunc(chat.ReasoningFields[:], func(field string) bool {
		return strings.HasSuffix(path, "."+field)
	})
}

func checkPaired(s *Subject, find finder) {
	all := map[string]*pairs{}
	var keys []string
	for _, t := range s.talks() {
		if t.err != nil || len(t.spans) == 0 {
			continue
		}
		for key, faults := range t.unpaired() {
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
				if faults.first.side == closing {
					p.unopened++
				}
			}
		}
	}
	slices.Sort(keys)
	headers := s.headers()
	s.checkHalves(find, keys, all, headers)
	s.checkOpeners(find, all, headers)
	s.checkEmptyPairs(find)
	s.checkCrossed(find, headers)
	sections := s.quiet(checkCallsClosed)
	turns := s.quiet(checkClosed) && s.quiet(checkOpened)
	for _, key := range keys {
		p := all[key]
		if !sections && p.ill > 0 && len(p.first.in.kinds) > 1 &&
			slices.Contains(p.first.in.kinds, conversation.Call) {
			continue
		}
		if p.ill == 0 || !p.closes || !p.slash && (!p.opens || p.ill >= p.well && !p.section()) ||
			p.start ||
			headers[key] && (!turns || p.first.side != closing || few*p.ill > p.well) {
			continue
		}
		text := p.first.in.text[p.first.at:p.first.to]
		if own := p.first.in.own(); !p.opens && (p.first.at == 0 || own[p.first.at-1] == 0) {
			continue // it ends a message, and so the turn
		}
		if p.first.side == closing &&
			strings.TrimSpace(s.Template.Analysis().Format.Reasoning.Close.Text) == text &&
			!p.first.thought() {
			continue // a prompt may close reasoning that the header opens
		}
		find(p.first.in.at(p.first.at), "%s is %s: %s\nin %s, and well in %s; conversation: %s",
			jsonString(text), p.first.what,
			report.Quote(p.first.in.text, p.first.at), plural(p.ill, "conversation"),
			plural(p.well, "conversation"), p.first.in.Name)
	}
}

// checkEmptyPairs looks for prompts in which reasoning that is left out has both of its markers in
// one place, and the closing one alone in another.
func (s *Subject) checkEmptyPairs(find finder) {
	r := s.Template.Analysis().Format.Reasoning
	open, end := strings.TrimSpace(r.Open.Text), strings.TrimSpace(r.Close.Text)
	if open == "" || end == "" {
		return
	}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		own := t.own()[:t.tail()]
		last, before := t.begins(), 0 // the last question: many write older answers otherwise
		for i, span := range t.spans {
			switch {
			case t.kinds[i] != conversation.Question:
			case span.to > 0:
				last = max(last, span.from)
			default:
				last = max(last, before)
			}
			before = max(before, span.to)
		}
		for _, part := range [...]span{{t.begins(), last}, {last, len(own)}} {
			alone, both := -1, false
			for at := part.from; at < part.to; {
				next := strings.Index(own[at:part.to], end)
				if next < 0 {
					break
				}
				at += next
				before := strings.TrimRight(own[:at], " \n")
				empty := strings.HasSuffix(before, open)
				both = both || empty
				if !empty && alone < 0 && !mentioned(own, marker{at: at, to: at + len(end)}) &&
					!strings.HasSuffix(before, "\x00") &&
					strings.LastIndex(before, open) <= strings.LastIndex(before, end) {
					alone = at
				}
				at += len(end)
			}
			if alone >= 0 && both {
				find(t.at(alone), "%s stands alone, and elsewhere in this prompt after %s: %s\n"+
					"conversation: %s", jsonString(end), jsonString(open),
					report.Quote(t.text, alone), t.Name)
				return
			}
		}
	}
}

// checkCrossed looks for a pair of markers that is open where the header of the next turn stands,
// and closed right after it.
func (s *Subject) checkCrossed(find finder, headers map[string]bool) {
	reasoning := strings.TrimSpace(s.Template.Analysis().Format.Reasoning.Close.Text)
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		open := map[string]bool{}
		last := marker{side: closing} // before m
		for m := range t.markers() {
			if headers[last.key] && last.side != closing && !last.spoken && m.slash &&
				!headers[m.key] && open[m.key] && t.text[m.at:m.to] != reasoning &&
				strings.TrimSpace(t.text[last.to:m.at]) == "" {
				find(t.at(m.at), "%s closes after the header of the next turn: %s\n"+
					"conversation: %s", jsonString(t.text[m.at:m.to]),
					report.Quote(t.text, m.at), t.Name)
				return
			}
			if last = m; !m.spoken {
				open[m.key] = m.side != closing
			}
		}
	}
}

// checkHalves looks for markers whose other half stands nowhere, where those beside them have
// theirs: an element that is never closed, or the end of a section that never begins.
func (s *Subject) checkHalves(find finder, keys []string, all map[string]*pairs,
	headers map[string]bool) {
	slashed, worded := 0, 0
	for _, p := range all {
		if p.opens && p.closes && p.slash {
			slashed++
		} else if p.opens && p.closes {
			worded++
		}
	}
	halves := s.halves(all)
	sections := s.quiet(checkCallsClosed)
	end := usualEnd(s.gaps(), conversation.Answer) + usualEnd(s.gaps(), conversation.Question)
	for _, key := range keys {
		p := all[key]
		if p.opens == p.closes || headers[key] || p.start {
			continue
		}
		least, times := enough, few
		if p.opens && slashed >= enough { // all else is an element with two halves
			least, times = few, 1
		}
		if h := halves[key]; h != nil && !h.whole && h.n >= least && h.n > times*h.others {
			t, m := h.first.in, h.first
			text := t.text[m.at:m.to]
			switch {
			case strings.Contains(end, text):
			case !sections && slices.Contains(t.kinds, conversation.Call): // it is a section's
			case p.opens && slashed >= few:
				find(t.at(m.at), "%s is never closed: %s\nconversation: %s", jsonString(text),
					report.Quote(t.text, m.at), t.Name)
			case p.closes && m.slash && slashed >= few, p.closes && !m.slash && worded >= few:
				find(t.at(m.at), "%s is closed and never opened: %s\nconversation: %s",
					jsonString(text), report.Quote(t.text, m.at), t.Name)
			}
		}
	}
}

// checkOpeners looks for openers, by their words, that no conversation closes: the instructions
// speak of the other half, or the template opens them again while they are open, or its own text
// stands in them. One that a text of the request follows may be no more than a separator.
func (s *Subject) checkOpeners(find finder, all map[string]*pairs, headers map[string]bool) {
	closed, said, told := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		begins := t.begins()
		for m := range t.markers() {
			switch {
			case m.side != closing:
			case m.spoken:
				said[m.key] = true
			case m.at < begins:
				told[m.key] = true
			default:
				closed[m.key] = true
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
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		own, tail, begins := t.own(), t.tail(), t.begins()
		var open []marker // around the place
		for m := range t.markers() {
			if m.at >= tail {
				break
			}
			last := -1
			for i := range open {
				if open[i].key == m.key {
					last = i
				}
			}
			if m.side == closing {
				if last >= 0 {
					open = open[:last]
				}
				continue
			}
			again := last >= 0 && t.spoke(open[last].to, m.at)
			if open = append(open, m); len(open) > maxKept {
				break
			}
			p := all[m.key]
			if m.side != opening || m.spoken || closed[m.key] || headers[m.key] || p == nil ||
				p.start || seen[m.key] || told[m.key] && m.at < begins {
				continue
			}
			what := ""
			word, _ := utf8.DecodeRuneInString(own[m.to:])
			switch {
			case said[m.key] || told[m.key]:
				what = "which the instructions say is closed"
			case others < few:
			case again:
				what = "and opened again while it is open"
			case word != 0 && !unicode.IsSpace(word) && word != '<':
				if count[m.key]++; count[m.key] >= enough {
					what = "though the template has both halves of others"
				}
			}
			if what != "" {
				seen[m.key] = true
				find(t.at(m.at), "%s is opened and never closed, %s: %s\nconversation: %s",
					jsonString(t.text[m.at:m.to]), what, report.Quote(t.text, m.at), t.Name)
			}
		}
	}
}

// spoke reports whether the text of a message ends in a stretch of a prompt.
func (t *talked) spoke(from, to int) bool {
	return slices.ContainsFunc(t.spans, func(s span) bool { return s.to > from && s.to <= to })
}

// halves tells of the markers of a key whether they have one side only.
type halves struct {
	first     occurrence
	n, others int
	whole     bool // no
}

// occurrence is a marker and the prompt that it stands in.
type occurrence struct {
	in *talked
	marker
}

// halves looks at the markers that never have another side. Most opening ones are elements around a
// text of the request; closing ones say by a word or a slash that they close, and open no answer:
// they are not in the text before one.
func (s *Subject) halves(all map[string]*pairs) map[string]*halves {
	before := suffixarray.New([]byte(s.asked()))
	found := map[string]*halves{}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		own := t.own()
		for m := range t.markers() {
			p := all[m.key]
			if m.spoken || p == nil || p.opens == p.closes {
				continue
			}
			h := found[m.key]
			if h == nil {
				h = &halves{}
				found[m.key] = h
			}
			element := m.side == alone && own[m.at] == '<' && asciiLetter(own[m.at+1])
			rest := strings.TrimLeft(own[m.to:], "\n")
			switch {
			case h.whole:
			case p.opens && !element,
				!p.opens && len(before.Lookup([]byte(own[m.at:m.to]), 1)) > 0:
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

// asked is the text that stands between a question and its answer.
func (s *Subject) asked() string {
	for _, g := range s.gaps() {
		if g.asked && g.before == conversation.Question {
			return g.text
		}
	}
	return ""
}

// headers are the keys of the markers that open turns: those with which generation prompts begin.
// A058 to A060 are about those.
func (s *Subject) headers() map[string]bool {
	keys := map[string]bool{}
	for _, t := range s.talks() {
		if t.err != nil || !t.in.Generate || len(t.spans) == 0 || t.spans[len(t.spans)-1].to == 0 {
			continue // an empty message's own header would be taken for the model's
		}
		tail := t.tail()
		for m := range t.markers() {
			if m.at >= tail && m.side != closing {
				keys[m.key] = true
				break
			}
		}
	}
	return keys
}

// begins is where the first text of a message stands that is no instructions; all before it is the
// preamble.
func (t *talked) begins() int {
	for i, s := range t.spans {
		if s.to > 0 && !instructs(t.kinds[i]) {
			return s.from
		}
	}
	return len(t.text)
}

// tail is where the last message ends: all after it frames the model's next text.
func (t *talked) tail() int {
	tail := 0
	for _, s := range t.spans {
		tail = max(tail, s.to)
	}
	return tail
}

// unpaired goes through the markers of a prompt up to the last message. A marker at its very start
// is that of the text.
func (t *talked) unpaired() map[string]*pairs {
	found := map[string]*pairs{}
	open := map[string][]marker{}
	tail := t.tail()
	for m := range t.markers() {
		p := found[m.key]
		if p == nil {
			p = &pairs{}
			found[m.key] = p
		}
		p.closes, p.slash = p.closes || m.side == closing, p.slash || m.slash
		p.opens = p.opens || m.side != closing
		switch n := len(open[m.key]); {
		case m.side != closing && m.at >= tail:
		case m.side != closing:
			open[m.key] = append(open[m.key], m)
			p.start = p.start || m.at == 0
		case n > 0:
			open[m.key] = open[m.key][:n-1]
		case !m.spoken && m.at < tail && p.first.in == nil:
			p.first = unpaired{m, t, "closed and was not opened"}
		}
	}
	for key, rest := range open {
		rest = slices.DeleteFunc(rest, func(m marker) bool { return m.spoken })
		if p := found[key]; len(rest) > 0 && p.first.in == nil {
			p.first = unpaired{rest[0], t, "opened and not closed"}
		}
	}
	return found
}

// free reports whether the text at a path is somebody's own words.
func free(t *talked, r jinja.Run) bool {
	i := messageOf(r)
	return r.Role == jinja.FromValue && i >= 0 && i < len(t.kinds) && spoken.MatchString(r.Path)
}

// preamble is the template's own text before the first message.
type preamble struct {
	in  *talked
	own string
}

// preambles returns the distinct ones of all conversations, the plainest conversation first.
func (s *Subject) preambles() []preamble {
	var all []preamble
	seen := map[string]bool{}
	for _, t := range s.talks() {
		if t.err != nil || len(t.spans) == 0 {
			continue
		}
		if own := t.own()[:t.spans[0].from]; own != "" && !seen[own] {
			seen[own] = true
			all = append(all, preamble{t, own})
		}
	}
	return all
}

// findOwn finds the first match of a pattern in the preambles: of one that matches in a line, with
// the ends of that and of the line before. Most preambles have the same lines; each is searched
// once.
func (s *Subject) findOwn(pattern *regexp.Regexp) (p preamble, at []int) {
	seen := map[string]bool{}
	for _, p := range s.preambles() {
		for from := 0; from < len(p.own); {
			to := len(p.own)
			if n := strings.IndexByte(p.own[from:], '\n'); n >= 0 {
				to = from + n + 1
			}
			begin := max(0, from-1)
			if line := p.own[begin:to]; !seen[line] {
				seen[line] = true
				if at := pattern.FindStringIndex(line); at != nil {
					return p, []int{begin + at[0], begin + at[1]}
				}
			}
			from = to
		}
	}
	return preamble{}, nil
}

// proseGlued are sentences of the template's own that run into each other, or into a block that
// begins in the same line, and headings that run into the text below them.
var proseGlued = regexp.MustCompile(`[a-z]{2}[.!?:]\(?[A-Z][a-z]+ [a-z]` +
	`|[^A-Za-z0-9]</[A-Za-z_:]+>[A-Z][a-z]* [a-z]|[a-z]{2}:<[A-Za-z_:]+>\n` +
	`|[a-z]{2} <[^<>\s]+>[A-Z][a-z]+ [a-z]+ [a-z]+ ` +
	`|\n#{1,6} [^\n]*[a-z]{2}[A-Z][a-z]+ [a-z]+ [^\n]{40}`)

// checkProse looks at the instructions of the template.
func (s *Subject) checkProse(find finder) {
	if p, at := s.findOwn(proseGlued); at != nil {
		mid := min((at[0]+at[1])/2, at[0]+shortest)
		find(p.in.at(mid), "a sentence of the template runs into the next: "+
			"%s\nconversation: %s", report.Quote(p.in.text, mid), p.in.Name)
	}
}

func checkGlued(s *Subject, find finder) {
	s.checkProse(find)
	type seam struct{ kind, other string }
	seen := map[seam]bool{}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		at := 0
		for i, r := range t.o.Runs {
			from := at
			at += r.Len
			if i == 0 || r.Len == 0 || t.o.Runs[i-1].Len == 0 {
				continue
			}
			before := t.o.Runs[i-1]
			a, _ := utf8.DecodeLastRuneInString(t.text[:from])
			b, _ := utf8.DecodeRuneInString(t.text[from:])
			word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
			left, right := free(t, before), free(t, r)
			var this seam
			switch {
			case left && right && messageOf(before) != messageOf(r):
				this = seam{t.kinds[messageOf(before)].String(),
					"the text of " + article(t.kinds[messageOf(r)].String())}
			case left && r.Role == jinja.Literal && word(b) && (word(a) ||
				strings.ContainsRune(".!?", a)):
				this = seam{t.kinds[messageOf(before)].String(),
					"the template's " + jsonString(firstWord(t.text[from:at]))}
			case left && r.Role == jinja.Literal && !unicode.IsSpace(a) &&
				instructs(t.kinds[messageOf(before)]) && beginsBlock(t.own()[from:]):
				this = seam{t.kinds[messageOf(before)].String(), "a block of the template"}
			case left && r.Role == jinja.Literal && heading(t.text[from:at]):
				this = seam{t.kinds[messageOf(before)].String(), "a heading of the template"}
			case r.Role == jinja.Literal && inLine(t.text[from:at]):
				at := from + headingInLine.FindStringIndex(t.text[from:at])[0]
				find(t.at(at), "a heading does not begin its line: %s\nconversation: %s",
					report.Quote(t.text, at), t.Name)
				return
			case idBeside(before, r) && word(b):
				this = seam{t.kinds[messageOf(r)].String(), "its id, or the id into it"}
			case right && before.Role == jinja.Literal && word(b) && endsBlock(t.own()[:from]):
				this = seam{t.kinds[messageOf(r)].String(), "the end of a block of the template"}
			case right && word(a) && word(b) && (before.Role == jinja.Literal ||
				strings.HasSuffix(before.Path, ".role")):
				this = seam{t.kinds[messageOf(r)].String(),
					"the template's " + jsonString(lastWord(t.text[from-before.Len:from]))}
			default:
				continue
			}
			if !seen[this] {
				seen[this] = true
				find(t.at(from), "the text of %s runs into %s: %s\nconversation: %s",
					article(this.kind), this.other, report.Quote(t.text, from), t.Name)
			}
		}
	}
}

// idBeside reports whether two texts of one call follow each other at once, of which one is its id.
func idBeside(a, b jinja.Run) bool {
	x, field := cutCall(a.Path)
	y, other := cutCall(b.Path)
	return x != "" && x == y && field != other && (field == ".id" || other == ".id")
}

// cutCall cuts the path of a text of a call after the call; "" where it is of none.
func cutCall(path string) (call, field string) {
	at := strings.Index(path, ".tool_calls[")
	if at < 0 {
		return "", ""
	}
	end := strings.IndexByte(path[at:], ']')
	return path[:at+end+1], path[at+end+1:]
}

// instructs reports whether messages of a kind are instructions, which share a turn with blocks of
// the template's own. Calls are blocks, too, and follow the text beside them in many ways.
func instructs(k conversation.Kind) bool {
	return k == conversation.System || k == conversation.Developer
}

// beginsBlock reports whether the template's own text begins with an element that fills lines of
// its own: a line feed stands after its beginning and before its end.
func beginsBlock(own string) bool {
	at, to, ok := nextMarker(own[:min(len(own), longest)], 0)
	if !ok || at != 0 || own[0] != '<' || !strings.HasPrefix(own[to:], "\n") {
		return false
	}
	end := strings.Index(own, "</"+own[1:to])
	return end > 0 && own[end-1] == '\n'
}

// endsBlock reports whether the template's own text ends with such an element.
func endsBlock(own string) bool {
	end, ok := lastMarker(own)
	if !ok || !strings.HasPrefix(end, "</") || !strings.HasSuffix(own, end) {
		return false
	}
	inside := own[:len(own)-len(end)]
	open := strings.LastIndex(inside, "<"+end[len("</"):])
	return open >= 0 && strings.HasSuffix(inside, "\n") &&
		strings.HasPrefix(inside[open+len(end)-1:], "\n")
}

// headingInLine is a heading of Markdown after a sentence in the same line.
var headingInLine = regexp.MustCompile(`[a-z][.!?:]#{1,6} [A-Z]`)

func inLine(text string) bool {
	return strings.Contains(text, "#") && headingInLine.MatchString(text)
}

// heading reports whether a text begins with a heading of Markdown.
func heading(text string) bool {
	bare := strings.TrimLeft(text, "#")
	return len(bare) < len(text) && strings.HasPrefix(bare, " ")
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func lastWord(text string) string {
	return text[strings.LastIndexAny(text, " \n>")+1:]
}

// assignment is a short text that nobody writes twice on purpose: to=user, say.
var assignment = regexp.MustCompile(`^\s*[a-z_]{2,}[=:]\s*\w+\s*$`)

// shortest is the length from which on a text that stands there twice is no chance, in bytes.
const shortest = 8

func checkRepeated(s *Subject, find finder) {
	seen := map[where]bool{}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		writes := t.o.Trace.Writes()
		for i, two := range writes {
			from, half := two.From, (two.To-two.From)/2
			text := t.text[two.From+half : two.To] // of texts that were written together
			if twice := t.text[two.From:two.From+half] == text; !twice && i > 0 {
				text, from = t.text[two.From:two.To], writes[i-1].From
				if writes[i-1].Off == two.Off || text != t.text[from:writes[i-1].To] {
					continue
				}
			} else if !twice {
				continue
			}
			words := len(strings.TrimSpace(text)) >= shortest && strings.ContainsFunc(text,
				unicode.IsLetter)
			words = words || assignment.MatchString(text)
			if !words || seen[where(two.Off)] || !t.allOwn(from, two.To) {
				continue
			}
			seen[where(two.Off)] = true
			find(where(two.Off), "%s is written twice in a row: %s\nconversation: %s",
				jsonString(text), report.Quote(t.text, from), t.Name)
		}
		for _, d := range t.doubled() {
			if w, ok := t.o.Trace.WriteAt(d.from); ok && !seen[where(w.Off)] {
				seen[where(w.Off)] = true
				find(t.at(d.from), "%s is written twice in a row: %s\nconversation: %s",
					jsonString(t.text[d.from:d.to]), report.Quote(t.text, d.to), t.Name)
			}
		}
	}
}

// doubled returns the stretches of a prompt that follow themselves at once: lines of the template's
// own before the first message, or a text of the request with the text around it. Empty
// messages that follow each other are no such lines.
func (t *talked) doubled() []span {
	var all []span
	preamble := 0
	if len(t.spans) > 0 && t.in.Messages[0].At("content").Kind() == ordered.String {
		preamble = t.spans[0].from
	}
	add := func(from, size int) {
		text := t.text[from : from+size]
		if len(strings.TrimSpace(text)) >= shortest && strings.ContainsFunc(text,
			unicode.IsLetter) {
			all = append(all, span{from, from + size})
		}
	}
	last := map[jinja.Origin]int{}
	at := 0
	if preamble > 0 && len(t.in.Tools) == 0 && t.kinds[0] == conversation.Question {
		for from, size := range linesTwice(t.text[:preamble]) {
			add(from, size)
		}
		preamble = 0 // all of it is the template's own
	}
	for _, r := range t.o.Runs {
		if r.Role == jinja.Literal && at+r.Len <= preamble {
			for from, size := range linesTwice(t.text[at : at+r.Len]) {
				add(at+from, size)
			}
			if from, size := markersTwice(t.text[at : at+r.Len]); size > 0 {
				add(at+from, size)
			}
		}
		if r.Role == jinja.FromValue && !strings.HasSuffix(r.Path, ".role") &&
			(strings.HasPrefix(r.Path, "messages[") || strings.HasPrefix(r.Path, "tools[")) {
			if before, ok := last[r.Origin]; ok {
				size := at - before
				back, on := 0, 0
				for back < before && t.text[before-1-back] == t.text[at-1-back] && back < size {
					back++
				}
				for at+on < len(t.text) && t.text[before+on] == t.text[at+on] && on < size {
					on++
				}
				if back+on >= size && on >= r.Len {
					add(max(before-back, 0), size)
				}
			}
			last[r.Origin] = at
		}
		at += r.Len
	}
	return all
}

// markersTwice returns a stretch from a marker on that stands twice in a row, and in which the
// marker stands once.
func markersTwice(text string) (from, size int) {
	last := map[string]int{}
	for at, to, ok := nextMarker(text, 0); ok; at, to, ok = nextMarker(text, to) {
		name := text[at:to]
		if before, seen := last[name]; seen {
			size := at - before
			if size > longest/4 && strings.HasPrefix(text[at:], text[before:at]) {
				return before, size
			}
		}
		last[name] = at
	}
	return 0, 0
}

// mostLines bounds the lines of a block that is looked for a second time.
const mostLines = 64

// linesTwice returns where blocks of lines begin that stand twice in a row, and how long each is
// with its line feed. The first line may stand after other text.
func linesTwice(text string) map[int]int {
	found := map[int]int{}
	lines := strings.SplitAfter(text, "\n")
	bare := func(i int) string { return strings.TrimRight(lines[i], "\n") }
	at := 0
	for i, line := range lines {
		size := 0
		for n := 1; n <= mostLines && i+2*n <= len(lines); n++ {
			size += len(lines[i+n-1])
			first := bare(i + n)
			if first != bare(i) && (len(first) < shortest || !strings.HasSuffix(bare(i), first)) {
				continue
			}
			k := 1
			for k < n && bare(i+k) == bare(i+n+k) {
				k++
			}
			prefix := len(bare(i)) - len(first)
			if k == n && strings.TrimSpace(text[at+prefix:at+size]) != "" {
				found[at+prefix] = size - prefix
				break
			}
		}
		at += len(line)
	}
	return found
}

// allOwn reports whether a stretch of a prompt is the template's own text.
func (t *talked) allOwn(from, to int) bool {
	at := 0
	for _, r := range t.o.Runs {
		if max(at, from) < min(at+r.Len, to) && r.Role != jinja.Literal {
			return false
		}
		at += r.Len
	}
	return true
}

// asciiLetter reports whether a byte can begin the name of an element.
func asciiLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
