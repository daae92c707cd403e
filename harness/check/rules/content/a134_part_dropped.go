package content

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/capability"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// PartDropped is the rule A134: an image, audio or video is not written, though the template asks
// for its type, or writes another form of it, or in another place; or it is written as another one.
var PartDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A134", Name: "part-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short: "An image, audio or video part is left out or written as another kind, though the " +
			"template can write it.",
		Damage: "The server has no place to put the image: the model answers without having seen " +
			"it, and nobody is told.",
		Fix: "Write the model's placeholder where the part stands.",
	},
	Find: checkPartsKept,
}

// checkResult compares a tool's result with a picture and without, where a question with one is
// written.
func checkResult(s *probe.Subject, find probe.Finder) {
	picture := ordered.Pairs("type", "image")
	said := func(m ordered.Value, more ...ordered.Value) ordered.Value {
		return m.With("content", ordered.ArrayOf(append([]ordered.Value{
			chat.TextPart(m.At("content"))}, more...)...))
	}
	told := func(question, result ordered.Value) (probe.Rendering, error) {
		return s.Raw(sample.Talk(question, sample.CallTurn, result), true)
	}
	plain, err1 := told(said(sample.User), said(sample.Result))
	asked, err2 := told(said(sample.User, picture), said(sample.Result))
	shown, err3 := told(said(sample.User), said(sample.Result, picture))
	if err1 == nil && err2 == nil && err3 == nil && plain.Has("USERNEEDLE") &&
		plain.Has("RESULTNEEDLE") && asked.Text != plain.Text && shown.Text == plain.Text {
		find(shown.Made(strings.Index(shown.Text, "RESULTNEEDLE")), "an image in a tool message "+
			"is not written, though one in a user message is\nsent by: agents whose tools return "+
			"screenshots")
	}
}

// checkPartsKept looks at parts in results, and at those of questions.
func checkPartsKept(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().TypedContent {
		return
	}
	checkResult(s, find)
	checkMarks(s, find)
}

// sorts are the sorts of parts, the types under which engines hand them on; clients send image_url
// for image.
var sorts = [...]string{"image", "video", "audio"}

// marks is what a template writes for parts between two texts of a question.
type marks struct {
	s     *probe.Subject
	none  string // for no part
	plain string // the prompt without one
	other string // for a part of a type that nobody knows
}

// of returns what is written for parts of a type, and the prompt; "" where they are lost, and false
// where the template refuses them or does not write the texts in order.
func (m marks) of(types ...string) (mark string, prompt probe.Rendering, ok bool) {
	var parts []ordered.Value
	for _, kind := range types {
		parts = append(parts, partOf(kind, kind, ordered.Pairs("url", link)))
	}
	return m.written(parts...)
}

// link is where the data of a part is.
var link = ordered.Str("https://example.org/one")

// partOf is a part of a type with one member.
func partOf(kind, key string, value ordered.Value) ordered.Value {
	return ordered.Pairs("type", kind, key, value)
}

// written is [marks.of] for parts.
func (m marks) written(parts ...ordered.Value) (mark string, prompt probe.Rendering, ok bool) {
	parts = slices.Concat([]ordered.Value{chat.TextPart(ordered.Str("USERNEEDLE"))}, parts,
		[]ordered.Value{chat.TextPart(ordered.Str("SECONDNEEDLE"))})
	prompt, err := m.s.Raw(sample.Talk(sample.User.With("content", ordered.ArrayOf(parts...))),
		false)
	_, rest, begins := strings.Cut(prompt.Text, "USERNEEDLE")
	mark, _, ends := strings.Cut(rest, "SECONDNEEDLE")
	if m.plain != "" && (mark == m.none || mark == m.other) {
		mark = m.inserted(prompt.Text) // nothing is written for it, or elsewhere
	}
	if mark == m.other || strings.Contains(mark, `type"`) || strings.Contains(mark, "type'") {
		mark = "" // it stands for parts that nobody knows, or a value is printed
	}
	return mark, prompt, err == nil && begins && ends
}

// inserted is the text that a prompt has and the one without a part has not; "" where they differ
// otherwise.
func (m marks) inserted(prompt string) string {
	before := len(source.CommonPrefix(prompt, m.plain))
	after := len(source.CommonSuffix(prompt[before:], m.plain[before:]))
	if before+after < len(m.plain) || before+after == len(prompt) {
		return ""
	}
	after = len(prompt) - after
	for before > 0 && prompt[before-1] == prompt[after-1] && !strings.ContainsAny(
		prompt[before:before+1], "<[{\n ") { // a bracket before it that comes after it, too
		before, after = before-1, after-1
	}
	mark, _, _ := strings.Cut(strings.TrimSpace(prompt[before:after]), "\n") // a header may follow
	return mark
}

// known names a sort of part for which the template writes something, as the end of a sentence;
// "" where there is none.
func (m marks) known() string {
	for _, part := range capability.Media {
		if mark, _, ok := m.of(part.Type); ok && strings.TrimSpace(mark) != "" {
			return fmt.Sprintf("; for %s it writes %s", probe.JSON(part.Type),
				probe.JSON(strings.TrimSpace(mark)))
		}
	}
	return ""
}

// number matches a number within a mark.
var number = regexp.MustCompile(`[0-9]+`)

// checkMarks compares what is written for one sort of part with another.
func checkMarks(s *probe.Subject, find probe.Finder) {
	m := marks{s: s}
	none, plain, ok := m.of()
	if !ok {
		return // other rules are about it
	}
	m.none, m.plain = none, plain.Text
	if m.other, _, ok = m.of("unknown"); !ok || m.other == "" {
		m.other = none
	}
	for _, part := range capability.Media {
		kind := part.Type
		_, prompt, _ := m.of(kind)
		if o, ok := prompt.Observe(); ok && prompt.Text == plain.Text &&
			slices.Contains(o.Trace.Literals("messages[0].content[1].type", "=="), kind) {
			r, _ := o.Trace.Reading("messages[0].content[1].type")
			find(probe.Offset(r.First).Shown(prompt.In),
				"the template looks for parts of type %s, and writes nothing for one%s",
				probe.JSON(kind), m.known())
		}
	}
	by := map[string]string{} // sorts by what is written for them
	for _, sort := range sorts {
		mark, prompt, ok := m.of(sort)
		client := sort + "_url"
		sent, _, _ := m.of(client)
		switch other, both := by[mark]; {
		case !ok:
			continue
		case mark == "" && sent != "":
			probe.Weigh(find, rule.Error)(prompt.Near("USERNEEDLE"), "vLLM rewrites %s to "+
				"%s, which the template does not know: the %[2]s vanishes\n"+
				"sent by: every client with an %[2]s",
				client, sort)
		case mark != "" && both:
			find(prompt.At(strings.Index(prompt.Text, mark)), "the template writes the same "+
				"for %s as for %s: %q", sort, other, mark)
		case sort == "image" && sent == "":
			_, prompt, ok := m.of(client)
			if video, _, _ := m.of("video_url"); ok && video != "" {
				find(prompt.Near("USERNEEDLE"),
					"a part of the type image_url is lost, though video_url is known")
			}
		}
		if mark == "" {
			continue
		}
		if words := strings.TrimSpace(sent); words != "" && !strings.Contains(sent, mark) &&
			strings.Contains(m.plain, words) {
			find(prompt.Of(mark), "the template writes %q for a part of the type %s, and for %s "+
				"only what other prompts have without one: %q", mark, sort, client, words)
		}
		by[mark] = sort
		m.everywhere(find, sort, mark)
		m.shapes(find, sort)
	}
}

// shapes looks for a part that the template writes in one shape of its type, and loses in another
// one that clients send.
func (m marks) shapes(find probe.Finder, sort string) {
	var lost []string
	var at probe.Where
	for _, shape := range []struct {
		by   string
		part ordered.Value
	}{
		{"vLLM, SGLang", ordered.Pairs("type", sort)},
		{"transformers", partOf(sort, sort, link)},
		{"transformers", partOf(sort, "url", link)},
		{"transformers", partOf(sort, "path", ordered.Str("one.bin"))},
		{"transformers", partOf(sort, "base64", ordered.Str("AAAA"))},
		{"Anthropic", partOf(sort, "source", partOf("url", "url", link))},
	} {
		if mark, prompt, ok := m.written(shape.part); ok && mark == "" {
			lost = append(lost, fmt.Sprintf("%s (%s)", shape.part, shape.by))
			at = prompt.Near("USERNEEDLE")
		}
	}
	if len(lost) > 0 {
		find(at, "a part of the type %s is written in one shape and lost in another\nlost: %s",
			sort, strings.Join(lost, "\nlost: "))
	}
}

// everywhere looks for parts in each turn that may have some: one in a first question and two in a
// second, and two in a result. All are written, and each after what is said before it.
func (m marks) everywhere(find probe.Finder, kind, mark string) {
	part := ordered.Pairs("type", kind)
	say := func(message ordered.Value, parts ...ordered.Value) ordered.Value {
		return message.With("content", ordered.ArrayOf(append(parts,
			chat.TextPart(message.At("content")))...))
	}
	mark = strings.TrimPrefix(mark, source.CommonPrefix(mark, m.other)) // where a text ends
	mark = strings.TrimSuffix(mark, source.CommonSuffix(mark, m.other))
	one := number.ReplaceAllString(strings.TrimSpace(mark), "0")
	if one == "" {
		return
	}
	for _, c := range []struct {
		what, before, in string
		n                int
		messages         []ordered.Value
	}{
		{"three %ss in two user messages", "", "SECONDNEEDLE", 3, sample.Talk(
			say(sample.User, part), sample.Answer, say(sample.LaterUser, part, part))},
		{"two %ss in the second user message", "ANSWERNEEDLE", "SECONDNEEDLE", 2, sample.Talk(
			sample.User, sample.Answer, say(sample.LaterUser, part, part))},
		{"two %ss in a tool message", "USERNEEDLE", "RESULTNEEDLE", 2, sample.Talk(
			sample.User, sample.CallTurn, say(sample.Result, part, part))},
	} {
		prompt, err := m.s.Raw(c.messages, c.in == "RESULTNEEDLE")
		text := number.ReplaceAllString(prompt.Text, "0")
		n, before := strings.Count(text, one), strings.Index(text, c.before)
		switch {
		case err != nil || !prompt.Has(c.in) || !prompt.Has(cmp.Or(c.before, c.in)) ||
			c.in == "RESULTNEEDLE" && n == 0: // other rules are about it
		case n != c.n:
			find(prompt.Near(c.in), c.what+" give %s: %q", kind,
				probe.Plural(n, "placeholder"), one)
			return
		case strings.Index(text, one) < before && strings.LastIndex(text, one) > before:
			// a model that takes all parts before all text has them there together
			find(prompt.Of(c.in), "of "+c.what+" one stands before what is said earlier: %q", kind,
				one)
			return
		}
	}
}
