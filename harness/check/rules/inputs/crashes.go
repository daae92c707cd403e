package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
)

// partsRefused returns the error in which a question in parts ends, with the kind of another
// message that is written the same in parts and as a text; "": there is none. It renders unfitted:
// the engine joins parts for a template that does not take them, and others do not.
func partsRefused(s *probe.Subject) (other string, err error) {
	if _, err = s.Raw(sample.Talk(sample.User), false); err != nil {
		return "", nil // A002 is about it
	}
	if _, err = s.Raw(sample.Talk(sample.UserInParts), false); err == nil {
		return "", nil
	}
	for _, c := range [...]struct {
		message ordered.Value
		needle  string
		in      func(m ordered.Value) []ordered.Value
	}{
		{sample.Answer, "ANSWERNEEDLE", func(m ordered.Value) []ordered.Value {
			return sample.Talk(sample.User, m, sample.LaterUser)
		}},
		{sample.System, "SYSTEMNEEDLE", func(m ordered.Value) []ordered.Value {
			return sample.Talk(m, sample.User)
		}},
		{sample.Result, "RESULTNEEDLE", func(m ordered.Value) []ordered.Value {
			return sample.Talk(sample.User, sample.CallTurn, m)
		}},
	} {
		kind := conversation.KindOf(c.message)
		text, err1 := s.Raw(c.in(c.message), kind == conversation.Result)
		parts, err2 := s.Raw(c.in(sample.InParts(c.message)), kind == conversation.Result)
		if err1 == nil && err2 == nil && text.Has(c.needle) && text.Text == parts.Text {
			return kind.String(), err
		}
	}
	return "", err
}

// inParts reports whether content comes in parts in a message that is not a user's.
func inParts(t *prompts.Prompt) bool {
	for i, m := range t.In.Messages {
		if t.Kinds[i] != conversation.Question && m.At("content").Kind() == ordered.Array {
			return true
		}
	}
	return false
}

// cause is where a template fails, and with what.
type cause struct {
	off int
	msg string
}

// causeOf is the cause of an error.
func causeOf(err error) cause {
	if at := (*source.Error)(nil); errors.As(err, &at) {
		return cause{at.Off, at.Msg}
	}
	return cause{msg: probe.FirstLine(err)}
}

// findCrashes reports why conversations crash, each cause once: of those that have parts where no
// user speaks, or of the others. A crash without such parts is not reported again with them.
func findCrashes(s *probe.Subject, find probe.Finder, parts bool) {
	seen := map[cause]*prompts.Prompt{} // the first, without such parts where there is one
	var causes []cause
	for _, t := range prompts.All.Of(s) {
		err := cmp.Or(t.Err, t.Unfilled)
		if err == nil || probe.Worded(err) || !expected(s, t) {
			continue
		}
		c := causeOf(err)
		if seen[c] == nil {
			causes = append(causes, c)
		}
		if seen[c] == nil || inParts(seen[c]) && !inParts(t) {
			seen[c] = t
		}
	}
	if !parts {
		findRoleCrashes(s, find, func(at *source.Error) bool {
			return seen[cause{at.Off, at.Msg}] != nil
		})
	}
	for _, c := range causes {
		first := seen[c]
		if inParts(first) != parts {
			continue
		}
		if first.Err == nil {
			asCame := s.Template.Caps().Unfilled()
			first = prompts.Look(s, asCame.Fit(first.Request).Input)
		}
		first = first.Smallest(s, func(p *prompts.Prompt) bool {
			return causeOf(p.Err) == c && inParts(p) == parts
		})
		// models of texts are sent no sounds
		find := probe.NoteIf(unheard(s, first), find)
		crashes := func(_ string, err error) bool { return err != nil }
		who := view.Hurt(first.Program, first.In, crashes)
		if parts {
			find, who = first.InParts(find, crashes)
		}
		at := probe.Nowhere.Mended(remedy(first.Err))
		find(at.Shown(first.In).Needing(), "a request%s ends in an error: %w%s",
			shape(first), first.Err, who)
	}
}

// remedies are what mends the errors of a sort, by the exception, "" for any, and what they say.
var remedies = [...]struct{ class, says, help string }{
	{"", "NoneType", "Write `(x or '')` where a value may be null."},
	{"TypeError", "JSON serializable", "Make a list of what `map` or `select` gives before `tojson`: " +
		"`|list|tojson`, and give missing values a default."},
	{"UndefinedError", "has no element", "Test how long the list is before taking an item by its number."},
	{"UndefinedError", "undefined", "Set the variable before each read, or give it a default."},
	{"", "has no attribute", "Test that a member is there: `{% if tool.description %}`."},
}

// remedy is what mends an error; "" where that of the rule does.
func remedy(err error) string {
	for _, r := range remedies {
		if (r.class == "" || r.class == jinja.Class(err)) && strings.Contains(err.Error(), r.says) {
			return r.help
		}
	}
	return ""
}

// unheard reports whether a conversation has a sound or a film, and the template takes none in any
// request.
func unheard(s *probe.Subject, t *prompts.Prompt) bool {
	heard := func(t *prompts.Prompt) bool { return t.Media()["audio"] || t.Media()["video"] }
	for p := range prompts.Rendered(s) {
		if heard(p) {
			return false
		}
	}
	return heard(t)
}

// findRoleCrashes reports the crashes of conversations that templates like to refuse, where they
// are not known from others.
func findRoleCrashes(s *probe.Subject, find probe.Finder, known func(*source.Error) bool) {
	for _, c := range refusable {
		if has, _ := s.Template.Caps().Supports(probe.ReplaysCalls); c.tools && !has {
			continue
		}
		r, err := c.try(s)
		if at := (*source.Error)(nil); !errors.As(err, &at) || probe.Worded(err) || known(at) {
			continue
		}
		find(probe.Nowhere.Shown(r.In), "a request with %s ends in an error: %w", c.name, err)
	}
}

// expected reports whether a template can be expected to render a conversation: one with calls if
// it writes calls, one with images and the like if it takes typed content.
func expected(s *probe.Subject, t *prompts.Prompt) bool {
	c := s.Template.Caps()
	for i, m := range t.In.Messages {
		k := t.Kinds[i]
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
	}
	return !t.Media()["media"] || c.TypedContent && !processed(t)
}

// processed reports whether the last look-up in vain before a template failed was that of a
// variable, or of a field of a part that is no text: a model's processor gives its template tokens
// for images, and the number of a video's frames, which no request has.
func processed(t *prompts.Prompt) bool {
	path, ok := t.Seen.Trace.LastMissing()
	if !ok || t.Err == nil || slices.Contains(protocol, lastKey(path)) {
		return false
	}
	if part := strings.LastIndexByte(path, '.'); part >= 0 {
		return partField.MatchString(path) && typeOf(t.In.Messages, path[:part]) != "text"
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

// shape describes the peculiarity of a conversation; "" where it has none.
func shape(t *prompts.Prompt) string {
	var forms []string
	if len(t.In.Tools) > 0 { // the first one stands for all
		f := t.In.Tools[0].At("function")
		if _, ok := f.Get("description"); !ok {
			forms = append(forms, "a tool without a description")
		}
		if _, ok := f.Get("parameters"); !ok {
			forms = append(forms, "a tool without parameters")
		}
	}
	if len(forms) == 2 { // of one tool
		forms = []string{"a tool without a description and parameters"}
	}
	for i, m := range t.In.Messages {
		content, there := m.Get("content")
		switch {
		case !there:
			forms = append(forms, probe.Article(t.Kinds[i].String())+" without content")
		case content.IsNull():
			forms = append(forms, probe.Article(t.Kinds[i].String())+" with null content")
		case content.Kind() == ordered.Array:
			forms = append(forms, probe.Article(t.Kinds[i].String())+" in parts")
		}
	}
	if forms == nil {
		return ""
	}
	return " with " + strings.Join(forms, " and ")
}
