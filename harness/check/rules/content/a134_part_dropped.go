package content

import (
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
		Short: "An image, audio or video is not written, though the template asks for its type, " +
			"or writes another form of it, or in another place; or it is written as another one.",
		Damage: "The server has no place to put the image: the model answers without having seen " +
			"it, and nobody is told.",
		Fix: "Write the model's placeholder where the part stands.",
	},
	Group: probe.GroupLint,
	Find:  checkPartsKept,
}

// checkResult compares a tool's result with a picture and without, where a question with one is
// written.
func checkResult(s *probe.Subject, find probe.Finder) {
	picture := ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("image")))
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
		find(shown.Of("RESULTNEEDLE"), "the picture in a tool's result is not written, though "+
			"one in a question is\nthe model sees: %s", shown.Quote("RESULTNEEDLE"))
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
	other string // for a part of a type that nobody knows
}

// of returns what is written for parts of a type, and the prompt; "" where they are lost, and false
// where the template refuses them or does not write the texts in order.
func (m marks) of(types ...string) (mark string, prompt probe.Rendering, ok bool) {
	parts := []ordered.Value{chat.TextPart(ordered.Str("USERNEEDLE"))}
	for _, kind := range types {
		parts = append(parts, ordered.ObjectOf(ordered.MemberOf("type", ordered.Str(kind)),
			ordered.MemberOf(kind, ordered.ObjectOf(
				ordered.MemberOf("url", ordered.Str("https://example.org/one"))))))
	}
	parts = append(parts, chat.TextPart(ordered.Str("SECONDNEEDLE")))
	prompt, err := m.s.Raw(sample.Talk(sample.User.With("content", ordered.ArrayOf(parts...))),
		false)
	_, rest, begins := strings.Cut(prompt.Text, "USERNEEDLE")
	mark, _, ends := strings.Cut(rest, "SECONDNEEDLE")
	if mark == m.none || mark == m.other || strings.Contains(mark, `type"`) {
		mark = "" // nothing is written for it, or a value is printed
	}
	return mark, prompt, err == nil && begins && ends
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
	m.none = none
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
				"the template looks for parts of type %s, and writes nothing for one",
				probe.JSON(kind))
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
			find(prompt.Near("USERNEEDLE"), "a part of the type %s is lost, though %s is known: "+
				"engines make the first of the second", sort, client)
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
		by[mark] = sort
		m.everywhere(find, sort, mark)
	}
}

// everywhere looks for a part in two questions: one in the first, and two in the second.
func (m marks) everywhere(find probe.Finder, kind, mark string) {
	part := ordered.ObjectOf(ordered.MemberOf("type", ordered.Str(kind)))
	say := func(text string, parts ...ordered.Value) ordered.Value {
		return sample.User.With("content", ordered.ArrayOf(append(parts,
			chat.TextPart(ordered.Str(text)))...))
	}
	prompt, err := m.s.Raw(sample.Talk(say("USERNEEDLE", part), sample.Answer,
		say("SECONDNEEDLE", part, part)), false)
	mark = strings.TrimPrefix(mark, source.CommonPrefix(mark, m.other)) // where a text ends
	mark = strings.TrimSuffix(mark, source.CommonSuffix(mark, m.other))
	one := number.ReplaceAllString(strings.TrimSpace(mark), "0")
	n := strings.Count(number.ReplaceAllString(prompt.Text, "0"), one)
	if err == nil && n != 3 && one != "" && prompt.Has("USERNEEDLE") && prompt.Has("SECONDNEEDLE") {
		find(prompt.Near("SECONDNEEDLE"), "of three %ss in two questions the prompt has %d: %q",
			kind, n, one)
	}
}
