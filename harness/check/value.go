package check

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
)

// valueRules check that values survive being written.
var valueRules = []lookout{
	{Rule: rule.Rule{ID: "A023", Name: "argument-order-changed", Severity: rule.Warning,
		Short: "The arguments of a call in the history are not in the order in which the " +
			"model wrote them.",
		Damage: "The prompt of the next turn does not start with this one, and some " +
			"models drop calls.",
		Fix: "Do not sort: tojson keeps the order, " +
			"dictsort does not."}, Group: groupLint, Find: checkOrder},
	{Rule: rule.Rule{ID: "A024", Name: "number-changed", Severity: rule.Warning,
		Short:  "A number in the arguments of a call is written with other digits.",
		Damage: "An id of 19 digits becomes another id.",
		Fix: "Print numbers with tojson, not with " +
			"round, int or float."}, Group: groupLint, Find: checkNumbers},
	{Rule: rule.Rule{ID: "A025", Name: "values-ambiguous", Severity: rule.Note,
		Short: "A string and a number are written the same, so that only the tool's schema " +
			"tells them apart.",
		Damage: "Without a schema the string \"02134\" comes back as the number 2134.",
		Fix: "Declare the type of every parameter; or write " +
			"strings with quotes."}, Group: groupLint, Find: checkAmbiguous},
	{Rule: rule.Rule{ID: "A041", Name: "null-ambiguous", Severity: rule.Note,
		Short: "A null and the string that spells it are written the same, so that only the " +
			"tool's schema tells them apart.",
		Damage: "The unit \"none\" becomes null, or a parameter that was left out becomes " +
			"the text \"None\".",
		Fix: "Leave arguments out that are null; or write " +
			"strings with quotes."}, Group: groupLint, Find: checkNullAmbiguous},
	{Rule: rule.Rule{ID: "A128", Name: "values-as-python", Severity: rule.Note,
		Short: "Arguments between tags that are no text are written as Python does.",
		Damage: "The model writes True and None, and objects in single quotes, where a parser " +
			"expects JSON.",
		Fix: "Write all but strings with tojson, if the model was trained so."},
		Group: groupLint, Find: checkTaggedPython},
	{Rule: rule.Rule{ID: "A029", Name: "text-escaped", Severity: rule.Warning,
		Short: "Text in messages, tools or arguments is written with escapes that " +
			"JSON does not need.",
		Damage: "The model reads \\u003cb\\u003e or \\u00fc, answers in kind, and needs " +
			"more tokens for it.",
		Fix: "Use tojson as transformers defines it: no HTML escapes, " +
			"no ASCII escapes."}, Group: groupLint, Find: checkEscapes},
	{Rule: rule.Rule{ID: "A031", Name: "whitespace-changed", Severity: rule.Note,
		Short: "White space at the edges of a message's text is changed.",
		Damage: "The model's words and their copy in the history differ; the cached " +
			"prefix is lost.",
		Fix: "Do not trim content."}, Group: groupLint, Find: checkSpace},
}

func checkOrder(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	prompt, err := s.writes(ordered.ObjectOf(ordered.MemberOf("zz", ordered.Str("NEEDLEONE")),
		ordered.MemberOf("mm", ordered.Str("NEEDLETWO")),
		ordered.MemberOf("aa", ordered.Str("NEEDLETHREE"))))
	if !judged(find, err) {
		return
	}
	text := prompt.text
	one, two, three := strings.Index(text, "NEEDLEONE"), strings.Index(text, "NEEDLETWO"),
		strings.Index(text, "NEEDLETHREE")
	if one >= 0 && two >= 0 && three >= 0 && !(one < two && two < three) {
		find(prompt.at(one), "zz, mm, aa are written in another order: %s", report.Quote(text, one))
	}
}

func checkNumbers(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	const digits = "9007199254740993"
	prompt, err := s.writes(objectArguments.With("days", ordered.Num(digits)))
	if judged(find, err) && prompt.has("CITYNEEDLE") && !prompt.has(digits) {
		find(prompt.near("days"), "%s is not written as it came", digits)
	}
}

func checkAmbiguous(s *Subject, find finder) {
	calls := s.Template.Analysis().Format.Calls
	if len(calls) == 0 || calls[0].Body.Kind != format.BodyTagged {
		return
	}
	asNumber, err1 := s.withArguments(city(ordered.Num("2134")))
	asString, err2 := s.withArguments(city(ordered.Str("2134")))
	if judged(find, err1, err2) && asNumber.text == asString.text {
		find(asString.of("2134"), `the string "2134" and the number 2134 are written the same`)
	}
}

func checkNullAmbiguous(s *Subject, find finder) {
	calls := s.Template.Analysis().Format.Calls
	if len(calls) == 0 || calls[0].Body.Kind != format.BodyTagged {
		return
	}
	asNull, err := s.withArguments(objectArguments.With("city", ordered.Value{}))
	for _, word := range []string{"null", "None", ""} {
		asString, again := s.withArguments(objectArguments.With("city", ordered.Str(word)))
		if err == nil && judged(find, again) && asNull.text == asString.text {
			find(asNull.near("city"), "the string %q and null are written the same", word)
			return
		}
	}
}

// checkTaggedPython writes values of several types between the tags of arguments.
func checkTaggedPython(s *Subject, find finder) {
	calls := s.Template.Analysis().Format.Calls
	if len(calls) == 0 || calls[0].Body.Kind != format.BodyTagged {
		return
	}
	plain, err := s.withArguments(objectArguments)
	if !judged(find, err) {
		return
	}
	for _, form := range [...]struct {
		value   ordered.Value
		printed string
	}{{city(ordered.Str("CITYNEEDLE")), `{'city': 'CITYNEEDLE'}`}, {ordered.Boolean(true), "True"},
		{ordered.Value{}, "None"}} {
		odd, err := s.withArguments(objectArguments.With("days", form.value))
		if err == nil && strings.Count(odd.text, form.printed) >
			strings.Count(plain.text, form.printed) {
			find(odd.of(form.printed), "%s is written as %s", form.value, form.printed)
			if form.value.Kind() != ordered.Object { // the others are of one sort
				return
			}
		}
	}
}

// escapes are ways to write the text ü<&' that JSON does not need.
var escapes = []string{`\u00fc`, `\u003c`, `\u0026`, `\u0027`, "&lt;", "&amp;", "&#39;", "&#x27;"}

// awkward has the characters that the escapes are of.
const awkward = "ü<&'"

// escaped reports an escape that a prompt with awkward text has and one with plain text has not.
func escaped(find finder, of string, plain, prompt rendering) bool {
	for _, escape := range escapes {
		if strings.Count(prompt.text, escape) > strings.Count(plain.text, escape) {
			find(prompt.at(strings.LastIndex(prompt.text, escape)), "in %s %s is written for a "+
				"character of %q", of, escape, awkward)
			return true
		}
	}
	return false
}

func checkEscapes(s *Subject, find finder) {
	for _, role := range [...]struct {
		of    string
		talk  func(text string) []ordered.Value
		calls bool
	}{
		{"a question", func(text string) []ordered.Value {
			return talk(chat.User(text), answerTurn)
		}, false},
		{"an answer", func(text string) []ordered.Value {
			return talk(userTurn, answering(text))
		}, false},
		{"a result", func(text string) []ordered.Value {
			return talk(userTurn, callTurn, says(resultTurn, text))
		}, true},
	} {
		ask := func(text string) (rendering, error) {
			return s.fitted(role.talk(text), role.calls, false)
		}
		if role.calls && !s.supports(find, replaysCalls) {
			continue
		}
		plain, err1 := ask("plain")
		prompt, err2 := ask(awkward)
		if judged(find, err1, err2) && escaped(find, role.of, plain, prompt) {
			return
		}
	}
	if s.supports(find, describesTools) && s.escapedTools(find) {
		return
	}
	s.escapedArguments(find)
}

// escapedTools gives a tool a description with awkward text.
func (s *Subject) escapedTools(find finder) bool {
	ask := func(text string) (rendering, error) {
		tool := standard.ToolRequest().Tools[0]
		f := tool.Value.At("function")
		tool.Value = tool.Value.With("function", f.With("description", ordered.Str(text)))
		return s.ask(chat.Request{Messages: talk(userTurn), Tools: []chat.Tool{tool}})
	}
	plain, err1 := ask("plain")
	prompt, err2 := ask(awkward)
	return judged(find, err1, err2) && escaped(find, "a tool", plain, prompt)
}

func (s *Subject) escapedArguments(find finder) {
	if !s.supports(find, replaysCalls) {
		return
	}
	for _, c := range s.Template.Analysis().Format.Calls {
		if c.Body.Codec.Entity {
			return // the format's own way to write a value
		}
	}
	plain, err1 := s.writes(city(ordered.Str("plain")))
	prompt, err2 := s.writes(city(ordered.Str(awkward)))
	if !judged(find, err1, err2) {
		return
	}
	escaped(find, "an argument", plain, prompt)
}

func checkSpace(s *Subject, find finder) {
	const padded = " \n PADDEDNEEDLE \n "
	for i, role := range []string{"user", "assistant"} {
		turns := talk(userTurn, answerTurn, userTurn2)
		turns[i] = says(turns[i], padded)
		prompt, err := s.fitted(turns, false, true)
		// Where a message is written as JSON its line feeds are escapes.
		plain := strings.ReplaceAll(prompt.text, `\n`, "\n")
		if judged(find, err) && prompt.has("PADDEDNEEDLE") &&
			!strings.Contains(plain, padded) {
			find(prompt.of("PADDEDNEEDLE"), "the text of the role "+
				"%s is trimmed: %s", role, prompt.quote("PADDEDNEEDLE"))
		}
	}
}
