package markers

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// OwnTextRepeated is the rule A083: the template writes the same text of its own twice in a row,
// from two places.
var OwnTextRepeated = &probe.Rule{
	Rule: rule.Rule{
		ID: "A083", Name: "own-text-repeated", Severity: rule.Warning, Harm: rule.Doubled,
		Short:  "The template writes the same text of its own twice in a row, from two places.",
		Damage: "The model reads a header, a list or an instruction twice.",
		Fix:    "Write it in one of the two places.",
	},
	Find: checkRepeated,
}

// assignment is a short text that nobody writes twice on purpose: to=user, say.
var assignment = regexp.MustCompile(`^\s*[a-z_]{2,}[=:]\s*\w+\s*$`)

func checkRepeated(s *probe.Subject, find probe.Finder) {
	seen := map[int]bool{}
	for t := range prompts.Rendered(s) {
		if !s.Template.Caps().ToolCalls && (slices.Contains(t.Kinds, conversation.Call) ||
			slices.Contains(t.Kinds, conversation.Result)) {
			continue // the template knows none of these messages
		}
		writes := t.Seen.Trace.Writes()
		for i, two := range writes {
			from, half := two.From, (two.To-two.From)/2
			text := t.Text[two.From+half : two.To] // of texts that were written together
			if twice := t.Text[two.From:two.From+half] == text; !twice && i > 0 {
				text, from = t.Text[two.From:two.To], writes[i-1].From
				if writes[i-1].Off == two.Off || text != t.Text[from:writes[i-1].To] {
					continue
				}
			} else if !twice || s.Flow().Repeats(two.Off) {
				continue // or the template says how often
			}
			words := len(strings.TrimSpace(text)) >= prompts.Shortest && strings.ContainsFunc(text,
				unicode.IsLetter)
			words = words || assignment.MatchString(text)
			if !words || seen[two.Off] || !allOwn(t, from, two.To) {
				continue
			}
			seen[two.Off] = true
			find(probe.Offset(two.Off).Shown(t.In), "%s is written twice in a row\n"+
				"the model sees: %s", probe.JSON(text), report.Quote(t.Text, from))
		}
		all := doubled(t)
		if m, ok := markerAgain(t); ok {
			all = append(all, prompts.Span{From: m.At, To: m.To})
		}
		for _, d := range all {
			if w, ok := t.Seen.Trace.WriteAt(d.From); ok && !seen[w.Off] {
				seen[w.Off] = true
				t.Show(s, find, d.From, "%s is written twice in a row",
					probe.JSON(t.Text[d.From:d.To]))
			}
		}
	}
}

// talks reports whether a request has messages with texts alone, all of which are written.
func talks(t *prompts.Prompt) bool {
	for i, m := range t.In.Messages {
		if k := t.Kinds[i]; k == conversation.Call || k == conversation.Result ||
			strings.TrimSpace(m.At("content").Text()) == "" || t.Spans[i].To == 0 {
			return false
		}
	}
	return len(t.In.Tools) == 0
}

// markerAgain returns a marker after the first message that follows itself at once, in a
// conversation of texts alone: a turn is opened or closed for no message.
func markerAgain(t *prompts.Prompt) (again markup.Marker, ok bool) {
	if !talks(t) {
		return again, false
	}
	last := markup.Marker{}
	for m := range t.Markers() {
		if last.At > t.Spans[0].From && t.Text[last.At:last.To] == t.Text[m.At:m.To] &&
			strings.TrimSpace(t.Text[last.To:m.At]) == "" {
			return m, true
		}
		last = m
	}
	return again, false
}

// doubled returns the stretches of a prompt that follow themselves at once: lines of the template's
// own before the first message or between two texts, or a text of the request with the text around
// it. Empty messages that follow each other are no such lines.
func doubled(t *prompts.Prompt) []prompts.Span {
	var all []prompts.Span
	preamble := 0
	if len(t.Spans) > 0 && t.In.Messages[0].At("content").Kind() == ordered.String {
		preamble = t.Spans[0].From
	}
	add := func(from, size int) {
		text := t.Text[from : from+size]
		if len(strings.TrimSpace(text)) >= prompts.Shortest && strings.ContainsFunc(text,
			unicode.IsLetter) {
			all = append(all, prompts.Span{From: from, To: from + size})
		}
	}
	if talks(t) {
		for i, span := range t.Spans {
			to := len(t.Text)
			if i+1 < len(t.Spans) {
				to = t.Spans[i+1].From
			}
			for from, size := range linesTwice(t.Text[span.To:max(span.To, to)]) {
				add(span.To+from, size)
			}
		}
	}
	last := map[jinja.Origin]int{}
	if preamble > 0 && len(t.In.Tools) == 0 && t.Kinds[0] == conversation.Question {
		for from, size := range linesTwice(t.Text[:preamble]) {
			add(from, size)
		}
		preamble = 0 // all of it is the template's own
	}
	for at, r := range t.Seen.All() {
		if r.Role == jinja.Literal && at+r.Len <= preamble {
			for from, size := range linesTwice(t.Text[at : at+r.Len]) {
				add(at+from, size)
			}
			if from, size := markersTwice(t.Text[at : at+r.Len]); size > 0 {
				add(at+from, size)
			}
		}
		if r.Role == jinja.FromValue && !strings.HasSuffix(r.Path, ".role") &&
			(strings.HasPrefix(r.Path, "messages[") || strings.HasPrefix(r.Path, "tools[")) {
			if before, ok := last[r.Origin]; ok {
				size := at - before
				back, on := 0, 0
				for back < before && t.Text[before-1-back] == t.Text[at-1-back] && back < size {
					back++
				}
				for at+on < len(t.Text) && t.Text[before+on] == t.Text[at+on] && on < size {
					on++
				}
				if back+on >= size && on >= r.Len {
					add(max(before-back, 0), size)
				}
			}
			last[r.Origin] = at
		}
	}
	return all
}

// markersTwice returns a stretch from a marker on that stands twice in a row, and in which the
// marker stands once.
func markersTwice(text string) (from, size int) {
	last := map[string]int{}
	for at, to, ok := markup.Next(text, 0); ok; at, to, ok = markup.Next(text, to) {
		name := text[at:to]
		if before, seen := last[name]; seen {
			size := at - before
			if size > markup.Longest/4 && strings.HasPrefix(text[at:], text[before:at]) &&
				!paired(text[before:at]) {
				return before, size
			}
		}
		last[name] = at
	}
	return 0, 0
}

// paired reports whether a text is a marker with its closing one at the end: two of them are a
// list, such as an example of two calls.
func paired(text string) bool {
	all := markup.In(text)
	last := all[len(all)-1]
	return last.Side == markup.Closing && last.Key == all[0].Key &&
		strings.TrimSpace(text[last.To:]) == ""
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
			if first != bare(i) && (len(first) < prompts.Shortest || !strings.HasSuffix(bare(i),
				first)) {
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
func allOwn(t *prompts.Prompt, from, to int) bool {
	for at, r := range t.Seen.All() {
		if max(at, from) < min(at+r.Len, to) && r.Role != jinja.Literal {
			return false
		}
	}
	return true
}
