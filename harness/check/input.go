package check

import (
	"strings"

	"github.com/goassay/assay/harness/report"
)

// inputRules check that what a client says reaches the model, once and as it was said.
var inputRules = []rule{
	{report.Rule{ID: "A012", Name: "null-content-printed", Severity: report.Error,
		Short:  "Content that is null is printed as a word, or refused.",
		Damage: "The model reads that it has answered \"None\", and learns to do so; or the second turn of every agent fails.",
		Fix:    "Write content only if it is there: {% if message.content %}."}, groupLint, checkNull},
	{report.Rule{ID: "A013", Name: "system-text-dropped", Severity: report.Error,
		Short:  "A system message does not reach the prompt, and nobody is told.",
		Damage: "Instructions are ignored silently.",
		Fix:    "Write the system message, or raise an exception."}, groupLint, checkSystem},
	{report.Rule{ID: "A014", Name: "message-text-dropped", Severity: report.Error,
		Short:  "The text of a message in the history does not reach the prompt.",
		Damage: "The model answers a conversation that it has not seen.",
		Fix:    "Write the content of every message, of every role."}, groupLint, checkMessages},
	{report.Rule{ID: "A015", Name: "tool-result-dropped", Severity: report.Error,
		Short:  "The result of a tool does not reach the prompt.",
		Damage: "The model calls the tool again and again, or makes the result up.",
		Fix:    "Write the content of messages with the role tool."}, groupLint, checkResult},
	{report.Rule{ID: "A016", Name: "tool-description-dropped", Severity: report.Warning,
		Short:  "Parts of a tool's description do not reach the prompt.",
		Damage: "The model guesses what a parameter means, or which values it may have.",
		Fix:    "Print the tool as a whole with tojson."}, groupLint, checkToolText},
	{report.Rule{ID: "A017", Name: "bos-doubled", Severity: report.Error,
		Short:  "The prompt starts with two BOS tokens.",
		Damage: "Quality drops for no visible reason; servers that add a third one make it worse.",
		Fix:    "Write bos_token once."}, groupLint, checkBOS},
	{report.Rule{ID: "A018", Name: "arguments-double-encoded", Severity: report.Warning,
		Short:  "Arguments that come as a string, as OpenAI's API sends them, are printed as a quoted string.",
		Damage: "The model sees \"{\\\"city\\\": ...}\" in its history and answers in kind.",
		Fix:    "Print arguments with tojson only if they are not a string."}, groupLint, checkStringArguments},
	{report.Rule{ID: "A026", Name: "call-dropped", Severity: report.Warning,
		Short:  "Of two calls in a message only one is written, or the message is refused.",
		Damage: "Agents that call tools in parallel lose calls, or get an error.",
		Fix:    "Write all calls in a loop."}, groupLint, checkCalls},
	{report.Rule{ID: "A027", Name: "call-id-dropped", Severity: report.Note,
		Short:  "The ids of calls do not reach the prompt.",
		Damage: "With several calls the model cannot tell which result belongs to which.",
		Fix:    "Write the id with the call and with the result, if the model was trained so."}, groupLint, checkIDs},
	{report.Rule{ID: "A030", Name: "typed-content-printed", Severity: report.Warning,
		Short:  "Content that comes as a list of parts is printed as a list.",
		Damage: "The model reads [{'type': 'text', ...}] instead of what the user said.",
		Fix:    "Loop over the parts if content is not a string."}, groupLint, checkTyped},
	{report.Rule{ID: "A036", Name: "arguments-refused", Severity: report.Warning,
		Short:  "Arguments of one of the two forms, string or object, end in an error.",
		Damage: "The template works in the server that it was written for and fails in the next one.",
		Fix:    "Ask {% if arguments is string %} and serve both."}, groupLint, checkArgumentForms},
}

// missing returns the needles that a prompt does not have.
func missing(prompt string, needles ...string) []string {
	var gone []string
	for _, needle := range needles {
		if !strings.Contains(prompt, needle) {
			gone = append(gone, needle)
		}
	}
	return gone
}

func checkNull(s *Subject, find finder) {
	for _, c := range [...]struct {
		name, turn string
		tools      bool
	}{
		{"beside a call", strings.Replace(callTurn, `"content": ""`, `"content": null`, 1), true},
		{"of an answer", `{"role": "assistant", "content": null}`, false},
	} {
		if c.tools && !s.Template.Caps().ToolCalls {
			continue
		}
		empty, err := s.raw(talk(userTurn, strings.Replace(c.turn, "null", `""`, 1), userTurn2), c.tools)
		if err != nil {
			continue // refused with an empty string too, so null is not the reason
		}
		switch text, err := s.raw(talk(userTurn, c.turn, userTurn2), c.tools); {
		case err != nil && c.tools: // an answer that says nothing may well be refused
			find("null content %s is refused: %s", c.name, first(err))
		case err != nil:
		case strings.Count(text, "None") > strings.Count(empty, "None"), strings.Count(text, "null") > strings.Count(empty, "null"):
			find("null content %s is printed: %s", c.name, report.Quote(text, report.Parting(text, empty)))
		}
	}
}

func checkSystem(s *Subject, find finder) {
	text, err := s.raw(talk(`{"role": "system", "content": "SYSTEMNEEDLE"}`, userTurn), false)
	if err == nil && missing(text, "SYSTEMNEEDLE") != nil {
		find("a system message is dropped without an error")
	}
}

func checkMessages(s *Subject, find finder) {
	text, err := s.fitted(talk(userTurn, answerTurn, userTurn2), false, true)
	if err != nil {
		return // A033 says so
	}
	if gone := missing(text, "USERNEEDLE", "ANSWERNEEDLE", "SECONDNEEDLE"); gone != nil {
		find("of a question, an answer and a question %d are missing: %q", len(gone), gone)
	}
}

func checkResult(s *Subject, find finder) {
	if !s.Template.Caps().ToolCalls {
		return
	}
	text, err := s.fitted(talk(userTurn, callTurn, resultTurn), true, true)
	if err == nil && missing(text, "RESULTNEEDLE") != nil {
		find("the content of a message with the role tool is missing")
	}
}

// toolNeedles are texts of the standard tools that a model needs to know.
var toolNeedles = []string{"get_weather", "Weather of a place, now", "city", "City and country", "days", "unit", "fahrenheit",
	"store_note", "tags", "place", "lat", "list_notes"}

func checkToolText(s *Subject, find finder) {
	if !s.Template.Caps().Tools {
		return
	}
	text, err := s.fitted(talk(userTurn), true, true)
	if err != nil {
		return
	}
	if gone := missing(text, toolNeedles...); gone != nil {
		find("of the tools' descriptions these are missing: %q", gone)
	}
}

func checkBOS(s *Subject, find finder) {
	text, err := s.fitted(talk(userTurn), false, true)
	if bos := s.Template.BOS; err == nil && bos != "" && strings.HasPrefix(text, bos+bos) {
		find("the prompt starts with %q", bos+bos)
	}
}

const stringArguments = `"{\"city\": \"CITYNEEDLE\", \"days\": 3}"`

// withArguments renders a call with other arguments, unfitted.
func (s *Subject) withArguments(arguments string) (string, error) {
	return s.raw(talk(userTurn, strings.Replace(callTurn, `{"city": "CITYNEEDLE", "days": 3}`, arguments, 1), resultTurn), true)
}

func checkStringArguments(s *Subject, find finder) {
	if !s.Template.Caps().ToolCalls {
		return
	}
	text, err := s.withArguments(stringArguments)
	if err == nil && strings.Contains(text, `\"city\"`) {
		find("arguments that come as a string are quoted again: %s", report.Quote(text, strings.Index(text, `\"city\"`)))
	}
}

func checkArgumentForms(s *Subject, find finder) {
	if !s.Template.Caps().ToolCalls {
		return
	}
	_, asString := s.withArguments(stringArguments)
	_, asObject := s.withArguments(`{"city": "CITYNEEDLE", "days": 3}`)
	if asString != nil && asObject == nil {
		find("arguments as a string of JSON: %s", first(asString))
	}
	if asObject != nil && asString == nil {
		find("arguments as an object: %s", first(asObject))
	}
}

func checkCalls(s *Subject, find finder) {
	if !s.Template.Caps().ToolCalls {
		return
	}
	text, err := s.fitted(talk(userTurn, strings.Replace(callTurn, callValue, callValue+", "+callValue2, 1)), false, false)
	switch {
	case err != nil:
		find("a message with two calls is refused: %s", first(err))
	case missing(text, "get_weather", "list_notes") != nil:
		find("of two calls %q is missing", missing(text, "get_weather", "list_notes"))
	}
}

func checkIDs(s *Subject, find finder) {
	if !s.Template.Caps().ToolCalls {
		return
	}
	text, err := s.fitted(talk(userTurn, callTurn, resultTurn), true, true)
	if err == nil && missing(text, "callid001") != nil {
		find("the id of a call is written neither with the call nor with its result")
	}
}

func checkTyped(s *Subject, find finder) {
	text, err := s.raw(talk(`{"role": "user", "content": [{"type": "text", "text": "USERNEEDLE"}]}`), false)
	if err == nil && strings.Contains(text, "USERNEEDLE") && (strings.Contains(text, "'type'") || strings.Contains(text, `"type"`)) {
		find("a list of parts is printed: %s", report.Quote(text, strings.Index(text, "USERNEEDLE")))
	}
}
