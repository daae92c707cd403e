package engines

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/report"
)

// Prompt is a prompt to have an engine render.
type Prompt struct {
	ID     string // family, and the request's name
	Family string
	Vars   json.RawMessage
	Want   string
}

// CorpusPrompts returns the prompts of a family's template: of the standard battery and of the
// cases' requests, each fitted to the template, each once. The wanted prompts are our renderer's,
// which `make oracle` holds to jinja2. A request that the template refuses has none.
func CorpusPrompts(s *Subject, family string, cases []Case) ([]Prompt, error) {
	var prompts []Prompt
	seen := map[string]bool{}
	add := func(name string, r chat.Request) {
		t := s.Template
		in := t.Caps().Fit(r).Input
		vars := t.ChatTemplate().Vars(in).String()
		if seen[vars] {
			return
		}
		seen[vars] = true
		if text, err := t.ChatTemplate().RenderImmutable(in); err == nil {
			prompts = append(prompts, Prompt{ID: family + "/prompt/" + name, Family: family,
				Vars: json.RawMessage(vars), Want: text})
		}
	}
	for _, c := range standard.Battery() {
		add(c.Name, c.Request)
	}
	for i := range cases {
		v, err := ordered.Parse(cases[i].Request.Request)
		if err != nil {
			return nil, err
		}
		r, err := chat.ParseRequest(v)
		if err != nil {
			return nil, err
		}
		add(cases[i].ID, r)
	}
	return prompts, nil
}

// RunPrompts has an engine render prompts of a template. A prompt is right where it equals the
// wanted one to the byte.
func (a *Adapter) RunPrompts(ctx context.Context, s *Subject, prompts []Prompt,
	found func(Result)) error {
	for i := range prompts {
		p := &prompts[i]
		answer, err := a.Ask(ctx, Request{Op: "render", Template: s.Source.Text, BOS: s.Source.BOS,
			EOS: s.Source.EOS, Vars: p.Vars})
		if err != nil {
			return err
		}
		r := Result{Engine: a.Engine, Version: a.Version, Family: p.Family, Case: p.ID, Cut: prompt,
			Judgement: judgePrompt(p.Want, answer)}
		if r.Verdict == Fault {
			r.Vars, r.WantPrompt = p.Vars, p.Want
			if answer.Text != nil {
				r.GotPrompt = *answer.Text
			}
		}
		found(r)
	}
	return nil
}

// judgePrompt compares an answer with the prompt that is wanted.
func judgePrompt(want string, a Answer) Judgement {
	switch {
	case a.Unsupported != "":
		return Judgement{Unsupported, "", a.Unsupported}
	case a.Error != "":
		return Judgement{Fault, "exception", a.Error}
	case a.Text == nil:
		return Judgement{Fault, "protocol", "the adapter's answer has no text"}
	case *a.Text == want:
		return Judgement{Verdict: Equal}
	}
	got := *a.Text
	at := report.Parting(got, want)
	return Judgement{Fault, "wrong text", fmt.Sprintf("at byte %d the prompt has %.60q, want %.60q",
		at, got[at:], want[at:])}
}
