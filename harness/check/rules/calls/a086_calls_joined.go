package calls

import (
	"encoding/json"
	"strings"

	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// CallsJoined is the rule A086: the calls of a message are not joined as a model could write them.
var CallsJoined = &probe.Rule{
	Rule: rule.Rule{
		ID: "A086", Name: "calls-joined", Severity: rule.Warning, Harm: rule.Glued,
		Short:  "The tool calls of a message are joined wrongly.",
		Damage: "The array of calls is not valid JSON, or the second call differs from the third.",
		Fix:    "Write the separator before all calls but the first: `{% if not loop.first %}`.",
	},
	Supersedes: []string{"A180"},
	Find:       checkJoined,
}

// checkJoined renders three calls. The text between the first two must be between the last two, and
// a text in brackets must be an array; names of calls are parted from brackets.
func checkJoined(s *probe.Subject, find probe.Finder) {
	c := s.Template.Caps()
	if !c.ToolCalls || !c.ParallelToolCalls {
		return
	}
	t, err := prompts.Observe(s, sample.Talk(sample.User, threeCalls), true, false)
	if err != nil {
		return
	}
	at := [3]int{strings.Index(t.Text, "CITYONE"), strings.Index(t.Text, "CITYTWO"),
		strings.Index(t.Text, "CITYSIX")}
	if at[0] < 0 || at[1] < at[0] || at[2] < at[1] {
		return
	}
	own := t.Own()
	first, second := own[at[0]+len("CITYONE"):at[1]], own[at[1]+len("CITYTWO"):at[2]]
	if first != second {
		find(t.At(at[1]), "the first two calls are joined by %s, the next two by %s",
			probe.JSON(shownOwn(first)), probe.JSON(shownOwn(second)))
		return
	}
	rest := strings.TrimLeft(first, "\x00")
	if i := strings.IndexByte(rest, 0); i > 0 && strings.IndexByte(")}", rest[i-1]) >= 0 {
		find(t.At(at[1]-len(rest)+i), "a call begins right after the bracket that ends the "+
			"one before")
		return
	}
	checkArray(s, find, t, at)
	checkBefore(s, find, t, at[0], first)
}

// checkBefore asks whether white space that calls do not have between them stands before the first
// one, where nothing is to be parted.
func checkBefore(s *probe.Subject, find probe.Finder, t *prompts.Prompt, first int,
	between string) {
	answer, err := prompts.Observe(s, sample.Talk(sample.User, sample.Answer), true, false)
	if err != nil {
		return
	}
	_, header, ok := strings.Cut(answer.Text, "USERNEEDLE")
	header, _, there := strings.Cut(header, "ANSWERNEEDLE")
	start := strings.Index(t.Text, "USERNEEDLE") + len("USERNEEDLE")
	before, calls := strings.CutPrefix(t.Own()[start:first], header)
	opener := strings.TrimLeft(before, " \n")
	if !ok || !there || !calls || opener == before || opener == "" {
		return
	}
	if end, ok := strings.CutSuffix(between, opener); ok && end != "" &&
		strings.TrimRight(end, " \n") == end {
		find(t.At(start+len(header)), "%s is written before the first call and before no later "+
			"one", probe.JSON(before[:len(before)-len(opener)]))
	}
}

// shownOwn shows the template's own text with an ellipsis for the texts of others.
func shownOwn(own string) string {
	var b strings.Builder
	for i, part := range strings.FieldsFunc(own, func(r rune) bool { return r == 0 }) {
		if i > 0 {
			b.WriteString("...")
		}
		b.WriteString(part)
	}
	return b.String()
}

// checkArray asks whether calls that stand in an array of JSON objects make one: an object opens
// each, and the template opens a bracket before the first and closes it after the last.
func checkArray(s *probe.Subject, find probe.Finder, t *prompts.Prompt, at [3]int) {
	start := strings.Index(t.Text, "USERNEEDLE") + len("USERNEEDLE")
	open := strings.LastIndexByte(t.Text[start:at[0]], '[')
	for open >= 0 && strings.TrimLeft(t.Text[start+open+1:], " \n\t") != "" &&
		!strings.HasPrefix(strings.TrimLeft(t.Text[start+open+1:], " \n\t"), "{") {
		open = strings.LastIndexByte(t.Text[start:start+open], '[')
	}
	if open < 0 {
		return
	}
	end := strings.IndexByte(t.Text[at[2]:], ']')
	if end < 0 {
		return
	}
	array := t.Text[start+open : at[2]+end+1]
	separate := strings.Contains(array, "]") && strings.Index(array,
		"]") < len(array)-1 // an array for each call
	if separate || json.Valid([]byte(array)) {
		return
	}
	// It is the template's fault where each object alone is one, and the text around them is not an
	// array's.
	objects, rest := 0, array[1:len(array)-1]
	for {
		rest = strings.TrimLeft(rest, ", \n\t")
		decoder := json.NewDecoder(strings.NewReader(rest))
		var object map[string]any
		if rest == "" || decoder.Decode(&object) != nil {
			break
		}
		objects++
		rest = rest[decoder.InputOffset():]
	}
	if objects == 3 && rest == "" {
		find(t.At(at[1]), "several calls are written as a list that is no valid JSON\nthe "+
			"model sees: %s", probe.JSON(array))
	}
}
