package pipe

import (
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/report"
)

// Judgement is the answer of check.
type Judgement struct {
	OK       bool          `json:"ok"`       // no finding is an error
	Findings []rule.Result `json:"findings"` // the worst first
	Passed   int           `json:"passed"`   // checks that found nothing
	// Templates are those that were checked: their names, and whether they are tool-capable.
	Templates []TemplateTold `json:"templates"`
}

// TemplateTold is check's account of a template beside its findings.
type TemplateTold struct {
	Name      string `json:"name"`
	Tools     bool   `json:"tool_capable"`
	Why       string `json:"why,omitempty"`       // it is not, or its format is not proven
	Exercised string `json:"exercised,omitempty"` // how many outcomes of its branches the conversations reached
}

func (s *Service) check(r *request) (any, error) {
	sources, err := s.sources(r, "template", r.Template)
	if err != nil {
		return nil, err
	}
	o := s.o.Check
	o.Only = r.Only
	if r.Untrusted {
		o.Renderer, o.Accepted = nil, new([]string)
	}
	var results []rule.Result
	for _, src := range sources {
		results = append(results, check.Template(src, o)...)
	}
	return judge(results, sources...), nil
}

// judge makes a judgement of the results of checks.
func judge(results []rule.Result, sources ...subject.Source) Judgement {
	j := Judgement{OK: true, Findings: []rule.Result{}}
	for _, res := range rule.Join(results) {
		if res.Status == rule.Passed {
			j.Passed++
			continue
		}
		j.OK = j.OK && res.Status != rule.Failed
		j.Findings = append(j.Findings, res)
	}
	for _, src := range sources {
		j.Templates = append(j.Templates, told(src))
	}
	j.Findings = report.Shown(j.Findings)
	report.ByWeight(j.Findings)
	return j
}

func told(src subject.Source) TemplateTold {
	t := TemplateTold{Name: src.Name}
	compiled, err := src.Compile()
	if err != nil {
		t.Why = subject.Unusable(err).Error()
		return t
	}
	gate := compiled.Gate()
	t.Tools = gate.ToolCapable()
	if gate.Err() != nil {
		t.Why = gate.Err().Error()
	}
	t.Exercised = src.Explored().Summary()
	return t
}

// Difference is the answer of diff.
type Difference struct {
	// Class is identical, not observable, white space, safe, risky, breaking, not compared or
	// neither can be used.
	Class   string        `json:"class"`
	Changes []rule.Result `json:"changes"`
}

func (s *Service) diff(r *request) (any, error) {
	was, err := s.source(r, "was", r.Was)
	if err != nil {
		return nil, err
	}
	is, err := s.source(r, "is", r.Is)
	if err != nil {
		return nil, err
	}
	both := subject.Limited(s.ctx, []subject.Source{was, is}, s.limits(r))
	d := diff.Between(both[0], both[1])
	if d.Changes == nil {
		d.Changes = []rule.Result{}
	}
	return Difference{d.Class, report.Shown(d.Changes)}, nil
}

// fix answers with the patches of a template, as many as a short search finds, and what is left.
func (s *Service) fix(r *request) (any, error) {
	src, err := s.source(r, "template", r.Template)
	if err != nil {
		return nil, err
	}
	o := fix.Options{Only: r.Only, Rest: true, Limits: fix.Offering(s.limits(r))}
	return fix.Mend(s.ctx, src, o, s.o.Check).Report(), nil
}

func (s *Service) coverage(r *request) (any, error) {
	t, err := s.template(r)
	if err != nil {
		return nil, err
	}
	x := conversation.Explore(t.ChatTemplate(), conversation.Usual(), t.Caps().Needs.Bound,
		conversation.UsualRenders, nil)
	return x.Value().With("summary", text(x.Summary())), nil
}

// conversations returns requests to look at a template with: those of the standard battery, and
// those that reach its branches.
func (s *Service) conversations(r *request) (any, error) {
	t, err := s.template(r)
	if err != nil {
		return nil, err
	}
	return conversationsOf(t), nil
}

func (s *Service) rules(*request) (any, error) {
	return struct {
		Rules []rule.Rule `json:"rules"`
	}{append(check.Rules(), diff.Rules()...)}, nil
}
