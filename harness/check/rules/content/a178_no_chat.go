package content

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// NoChat is the rule A178: the template writes no turn of a model, as one for embeddings or ranking
// does, or of its users sounds alone, as one that transcribes does; it is not judged as one for
// chat.
var NoChat = &probe.Rule{
	Rule: rule.Rule{
		ID: "A178", Name: "no-chat", Severity: rule.Note, Harm: rule.Style,
		Short: "The template writes no assistant messages, as one for embeddings or ranking does, " +
			"or of its users sounds alone, as one that transcribes does; it is not judged as one " +
			"for chat.",
		Damage: "None with a model that embeds, ranks or transcribes. A model for chat does not " +
			"know whose text it reads, nor when to answer.",
		Fix: "For chat, write a header for each role, and the assistant's at the end `{% if " +
			"add_generation_prompt %}`.",
	},
	Supersedes: []string{"A012", "A013", "A014", "A015", "A019", "A020", "A026", "A034", "A040",
		"A061", "A063", "A064", "A066", "A071", "A075", "A080", "A082", "A083", "A085", "A088",
		"A137", "A153", "A157", "A158", "A159", "A161", "A162", "A163", "A180"},
	Find: checkChat,
}

// checkChat finds that of users sounds are written and no texts; or that nothing asks the model for
// an answer, and that a text is written alike whether the model or its user said it; or is refused
// in the template's words; or that nothing is written but the texts that are to be ranked.
func checkChat(s *probe.Subject, find probe.Finder) {
	c := s.Template.Caps()
	user := func(text string) ordered.Value {
		m := chat.User(text)
		if c.TypedOnly() {
			m = m.With("content", ordered.ArrayOf(chat.TextPart(ordered.Str(text))))
		}
		return m
	}
	ask := func(generate bool, messages ...ordered.Value) (probe.Rendering, error) {
		return s.Fitted(messages, false, generate)
	}
	if transcribes(s) {
		find(probe.Nowhere, "of user messages only sounds are written: the template is not judged "+
			"as one for chat")
		return
	}
	asked, err1 := ask(true, user("USERNEEDLE"))
	plain, err2 := ask(false, user("USERNEEDLE"))
	if c.Tools || c.ToolCalls || err1 != nil || err2 != nil || asked.Text != plain.Text {
		return
	}
	answer := user("ANSWERNEEDLE").With("role", ordered.Str("assistant"))
	answered, err1 := ask(false, user("USERNEEDLE"), answer, user("SECONDNEEDLE"))
	repeated, err2 := ask(false, user("USERNEEDLE"), user("ANSWERNEEDLE"), user("SECONDNEEDLE"))
	refused := err1 != nil && err2 != nil && probe.Worded(err1) && probe.Worded(err2)
	alike := err1 == nil && err2 == nil && answered.Text == repeated.Text && evenly(answered.Text)
	if refused || alike || err1 == nil && !strings.Contains(answered.Text, "NEEDLE") && ranks(s) {
		find(probe.Nowhere, "no assistant message is asked for, nor written as a turn of its own: "+
			"no template for chat")
	}
}

// transcribes reports whether a template knows no tools, and writes a sound that a user sends, and
// no text.
func transcribes(s *probe.Subject) bool {
	parts := func(all ...ordered.Value) (probe.Rendering, error) {
		return s.Raw(sample.Talk(sample.User.With("content", ordered.ArrayOf(all...))), false)
	}
	c := s.Template.Caps()
	plain, _ := s.Fitted(sample.Talk(sample.User), false, true)
	silent, err1 := parts(chat.TextPart(ordered.Str("USERNEEDLE")))
	heard, err2 := parts(partOf("audio", "audio", link))
	return !c.Tools && !c.ToolCalls && err1 == nil && err2 == nil && !silent.Has("USERNEEDLE") &&
		!plain.Has("USERNEEDLE") && len(heard.Text) > len(silent.Text)
}

// ranks reports whether a template writes what rankers are sent, a query and a document.
func ranks(s *probe.Subject) bool {
	say := func(role, text string) ordered.Value {
		return chat.MessageOf(role, ordered.Str(text))
	}
	prompt, err := s.Render(chattemplate.Input{Messages: []ordered.Value{
		say("query", "QUERYNEEDLE"), say("document", "TEXTNEEDLE")}})
	return err == nil && prompt.Has("QUERYNEEDLE") && prompt.Has("TEXTNEEDLE")
}

// evenly reports whether a conversation has the same text between any two of its messages: else the
// place of a message tells whose it is.
func evenly(prompt string) bool {
	_, rest, ok1 := strings.Cut(prompt, "USERNEEDLE")
	first, rest, ok2 := strings.Cut(rest, "ANSWERNEEDLE")
	second, _, ok3 := strings.Cut(rest, "SECONDNEEDLE")
	return ok1 && ok2 && ok3 && first == second
}
