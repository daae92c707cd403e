package check

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// listRules look at how a template lists the tools: the text before, between and after them.
var listRules = []lookout{
	{Rule: rule.Rule{ID: "A121", Name: "tools-joined", Severity: rule.Warning,
		Short: "The tools of a request are not listed as a reader could tell them apart: they " +
			"run together, or the separator of two of them does not stand between the next.",
		Damage: "The model cannot tell where a tool ends; an array of tools is no JSON.",
		Fix: "Write the separator between every two tools, and the brackets around all of " +
			"them."}, Group: groupLint, Find: checkTools},
	{Rule: rule.Rule{ID: "A122", Name: "pair-empty", Severity: rule.Warning,
		Short: "A pair of markers in the instructions holds nothing, though the prompt has " +
			"tools.",
		Damage: "The model looks for the tools between the markers and finds none; they stand " +
			"elsewhere.",
		Fix: "Write the tools between the two markers."}, Group: groupLint, Find: checkEmptyPair},
}

// alike are three tools that differ in nothing but their names.
func alike() []chat.Tool {
	var all []chat.Tool
	for _, name := range []string{"find_boat", "take_note", "read_mail"} {
		v, err := ordered.ParseString(`{"type": "function", "function": {"name": "` + name +
			`", "description": "Does it", "parameters": {"type": "object", "properties": ` +
			`{"place": {"type": "string", "description": "A place"}}, "required": ["place"]}}}`)
		if err != nil {
			panic(err)
		}
		all = append(all, chat.Tool{Name: name, Value: v,
			Parameters: v.At("function", "parameters")})
	}
	return all
}

// list is a prompt with the three tools, and where each of them stands.
type list struct {
	*talked
	tools [3]span
}

// listed renders the three tools and returns each list of them that the prompt has.
func (s *Subject) listed() []list {
	in := s.Template.Caps().Fit(chat.Request{Messages: talk(userTurn), Tools: alike()}).Input
	t := &talked{}
	var err error
	if t.o, err = s.Template.ChatTemplate().Observe(in); err != nil {
		return nil
	}
	t.rendering = rendering{t.o.String, s.Template.ChatTemplate(), in}
	type stretch struct {
		tool byte
		span
	}
	var stretches []stretch
	at := 0
	for _, r := range t.o.Runs {
		at += r.Len
		path, ok := strings.CutPrefix(r.Path, "tools[")
		if !ok || r.Role == jinja.Literal {
			continue
		}
		if n := len(stretches); n > 0 && stretches[n-1].tool == path[0] {
			stretches[n-1].to = at
		} else {
			stretches = append(stretches, stretch{path[0], span{at - r.Len, at}})
		}
	}
	var lists []list
	for i := 0; i+2 < len(stretches); i++ {
		one := stretches[i : i+3]
		if one[0].tool == '0' && one[1].tool == '1' && one[2].tool == '2' {
			lists = append(lists, list{t, [3]span{one[0].span, one[1].span, one[2].span}})
		}
	}
	return lists
}

func checkTools(s *Subject, find finder) {
	if !s.Template.Caps().Tools {
		return
	}
	for _, l := range s.listed() {
		one, two := l.text[l.tools[0].to:l.tools[1].from], l.text[l.tools[1].to:l.tools[2].from]
		switch at := l.tools[1].from; {
		case one != two:
			find(l.at(at), "between the first two tools stands %s, between the next two %s: %s",
				jsonString(one), jsonString(two), report.Quote(l.text, at))
		case one == "" || strings.Contains(one, "}{"):
			find(l.at(at), "nothing stands between two tools: %s", report.Quote(l.text, at))
		default:
			l.array(find)
			l.glued(find)
		}
	}
}

// array asks whether tools that stand in brackets of the template's own make an array of JSON.
func (l list) array(find finder) {
	first, last := l.tools[0].from, l.tools[2].to
	before, after := l.text[:first], l.text[last:]
	open := strings.LastIndexByte(before, '[')
	opened := open >= 0 && listStart(before[open+1:])
	end := strings.IndexByte(after, ']')
	closed := end >= 0 && listEnd(after[:end])
	if !opened && !closed {
		return
	}
	if opened != closed {
		if bare := strings.Trim(l.text[l.tools[0].to:l.tools[1].from], " \n"); bare == "," {
			find(l.at(first), "the tools stand in an array with one bracket: %s",
				report.Quote(l.text, first))
		}
		return
	}
	array := l.text[open : last+end+1]
	if !json.Valid([]byte(array)) && json.Valid([]byte(strings.ReplaceAll(array, "'", `"`))) {
		return // as Python writes it, which is A068
	}
	if !json.Valid([]byte(array)) && strings.Count(array, `":`) > 2 {
		find(l.at(first), "the tools stand in an array that is no JSON: %s",
			report.Quote(l.text, first))
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
	return len(text) < longest && !strings.ContainsAny(text, "{[") &&
		!strings.Contains(text, "\n\n")
}

// glued asks whether words stand right before the first tool or right after the last one. The
// object around them may be the template's own.
func (l list) glued(find finder) {
	first, last := l.tools[0].from, l.tools[2].to
	if at := strings.LastIndexByte(l.text[:first], '{'); at >= 0 &&
		strings.HasPrefix(l.text[at:first], `{"`) && first-at < longest {
		first = at
	}
	last += len(l.text[last:]) - len(strings.TrimLeft(l.text[last:], `}"`))
	before, _ := utf8.DecodeLastRuneInString(l.text[:first])
	after, _ := utf8.DecodeRuneInString(l.text[last:])
	object := strings.HasPrefix(l.text[first:], "{")
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	switch {
	case object && (word(before) || before == '.'):
		find(l.at(first), "the first tool runs into the text before it: %s",
			report.Quote(l.text, first))
	case object && (word(after) || after == '#' || after == '/'):
		find(l.at(last), "the last tool runs into the text after it: %s",
			report.Quote(l.text, last))
	}
}

// checkEmptyPair looks for two markers that belong together with nothing between, before the first
// message.
func checkEmptyPair(s *Subject, find finder) {
	if !s.Template.Caps().Tools {
		return
	}
	lists := s.listed()
	if len(lists) == 0 {
		return
	}
	l := lists[0]
	end := strings.Index(l.text, "USERNEEDLE")
	if end < lists[len(lists)-1].tools[2].to {
		return
	}
	var before marker
	for m := range l.markers() {
		if m.at >= end {
			break
		}
		if before.to > 0 && before.key == m.key && before.side != closing && m.side == closing &&
			!before.spoken && !m.spoken && strings.TrimSpace(l.text[before.to:m.at]) == "" {
			find(l.at(before.at), "nothing stands between %s and %s, and the tools stand "+
				"elsewhere: %s", jsonString(l.text[before.at:before.to]),
				jsonString(l.text[m.at:m.to]), report.Quote(l.text, m.at))
			return
		}
		before = m
	}
	if at := emptyArray.FindStringIndex(l.own()[:end]); at != nil {
		find(l.at(at[0]), "an array is empty, and the tools stand elsewhere: %s",
			report.Quote(l.text, at[0]))
	}
}

// emptyArray is an array over several lines with nothing in it.
var emptyArray = regexp.MustCompile(`(?m)^\[\s*\n\s*\]$`)
