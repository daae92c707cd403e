package markers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/corpus/tokens"
)

// MarkersUnescaped is the rule A074: a text of the request that spells the template's markers
// reaches the prompt as it is, and can forge a turn.
var MarkersUnescaped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A074", Name: "markers-unescaped", Severity: rule.Note, Harm: rule.Misread,
		Short: "Text of a request that spells the template's markers can pass for a new message.",
		Damage: "Whoever controls a web page that a tool reads can end the tool message and " +
			"speak as the user or the system.",
		Fix: "Hardly any template can help it. Tokenise the prompt in pieces, so that text of " +
			"the request never becomes a special token (docs/tokens.md).",
	},
	Find: prompts.IfHeard(checkInjection),
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
		return sample.Talk(chat.User(text))
	})},
	{"a system message", inTalk(func(text string) []ordered.Value {
		return sample.Talk(chat.System(text), sample.User)
	})},
	{"an assistant message in the history", inTalk(func(text string) []ordered.Value {
		return sample.Talk(sample.User, sample.AnswerOf(text), sample.LaterUser)
	})},
	{"reasoning in the history", inTalk(func(text string) []ordered.Value {
		return sample.Talk(sample.User, sample.CallTurn.With("reasoning_content",
			ordered.Str(text)), sample.Result)
	})},
	{"a tool call's argument", inTalk(func(text string) []ordered.Value {
		return sample.Talk(sample.User, sample.CallTurnWith(sample.Arguments.With("city",
			ordered.Str(text))), sample.Result)
	})},
	{"a tool message", inTalk(func(text string) []ordered.Value {
		return sample.Talk(sample.User, sample.CallTurn, sample.WithText(sample.Result, text))
	})},
	{"a tool's description", inTool(func(t *chat.Tool, text string) { t.Description = text })},
	{"a parameter's description", inTool(func(t *chat.Tool, text string) {
		t.Parameters = ordered.Pairs("type", "object", "properties", ordered.Pairs(
			"city", ordered.Pairs("type", "string", "description", text)))
	})},
}

// inTalk returns a request with a text in its messages, and the tools that they call.
func inTalk(messages func(text string) []ordered.Value) func(string) chat.Request {
	return func(text string) chat.Request {
		r := chat.Request{Messages: messages(text)}
		calls := func(m ordered.Value) bool { return !m.At("tool_calls").IsNull() }
		if slices.ContainsFunc(r.Messages, calls) {
			r.Tools = sample.Tools()
		}
		return r
	}
}

// inTool returns a request with a text in its first tool.
func inTool(set func(*chat.Tool, string)) func(string) chat.Request {
	return func(text string) chat.Request {
		tools := sample.Tools()
		set(&tools[0], text)
		tools[0].Value = ordered.Value{}
		return chat.Request{Messages: sample.Talk(sample.User), Tools: tools}
	}
}

// next are messages after a user's, whose turns a text may forge.
var next = []ordered.Value{
	sample.AnswerOf("THIRDNEEDLE"), chat.User("THIRDNEEDLE"), chat.System("THIRDNEEDLE"),
}

func checkInjection(s *probe.Subject, find probe.Finder) {
	proof, same := forgery(s)
	if proof == "" {
		return
	}
	var at probe.Rendering
	var open []entrance
	for _, e := range entrances {
		n, first, refused := arriving(s, []string{proof}, e.request)
		if n == 0 {
			// Text that is written as JSON has no line feed, and markers work without one.
			n, first, refused = arriving(s, []string{strings.ReplaceAll(proof, "\n", "")},
				e.request)
		}
		if refused != nil && !probe.Worded(refused) && len(open) == 0 {
			probe.Unjudged(find, refused)
		}
		if n > 0 {
			if open = append(open, e); at.Text == "" {
				at = first
			}
		}
	}
	if len(open) == 0 {
		return
	}
	score := ""
	if markers := turnMarkers(s); len(markers) > 0 {
		n, _, _ := arriving(s, markers, entrances[0].request)
		score = fmt.Sprintf("\n%d of %d markers of messages reach the prompt as they are", n,
			len(markers))
	}
	text := "the shortest text that does it"
	if same {
		text += ", with the prompt of two messages to the byte"
	}
	find(at.Of("SECONDNEEDLE"), "text of a user or a tool can pass for a new message, in any role"+
		"\nwithin: %s%s\n%s: %s\n%s", names(open), score, text, probe.JSON(proof),
		stopped(s, open, proof))
}

// turnMarkers returns the markers of the template's turns and of its reasoning; none where its
// turns have no frame.
func turnMarkers(s *probe.Subject) []string {
	f, ok := boundary.FrameOf(s)
	if !ok {
		return nil
	}
	markers := []string{f.Closer}
	for _, k := range []conversation.Kind{conversation.System, conversation.Question,
		conversation.Answer, conversation.Result} {
		if h := strings.TrimSpace(f.Headers[k]); h != "" {
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
func forgery(s *probe.Subject) (proof string, same bool) {
	for _, turn := range next {
		honest, err := s.Ask(chat.Request{Messages: sample.Talk(sample.LaterUser, turn),
			NoGeneration: true})
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(honest.Text, "SECONDNEEDLE")
		text, _, found := strings.Cut(rest, "THIRDNEEDLE")
		if !ok || !found || strings.TrimSpace(text) == "" {
			continue
		}
		r := entrances[0].request("SECONDNEEDLE" + text + "THIRDNEEDLE")
		r.NoGeneration = true
		forged, err := s.Ask(r)
		equal := err == nil && forged.Text == honest.Text
		if proof == "" || equal && !same || equal == same && len(text) < len(proof) {
			proof, same = text, equal
		}
	}
	return proof, same
}

// stopped tells whether the pieces of a prompt stop a forgery: no special token comes from the
// text. In the vocabulary the markers of the text are special tokens, as they are in models' own.
func stopped(s *probe.Subject, open []entrance, proof string) string {
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
		honest, err1 := specials(s, v, e.request("SECONDNEEDLETHIRDNEEDLE"))
		forged, err2 := specials(s, v, e.request("SECONDNEEDLE"+proof+"THIRDNEEDLE"))
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
func specials(s *probe.Subject, v *engine.Vocabulary, r chat.Request) (n int, err error) {
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
func arriving(s *probe.Subject, texts []string,
	request func(string) chat.Request) (n int, first probe.Rendering, refused error) {
	for _, m := range texts {
		text := "SECONDNEEDLE" + m + "THIRDNEEDLE"
		p, err := s.Ask(request(text))
		switch {
		case err != nil:
			refused = err
		case p.Has(text):
			if n++; n == 1 {
				first = p
			}
		}
	}
	return n, first, refused
}
