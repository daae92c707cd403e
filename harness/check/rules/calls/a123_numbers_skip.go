package calls

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// NumbersSkip is the rule A123: the template numbers calls, results or pictures and skips or
// repeats a number, or numbers the results otherwise than the calls.
var NumbersSkip = &probe.Rule{
	Rule: rule.Rule{
		ID: "A123", Name: "numbers-skip", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "The numbers of tool calls, results or images skip, repeat or do not match.",
		Damage: "The model refers to a call by a number that is not there, or mixes up results.",
		Fix:    "Count each call, each result and each image once.",
	},
	Find: checkCounted,
}

// numbered are the numbers that a template computed within a stretch of a prompt, by the text of
// its own before each.
func numbered(t *prompts.Prompt, from, to int) map[string][]int {
	found := map[string][]int{}
	own := t.Own()
	for start, r := range t.Seen.All() {
		at := start + r.Len
		if r.Role != jinja.Computed || start < from || at > to {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(t.Text[start:at]))
		if err != nil {
			continue
		}
		before := own[from:start]
		before = before[strings.LastIndexAny(before, "\x00\n")+1:]
		found[before] = append(found[before], n)
	}
	return found
}

// digits are the numbers in own text.
var digits = regexp.MustCompile(`[0-9]+`)

// checkParts puts a picture, or a video, into a question, then a second one beside it, and one into
// a later question: each brings the next number.
func checkParts(s *probe.Subject, find probe.Finder) {
	for _, kind := range [...]string{"image", "video"} {
		part := ordered.Pairs("type", kind)
		ask := func(parts ...ordered.Value) ordered.Value {
			parts = append(parts, chat.TextPart(ordered.Str("USERNEEDLE")))
			return sample.User.With("content", ordered.ArrayOf(parts...))
		}
		first := ask(part)
		if checkNumber(s, find, 0, kind, sample.Talk(ask()), sample.Talk(first)) ||
			checkNumber(s, find, 1, kind, sample.Talk(first), sample.Talk(ask(part, part))) ||
			checkNumber(s, find, 1, kind, sample.Talk(first, sample.Answer, ask()),
				sample.Talk(first, sample.Answer, first)) {
			return
		}
	}
}

// checkNumber looks at the numbers that a part brings: its own and, where one alone has none, that
// of the first as well. It reports whether they are others.
func checkNumber(s *probe.Subject, find probe.Finder, nth int, kind string,
	one, two []ordered.Value) bool {
	render := func(messages []ordered.Value) probe.Rendering {
		prompt, err := s.Raw(messages, false)
		if err == nil { // with numbers that a template writes on demand
			prompt, err = s.With(prompt, ordered.MemberOf("add_vision_id", ordered.Boolean(true)))
		}
		if err != nil {
			return probe.Rendering{} // other rules are about it
		}
		return prompt
	}
	was, prompt := render(one).Text, render(two)
	is := prompt.Text
	at, more := report.Parting(was, is), len(is)-len(was)
	if was == "" || more <= 0 || is[at+more:] != was[at:] {
		return false
	}
	numbers := strings.Join(digits.FindAllString(is[at:at+more], -1), " and ")
	if !slices.Contains(wrong[nth], numbers) {
		return false
	}
	find(prompt.At(at), "the %s %s brings the number %s", [...]string{"first", "second"}[nth],
		kind, numbers)
	return true
}

// wrong are the numbers that the first part and the second must not bring; greater ones are no
// count.
var wrong = [...][]string{{"0", "2", "3"},
	{"0", "1", "3", "0 and 0", "0 and 1", "1 and 1", "1 and 3", "2 and 3"}}

// checkCounted renders three calls and their results.
func checkCounted(s *probe.Subject, find probe.Finder) {
	checkParts(s, find)
	c := s.Template.Caps()
	if !c.ToolCalls || !c.ParallelToolCalls {
		return
	}
	t, err := prompts.Observe(s, sample.Talk(sample.User, threeCalls, sample.ResultOf("callid001",
		"RESULTONE"),
		sample.ResultOf("callid002", "RESULTTWO"), sample.ResultOf("callid003", "RESULTSIX")), true,
		false)
	if err != nil {
		return
	}
	start, end := strings.Index(t.Text, "USERNEEDLE"), strings.Index(t.Text, "CITYSIX")
	last := strings.LastIndex(t.Text, "RESULTSIX")
	if start < 0 || end < start || last < end {
		return
	}
	// the number of the first result stands after the last call
	parts := [...]prompts.Span{{From: start, To: end}, {From: end, To: len(t.Text)}}
	var first [2]int
	var counted [2]bool
	for i, part := range parts {
		for _, numbers := range numbered(t, part.From, part.To) {
			if len(numbers) < 2 || len(numbers) > 3 {
				continue
			}
			for j, n := range numbers[1:] {
				if step := n - numbers[j]; step > 1 || step == 0 {
					find(t.At(part.To-1), "%s are numbered %s", [...]string{"calls", "results"}[i],
						inRow(numbers))
					return
				}
			}
			if len(numbers) == 3 && numbers[1] == numbers[0]+1 {
				first[i], counted[i] = numbers[0], true
			}
		}
	}
	for before, numbers := range numbered(t, start, end) {
		if len(numbers) == 3 && numbers[1] == numbers[0]+1 && len(before) >= prompts.Shortest &&
			strings.Contains(t.Own()[end:], before) && numbered(t, end,
			len(t.Text))[before] == nil {
			at := end + strings.Index(t.Own()[end:], before)
			find(t.At(at), "tool calls are numbered, and their tool messages have no number\n"+
				"the model sees: %s", report.Quote(t.Text, at+len(before)))
			return
		}
	}
	if counted[0] && counted[1] && first[0] != first[1] {
		find(t.At(last), "the first tool call has the number %d, and its tool message %d", first[0],
			first[1])
	}
}

// inRow writes numbers as a list in words.
func inRow(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ", ")
}
