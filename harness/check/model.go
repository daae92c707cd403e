package check

import (
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/rules/model"
	"github.com/goassay/assay/harness/check/subject"
)

// Model runs the rules about a model, and those about templates on each of its templates, once
// where several are equal.
func Model(m *subject.Model, o Options) []rule.Result {
	all := ModelOnly(m, o)
	for _, src := range m.Distinct() {
		all = append(all, Template(src, o)...)
	}
	return all
}

// ModelOnly runs the rules about a model, without looking for faults of its templates.
func ModelOnly(m *subject.Model, o Options) []rule.Result {
	return modelResults(m, o, model.Rules)
}

// Response runs the rules about the response_template that a tokenizer_config.json ships, where the
// other rules about models do not apply: on the file alone.
func Response(m *subject.Model, o Options) []rule.Result {
	return modelResults(m, o, []*model.Rule{model.ResponseTemplateUnread,
		model.ResponseTemplateDiffers})
}

func modelResults(m *subject.Model, o Options, rules []*model.Rule) []rule.Result {
	s := model.New(m, o)
	runner := rule.Runner[*model.Subject, struct{}]{Checks: rules, Subject: s,
		Scope: rule.Scope[struct{}]{Suite: m.Path, File: m.Path, Place: s.Place}}
	var all []rule.Result
	for _, r := range rules {
		if o.Runs(r.ID) {
			all = append(all, runner.Run(r)...)
		}
	}
	return all
}
