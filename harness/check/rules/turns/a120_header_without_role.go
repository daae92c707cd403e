package turns

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// HeaderWithoutRole is the rule A120: the header of a turn does not say who speaks, though the
// headers of others do.
var HeaderWithoutRole = &probe.Rule{
	Rule: rule.Rule{
		ID: "A120", Name: "header-without-role", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The header of a message does not give its role, though the headers of others do.",
		Damage: "The model was never trained on such a turn: it takes a user message for its " +
			"own, or a tool message for a user's.",
		Fix: "Write the role in every header.",
	},
	Find: prompts.IfHeard(checkNamed),
}

// blank returns where the template writes a marker that is all brackets: <||>.
func blank(t *prompts.Prompt) (int, bool) {
	text := t.Framed()
	for at, to, ok := markup.Next(text, 0); ok; at, to, ok = markup.Next(text, to) {
		if strings.Trim(text[at:to], "<>|[]/_") == "" && strings.Contains(text[at:to], "|") {
			return at, true
		}
	}
	return 0, false
}

func checkNamed(s *probe.Subject, find probe.Finder) {
	for _, t := range prompts.All.Of(s) {
		if at, ok := blank(t); ok {
			t.Show(s, find, at, "a marker is written without the name that belongs into it")
			return
		}
	}
	checkMarked(s, find)
	q, ok := boundary.SequenceOf(s)
	if !ok {
		return
	}
	if t, ok := q.Unmarked(); ok {
		t.In.Show(s, find, t.From, "the header of %s lacks the marker that names the role", t.Name())
	}
	for _, t := range boundary.FirstOfKinds(q.Nameless()) {
		t.In.Show(s, find, t.From, "the header of %s names no role", t.Name())
	}
}

// checkMarked looks for a kind of message whose header begins with a word, where those of others
// begin with a marker, and for text of the template's own that the end of a turn follows and that
// lacks the marker which all headers have.
func checkMarked(s *probe.Subject, find probe.Finder) {
	f, ok := boundary.FrameOf(s)
	if !ok {
		return
	}
	marked, common := 0, map[string]int{}
	for _, header := range f.Headers {
		seen := map[string]bool{}
		for m := range markup.Each(header) {
			if text := header[m.At:m.To]; !seen[text] {
				seen[text] = true
				common[text]++
			}
			if m.At == 0 {
				marked++
			}
		}
	}
	for kind := conversation.System; kind <= conversation.Result; kind++ {
		header := f.Headers[kind]
		r, _ := utf8.DecodeRuneInString(header)
		if marked <= prompts.Few || marked+1 < len(f.Headers) || !unicode.IsLetter(r) {
			continue
		}
		for _, g := range boundary.Gaps.Of(s) {
			if rest, ok := f.After(g); ok && g.After == kind && strings.HasPrefix(rest, header) {
				_, at := g.Of(header)
				g.In.Show(s, find, at, "the header of %s does not begin with a marker, as other "+
					"headers do", probe.Article(kind.String()))
				return
			}
		}
	}
	for _, marker := range slices.Sorted(maps.Keys(common)) {
		if n := common[marker]; n == len(f.Headers) && n > prompts.Few && lacksMarker(s, find, f,
			marker) {
			return
		}
	}
}

// lacksMarker reports whether a turn of the template's own lacks the marker that all headers have.
func lacksMarker(s *probe.Subject, find probe.Finder, f boundary.Frame, marker string) bool {
	for _, g := range boundary.Gaps.Of(s) {
		if !strings.Contains(g.Text, f.Closer) {
			continue
		}
		off := g.At
		for {
			n := strings.Index(g.In.Text[off:g.To], f.Closer)
			if n < 0 {
				break
			}
			body := g.In.Text[off : off+n]
			if off > g.At && strings.ContainsFunc(body, unicode.IsLetter) &&
				!strings.Contains(body, marker) {
				g.In.Show(s, find, off, "a message that the template adds itself lacks %s, "+
					"which other headers have", probe.JSON(marker))
				return true
			}
			off += n + len(f.Closer)
		}
	}
	return false
}
