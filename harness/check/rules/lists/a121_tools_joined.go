package lists

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// ToolsJoined is the rule A121: the tools of a request are not listed as a reader could tell them
// apart: they run together, or the separator of two of them does not stand between the next.
var ToolsJoined = &probe.Rule{
	Rule: rule.Rule{
		ID: "A121", Name: "tools-joined", Severity: rule.Warning, Harm: rule.Glued,
		Short:  "The tools of a request run together, or are not all separated in the same way.",
		Damage: "The model cannot tell where a tool ends; an array of tools is not valid JSON.",
		Fix:    "Write the separator between every two tools, and the brackets around all of them.",
	},
	Find: checkTools,
}

func checkTools(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().Tools {
		return
	}
	for _, l := range listed(s) {
		one, two := l.Text[l.tools[0].To:l.tools[1].From], l.Text[l.tools[1].To:l.tools[2].From]
		switch at := l.tools[1].From; {
		case one != two:
			find(l.At(at), "with three tools, %s stands between the first two, and %s between the "+
				"next two", strings.Replace(probe.JSON(one), `""`, "nothing", 1),
				strings.Replace(probe.JSON(two), `""`, "nothing", 1))
		case one == "" || strings.Contains(one, "}{"):
			find(l.At(at), "with several tools, nothing stands between two of them")
		default:
			l.array(find)
			l.glued(find)
			l.enclosed(find)
		}
	}
	checkWithin(s, find)
}

// opener returns the element that opens right before the first tool.
func (l list) opener() (markup.Marker, bool) {
	var open markup.Marker
	for m := range l.Markers() {
		if m.To <= l.tools[0].From {
			open = m
		}
	}
	element := open.Side == markup.Alone && open.To > 0 && !open.Spoken && l.Text[open.At] == '<' &&
		markup.IsLetter(l.Text[open.At+1])
	each := strings.Contains(l.Text[l.tools[0].To:l.tools[1].From], l.Text[open.At:open.To])
	return open, element && !each && strings.Trim(l.Text[open.To:l.tools[0].From], " \n[{\"") == ""
}

// enclosed asks whether the element that opens right before the first tool ends after the last one.
func (l list) enclosed(find probe.Finder) {
	open, ok := l.opener()
	if !ok {
		return
	}
	last := l.tools[2].To
	for m := range l.Markers() {
		if m.Key != open.Key || m.At < last {
			continue
		}
		if m.Side != markup.Closing {
			break // it opens again, and was never closed
		}
		if rest := l.Own()[last:m.At]; strings.ContainsFunc(rest, unicode.IsLetter) {
			find(l.At(last+strings.IndexFunc(rest, unicode.IsLetter)), "text stands between "+
				"the last tool and %s", probe.JSON(l.Text[m.At:m.To]))
		}
		return
	}
	find(l.At(open.At), "%s opens the list of tools, and nothing closes it\nthe model sees: %s",
		probe.JSON(l.Text[open.At:open.To]), report.Quote(l.Text, last))
}

// checkWithin asks whether a system message stands inside the list of tools.
func checkWithin(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().SystemRole {
		return
	}
	lists := listed(s)
	if len(lists) == 0 {
		return
	}
	open, ok := lists[0].opener()
	t, err := prompts.Observe(s, sample.Talk(s.SystemTurn(), sample.User), true, true)
	if !ok || err != nil {
		return
	}
	at := strings.Index(t.Text, "SYSTEMNEEDLE")
	// The last markers of the list before the text, the next one after it
	var before, after markup.Marker
	for m := range t.Markers() {
		switch {
		case m.Key != open.Key || m.Spoken:
		case m.At < at:
			before = m
		case after.To == 0:
			after = m
		}
	}
	if at >= 0 && before.To > 0 && before.Side != markup.Closing && after.Side == markup.Closing {
		find(t.At(at), "the system message is written inside the list of tools")
	}
}

// array asks whether tools that stand in brackets of the template's own make an array of JSON.
func (l list) array(find probe.Finder) {
	first, last := l.tools[0].From, l.tools[2].To
	before, after := l.Text[:first], l.Text[last:]
	if at := emptyBefore.FindStringIndex(before); at != nil && l.Own()[at[0]] == '[' {
		find(l.At(at[0]), "an empty list is written before the tools")
		return
	}
	open := strings.LastIndexByte(before, '[')
	opened := open >= 0 && listStart(before[open+1:])
	end := strings.IndexByte(after, ']')
	closed := end >= 0 && listEnd(after[:end])
	if !opened && !closed {
		return
	}
	if opened != closed {
		if bare := strings.Trim(l.Text[l.tools[0].To:l.tools[1].From], " \n"); bare == "," {
			find(l.At(first), "the list of tools has one bracket without the other")
		}
		return
	}
	array := l.Text[open : last+end+1]
	if !json.Valid([]byte(array)) && json.Valid([]byte(strings.ReplaceAll(array, "'", `"`))) {
		return // as Python writes it, which is A068
	}
	if !json.Valid([]byte(array)) && strings.Count(array, `":`) > 2 {
		at := l.tools[0].To
		find(l.At(at), "the list of tools is no valid JSON: %s stands between two tools",
			probe.JSON(l.Text[at:l.tools[1].From]))
	}
}

// listStart reports whether a text between a bracket and the first tool belongs to a list of
// objects.
func listStart(text string) bool {
	text = strings.TrimLeft(text, " \n\t,")
	return text == "" || text[0] == '{' && !strings.ContainsAny(text, "}]")
}

// listEnd reports whether a text between the last tool and a bracket belongs to such a list.
func listEnd(text string) bool {
	return len(text) < markup.Longest && !strings.ContainsAny(text, "{[") &&
		!strings.Contains(text, "\n\n")
}

// glued asks whether words stand right before the first tool or right after the last one. The
// object around them may be the template's own.
func (l list) glued(find probe.Finder) {
	first, last := l.tools[0].From, l.tools[2].To
	if at := strings.LastIndexByte(l.Text[:first], '{'); at >= 0 &&
		strings.HasPrefix(l.Text[at:first], `{"`) && first-at < markup.Longest {
		first = at
	}
	last += len(l.Text[last:]) - len(strings.TrimLeft(l.Text[last:], `}"`))
	// so may brackets be, of a list that is printed as a whole
	if at := len(strings.TrimRight(l.Text[:first], "[ \n")); at < first && l.Own()[at] == 0 {
		first = at
	}
	before, _ := utf8.DecodeLastRuneInString(l.Text[:first])
	after, _ := utf8.DecodeRuneInString(l.Text[last:])
	object := strings.HasPrefix(strings.TrimLeft(l.Text[first:], "[ \n"), "{")
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	switch {
	case object && (word(before) || before == '.'):
		find(l.At(first), "the first tool runs into the text before it")
	case object && (word(after) || after == '#' || after == '/'):
		find(l.At(last), "the last tool runs into the text after it")
	}
}

// emptyBefore is an empty array at the end of a text.
var emptyBefore = regexp.MustCompile(`\[\s*\]\s*$`)
