package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/tokens"
)

// injectionRules look at markers in the texts of people and tools.
var injectionRules = []lookout{
	{Rule: rule.Rule{ID: "A074", Name: "markers-unescaped", Severity: rule.Note,
		Short: "A text of the request that spells the template's markers reaches the prompt as " +
			"it is, and can forge a turn.",
		Damage: "Who controls a web page that a tool reads can end its turn and speak as the " +
			"user or the system.",
		Fix: "Nearly no template can help it; tokenise the prompt in pieces, so that texts of the " +
			"request give no special token (docs/tokens.md)."},
		Group: groupLint, Find: checkInjection},
}

// entrance is a place of a request into which somebody writes a text.
type entrance struct {
	name    string
	request func(text string) chat.Request
}

// entrances are the places of a request that hold texts: each has one of a stranger, a tool, a
// model or an operator.
var entrances = []entrance{
	{"a user's text", inTalk(func(text string) []ordered.Value {
		return talk(chat.User(text))
	})},
	{"a system message", inTalk(func(text string) []ordered.Value {
		return talk(chat.System(text), userTurn)
	})},
	{"an answer in the history", inTalk(func(text string) []ordered.Value {
		return talk(userTurn, answering(text), userTurn2)
	})},
	{"reasoning in the history", inTalk(func(text string) []ordered.Value {
		return talk(userTurn, callTurn.With("reasoning_content", ordered.Str(text)), resultTurn)
	})},
	{"a call's argument", inTalk(func(text string) []ordered.Value {
		return talk(userTurn, callingWith(objectArguments.With("city", ordered.Str(text))),
			resultTurn)
	})},
	{"a tool's result", inTalk(func(text string) []ordered.Value {
		return talk(userTurn, callTurn, says(resultTurn, text))
	})},
	{"a tool's description", inTool(func(t *chat.Tool, text string) { t.Description = text })},
	{"a parameter's description", inTool(func(t *chat.Tool, text string) {
		t.Parameters = ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("object")),
			ordered.MemberOf("properties", ordered.ObjectOf(ordered.MemberOf("city",
				ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("string")),
					ordered.MemberOf("description", ordered.Str(text)))))))
	})},
}

// inTalk returns a request with a text in its messages, and the tools that they call.
func inTalk(messages func(text string) []ordered.Value) func(string) chat.Request {
	return func(text string) chat.Request {
		r := chat.Request{Messages: messages(text)}
		calls := func(m ordered.Value) bool { return !m.At("tool_calls").IsNull() }
		if slices.ContainsFunc(r.Messages, calls) {
			r.Tools = called()
		}
		return r
	}
}

// inTool returns a request with a text in its first tool.
func inTool(set func(*chat.Tool, string)) func(string) chat.Request {
	return func(text string) chat.Request {
		tools := called()
		set(&tools[0], text)
		tools[0].Value = ordered.Value{}
		return chat.Request{Messages: talk(userTurn), Tools: tools}
	}
}

// next are messages after a user's, whose turns a text may forge.
var next = []ordered.Value{
	answering("THIRDNEEDLE"), chat.User("THIRDNEEDLE"), chat.System("THIRDNEEDLE"),
}

func checkInjection(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	proof, same := s.forgery()
	if proof == "" {
		return
	}
	var at rendering
	var open []entrance
	for _, e := range entrances {
		n, first, refused := s.arriving([]string{proof}, e.request)
		if n == 0 {
			// Text that is written as JSON has no line feed, and markers work without one.
			n, first, refused = s.arriving([]string{strings.ReplaceAll(proof, "\n", "")}, e.request)
		}
		if refused != nil && !worded(refused) && len(open) == 0 {
			unjudged(find, refused)
		}
		if n > 0 {
			if open = append(open, e); at.text == "" {
				at = first
			}
		}
	}
	if len(open) == 0 {
		return
	}
	score := ""
	if markers := s.turnMarkers(); len(markers) > 0 {
		n, _, _ := s.arriving(markers, entrances[0].request)
		score = fmt.Sprintf("%d of %d markers arrive as they are in a user's text; ", n, len(markers))
	}
	text := "the shortest text that does it"
	if same {
		text += ", with the prompt of two messages to the byte"
	}
	find(at.of("SECONDNEEDLE"), "%sa turn can be forged in %s\n%s: %s\n%s", score, names(open), text,
		jsonString(proof), s.stopped(open, proof))
}

// turnMarkers returns the markers of the template's turns and of its reasoning; none where its
// turns have no frame.
func (s *Subject) turnMarkers() []string {
	f, ok := s.frame()
	if !ok {
		return nil
	}
	markers := []string{f.closer}
	for _, k := range []conversation.Kind{conversation.System, conversation.Question,
		conversation.Answer, conversation.Result} {
		if h := strings.TrimSpace(f.headers[k]); h != "" {
			markers = append(markers, h)
		}
	}
	if r := s.Template.Analysis().Format.Reasoning; r.Open.Text != "" {
		markers = append(markers, r.Open.Text, r.Close.Text)
	}
	return markers
}

// names lists entrances for people.
func names(list []entrance) string {
	var all []string
	for _, e := range list {
		all = append(all, e.name)
	}
	return strings.Join(all, ", ")
}

// forgery returns the shortest text that ends a user's turn and begins another one: the text
// between two messages. It reports whether a user's text with it has the prompt of the two, byte
// for byte.
func (s *Subject) forgery() (proof string, same bool) {
	for _, turn := range next {
		honest, err := s.ask(chat.Request{Messages: talk(userTurn2, turn),
			NoGeneration: true})
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(honest.text, "SECONDNEEDLE")
		text, _, found := strings.Cut(rest, "THIRDNEEDLE")
		if !ok || !found || strings.TrimSpace(text) == "" {
			continue
		}
		r := entrances[0].request("SECONDNEEDLE" + text + "THIRDNEEDLE")
		r.NoGeneration = true
		forged, err := s.ask(r)
		equal := err == nil && forged.text == honest.text
		if proof == "" || equal && !same || equal == same && len(text) < len(proof) {
			proof, same = text, equal
		}
	}
	return proof, same
}

// stopped tells whether the pieces of a prompt stop a forgery: no special token comes from the
// text. In the vocabulary the markers of the text are special tokens, as they are in models' own.
func (s *Subject) stopped(open []entrance, proof string) string {
	var made []vocab.Token
	for _, text := range tokens.Markers(proof) {
		if !slices.ContainsFunc(made, func(t vocab.Token) bool { return t.Text == text }) {
			made = append(made, vocab.Token{ID: len(made), Text: text, Special: true})
		}
	}
	if len(made) == 0 {
		return "segments stop it where the vocabulary has its markers as special tokens (docs/tokens.md)"
	}
	v := vocab.New(made, vocab.Config{})
	var left []entrance
	for _, e := range open {
		honest, err1 := s.specials(v, e.request("SECONDNEEDLETHIRDNEEDLE"))
		forged, err2 := s.specials(v, e.request("SECONDNEEDLE"+proof+"THIRDNEEDLE"))
		if err1 != nil || err2 != nil || honest != forged {
			left = append(left, e)
		}
	}
	if len(left) > 0 {
		return "segments do not stop it in " + names(left)
	}
	return "segments stop it: where they cut the prompt, the text gives no special token (docs/tokens.md)"
}

// specials counts the special tokens of a prompt that is tokenised in pieces.
func (s *Subject) specials(v *engine.Vocabulary, r chat.Request) (n int, err error) {
	prompt, err := s.Template.Render(r)
	if err != nil {
		return 0, err
	}
	pieces, err := prompt.Pieces(v)
	for _, p := range pieces {
		if p.Special {
			n += len(v.Scan(p.Text))
		}
	}
	return n, err
}

// arriving counts the texts that reach the prompt as they are in an entrance, and returns the first
// prompt that has one, and the last error.
func (s *Subject) arriving(texts []string,
	request func(string) chat.Request) (n int, first rendering, refused error) {
	for _, m := range texts {
		text := "SECONDNEEDLE" + m + "THIRDNEEDLE"
		p, err := s.ask(request(text))
		switch {
		case err != nil:
			refused = err
		case p.has(text):
			if n++; n == 1 {
				first = p
			}
		}
	}
	return n, first, refused
}
