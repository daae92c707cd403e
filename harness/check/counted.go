package check

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// stateRules look at numbers, at fields that are read and not written, and at the start of prompts.
var stateRules = []lookout{
	{Rule: rule.Rule{ID: "A123", Name: "numbers-skip", Severity: rule.Warning,
		Short: "The template numbers calls or results and skips a number, or numbers the " +
			"results otherwise than the calls.",
		Damage: "The model refers to a call by a number that is not there, and takes one " +
			"result for another's.",
		Fix: "Count each call and each result once."}, Group: groupLint, Find: checkCounted},
	{Rule: rule.Rule{ID: "A124", Name: "reasoning-read-and-dropped", Severity: rule.Warning,
		Short: "The template reads the reasoning of an answer, and writes it in no " +
			"conversation.",
		Damage: "A client that gives the reasoning back as the template asks for it loses it, " +
			"and nobody is told.",
		Fix: "Write the field where it is read, or do not ask for it."}, Group: groupLint,
		Find: checkReasoningWritten},
	{Rule: rule.Rule{ID: "A125", Name: "start-moved", Severity: rule.Warning,
		Short: "All prompts without tools begin with the same text of the template, and those " +
			"with tools begin otherwise.",
		Damage: "The tools stand before the first token of every conversation that the model " +
			"was trained on.",
		Fix: "Write the start of the prompt before the tools."}, Group: groupLint,
		Find: checkStart},
}

// numbered are the numbers that a template computed within a stretch of a prompt, by the text of
// its own before each.
func (t *talked) numbered(from, to int) map[string][]int {
	found := map[string][]int{}
	own := t.own()
	at := 0
	for _, r := range t.o.Runs {
		start := at
		at += r.Len
		if r.Role != jinja.Computed || start < from || at > to {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(t.text[start:at]))
		if err != nil {
			continue
		}
		before := own[from:start]
		before = before[strings.LastIndexAny(before, "\x00\n")+1:]
		found[before] = append(found[before], n)
	}
	return found
}

// checkCounted renders three calls and their results.
func checkCounted(s *Subject, find finder) {
	c := s.Template.Caps()
	if !c.ToolCalls || !c.ParallelToolCalls {
		return
	}
	t, err := s.observed(talk(userTurn, threeCalls, resulting("callid001", "RESULTONE"),
		resulting("callid002", "RESULTTWO"), resulting("callid003", "RESULTSIX")), true, false)
	if err != nil {
		return
	}
	start, end := strings.Index(t.text, "USERNEEDLE"), strings.Index(t.text, "CITYSIX")
	last := strings.LastIndex(t.text, "RESULTSIX")
	if start < 0 || end < start || last < end {
		return
	}
	// the number of the first result stands after the last call
	parts := [...]span{{start, end}, {end, len(t.text)}}
	var first [2]int
	var counted [2]bool
	for i, part := range parts {
		for _, numbers := range t.numbered(part.from, part.to) {
			if len(numbers) < 2 || len(numbers) > 3 {
				continue
			}
			for j, n := range numbers[1:] {
				if step := n - numbers[j]; step > 1 {
					find(t.at(part.to-1), "%s are numbered %s: %s", [...]string{"calls",
						"results"}[i], inRow(numbers), report.Quote(t.text, part.to))
					return
				}
			}
			if len(numbers) == 3 && numbers[1] == numbers[0]+1 {
				first[i], counted[i] = numbers[0], true
			}
		}
	}
	for before, numbers := range t.numbered(start, end) {
		if len(numbers) == 3 && numbers[1] == numbers[0]+1 && len(before) >= shortest &&
			strings.Contains(t.own()[end:], before) && t.numbered(end, len(t.text))[before] == nil {
			at := end + strings.Index(t.own()[end:], before)
			find(t.at(at), "calls are numbered, and their results have no number: %s",
				report.Quote(t.text, at+len(before)))
			return
		}
	}
	if counted[0] && counted[1] && first[0] != first[1] {
		find(t.at(last), "the first call has the number %d, and its result %d: %s", first[0],
			first[1], report.Quote(t.text, last))
	}
}

// inRow writes numbers as a list in words.
func inRow(numbers []int) string {
	var texts []string
	for _, n := range numbers {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ", ")
}

// enough is how often a field must be read before it is said that it is never written: in some
// conversations there is a reason.
const enough = 5

// index is an index in a path.
var index = regexp.MustCompile(`\[\d+\]`)

// checkReasoningWritten goes through the fields of reasoning that requests have.
func checkReasoningWritten(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	s.checkReasoningFields(find)
	type field struct {
		read, written int
		at            where
		in            *talked
	}
	fields := map[string]*field{}
	var order []string
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		var found map[origin]int
		for _, l := range conversation.Leaves(t.in) {
			if l.Part != conversation.Reasoning {
				continue
			}
			r, ok := t.o.Trace.Reading(l.Path)
			if !ok || !r.Value && !r.Tested {
				continue
			}
			if found == nil {
				found = t.origins()
			}
			name := index.ReplaceAllString(l.Path, "")
			f := fields[name]
			if f == nil {
				f = &field{at: where(r.First), in: t}
				fields[name] = f
				order = append(order, name)
			}
			f.read++
			if has(found, originOf(l)) {
				f.written++
			}
		}
	}
	for _, name := range order {
		if f := fields[name]; f.written == 0 && f.read >= enough {
			find(f.at, "%s is read %d times and never written\nfirst: %s", name, f.read, f.in.Name)
		}
	}
}

// checkReasoningFields gives reasoning in each field of its own, unfitted. Where one of them is
// written and another one is looked for and dropped, a client that uses that one loses it.
func (s *Subject) checkReasoningFields(find finder) {
	written := map[string]bool{}
	dropped := map[string]where{}
	for _, field := range chat.ReasoningFields {
		thought := ordered.Str("REASONNEEDLE")
		for _, messages := range [][]ordered.Value{
			talk(userTurn, callTurn.With(field, thought), resultTurn),
			talk(userTurn, answerTurn.With(field, thought))} {
			in := chattemplate.Input{Messages: messages, Tools: s.tools(),
				Kwargs: s.Template.Caps().Needs.Bound}
			o, err := s.Template.ChatTemplate().Observe(in)
			r, read := o.Trace.Reading("messages[1]." + field)
			switch {
			case err != nil:
			case strings.Contains(o.String, "REASONNEEDLE"):
				written[field] = true
			case read && (r.Value || r.Tested):
				dropped[field] = where(r.Last)
			}
		}
	}
	for _, field := range chat.ReasoningFields {
		if at, ok := dropped[field]; ok && !written[field] && len(written) > 0 {
			find(at, "reasoning that comes as %s is looked for and dropped", field)
		}
	}
}

// beginsMarked reports whether a marker stands at the start of a prompt, after BOS.
func beginsMarked(t *talked) bool {
	text := strings.TrimLeft(strings.TrimPrefix(t.text, t.t.BOS), " \n")
	at, _, ok := nextMarker(text, 0)
	return ok && at == 0
}

// checkStart compares the starts of prompts.
func checkStart(s *Subject, find finder) {
	if !s.Template.Caps().Tools || !s.heard(find) {
		return
	}
	start, n, marked := "", 0, true
	for _, t := range s.talks() {
		if t.err != nil || len(t.in.Tools) > 0 {
			continue
		}
		if n++; n == 1 {
			start = t.text
		}
		start = source.CommonPrefix(start, t.text)
		marked = marked && beginsMarked(t)
	}
	if n >= few && marked {
		for _, t := range s.talks() {
			if t.err != nil || len(t.in.Tools) == 0 || t.text == "" || beginsMarked(t) {
				continue
			}
			find(t.at(0), "a prompt with tools begins with no marker, and all without do: "+
				"%s\nconversation: %s", report.Quote(t.text, 0), t.Name)
			return
		}
	}
	if n < few || start == "" {
		return
	}
	for _, t := range s.talks() {
		if t.err != nil || len(t.in.Tools) == 0 || t.text == "" {
			continue
		}
		bos := t.t.BOS
		if source.CommonPrefix(start, t.text) == "" ||
			strings.HasPrefix(start, bos) && !strings.HasPrefix(t.text, bos) {
			find(t.at(0), "a prompt with tools begins with %s, and without with %s: "+
				"%s\nconversation: %s", jsonString(firstWord(t.text)),
				jsonString(start), report.Quote(t.text, 0), t.Name)
			return
		}
	}
}
