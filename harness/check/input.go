package check

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// inputRules check that a client's text reaches the model, once and unchanged.
var inputRules = []lookout{
	{Rule: rule.Rule{ID: "A012", Name: "null-content-printed", Severity: rule.Error,
		Short: "Content that is null beside a call is printed as a word, or refused.",
		Damage: "Clients send null beside calls: the model reads that it said \"None\", or the " +
			"second turn of every agent fails.",
		Fix: "Write content only if it is there: {% if message.content %}."}, Group: groupLint, Find: checkNull},
	{Rule: rule.Rule{ID: "A040", Name: "null-answer-printed", Severity: rule.Warning,
		Short: "An answer whose content is null is printed as a word.",
		Damage: "An answer that was cut off, or all reasoning, stands in the history as " +
			"\"None\", and the model learns to say it.",
		Fix: "Write content only if it is there: {% if message.content %}."}, Group: groupLint, Find: checkNullAnswer},
	{Rule: rule.Rule{ID: "A013", Name: "system-text-dropped", Severity: rule.Error,
		Short:  "A system message does not reach the prompt, and nobody is told.",
		Damage: "Instructions are ignored silently.",
		Fix: "Write the system message, or " +
			"raise an exception."}, Group: groupLint, Find: checkSystem},
	{Rule: rule.Rule{ID: "A014", Name: "message-text-dropped", Severity: rule.Error,
		Short:  "The text of a message in the history does not reach the prompt.",
		Damage: "The model answers a conversation that it has not seen.",
		Fix: "Write the content of every " +
			"message, of every role."}, Group: groupLint, Find: checkMessages},
	{Rule: rule.Rule{ID: "A153", Name: "history-unwritten", Severity: rule.Warning,
		Short: "The template knows no tools, and writes only the last messages of a conversation.",
		Damage: "None with a model that judges or translates one text, as guards do. Any other " +
			"model answers without the messages before.",
		Fix: "Write every message. If the model reads one text only, call raise_exception for " +
			"longer conversations."}, Group: groupLint, Find: checkHistory},
	{Rule: rule.Rule{ID: "A015", Name: "tool-result-dropped", Severity: rule.Error,
		Short:  "The result of a tool does not reach the prompt.",
		Damage: "The model calls the tool again and again, or makes the result up.",
		Fix: "Write the content of messages " +
			"with the role tool."}, Group: groupLint, Find: checkResult},
	{Rule: rule.Rule{ID: "A016", Name: "tool-description-dropped", Severity: rule.Warning,
		Short:  "Parts of a tool's description do not reach the prompt.",
		Damage: "The model guesses the meaning of a parameter, or which values it may have.",
		Fix:    "Print the tool as a whole with tojson."}, Group: groupLint, Find: checkToolText},
	{Rule: rule.Rule{ID: "A017", Name: "bos-doubled", Severity: rule.Error,
		Short:  "The prompt starts with two BOS tokens.",
		Damage: "Quality drops for no visible reason; servers that add a third one make it worse.",
		Fix:    "Write bos_token once."}, Group: groupLint, Find: checkBOS},
	{Rule: rule.Rule{ID: "A018", Name: "arguments-double-encoded", Severity: rule.Warning,
		Short: "Arguments that come as a string, as OpenAI's API sends them, are printed as " +
			"a quoted string.",
		Damage: "The model sees \"{\\\"city\\\": ...}\" in its history and answers in kind.",
		Fix: "Print arguments with tojson only if they " +
			"are not a string."}, Group: groupLint, Find: checkStringArguments},
	{Rule: rule.Rule{ID: "A076", Name: "call-escaped", Severity: rule.Error,
		Short: "The quotes of a call are written as HTML entities where its arguments " +
			"come as an object.",
		Damage: "A server that gives objects, as transformers does, shows the model {&#34;name&#34;: ...}, and it answers in kind.",
		Fix: "Mark nothing as safe: jinja2 escapes all text that is joined with such a value, " +
			"the template's own as well."}, Group: groupLint, Find: checkEscapedCalls},
	{Rule: rule.Rule{ID: "A026", Name: "call-dropped", Severity: rule.Warning,
		Short:  "Of two calls in a message only one is written, or the message is refused.",
		Damage: "Agents that call tools in parallel lose calls, or get an error.",
		Fix:    "Write all calls in a loop."}, Group: groupLint, Find: checkCalls},
	{Rule: rule.Rule{ID: "A027", Name: "call-id-dropped", Severity: rule.Note,
		Short:  "The ids of calls do not reach the prompt.",
		Damage: "With several calls the model cannot tell which result belongs to which.",
		Fix: "Write the id with the call and with the result, if the model " +
			"was trained so."}, Group: groupLint, Find: checkIDs},
	{Rule: rule.Rule{ID: "A030", Name: "typed-content-printed", Severity: rule.Warning,
		Short:  "Content that comes as a list of parts is printed as a list.",
		Damage: "The model reads [{'type': 'text', ...}] instead of the user's text.",
		Fix: "Loop over the parts if content " +
			"is not a string."}, Group: groupLint, Find: checkTyped},
	{Rule: rule.Rule{ID: "A036", Name: "arguments-refused", Severity: rule.Warning,
		Short: "Arguments of one of the two forms, string or object, end in an error.",
		Damage: "The template works in the server that it was written for and fails " +
			"in the next one.",
		Fix: "Ask {% if arguments is string %} and serve both."}, Group: groupLint, Find: checkArgumentForms},
}

// lacks returns the needles that a prompt does not have.
func (r rendering) lacks(needles ...string) []string {
	var gone []string
	for _, needle := range needles {
		if !strings.Contains(r.text, needle) {
			gone = append(gone, needle)
		}
	}
	return gone
}

// has reports whether a prompt has a text.
func (r rendering) has(text string) bool { return strings.Contains(r.text, text) }

// quote shows a prompt around a text in it.
func (r rendering) quote(text string) string {
	return report.Quote(r.text, strings.Index(r.text, text))
}

func checkNull(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	null := func(call ordered.Value) ordered.Value { return call.With("content", ordered.Value{}) }
	call, follows := callTurn, userTurn2
	empty, err := s.raw(talk(userTurn, call, follows), true)
	for _, form := range [...]struct{ arguments, follows ordered.Value }{
		{stringArguments, userTurn2}, {objectArguments, resultTurn},
		{stringArguments, resultTurn}} {
		if err == nil {
			break
		}
		call, follows = callingWith(form.arguments), form.follows
		empty, err = s.raw(talk(userTurn, call, follows), true)
	}
	if !judged(find, err) { // refused with an empty string too, so null is not the reason
		return
	}
	prompt, err := s.raw(talk(userTurn, null(call), follows), true)
	if err == nil {
		s.findNull(find, "null content beside a call", prompt, empty)
		return
	}
	// A template may write calls only where content is null, and refuse the form of their arguments
	// (A036).
	if _, again := s.raw(talk(userTurn, null(callingWith(stringArguments)), follows),
		true); again != nil {
		find(nowhere, "null content beside a call is refused: %w", err)
	}
}

func checkNullAnswer(s *Subject, find finder) {
	answer := func(content ordered.Value) []ordered.Value {
		return talk(userTurn, chat.MessageOf("assistant", content), userTurn2)
	}
	empty, err1 := s.raw(answer(ordered.Str("")), false)
	prompt, err2 := s.raw(answer(ordered.Value{}), false)
	if err2 != nil || !judged(find, err1) { // an answer that says nothing may well be refused
		return
	}
	told := map[where]bool{} // places that A012 names
	checkNull(s, func(at where, _ string, _ ...any) { told[at] = true })
	s.findNull(func(at where, format string, args ...any) {
		if !told[at] {
			find(at, format, args...)
		}
	}, "null content of an answer", prompt, empty)
}

// findNull finds a null that is printed: a word that is not there where the content is an empty
// string.
func (s *Subject) findNull(find finder, what string, prompt, empty rendering) {
	for _, word := range []string{"None", "null"} {
		if strings.Count(prompt.text, word) > strings.Count(empty.text, word) {
			at := report.Parting(prompt.text, empty.text)
			find(prompt.at(at), "%s is printed: %s", what, report.Quote(prompt.text, at))
			return
		}
	}
}

// forgetful returns the prompt of a conversation of which the template writes the last question and
// nothing of the first one and its answer, and knows no tools: it is for models that judge or
// translate one text.
func (s *Subject) forgetful() (rendering, bool) {
	c := s.Template.Caps()
	prompt, err := s.fitted(talk(userTurn, answerTurn, userTurn2, answering("AGAINNEEDLE"),
		chat.User("THIRDNEEDLE")), false, true)
	return prompt, err == nil && !c.Tools && !c.ToolCalls && prompt.has("THIRDNEEDLE") &&
		!prompt.has("USERNEEDLE") && !prompt.has("ANSWERNEEDLE")
}

func checkHistory(s *Subject, find finder) {
	if prompt, ok := s.forgets(); ok {
		find(prompt.near("USERNEEDLE"), "of a conversation the last messages alone are in the "+
			"prompt: nothing of the first question and its answer")
	}
}

func checkSystem(s *Subject, find finder) {
	if _, ok := s.forgets(); ok {
		return // A153 is about it
	}
	prompt, err := s.raw(talk(s.systemTurn(), userTurn), false)
	if err == nil && !prompt.has("SYSTEMNEEDLE") {
		find(prompt.near("SYSTEMNEEDLE"), "a system message is dropped without an error")
		return
	}
	if c := s.Template.Caps(); c.SystemRole && s.heard(find, conversation.System) {
		first := slices.DeleteFunc(s.census().of(conversation.System, conversation.Content),
			func(l lost) bool { return !l.alone() })
		s.census().findLost(find, first)
	}
}

// checkMessages looks for the texts of questions and answers. Beside an image a text counts only
// where the template knows parts.
func checkMessages(s *Subject, find finder) {
	if _, ok := s.forgets(); ok || !s.heard(find) {
		return // A153 is about it
	}
	gone := s.census().of(conversation.Question, conversation.Content)
	if !s.Template.Caps().TypedContent {
		gone = slices.DeleteFunc(gone,
			func(l lost) bool { return strings.HasSuffix(l.Path, ".text") })
	}
	s.census().findLost(find, gone)
	s.census().findLost(find, s.census().of(conversation.Answer, conversation.Content))
}

func checkResult(s *Subject, find finder) {
	if s.supports(find, replaysCalls) && s.heard(find, conversation.Result) {
		gone := s.census().of(conversation.Result, conversation.Content)
		// without an id it is anybody's guess whose result it is
		s.census().findLost(find, slices.DeleteFunc(gone, func(l lost) bool {
			return l.in.in.Messages[l.Message].At("tool_call_id").Text() == ""
		}))
	}
}

func checkToolText(s *Subject, find finder) {
	if s.supports(find, describesTools) && s.heard(find) {
		s.census().findLost(find, s.census().
			of(conversation.None, conversation.ToolName, conversation.Description,
				conversation.Parameter, conversation.Choice, conversation.Required))
	}
}

func checkBOS(s *Subject, find finder) {
	prompt, err := s.fitted(talk(userTurn), false, true)
	if bos := s.Template.ChatTemplate().BOS; judged(find, err) && bos != "" &&
		strings.HasPrefix(prompt.text, bos+bos) {
		find(prompt.at(len(bos)), "the prompt starts with %q", bos+bos)
	}
}

// writes renders a call with arguments, given as an object, or as text where the template refuses
// objects.
func (s *Subject) writes(arguments ordered.Value) (rendering, error) {
	r, err := s.withArguments(arguments)
	if err != nil {
		if text, again := s.withArguments(ordered.Str(arguments.String())); again == nil {
			return text, nil
		}
	}
	return r, err
}

// withArguments renders a call with other arguments, unfitted.
func (s *Subject) withArguments(arguments ordered.Value) (rendering, error) {
	return s.raw(talk(userTurn, callingWith(arguments), resultTurn), true)
}

func checkStringArguments(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	prompt, err := s.withArguments(stringArguments)
	if quoted := `\"city\"`; err == nil && prompt.has(quoted) {
		find(prompt.of(quoted), "arguments that come as a string are "+
			"quoted again: %s", prompt.quote(quoted))
	}
}

// checkEscapedCalls compares the two forms of arguments: entities that only objects bring are no
// model's spelling.
func checkEscapedCalls(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	asString, err1 := s.withArguments(stringArguments)
	asObject, err2 := s.withArguments(objectArguments)
	if err2 != nil {
		return // no object is written, with entities or without
	}
	for _, entity := range []string{"&#34;", "&#39;"} {
		if asObject.has(entity) && judged(find, err1) && !asString.has(entity) {
			find(asObject.of(entity), "arguments that come as an object make "+
				"entities of quotes: %s", asObject.quote(entity))
			return
		}
	}
}

func checkArgumentForms(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	_, asString := s.withArguments(stringArguments)
	_, asObject := s.withArguments(objectArguments)
	if asString != nil && asObject != nil {
		unjudged(find, asObject)
	}
	// A refusal in the template's own words is a constraint that it documents.
	if asString != nil && asObject == nil && !worded(asString) {
		find(nowhere, "arguments as a string of JSON: %w", asString)
	}
	if asObject != nil && asString == nil && !worded(asObject) {
		find(nowhere, "arguments as an object: %w", asObject)
	}
}

func checkCalls(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	with := func(calls ...ordered.Value) (rendering, error) {
		return s.fitted(talk(userTurn, calling(calls...)), false, false)
	}
	prompt, err := with(callValue, callValue2)
	if err != nil {
		find(nowhere, "a message with two calls is refused: %w", err)
		return
	}
	// A name may be written changed: a call is missing if the prompt is the same without it.
	var gone []string
	for _, call := range [...]struct {
		name  string
		other ordered.Value
	}{{"get_weather", callValue2}, {"list_notes", callValue}} {
		if without, err := with(call.other); !prompt.has(call.name) && err == nil &&
			without.text == prompt.text {
			gone = append(gone, call.name)
		}
	}
	if gone != nil {
		find(prompt.near(gone[0]), "of two calls %q is missing", gone)
	}
}

func checkIDs(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	prompt, err := s.fitted(talk(userTurn, callTurn, resultTurn), true, true)
	if judged(find, err) && !prompt.has("callid001") {
		find(prompt.near("callid001"), "the id of a call is written neither with the call nor "+
			"with its result")
	}
}

func checkTyped(s *Subject, find finder) {
	prompt, err := s.raw(talk(userParts), false)
	if err == nil && prompt.has("USERNEEDLE") && (prompt.has("'type'") || prompt.has(`"type"`)) {
		find(prompt.of("USERNEEDLE"), "a list of parts is printed: %s", prompt.quote("USERNEEDLE"))
	}
	s.checkPartsPrinted(find)
}

// checkPartsPrinted looks for parts of content, images say, that are printed as values.
func (s *Subject) checkPartsPrinted(find finder) {
	if !s.Template.Caps().TypedContent {
		return // a list of parts is printed as a whole
	}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		at := 0
		for _, r := range t.o.Runs {
			if r.Role == jinja.Structure && messageOf(r) >= 0 &&
				strings.Contains(r.Path, ".content[") && !strings.HasSuffix(r.Path, ".text") {
				find(t.at(at), "a part of the content is printed as a value: %s\nconversation: %s",
					report.Quote(t.text, at), t.Name)
				return
			}
			at += r.Len
		}
	}
}
