package content

import (
	"slices"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// PartDropped is the rule A134: the template asks whether a part of the content is an image, audio
// or video, and writes nothing for it; or it writes pictures of questions, and none of results.
var PartDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A134", Name: "part-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template asks whether a part of the content is an image, audio or video, and " +
			"writes nothing for it; or it writes pictures of questions, and none of results.",
		Damage: "The server has no place to put the image: the model answers without having seen " +
			"it, and nobody is told.",
		Fix: "Write the model's placeholder where the part stands.",
	},
	Group: probe.GroupLint,
	Find:  checkPartsKept,
}

// mediaParts are the types of parts of content that are no text.
var mediaParts = []string{"image", "image_url", "audio", "input_audio", "video", "video_url"}

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
			"one in a question is: %s", shown.Quote("RESULTNEEDLE"))
	}
}

// checkPartsKept compares a question with a part that the template knows by its type, and without.
func checkPartsKept(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().TypedContent {
		return
	}
	checkResult(s, find)
	text := sample.UserInParts.At("content").Items()[0]
	plain, err := s.Raw(sample.Talk(sample.UserInParts), false)
	if err != nil {
		return // A030 and A085 are about it
	}
	for _, kind := range mediaParts {
		part := ordered.ObjectOf(ordered.MemberOf("type", ordered.Str(kind)),
			ordered.MemberOf(kind, ordered.ObjectOf(
				ordered.MemberOf("url", ordered.Str("https://example.org/one")))))
		in := plain.In
		in.Messages = sample.Talk(sample.UserInParts.With("content", ordered.ArrayOf(text, part)))
		o, err := s.Template.ChatTemplate().Observe(in)
		if err != nil || o.String != plain.Text ||
			!slices.Contains(o.Trace.Literals("messages[0].content[1].type", "=="), kind) {
			continue
		}
		r, _ := o.Trace.Reading("messages[0].content[1].type")
		find(probe.Offset(r.First).Shown(in),
			"the template looks for parts of type %s, and writes nothing for one",
			probe.JSON(kind))
	}
}
