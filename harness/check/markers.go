package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/jinja"
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
func markersOf(own string) []marker {
	var all []marker
	for at, to, ok := nextMarker(own, 0); ok; at, to, ok = nextMarker(own, to) {
		m := marker{at: at, to: to}
		inner := own[m.at+1 : m.to-1]
		if inner[0] == '!' || inner[0] == '?' || strings.HasSuffix(inner, "/") {
			continue
		}
		m.spoken = mentioned(own, m) || len(all) > 0 && all[len(all)-1].spoken &&
			all[len(all)-1].to == m.at
		if name, ok := strings.CutPrefix(inner, "/"); ok {
			m.side, m.slash, inner = closing, true, name
		}
		if at := strings.IndexAny(inner, " =\x00"); at > 0 {
			inner = inner[:at]
		}
		if inner == "" || inner[0] == 0 {
			continue // it is called after a tool or a parameter
		}
		if open, end := inner[0] == '|', inner[len(inner)-1] == '|'; open != end && len(inner) > 1 {
			m.side = closing
			if open {
				m.side = opening
			}
			m.key = strings.Trim(inner, "|")
			all = append(all, m)
			continue
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
		all = append(all, m)
	}
	return all
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

// markers returns the markers of a prompt.
func (t *talked) markers() []marker {
	if t.found == nil {
		t.found = markersOf(t.own())
	}
	return t.found
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
	closes    bool // the template has its closer
	opens     bool // and its opener
	slash     bool
	start     bool // it stands at the very start of a prompt
	first     unpaired
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
			}
		}
	}
	slices.Sort(keys)
	headers := s.headers()
	sections := s.quiet(checkCallsClosed)
	turns := s.quiet(checkClosed) && s.quiet(checkOpened)
	for _, key := range keys {
		p := all[key]
		if !sections && p.ill > 0 && len(p.first.in.kinds) > 1 &&
			slices.Contains(p.first.in.kinds, conversation.Call) {
			continue
		}
		if p.ill == 0 || !p.closes || !p.slash && (!p.opens || p.ill >= p.well) || p.start ||
			headers[key] && (!turns || p.first.side != closing || few*p.ill > p.well) {
			continue
		}
		text := p.first.in.text[p.first.at:p.first.to]
		if own := p.first.in.own(); !p.opens && (p.first.at == 0 || own[p.first.at-1] == 0) {
			continue // it ends a message, and so the turn
		}
		if p.first.side == closing &&
			strings.TrimSpace(s.Template.Analysis().Format.Reasoning.Close.Text) == text {
			continue // a prompt may close reasoning that the header opens
		}
		find(p.first.in.at(p.first.at), "%s is %s: %s\nin %s, and well in %s; conversation: %s",
			jsonString(text), p.first.what,
			report.Quote(p.first.in.text, p.first.at), plural(p.ill, "conversation"),
			plural(p.well, "conversation"), p.first.in.Name)
	}
}

// headers are the keys of the markers that open turns: those with which generation prompts begin.
// A058 to A060 are about those.
func (s *Subject) headers() map[string]bool {
	keys := map[string]bool{}
	for _, t := range s.talks() {
		if t.err != nil || !t.in.Generate {
			continue
		}
		tail := t.tail()
		for _, m := range t.markers() {
			if m.at >= tail && m.side != closing {
				keys[m.key] = true
				break
			}
		}
	}
	return keys
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
	for _, m := range t.markers() {
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

func checkGlued(s *Subject, find finder) {
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
			case right && before.Role == jinja.Literal && word(a) && word(b):
				this = seam{t.kinds[messageOf(r)].String(),
					"the template's " + jsonString(lastWord(t.text[:from]))}
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

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func lastWord(text string) string {
	return text[strings.LastIndexAny(text, " \n>")+1:]
}

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
			if !words || seen[where(two.Off)] || !t.allOwn(from, two.To) {
				continue
			}
			seen[where(two.Off)] = true
			find(where(two.Off), "%s is written twice in a row: %s\nconversation: %s",
				jsonString(text), report.Quote(t.text, from), t.Name)
		}
	}
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
