package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// stepRules look at several messages together: calls beside each other, a result beside a question,
// a step after another.
var stepRules = []lookout{
	{Rule: rule.Rule{ID: "A085", Name: "content-form-dropped", Severity: rule.Warning,
		Short: "Content reaches the prompt in one of its two forms, text or parts, and " +
			"vanishes silently in the other.",
		Damage: "Clients send either form; with one of them the model sees an empty question, " +
			"and nobody is told.",
		Fix: "Ask {% if message.content is string %} and write both."}, Group: groupLint,
		Find: checkForms},
	{Rule: rule.Rule{ID: "A134", Name: "part-dropped", Severity: rule.Warning,
		Short: "The template asks whether a part of the content is an image, audio or video, and " +
			"writes nothing for it.",
		Damage: "The server has no place to put the image: the model answers without having seen " +
			"it, and nobody is told.",
		Fix: "Write the model's placeholder where the part stands."}, Group: groupLint,
		Find: checkPartsKept},
	{Rule: rule.Rule{ID: "A086", Name: "calls-joined", Severity: rule.Warning,
		Short: "The calls of a message are not joined as a model could write them.",
		Damage: "An array of calls is no JSON, or the second call is spelt otherwise than the " +
			"third.",
		Fix: "Write the separator before every call but the first."}, Group: groupLint,
		Find: checkJoined},
	{Rule: rule.Rule{ID: "A150", Name: "call-in-line", Severity: rule.Note,
		Short: "A call after another one begins a line, and a call after a text does not.",
		Damage: "If the model was trained to begin each call on a line of its own, the history " +
			"shows it another form; if the line feed only parts calls, nothing.",
		Fix: "Write the line feed before the first call, too, where the message has a text; " +
			"leave it where the model was trained without it."},
		Group: groupLint, Find: checkBeside},
	{Rule: rule.Rule{ID: "A087", Name: "step-rewritten", Severity: rule.Warning,
		Short: "While calls go on, the next step changes the prompt before it.",
		Damage: "Servers process the whole turn again at each step, and the model sees another " +
			"past than the one it wrote.",
		Fix: "Write a call and its result the same wherever they stand."}, Group: groupLint,
		Find: checkSteps},
	{Rule: rule.Rule{ID: "A088", Name: "turns-spaced-differently", Severity: rule.Warning,
		Short: "The white space between two turns, or between a text and the markers of its turn, " +
			"is not the same everywhere.",
		Damage: "The model sees a spelling of turns that it was not trained on; tokens drift.",
		Fix:    "Open and end every turn with the same text; only the role may differ."},
		Group: groupLint, Find: checkSpacing},
	{Rule: rule.Rule{ID: "A089", Name: "result-as-question", Severity: rule.Warning,
		Short:  "A tool's result is written exactly as a user's message would be.",
		Damage: "The model cannot tell a web page that a tool read from its user's wishes.",
		Fix:    "Give results a role or a marker of their own."}, Group: groupLint,
		Find: checkResultRole},
	{Rule: rule.Rule{ID: "A129", Name: "result-unnamed", Severity: rule.Warning,
		Short: "A tool's result without the function's name, as OpenAI's API has it, is refused, " +
			"or its call's id or a word stands for the name.",
		Damage: "Clients send the id of the call alone: the model reads the result of a function " +
			"that does not exist.",
		Fix: "Look the name up: go through the calls before for the one whose id is " +
			"tool_call_id."}, Group: groupLint, Find: checkResultNamed},
}

// checkForms renders unfitted: the engine gives the form that the template takes, and others do
// not.
func checkForms(s *Subject, find finder) {
	s.argumentForms(find)
	forms := [...]struct {
		name    string
		message ordered.Value
	}{{"text", userTurn}, {"parts", userParts}}
	var arrives [2]bool
	var prompts [2]rendering
	for i, form := range forms {
		p, err := s.raw(talk(form.message), false)
		if err != nil {
			return // refused aloud
		}
		arrives[i], prompts[i] = p.has("USERNEEDLE"), p
	}
	for i := range forms {
		if n := strings.Count(prompts[i].text, "USERNEEDLE"); n > 1 &&
			strings.Count(prompts[1-i].text, "USERNEEDLE") == 1 {
			find(prompts[i].near("USERNEEDLE"), "a question that comes as %s is in the prompt %d "+
				"times, as %s once", forms[i].name, n, forms[1-i].name)
		}
		if !arrives[i] && arrives[1-i] {
			find(prompts[i].near("USERNEEDLE"),
				"a question that comes as %s is not in the prompt, and nothing is raised; as %s "+
					"it is", forms[i].name, forms[1-i].name)
		}
	}
}

// argumentForms asks the same of arguments.
func (s *Subject) argumentForms(find finder) {
	if !s.Template.Caps().ToolCalls {
		return
	}
	forms := [...]struct {
		name      string
		arguments ordered.Value
	}{{"an object", objectArguments}, {"text", stringArguments}}
	var prompts [2]rendering
	for i, form := range forms {
		p, err := s.withArguments(form.arguments)
		if err != nil {
			return // refused, which is A036
		}
		prompts[i] = p
	}
	for i := range forms {
		if !prompts[i].has("CITYNEEDLE") && prompts[1-i].has("CITYNEEDLE") {
			find(prompts[i].near("CITYNEEDLE"),
				"arguments that come as %s are not in the prompt, and nothing is raised; as %s "+
					"they are", forms[i].name, forms[1-i].name)
		}
	}
}

// threeCalls is a message with three calls that differ in nothing but a word of equal length.
var threeCalls = calling(callIn("callid001", "CITYONE"), callIn("callid002", "CITYTWO"),
	callIn("callid003", "CITYSIX"))

// checkJoined renders three calls. The text between the first two must be between the last two, and
// a text in brackets must be an array.
func checkJoined(s *Subject, find finder) {
	c := s.Template.Caps()
	if !c.ToolCalls || !c.ParallelToolCalls {
		return
	}
	t, err := s.observed(talk(userTurn, threeCalls), true, false)
	if err != nil {
		return
	}
	at := [3]int{strings.Index(t.text, "CITYONE"), strings.Index(t.text, "CITYTWO"),
		strings.Index(t.text, "CITYSIX")}
	if at[0] < 0 || at[1] < at[0] || at[2] < at[1] {
		return
	}
	own := t.own()
	first, second := own[at[0]+len("CITYONE"):at[1]], own[at[1]+len("CITYTWO"):at[2]]
	if first != second {
		find(t.at(at[1]), "between the first two calls stands %s, between the next two %s: %s",
			jsonString(shownOwn(first)), jsonString(shownOwn(second)), report.Quote(t.text, at[1]))
		return
	}
	s.checkArray(find, t, at)
	s.checkBefore(find, t, at[0], first)
}

// checkBeside asks whether a line feed that stands between two calls stands between a text and the
// first one, too.
func checkBeside(s *Subject, find finder) {
	if c := s.Template.Caps(); !c.ToolCalls || !c.ParallelToolCalls || !s.quiet(checkJoined) {
		return
	}
	t, err := s.observed(talk(userTurn, says(threeCalls, "ANSWERNEEDLE")), true, false)
	if err != nil {
		return
	}
	text, first := strings.LastIndex(t.text, "ANSWERNEEDLE"), strings.Index(t.text, "CITYONE")
	second := strings.Index(t.text, "CITYTWO")
	if text < 0 || first < text || second < first {
		return
	}
	text += len("ANSWERNEEDLE")
	opener, between := t.own()[text:first], t.own()[first+len("CITYONE"):second]
	if bare := strings.TrimLeft(opener, " \n\x00"); bare != opener || bare == "" {
		return
	}
	if end, ok := strings.CutSuffix(between, opener); ok && strings.HasSuffix(end, "\n") {
		find(t.at(text), "a line feed stands between two calls and none between a text and its "+
			"call: %s", report.Quote(t.text, text))
	}
}

// checkBefore asks whether white space that calls do not have between them stands before the first
// one, where nothing is to be parted.
func (s *Subject) checkBefore(find finder, t *talked, first int, between string) {
	answer, err := s.observed(talk(userTurn, answerTurn), true, false)
	if err != nil {
		return
	}
	_, header, ok := strings.Cut(answer.text, "USERNEEDLE")
	header, _, there := strings.Cut(header, "ANSWERNEEDLE")
	start := strings.Index(t.text, "USERNEEDLE") + len("USERNEEDLE")
	before, calls := strings.CutPrefix(t.own()[start:first], header)
	opener := strings.TrimLeft(before, " \n")
	if !ok || !there || !calls || opener == before || opener == "" {
		return
	}
	if end, ok := strings.CutSuffix(between, opener); ok && end != "" &&
		strings.TrimRight(end, " \n") == end {
		find(t.at(start+len(header)), "%s stands before the first call and not between two: %s",
			jsonString(before[:len(before)-len(opener)]), report.Quote(t.text, start+len(header)))
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
func (s *Subject) checkArray(find finder, t *talked, at [3]int) {
	start := strings.Index(t.text, "USERNEEDLE") + len("USERNEEDLE")
	open := strings.LastIndexByte(t.text[start:at[0]], '[')
	for open >= 0 && strings.TrimLeft(t.text[start+open+1:], " \n\t") != "" &&
		!strings.HasPrefix(strings.TrimLeft(t.text[start+open+1:], " \n\t"), "{") {
		open = strings.LastIndexByte(t.text[start:start+open], '[')
	}
	if open < 0 {
		return
	}
	end := strings.IndexByte(t.text[at[2]:], ']')
	if end < 0 {
		return
	}
	array := t.text[start+open : at[2]+end+1]
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
		find(t.at(at[1]), "the calls stand in an array that is no JSON: %s", jsonString(array))
	}
}

// checkSteps renders a loop of calls step by step. Each prompt, and each with the answer to it, is
// the beginning of the next one.
func checkSteps(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) || !s.quiet(checkLoopReasoning) ||
		!s.quiet(checkOrderOfMessages) {
		return
	}
	thinking := callTurn.With("reasoning_content", ordered.Str("REASONNEEDLE"))
	call2 := calling(callValue2).With("reasoning_content", ordered.Str("SECONDNEEDLE"))
	type step struct {
		name     string
		messages []ordered.Value
		generate bool
	}
	steps := []step{
		{"the call", talk(userTurn, thinking), false},
		{"the result", talk(userTurn, thinking, resultTurn), true},
		{"the second call", talk(userTurn, thinking, resultTurn, call2), false},
		{"the second result", talk(userTurn, thinking, resultTurn, call2, result2Turn), true},
	}
	var before *rendering
	for i, st := range steps {
		r := chat.Request{Messages: st.messages, NoGeneration: !st.generate,
			Tools: called()}
		p, err := s.ask(r)
		if !judged(find, err) {
			return
		}
		if before != nil && !steps[i-1].generate && !strings.HasPrefix(p.text, before.text) {
			at := report.Parting(before.text, p.text)
			if last := lastNeedle(before.text); at < last {
				find(before.at(at), "%s changes the prompt from byte %d on: %d bytes are "+
					"processed again\n%s", st.name, at, len(before.text)-at, report.Sides("was",
					before.text, "is", p.text))
				return
			}
		}
		if !st.generate {
			before = &p
		} else {
			before = nil
		}
	}
}

// lastNeedle is where the last text of a step that the model wrote ends in a prompt.
func lastNeedle(text string) int {
	last := -1
	for _, needle := range []string{"REASONNEEDLE", "CITYNEEDLE", "SECONDNEEDLE", "list_notes"} {
		if at := strings.LastIndex(text, needle); at >= 0 {
			last = max(last, at+len(needle))
		}
	}
	return last
}

// checkSpacing compares the white space between the closer and the opener of a kind's turn, for
// each kind alone; where each is the same everywhere, that of all kinds.
func checkSpacing(s *Subject, find finder) {
	s.checkSeams(find)
	if s.quiet(checkOpened) {
		s.checkFeeds(find)
	}
	if !s.quiet(checkClosed) || s.findSpacing(find) {
		return
	}
	q, ok := s.sequence()
	if !ok {
		return
	}
	if t, ok := q.unfed(); ok && s.quiet((*Subject).checkSeams) {
		at := t.from + len(q.opener)
		find(t.in.at(at), "no line feed follows the name in the header of %s, as it does in those "+
			"of others: %s\nconversation: %s", t.name(), t.show(at), t.in.Name)
	}
	count, total := map[string]int{}, 0
	usual := ""
	spaces := q.spaces()
	for _, t := range spaces {
		total++
		if count[t.space]++; count[t.space] > count[usual] {
			usual = t.space
		}
	}
	if 4*count[usual] < 3*total {
		return
	}
	for _, t := range spaces {
		if t.space != usual {
			find(t.in.at(t.to-1), "after %s stands %s, elsewhere %s: %s\nconversation: %s",
				t.name(), jsonString(q.closer+t.space), jsonString(q.closer+usual),
				t.show(t.to-len(t.space)), t.in.Name)
			return
		}
	}
}

// findSpacing compares the spaces of each kind, and reports whether two differ.
func (s *Subject) findSpacing(find finder) bool {
	f, ok := s.frame()
	if !ok {
		return false
	}
	type seen struct {
		count map[string]int
		gap   map[string]gap
	}
	all := map[conversation.Kind]*seen{}
	for _, g := range s.gaps() {
		at := strings.LastIndex(g.text, f.closer)
		if at < 0 || g.before == conversation.None || g.after == conversation.None ||
			!plain(g.after) {
			continue
		}
		rest := g.text[at+len(f.closer):]
		bare := strings.TrimLeft(rest, " \n\t")
		if f.headers[g.after] == "" || !strings.HasPrefix(bare,
			strings.TrimLeft(f.headers[g.after], " \n\t")) {
			continue
		}
		if all[g.after] == nil {
			all[g.after] = &seen{map[string]int{}, map[string]gap{}}
		}
		space := rest[:len(rest)-len(bare)]
		if all[g.after].count[space]++; all[g.after].count[space] == 1 {
			all[g.after].gap[space] = g
		}
	}
	for kind := conversation.System; kind <= conversation.Result; kind++ {
		if all[kind] == nil || len(all[kind].count) < 2 {
			continue
		}
		usual, odd := "", ""
		for space, n := range all[kind].count {
			if n > all[kind].count[usual] || n == all[kind].count[usual] && space > usual {
				usual = space
			}
		}
		for space := range all[kind].count {
			if space != usual && (odd == "" || space < odd || all[kind].gap[odd].in == nil) {
				odd = space
			}
		}
		g := all[kind].gap[odd]
		_, at := g.of(f.closer)
		find(g.in.at(at), "between %s and %s stands %s, elsewhere %s: %s\nconversation: %s",
			article(g.before.String()), article(kind.String()),
			jsonString(f.closer+odd), jsonString(f.closer+usual), report.Quote(g.in.text, at),
			g.in.Name)
		return true
	}
	return false
}

// mediaParts are the types of parts of content that are no text.
var mediaParts = []string{"image", "image_url", "audio", "input_audio", "video", "video_url"}

// checkPartsKept compares a question with a part that the template knows by its type, and without.
func checkPartsKept(s *Subject, find finder) {
	if !s.Template.Caps().TypedContent {
		return
	}
	text := userParts.At("content").Items()[0]
	plain, err := s.raw(talk(userParts), false)
	if err != nil {
		return // A030 and A085 are about it
	}
	for _, kind := range mediaParts {
		part := ordered.ObjectOf(ordered.MemberOf("type", ordered.Str(kind)),
			ordered.MemberOf(kind, ordered.ObjectOf(
				ordered.MemberOf("url", ordered.Str("https://example.org/one")))))
		in := plain.in
		in.Messages = talk(userParts.With("content", ordered.ArrayOf(text, part)))
		o, err := s.Template.ChatTemplate().Observe(in)
		if err != nil || o.String != plain.text ||
			!slices.Contains(o.Trace.Literals("messages[0].content[1].type", "=="), kind) {
			continue
		}
		r, _ := o.Trace.Reading("messages[0].content[1].type")
		find(where(r.First), "the template asks for parts of type %s, and writes nothing for one",
			jsonString(kind))
	}
}

// checkResultRole writes the same text as a result and as a question.
func checkResultRole(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	result, err1 := s.fitted(talk(userTurn, callTurn, resultTurn), true, true)
	question, err2 := s.fitted(talk(userTurn, callTurn, chat.User("RESULTNEEDLE")), true, true)
	if judged(find, err1) && err2 == nil && result.has("RESULTNEEDLE") &&
		result.text == question.text {
		find(result.of("RESULTNEEDLE"), "a result is written as a question is: %s",
			result.quote("RESULTNEEDLE"))
	}
}

// checkResultNamed renders unfitted: the engine gives a result its name, and others do not.
func checkResultNamed(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	nameless := resultTurn.Without("name")
	for _, arguments := range []ordered.Value{objectArguments, stringArguments} {
		call := callingWith(arguments)
		named, err := s.raw(talk(userTurn, call, resultTurn), true)
		if err != nil {
			continue
		}
		without, err := s.raw(talk(userTurn, call, nameless), true)
		at := report.Parting(named.text, without.text)
		_, after, called := strings.Cut(named.text, "CITYNEEDLE")
		switch {
		case err != nil:
			find(nowhere, "a result without a name is refused: %w", err)
		case !called || strings.Contains(after, "callid001"): // it tells which call it is of
		case strings.HasPrefix(named.text[at:], "get_weather"):
			find(without.at(at), "a result without a name is not written under that of its "+
				"call\n%s", report.Sides("named", named.text, "without", without.text))
		}
		return
	}
}
