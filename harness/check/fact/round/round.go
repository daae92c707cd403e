// Package round looks at conversations whose parts come again: what a template writes around the
// parts of one round it writes around those of the next.
//
// # Model
//
// [Find] renders requests with three equal rounds or items (package sent) and compares the
// template's own text between the texts of the first one with that of the second. The last one may
// differ, since templates treat what is after the last question otherwise. Digits are not compared:
// calls may be numbered. A variable that is not set back, an index that is off by one or a
// condition on a position shows as a [Difference].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package round

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
)

// Difference is own text of a template that is not the same in two rounds.
type Difference struct {
	In            string // the conversation in words
	After         string // the text before which it is, in the second round
	First, Second string // the own text in either round
	Input         chattemplate.Input
	Off           int // of the second in the prompt
}

// Find returns the differences, one at most for each conversation.
func Find(t *chattemplate.Template) []Difference {
	var all []Difference
	for _, r := range sent.Repeated() {
		in, prompt, err := view.Taken(r.Request, t.Render)
		if err != nil {
			continue // other rules are about it
		}
		if d, ok := compare(t, r, prompt); ok {
			d.In, d.Input = r.Name, in
			all = append(all, d)
		}
	}
	return all
}

var digits = regexp.MustCompile(`[0-9]+`)

// plain returns own text without what differs from round to round: numbers and thoughts.
func plain(text string, r sent.Rounds) string {
	for _, thought := range r.Thoughts {
		text = strings.ReplaceAll(text, thought, "")
	}
	return digits.ReplaceAllString(text, "0")
}

// alone is what stands before the first text of a request where nothing else is sent.
func alone(t *chattemplate.Template, r sent.Rounds) string {
	_, prompt, err := view.Taken(r.Request.Without("tools").With("messages",
		ordered.ArrayOf(r.Request.At("messages").Items()[0])), t.Render)
	before, _, ok := strings.Cut(prompt, r.Rounds[0][0])
	if err != nil || !ok {
		return ""
	}
	return before
}

// compare compares the own text of the first two rounds. A header of the first one is what stands
// there without tools, too: else it may be the end of a list of tools.
func compare(t *chattemplate.Template, r sent.Rounds, prompt string) (Difference, bool) {
	first, at, ok := gaps(prompt, 0, r.Rounds[0], r.Rounds[1][0])
	if !ok {
		return Difference{}, false
	}
	second, _, ok := gaps(prompt, at, r.Rounds[1], r.Rounds[2][0])
	if !ok {
		return Difference{}, false
	}
	if _, ok := find(prompt, 0, r.Last); !ok {
		return Difference{}, false
	}
	last := len(first) - 1
	if h := header(prompt, r.Rounds[0][0]); r.Asks && h != "" &&
		!strings.Contains(first[last].text, h) && len(markup.In(first[last].text)) > 0 &&
		strings.Contains(alone(t, r), h) {
		return Difference{After: r.Rounds[1][0], First: h, Second: first[last].text,
			Off: first[last].at}, true
	}
	later := append(slices.Clone(r.Rounds[1][1:]), r.Rounds[2][0])
	for i := range first { // there are as many in the second round
		one, two := first[i].text, second[i].text
		if plain(one, r) != plain(two, r) {
			return Difference{After: later[i], First: one, Second: two, Off: second[i].at}, true
		}
	}
	return Difference{}, false
}

// named matches a marker at the end of a text, with the name of a role or nothing after it.
var named = regexp.MustCompile(`[<\[][^<>\[\]\s]+[>\]]\s*\w*\s*$`)

// header is the marker before the first text of a prompt, where it is not the prompt's own start.
func header(prompt, first string) string {
	before, _, _ := strings.Cut(prompt, first)
	if at := named.FindStringIndex(before); at != nil && at[0] > 0 {
		return strings.TrimSpace(before[at[0]:])
	}
	return ""
}

// gap is own text after one text and before the next.
type gap struct {
	text string
	at   int
}

// gaps returns the own text between the texts of a round, and before the text after it; false where
// the prompt has not each of them once, in order, from an offset on.
func gaps(prompt string, from int, r sent.Round, next string) (all []gap, end int, ok bool) {
	end = -1
	for _, text := range append(append(sent.Round{}, r...), next) {
		at, ok := find(prompt, from, text)
		if !ok {
			return nil, 0, false
		}
		if end >= 0 {
			all = append(all, gap{prompt[end:at], end})
		}
		end, from = at+len(text), at
	}
	return all, from, true
}

// find returns where the only occurrence of a text is; false where it is not after an offset, or
// there are others.
func find(prompt string, from int, text string) (int, bool) {
	at := strings.Index(prompt, text)
	return at, at >= from && strings.LastIndex(prompt, text) == at
}

// Missing is a header that the prompt for the next answer lacks after a tool's result, or has too
// much: answers that follow a result have it in the history, or have it not.
type Missing struct {
	Header string
	Input  chattemplate.Input
	Off    int // the end of the prompt
}

// ends are what stands before answers: at the ends of prompts, and in the history.
type ends struct {
	in                         chattemplate.Input // that ends with a result
	result                     string             // its prompt
	afterQuestion, afterResult string             // at the ends
	turn, answer               string             // in the history, after a question and a result
}

func endsOf(t *chattemplate.Template) (e ends, ok bool) {
	asked, told := sent.Prompted()
	in, result, err1 := view.Taken(asked.Result, t.Render)
	_, question, err2 := view.Taken(asked.Question, t.Render)
	_, history, err3 := view.Taken(told, t.Render)
	if err1 != nil || err2 != nil || err3 != nil {
		return e, false // other rules are about it
	}
	var found [4]bool
	e.in, e.result = in, result
	e.afterQuestion, found[0] = source.Between(question, asked.Asked, "")
	e.afterResult, found[1] = source.Between(result, asked.Told, "")
	e.turn, found[2] = source.Between(history, asked.Asked, asked.Answer)
	e.answer, found[3] = source.Between(history, asked.Told, asked.Later)
	return e, found == [4]bool{true, true, true, true}
}

// Unprompted looks whether the prompt for an answer begins it after a result as it does after a
// question.
func Unprompted(t *chattemplate.Template) (Missing, bool) {
	e, ok := endsOf(t)
	header := strings.TrimSpace(source.CommonSuffix(e.turn, e.answer))
	if whole := strings.TrimSpace(e.turn); header == "" && strings.Contains(e.answer, whole) {
		header = whole // reasoning follows it
	}
	return Missing{Header: header, Input: e.in, Off: len(e.result)}, ok &&
		strings.ContainsFunc(header, unicode.IsLetter) &&
		strings.Contains(e.afterQuestion, header) &&
		!strings.Contains(e.afterResult, header)
}

// Overprompted looks whether the prompt for an answer to a result has more than stands before such
// answers in the history, though the prompt for an answer to a question has not.
func Overprompted(t *chattemplate.Template) (Missing, bool) {
	e, ok := endsOf(t)
	more, longer := strings.CutPrefix(e.afterResult, e.answer)
	begun, alike := strings.CutPrefix(e.afterQuestion, e.turn) // such as reasoning
	more = strings.TrimSuffix(more, begun)
	return Missing{Header: more, Input: e.in, Off: len(e.result) - len(begun)}, ok && longer &&
		alike && !strings.HasSuffix(begun, more) && strings.ContainsFunc(more, unicode.IsLetter)
}

// Escape is an escape that a template writes in place of the character, such as a backslash and an
// n for a line feed.
type Escape struct {
	Text  string // the own text around it
	Input chattemplate.Input
	Off   int
}

// Escaped looks for escapes in the own text after the first question.
func Escaped(t *chattemplate.Template) (Escape, bool) {
	for _, r := range sent.Repeated() {
		in, prompt, err := view.Taken(r.Request, t.Render)
		if err != nil {
			continue
		}
		from, ok := find(prompt, 0, r.Rounds[0][0])
		if !ok {
			continue
		}
		for _, escape := range []string{`\n`, `\t`} {
			if i := strings.Index(prompt[from:], escape); i >= 0 {
				at := from + i
				return Escape{Text: prompt[max(from, at-40):min(len(prompt), at+20)], Input: in,
					Off: at}, true
			}
		}
	}
	return Escape{}, false
}

// Misattribution is a result that stands after the name or id of another call.
type Misattribution struct {
	Result, Name string
	Input        chattemplate.Input
	Prompt       string
	Off          int // of the result
	NameOff      int // of the name
}

// Attribute looks for results that are attributed to another call, in a message with two calls
// whose results come in either order.
func Attribute(t *chattemplate.Template) (Misattribution, bool) {
	base, swapped := sent.Swapped()
	for _, request := range []ordered.Value{base, swapped} {
		in, prompt, err := view.Taken(request, t.Render)
		if err != nil {
			continue
		}
		if m, ok := attributed(request, prompt); ok {
			m.Input, m.Prompt = in, prompt
			return m, true
		}
	}
	return Misattribution{}, false
}

// attributed looks at the names and ids between the two results: the nearest one before the second
// must be its own. Before the first one may stand what the template writes after a call.
func attributed(request ordered.Value, prompt string) (Misattribution, bool) {
	results := lists.Filter(request.At("messages").Items(), func(m ordered.Value) bool {
		return m.At("role").Text() == "tool"
	})
	first, second := results[0].At("content").Text(), results[1].At("content").Text()
	from, ok := find(prompt, 0, first)
	at, also := find(prompt, from, second)
	if !ok || !also {
		return Misattribution{}, false
	}
	between := prompt[from:at]
	for _, key := range []string{"name", "tool_call_id"} {
		own, other := results[1].At(key).Text(), results[0].At(key).Text()
		if i := strings.LastIndex(between, other); i > strings.LastIndex(between, own) &&
			!strings.Contains(prompt[at:], own) {
			return Misattribution{Result: second, Name: other, Off: at, NameOff: from + i}, true
		}
	}
	return Misattribution{}, false
}
