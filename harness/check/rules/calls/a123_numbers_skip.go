package calls

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
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
		Short: "The template numbers calls, results or pictures and skips or repeats a number, or " +
			"numbers the results otherwise than the calls.",
		Damage: "The model refers to a call by a number that is not there, and takes one result " +
			"for another's.",
		Fix: "Count each call, each result and each picture once.",
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

// checkPictures renders two pictures with a text after each, in one question and in two: the number
// beside the first is the first one, and that beside the second is the next.
func checkPictures(s *probe.Subject, find probe.Finder) {
	picture := ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("image")))
	parts := []ordered.Value{picture, chat.TextPart(ordered.Str("USERNEEDLE")), picture,
		chat.TextPart(ordered.Str("SECONDNEEDLE"))}
	ask := func(parts []ordered.Value) ordered.Value {
		return sample.User.With("content", ordered.ArrayOf(parts...))
	}
	if s.Template.Caps().TypedContent && (checkNumbered(s, find, ask(parts)) ||
		checkNumbered(s, find, ask(parts[:2]), sample.Answer, ask(parts[2:]))) {
		return
	}
	for _, kind := range [...]string{"image", "video"} {
		one := ordered.ObjectOf(ordered.MemberOf("type", ordered.Str(kind)))
		if checkSecond(s, find, kind, ask([]ordered.Value{one, parts[1]}),
			ask([]ordered.Value{one, one, parts[1]})) {
			return
		}
	}
}

// checkSecond looks at the numbers that a second part of a kind brings into a question: its own,
// which is two, and that of the first where one alone has none. It reports whether they are others.
func checkSecond(s *probe.Subject, find probe.Finder, kind string, one, two ordered.Value) bool {
	was, err1 := withNumbers(s, one)
	is, err2 := withNumbers(s, two)
	at, more := report.Parting(was.Text, is.Text), len(is.Text)-len(was.Text)
	if err1 != nil || err2 != nil || more <= 0 || is.Text[at+more:] != was.Text[at:] {
		return false
	}
	numbers := digits.FindAllString(is.Text[at:at+more], -1)
	switch strings.Join(numbers, ", ") {
	case "0", "1":
		find(is.At(at), "a question's second %s has the number %s: %s", kind, numbers[0],
			report.Quote(is.Text, at))
	case "0, 0", "0, 1", "1, 1":
		find(is.At(at), "the first two %ss are numbered %s: %s", kind,
			strings.Join(numbers, " and "), report.Quote(is.Text, at))
	default:
		return false
	}
	return true
}

// withNumbers renders messages, with the numbers that a template writes on demand.
func withNumbers(s *probe.Subject, messages ...ordered.Value) (probe.Rendering, error) {
	prompt, err := s.Raw(messages, false)
	if err == nil {
		prompt, err = s.With(prompt, ordered.MemberOf("add_vision_id", ordered.Boolean(true)))
	}
	return prompt, err
}

// checkNumbered looks at two pictures in messages, each before a text, and reports whether it found
// them numbered otherwise than one after the other.
func checkNumbered(s *probe.Subject, find probe.Finder, messages ...ordered.Value) bool {
	prompt, err := withNumbers(s, messages...)
	if err != nil {
		return false // other rules are about it
	}
	before, rest, _ := strings.Cut(prompt.Text, "USERNEEDLE")
	between, _, ok := strings.Cut(rest, "SECONDNEEDLE")
	if _, question, later := strings.Cut(between, "ANSWERNEEDLE"); later {
		between = question
	}
	like := digits.ReplaceAllString(between, "0")
	common := source.CommonSuffix(digits.ReplaceAllString(before, "0"), like)
	if !ok || len(messages) == 1 && common != like || strings.Count(common, "0") != 1 {
		return false
	}
	first, second := digits.FindAllString(before, -1), digits.FindAllString(between, -1)
	n, err1 := strconv.Atoi(first[len(first)-1])
	next, err2 := strconv.Atoi(second[len(second)-1])
	if err1 == nil && err2 == nil && n <= 3 && (n != 1 || next != n+1) {
		find(prompt.At(len(before)-1), "the first two pictures are numbered %d and %d: %s", n, next,
			report.Quote(prompt.Text, len(before)))
		return true
	}
	return false
}

// checkCounted renders three calls and their results.
func checkCounted(s *probe.Subject, find probe.Finder) {
	checkPictures(s, find)
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
					find(t.At(part.To-1), "%s are numbered %s\nthe model sees: %s",
						[...]string{"calls",
							"results"}[i], inRow(numbers), report.Quote(t.Text, part.To))
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
			find(t.At(at), "calls are numbered, and their results have no number\nthe model "+
				"sees: %s",
				report.Quote(t.Text, at+len(before)))
			return
		}
	}
	if counted[0] && counted[1] && first[0] != first[1] {
		find(t.At(last), "the first call has the number %d, and its result %d\nthe model "+
			"sees: %s", first[0],
			first[1], report.Quote(t.Text, last))
	}
}

// inRow writes numbers as a list in words.
func inRow(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ", ")
}
