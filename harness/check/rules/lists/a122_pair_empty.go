package lists

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// PairEmpty is the rule A122: a pair of markers in the instructions holds nothing, though the
// prompt has tools.
var PairEmpty = &probe.Rule{
	Rule: rule.Rule{
		ID: "A122", Name: "pair-empty", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "A pair of markers in the instructions is empty, though the request has tools.",
		Damage: "The model looks for the tools between the markers, and they stand elsewhere.",
		Fix:    "Write between the two markers what belongs there, or neither of them.",
	},
	Find: checkEmptyPair,
}

// answers reports whether the next message of a prompt is an answer, or words of the model that the
// prompt lacks: reasoning that is not there may well leave its markers.
func answers(t *prompts.Prompt, off int) bool {
	for i, span := range t.Spans {
		switch {
		case span.To == 0 && i > 0 && t.Spans[i-1].To > 0 && t.Spans[i-1].To <= off &&
			(t.Kinds[i] == conversation.Answer || t.Kinds[i] == conversation.Call):
			return true
		case span.To > 0 && span.From >= off:
			return t.Kinds[i] == conversation.Answer
		}
	}
	return false
}

// unsent reports whether the template writes a member of a message there which the message lacks.
// Where no request brings it, words of the model that come under another name are lost.
func unsent(t *prompts.Prompt, from, to int) bool {
	begin, _ := t.Seen.WrittenAt(from - 1)
	end, _ := t.Seen.WrittenAt(to)
	return slices.ContainsFunc(t.Seen.Trace.Reads(), func(r jinja.Read) bool {
		return r.Missing && begin < r.First && r.First < end &&
			strings.HasPrefix(r.Path, "messages[")
	})
}

// checkHollow looks for two markers that belong together, in turns before the last message, with
// nothing between them in any conversation.
func checkHollow(s *probe.Subject, find probe.Finder) {
	type pair struct {
		empty int
		full  bool
		in    *prompts.Prompt
		first markup.Marker
	}
	pairs := map[string]*pair{}
	var keys []string
	for t := range prompts.Rendered(s) {
		own, tail := t.Own(), t.Tail()
		var open *markup.Marker // whose next marker is not known yet
		for m := range t.Markers() {
			if open != nil {
				p := pairs[open.Key]
				if m.Key == open.Key && m.Side == markup.Closing &&
					(!answers(t, m.To) || unsent(t, open.To, m.At)) &&
					strings.TrimSpace(own[open.To:m.At]) == "" {
					if p.empty++; p.empty == 1 {
						p.in, p.first = t, *open
					}
				} else {
					p.full = true
				}
				open = nil
			}
			if m.Side == markup.Closing || m.Spoken || m.At >= tail {
				continue
			}
			if open = &m; pairs[m.Key] == nil {
				pairs[m.Key] = &pair{}
				keys = append(keys, m.Key)
			}
		}
		if open != nil {
			pairs[open.Key].full = true
		}
	}
	for _, key := range keys {
		if p := pairs[key]; !p.full && p.empty >= prompts.Enough {
			p.in.Show(s, find, p.first.At, "no request puts anything between %s and its end",
				probe.JSON(p.in.Text[p.first.At:p.first.To]))
		}
	}
}

// checkOutside looks for two markers that belong together with nothing between, right after the
// text of instructions that no marker opens.
func checkOutside(s *probe.Subject, find probe.Finder) {
	for t := range prompts.Rendered(s) {
		if len(t.Kinds) == 0 || t.Kinds[0] != conversation.System ||
			t.Spans[0].To == 0 {
			continue
		}
		var open markup.Marker
		header := false
		for m := range t.Markers() {
			if m.To <= t.Spans[0].From {
				header = header || m.Side != markup.Closing && m.At > 0
				continue
			}
			if open.To > 0 {
				if !header && open.Key == m.Key && m.Side == markup.Closing &&
					strings.TrimSpace(t.Text[t.Spans[0].To:open.At]) == "" &&
					strings.TrimSpace(t.Text[open.To:m.At]) == "" {
					t.Show(s, find, open.At, "nothing is written between %s and %s: the system "+
						"message stands before them",
						probe.JSON(t.Text[open.At:open.To]), probe.JSON(t.Text[m.At:m.To]))
					return
				}
				break
			}
			if open = m; m.Side == markup.Closing || m.At < t.Spans[0].To {
				break // no pair, or it stands in the text
			}
		}
	}
}

// checkEmptyPair looks for two markers that belong together with nothing between, before the first
// message.
func checkEmptyPair(s *probe.Subject, find probe.Finder) {
	if p, at := prompts.FindOwn(s, emptyQuotes); at != nil {
		p.In.Show(s, find, at[0]+2, "a sentence of the template has two quotes with nothing "+
			"between them")
	}
	checkHollow(s, find)
	checkOutside(s, find)
	if !s.Template.Caps().Tools {
		return
	}
	lists := listed(s)
	if len(lists) == 0 {
		return
	}
	l := lists[0]
	end := strings.Index(l.Text, "USERNEEDLE")
	if end < lists[len(lists)-1].tools[2].To {
		return
	}
	var before markup.Marker
	for m := range l.Markers() {
		if m.At >= end {
			break
		}
		if before.To > 0 && before.Key == m.Key && before.Side != markup.Closing &&
			m.Side == markup.Closing &&
			!before.Spoken && !m.Spoken && strings.TrimSpace(l.Text[before.To:m.At]) == "" {
			find(l.At(before.At), "nothing is written between %s and %s: the tools stand "+
				"elsewhere\nthe model sees: %s", probe.JSON(l.Text[before.At:before.To]),
				probe.JSON(l.Text[m.At:m.To]), report.Quote(l.Text, m.At))
			return
		}
		before = m
	}
	if at := emptyArray.FindStringIndex(l.Own()[:end]); at != nil {
		find(l.At(at[0]), "an empty list is written, and the tools stand elsewhere")
	}
}

// emptyQuotes are quotes among the words of a sentence.
var emptyQuotes = regexp.MustCompile(`[a-z] (""|“”) [a-z]{2}`)

// emptyArray is an array over several lines with nothing in it.
var emptyArray = regexp.MustCompile(`(?m)^\[\s*\n\s*\]$`)
