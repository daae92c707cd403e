package content

import (
	"slices"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// PartDropped is the rule A134: the template asks whether a part of the content is an image, audio
// or video, and writes nothing for it.
var PartDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A134", Name: "part-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template asks whether a part of the content is an image, audio or video, and " +
			"writes nothing for it.",
		Damage: "The server has no place to put the image: the model answers without having seen " +
			"it, and nobody is told.",
		Fix: "Write the model's placeholder where the part stands.",
	},
	Group: probe.GroupLint,
	Find:  checkPartsKept,
}

// mediaParts are the types of parts of content that are no text.
var mediaParts = []string{"image", "image_url", "audio", "input_audio", "video", "video_url"}

// checkPartsKept compares a question with a part that the template knows by its type, and without.
func checkPartsKept(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().TypedContent {
		return
	}
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
		find(probe.Where(r.First),
			"the template looks for parts of type %s, and writes nothing for one",
			probe.JSON(kind))
	}
}
