package check

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
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
	{Rule: rule.Rule{ID: "A133", Name: "heading-empty", Severity: rule.Warning,
		Short:  "A heading of the template's own has nothing below it.",
		Damage: "The model is told of a part that is not there, and makes it up or asks for it.",
		Fix:    "Write the heading only where there is something to write below it."},
		Group: groupLint, Find: checkHeadings},
	{Rule: rule.Rule{ID: "A130", Name: "value-missing", Severity: rule.Warning,
		Short:  "The template writes a key of JSON and no value.",
		Damage: "The model reads text that no parser of JSON takes, and writes such text.",
		Fix:    "Write the value with tojson, and null or an empty string where there is none."},
		Group: groupLint, Find: checkValues},
	{Rule: rule.Rule{ID: "A131", Name: "tools-wrapped-unread", Severity: rule.Warning,
		Short: "The template reads a tool's name from the tool itself; clients send it within " +
			"function.",
		Damage: "With tools as OpenAI's API has them a request fails, or the model reads of tools " +
			"without names, unless the server unwraps them.",
		Fix: "{% set function = tool.function or tool %}, and read from that."},
		Group: groupLint, Find: checkWrapped},
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
			l.enclosed(find)
		}
	}
	s.checkWithin(find)
}

// opener returns the element that opens right before the first tool.
func (l list) opener() (marker, bool) {
	var open marker
	for m := range l.markers() {
		if m.to <= l.tools[0].from {
			open = m
		}
	}
	element := open.side == alone && open.to > 0 && !open.spoken && l.text[open.at] == '<' &&
		asciiLetter(l.text[open.at+1])
	each := strings.Contains(l.text[l.tools[0].to:l.tools[1].from], l.text[open.at:open.to])
	return open, element && !each &&
		strings.Trim(l.text[open.to:l.tools[0].from], " \n[{\"") == ""
}

// enclosed asks whether the element that opens right before the first tool ends after the last one.
func (l list) enclosed(find finder) {
	open, ok := l.opener()
	if !ok {
		return
	}
	last := l.tools[2].to
	for m := range l.markers() {
		if m.key != open.key || m.at < last {
			continue
		}
		if m.side != closing {
			break // it opens again, and was never closed
		}
		if rest := l.own()[last:m.at]; strings.ContainsFunc(rest, unicode.IsLetter) {
			find(l.at(last+strings.IndexFunc(rest, unicode.IsLetter)), "text stands between the "+
				"last tool and %s: %s", jsonString(l.text[m.at:m.to]),
				report.Quote(l.text, m.at))
		}
		return
	}
	find(l.at(open.at), "%s opens the list of tools, and nothing closes it: %s",
		jsonString(l.text[open.at:open.to]), report.Quote(l.text, last))
}

// checkWithin asks whether a system message stands inside the list of tools.
func (s *Subject) checkWithin(find finder) {
	if !s.Template.Caps().SystemRole {
		return
	}
	lists := s.listed()
	if len(lists) == 0 {
		return
	}
	open, ok := lists[0].opener()
	t, err := s.observed(talk(s.systemTurn(), userTurn), true, true)
	if !ok || err != nil {
		return
	}
	at := strings.Index(t.text, "SYSTEMNEEDLE")
	var before, after marker // the last markers of the list before the text, the next one after it
	for m := range t.markers() {
		switch {
		case m.key != open.key || m.spoken:
		case m.at < at:
			before = m
		case after.to == 0:
			after = m
		}
	}
	if at >= 0 && before.to > 0 && before.side != closing && after.side == closing {
		find(t.at(at), "a system message stands inside the list of tools: %s",
			report.Quote(t.text, at))
	}
}

// array asks whether tools that stand in brackets of the template's own make an array of JSON.
func (l list) array(find finder) {
	first, last := l.tools[0].from, l.tools[2].to
	before, after := l.text[:first], l.text[last:]
	if at := emptyBefore.FindStringIndex(before); at != nil && l.own()[at[0]] == '[' {
		find(l.at(at[0]), "an empty array stands before the tools: %s", report.Quote(l.text, at[0]))
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
	// so may brackets be, of a list that is printed as a whole
	if at := len(strings.TrimRight(l.text[:first], "[ \n")); at < first && l.own()[at] == 0 {
		first = at
	}
	before, _ := utf8.DecodeLastRuneInString(l.text[:first])
	after, _ := utf8.DecodeRuneInString(l.text[last:])
	object := strings.HasPrefix(strings.TrimLeft(l.text[first:], "[ \n"), "{")
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

// answers reports whether an answer's text is the next that a prompt has of a message: reasoning
// that is not there may well leave its markers.
func (t *talked) answers(off int) bool {
	for i, span := range t.spans {
		if span.to > 0 && span.from >= off {
			return t.kinds[i] == conversation.Answer
		}
	}
	return false
}

// checkHollow looks for two markers that belong together, in turns before the last message, with
// nothing between them in any conversation.
func (s *Subject) checkHollow(find finder) {
	type pair struct {
		empty int
		full  bool
		in    *talked
		first marker
		end   int
	}
	pairs := map[string]*pair{}
	var keys []string
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		own, tail := t.own(), t.tail()
		var open *marker // whose next marker is not known yet
		for m := range t.markers() {
			if open != nil {
				p := pairs[open.key]
				if m.key == open.key && m.side == closing && !t.answers(m.to) &&
					strings.TrimSpace(own[open.to:m.at]) == "" {
					if p.empty++; p.empty == 1 {
						p.in, p.first, p.end = t, *open, m.to
					}
				} else {
					p.full = true
				}
				open = nil
			}
			if m.side == closing || m.spoken || m.at >= tail {
				continue
			}
			if open = &m; pairs[m.key] == nil {
				pairs[m.key] = &pair{}
				keys = append(keys, m.key)
			}
		}
		if open != nil {
			pairs[open.key].full = true
		}
	}
	for _, key := range keys {
		if p := pairs[key]; !p.full && p.empty >= enough {
			find(p.in.at(p.first.at), "nothing stands between %s and its other half, in any "+
				"conversation: %s\nconversation: %s", jsonString(p.in.text[p.first.at:p.first.to]),
				report.Quote(p.in.text, p.end), p.in.Name)
		}
	}
}

// checkOutside looks for two markers that belong together with nothing between, right after the
// text of instructions that no marker opens.
func (s *Subject) checkOutside(find finder) {
	for _, t := range s.talks() {
		if t.err != nil || len(t.kinds) == 0 || t.kinds[0] != conversation.System ||
			t.spans[0].to == 0 {
			continue
		}
		var open marker
		header := false
		for m := range t.markers() {
			if m.to <= t.spans[0].from {
				header = header || m.side != closing && m.at > 0
				continue
			}
			if open.to > 0 {
				if !header && open.key == m.key && m.side == closing &&
					strings.TrimSpace(t.text[t.spans[0].to:open.at]) == "" &&
					strings.TrimSpace(t.text[open.to:m.at]) == "" {
					find(t.at(open.at), "nothing stands between %s and %s, and the text of a "+
						"system message stands before them: %s\nconversation: %s",
						jsonString(t.text[open.at:open.to]), jsonString(t.text[m.at:m.to]),
						report.Quote(t.text, open.at), t.Name)
					return
				}
				break
			}
			if open = m; m.side == closing || m.at < t.spans[0].to {
				break // no pair, or it stands in the text
			}
		}
	}
}

// checkEmptyPair looks for two markers that belong together with nothing between, before the first
// message.
func checkEmptyPair(s *Subject, find finder) {
	if p, at := s.findOwn(emptyQuotes); at != nil {
		find(p.in.at(at[0]+2), "nothing stands between two quotes in a sentence of the "+
			"template: %s\nconversation: %s", report.Quote(p.in.text, at[0]+2), p.in.Name)
	}
	s.checkHollow(find)
	s.checkOutside(find)
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

// emptyQuotes are quotes among the words of a sentence.
var emptyQuotes = regexp.MustCompile(`[a-z] (""|“”) [a-z]{2}`)

// emptyBefore is an empty array at the end of a text.
var emptyBefore = regexp.MustCompile(`\[\s*\]\s*$`)

// emptyArray is an array over several lines with nothing in it.
var emptyArray = regexp.MustCompile(`(?m)^\[\s*\n\s*\]$`)

// headingLine is a heading of Markdown on a line of its own; a sentence is none.
var headingLine = regexp.MustCompile(`(?m)^(#{1,6}) [A-Z][^\n.:;<>\x00]*\n\s*`)

// checkHeadings looks for headings before the first message that the end of a turn follows, or a
// heading of the same rank.
func checkHeadings(s *Subject, find finder) {
	headers := s.headers()
	for _, p := range s.preambles() {
		found := headingLine.FindAllStringSubmatchIndex(p.own, -1)
		for i, h := range found {
			rest := p.own[h[1]:]
			rank := p.own[h[2]:h[3]]
			next := i+1 < len(found) && found[i+1][0] == h[1]
			hollow := next && len(p.own[found[i+1][2]:found[i+1][3]]) <= len(rank)
			if at, to, ok := nextMarker(rest, 0); ok && at == 0 {
				m, ok := markerAt(rest, at, to)
				hollow = hollow || ok && (m.side == closing || headers[m.key])
			}
			if hollow {
				find(p.in.at(h[2]), "nothing stands below the heading %s: %s\nconversation: %s",
					jsonString(strings.TrimSpace(p.own[h[0]:h[1]])),
					report.Quote(p.in.text, h[1]), p.in.Name)
				return
			}
		}
	}
}

// indented is a text in JSON, from its key on, that several spaces or a line feed of the template's
// own stand before.
var indented = regexp.MustCompile(`"[a-z_]+": "(\n| {2})[ \n]*\x00`)

// noValue are the texts of keys without a value.
var noValue = []string{`": }`, `": ,`, `":}`, `":,`, `": ]`}

func checkValues(s *Subject, find finder) {
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		own := t.own()
		if at := indented.FindStringIndex(own); at != nil {
			find(t.at(at[1]-2), "a text in JSON begins with white space of the template's own: "+
				"%s\nconversation: %s", report.Quote(t.text, at[1]-2), t.Name)
			return
		}
		for _, text := range noValue {
			if at := strings.Index(own, text); at >= 0 {
				find(t.at(at), "a key has no value: %s\nconversation: %s",
					report.Quote(t.text, at), t.Name)
				return
			}
		}
	}
}

// checkWrapped renders unfitted: the engine unwraps tools, and others do not.
func checkWrapped(s *Subject, find finder) {
	if !s.Template.Caps().Needs.Tool.Flat {
		return
	}
	in := chattemplate.Input{Messages: talk(userTurn), Generate: true,
		Kwargs: s.Template.Caps().Needs.Bound}
	for _, tool := range called() {
		in.Tools = append(in.Tools, tool.Wire())
	}
	p, err := s.render(in)
	switch {
	case err != nil:
		find(nowhere, "tools as OpenAI's API has them are refused: %w", err)
	case !p.has("get_weather"):
		find(p.near("get_weather"), "of tools as OpenAI's API has them the names are missing")
	}
}
