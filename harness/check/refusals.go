package check

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/rule"
)

// refusalRules ask that every request that the protocol permits and clients send ends in a prompt.
// A refusal in the template's own words (raise_exception) is a constraint that it documents, and no
// fault.
var refusalRules = []lookout{
	{Rule: rule.Rule{ID: "A066", Name: "request-crashes", Severity: rule.Error,
		Short: "A request that the protocol permits ends in an error that the template did " +
			"not mean to raise.",
		Damage: "A client that leaves out a tool's description, or sends a call without content, " +
			"gets status 500 in the middle of its work.",
		Fix: "Ask whether a field is there before using it; where the model cannot do without " +
			"it, say so with raise_exception."}, Group: groupLint, Find: checkCrashes},
	{Rule: rule.Rule{ID: "A075", Name: "parts-crash", Severity: rule.Warning,
		Short: "Content in parts ends in an error in the messages of one role, though in those of " +
			"another it may come so.",
		Damage: "Clients that send all content in parts fail with a system message, with a " +
			"question, or in the second turn.",
		Fix: "Write the content of every role by " +
			"the same macro."}, Group: groupLint, Find: checkPartsCrash},
	{Rule: rule.Rule{ID: "A149", Name: "parts-refused", Severity: rule.Note,
		Short: "Content that is a list of parts, as the protocol permits it, ends in an error, " +
			"whatever the role of the message.",
		Damage: "A client that sends content in parts gets an error, unless the server joins them " +
			"to one text first.",
		Fix: "Test {% if message.content is string %}, and write the text of each part " +
			"otherwise."},
		Group: groupLint, Find: checkPartsRefused},
	{Rule: rule.Rule{ID: "A127", Name: "variable-required", Severity: rule.Error,
		Short: "The template fails unless the request brings a variable that the protocol does " +
			"not have.",
		Damage: "Every request ends in an error, until somebody finds out which variable is " +
			"wanted.",
		Fix: "Ask whether the variable is defined, and write a default."}, Group: groupLint,
		Find: checkBound},
}

// specialTokens are the variables beside BOS and EOS that transformers gives to templates, where a
// tokeniser has them.
var specialTokens = []string{"unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
	"additional_special_tokens"}

// checkBound names the variables without which the template fails on the plainest requests.
func checkBound(s *Subject, find finder) {
	for _, m := range s.Template.Caps().Needs.Bound {
		if slices.Contains(specialTokens, m.Key) {
			continue
		}
		in := chattemplate.Input{Messages: talk(userTurn), Generate: true}
		at := nowhere
		o, err := s.Template.ChatTemplate().Observe(in)
		if r, ok := o.Trace.Reading(m.Key); ok {
			at = where(r.First)
		}
		if err != nil && worded(err) {
			continue // a constraint that the template documents
		}
		find(at, "without the variable %s, which no client sends, requests end in an error", m.Key)
	}
}

func checkCrashes(s *Subject, find finder) { s.findCrashes(find, false) }

func checkPartsCrash(s *Subject, find finder) {
	s.findCrashes(find, true)
	if other, err := s.partsRefused(); err != nil && other != "" {
		find(nowhere, "a question in parts ends in an error, though the parts of %s are "+
			"written: %w", article(other), err)
	}
}

func checkPartsRefused(s *Subject, find finder) {
	if other, err := s.partsRefused(); err != nil && other == "" {
		find(nowhere, "a question in parts ends in an error: %w", err)
	}
}

// partsRefused returns the error in which a question in parts ends, with the kind of another
// message that is written the same in parts and as a text; "": there is none. It renders unfitted:
// the engine joins parts for a template that does not take them, and others do not.
func (s *Subject) partsRefused() (other string, err error) {
	if _, err = s.raw(talk(userTurn), false); err != nil {
		return "", nil // A002 is about it
	}
	if _, err = s.raw(talk(userParts), false); err == nil {
		return "", nil
	}
	inParts := func(m ordered.Value) ordered.Value {
		return m.With("content", ordered.ArrayOf(chat.TextPart(m.At("content"))))
	}
	for _, c := range [...]struct {
		message ordered.Value
		needle  string
		in      func(m ordered.Value) []ordered.Value
	}{
		{answerTurn, "ANSWERNEEDLE", func(m ordered.Value) []ordered.Value {
			return talk(userTurn, m, userTurn2)
		}},
		{systemTurn, "SYSTEMNEEDLE", func(m ordered.Value) []ordered.Value {
			return talk(m, userTurn)
		}},
		{resultTurn, "RESULTNEEDLE", func(m ordered.Value) []ordered.Value {
			return talk(userTurn, callTurn, m)
		}},
	} {
		kind := conversation.KindOf(c.message)
		text, err1 := s.raw(c.in(c.message), kind == conversation.Result)
		parts, err2 := s.raw(c.in(inParts(c.message)), kind == conversation.Result)
		if err1 == nil && err2 == nil && text.has(c.needle) && text.text == parts.text {
			return kind.String(), err
		}
	}
	return "", err
}

// inParts reports whether content comes in parts in a message that is not a user's.
func (t *talked) inParts() bool {
	for i, m := range t.in.Messages {
		if t.kinds[i] != conversation.Question && m.At("content").Kind() == ordered.Array {
			return true
		}
	}
	return false
}

// findCrashes reports why conversations crash, each cause once: of those that have parts where no
// user speaks, or of the others. A crash without such parts is not reported again with them.
func (s *Subject) findCrashes(find finder, parts bool) {
	type cause struct {
		off int
		msg string
	}
	seen := map[cause][]*talked{}
	plain := map[cause]bool{}
	var causes []cause
	for _, t := range s.talks() {
		err := cmp.Or(t.err, t.unfilled)
		if err == nil || worded(err) || !s.expected(t) {
			continue
		}
		c := cause{msg: first(err)}
		if at := (*source.Error)(nil); errors.As(err, &at) {
			c = cause{at.Off, at.Msg}
		}
		if seen[c] == nil {
			causes = append(causes, c)
		}
		seen[c] = append(seen[c], t)
		plain[c] = plain[c] || !t.inParts()
	}
	for _, c := range causes {
		if plain[c] == parts {
			continue
		}
		first := seen[c][slices.IndexFunc(seen[c],
			func(t *talked) bool { return t.inParts() == parts })]
		find(nowhere, "%w\nin %s; first: %s%s", cmp.Or(first.err, first.unfilled),
			plural(len(seen[c]), "conversation"), first.Name, s.shape(first))
	}
}

// expected reports whether a template can be expected to render a conversation: one with calls if
// it writes calls, one with images and the like if it takes typed content.
func (s *Subject) expected(t *talked) bool {
	c := s.Template.Caps()
	for i, m := range t.in.Messages {
		k := t.kinds[i]
		if k == conversation.Answer && m.At("content").IsNull() ||
			k == conversation.Result && m.At("tool_call_id").IsNull() {
			return false // beyond the protocol
		}
		for _, call := range m.At("tool_calls").Items() {
			if call.At("id").IsNull() {
				return false
			}
		}
		if (k == conversation.Call || k == conversation.Result) && !c.ToolCalls {
			return false
		}
		for _, part := range m.At("content").Items() {
			if part.At("type").Text() != "text" && (!c.TypedContent || t.processed()) {
				return false
			}
		}
	}
	return true
}

// processed reports whether the last look-up in vain before a template failed was that of a
// variable, or of a field of a part that is no text: a model's processor gives its template tokens
// for images, and the number of a video's frames, which no request has.
func (t *talked) processed() bool {
	path, ok := t.o.Trace.LastMissing()
	if !ok || t.err == nil || slices.Contains(protocol, lastKey(path)) {
		return false
	}
	if part := strings.LastIndexByte(path, '.'); part >= 0 {
		return partField.MatchString(path) && typeOf(t.in.Messages, path[:part]) != "text"
	}
	return !strings.Contains(path, "[")
}

// partField is the path of a field of a part of a content.
var partField = regexp.MustCompile(`^messages\[\d+\]\.content\[\d+\]\.\w+$`)

// typeOf returns the type of the part of a content at a path.
func typeOf(messages []ordered.Value, path string) string {
	var message, part int
	if _, err := fmt.Sscanf(path, "messages[%d].content[%d]", &message, &part); err != nil {
		return ""
	}
	return messages[message].At("content").Items()[part].At("type").Text()
}

// shape describes the peculiarity of a conversation.
func (s *Subject) shape(t *talked) string {
	var forms []string
	if len(t.in.Tools) > 0 { // the first one stands for all
		f := t.in.Tools[0].At("function")
		if _, ok := f.Get("description"); !ok {
			forms = append(forms, "a tool without a description")
		}
		if _, ok := f.Get("parameters"); !ok {
			forms = append(forms, "a tool without parameters")
		}
	}
	for i, m := range t.in.Messages {
		content, there := m.Get("content")
		switch {
		case !there:
			forms = append(forms, article(t.kinds[i].String())+" without content")
		case content.IsNull():
			forms = append(forms, article(t.kinds[i].String())+" with null content")
		case content.Kind() == ordered.Array:
			forms = append(forms, article(t.kinds[i].String())+" in parts")
		}
	}
	if forms == nil {
		return ""
	}
	return "; with " + strings.Join(forms, ", ")
}
