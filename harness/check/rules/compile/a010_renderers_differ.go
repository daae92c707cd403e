package compile

import (
	"cmp"
	"sync"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/report"
)

// RenderersDiffer is the rule A010: a second implementation of Jinja renders the template
// differently, or not at all.
var RenderersDiffer = &probe.Rule{
	Rule: rule.Rule{
		ID: "A010", Name: "renderers-differ", Severity: rule.Note, Harm: rule.Changed,
		Short:  "Another implementation of Jinja renders the template differently, or not at all.",
		Damage: "Servers that use it send the model another prompt.",
		Fix:    "Avoid the construct if the template is meant for such servers.",
	},
	Find: checkRenderers,
}

func checkRenderers(s *probe.Subject, find probe.Finder) {
	if s.Options.Renderer == nil {
		return
	}
	var refused error
	rendered := false
	second := sync.OnceValues(func() (chattemplate.Rendering, error) {
		return s.Options.Renderer.Compile(s.Template.ChatTemplate().Source)
	})
	for _, c := range standard.Battery() {
		written, err := s.Ask(c.Request) // the other one sees what ends within the limits alone
		if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		rendered = true
		want, got := written.Text, ""
		program, err := second()
		if err == nil {
			got, err = program.Render(s.Template.ChatTemplate().Vars(written.In), subject.Now)
		}
		if err != nil {
			find(probe.Nowhere.Shown(written.In), "another implementation of Jinja (gonja) fails on the "+
				"request %q: %s", c.Name, probe.FirstLine(err))
			return
		}
		if at := report.Parting(want, got); want != got {
			find(written.At(at), "another implementation of Jinja (gonja) writes another "+
				"prompt for the request %q\n%s", c.Name, report.Sides("usual", want, "gonja", got))
			return
		}
	}
	if !rendered {
		probe.Unjudged(find, refused)
	}
}
