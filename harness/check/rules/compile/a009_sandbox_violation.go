package compile

import (
	"cmp"
	"slices"

	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/report"
)

// SandboxViolation is the rule A009: the template changes its input, which the sandbox of Hugging
// Face's transformers forbids.
var SandboxViolation = &probe.Rule{
	Rule: rule.Rule{
		ID: "A009", Name: "sandbox-violation", Severity: rule.Warning, Harm: rule.Crashed,
		Short:  "The template changes its input, which the sandbox of transformers forbids.",
		Damage: "It works on one server; on another every request ends in a SecurityError.",
		Fix: "Build new lists with `+` instead of append, and new values with `set` or " +
			"`namespace`.",
	},
	Find: checkSandbox,
}

func checkSandbox(s *probe.Subject, find probe.Finder) {
	var refused error
	rendered := false
	for _, c := range standard.Battery() {
		in := s.Template.Caps().Fit(c.Request).Input
		mutable, err := s.Template.ChatTemplate().Render(in)
		if err != nil {
			refused = cmp.Or(refused, err)
			continue
		}
		rendered = true
		if text, err := s.Template.ChatTemplate().RenderImmutable(in); err != nil {
			probe.Weigh(find, rule.Error)(probe.Nowhere.Shown(in), "an ordinary request ends in "+
				"an error where templates may not change lists and objects: %w\nwho: %s",
				err, view.Names(immutable()))
			return
		} else if text != mutable {
			written := s.Rendered(mutable, in)
			find(written.At(report.Parting(text, mutable)),
				"an ordinary request gets another prompt in engines where a template may not "+
					"change lists and objects")
			return
		}
	}
	for _, f := range variant.Faults.Of(s) {
		if f.Sandboxed() {
			find(probe.Nowhere.Shown(f.Input), "a request with %s ends in an error where "+
				"templates may not change lists and objects: %w\nwho: %s",
				f.In.Name, f.Err, view.Names(f.Views))
			return
		}
	}
	if !rendered {
		probe.Unjudged(find, refused)
	}
}

// immutable are the views of engines in which a template must not change its input.
func immutable() []view.View {
	return slices.DeleteFunc(slices.Clone(view.Views()), func(v view.View) bool {
		return !v.Immutable
	})
}
