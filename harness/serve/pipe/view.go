package pipe

import (
	"encoding/json"
	"strings"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/report"
)

// maxTalks bounds the conversations that a page in a file shows.
const maxTalks = 24

// viewer makes a view: it asks the service the page's questions, and keeps the answers.
type viewer struct {
	*report.View
	s       *Service
	of      map[string]*reference // by "is" and "was"
	failure error
}

// View makes the page of a template, with the results of its checks.
func (s *Service) View(src subject.Source, results []rule.Result) (*report.View, error) {
	v := s.viewer(src)
	v.judged(judge(results, src), check.Rules())
	return v.View, v.failure
}

// EditView makes the page of an edit, with the results of the comparison.
func (s *Service) EditView(was, is subject.Source, results []rule.Result) (*report.View, error) {
	v := s.viewer(is)
	v.s.given[keyOf(was, false)] = was
	v.of["was"], v.Was, v.Open = referenceOf(was), was.Text, "diff"
	v.judged(judge(check.Template(is, s.o.Check), is), append(check.Rules(), diff.Rules()...),
		results...)
	class, _, _ := strings.Cut(diff.Conclusion(was, is, results), ":")
	d := Difference{Class: class, Changes: []rule.Result{}}
	for _, res := range results {
		if res.Status != rule.Passed {
			d.Changes = append(d.Changes, res)
		}
	}
	report.ByWeight(d.Changes)
	v.given("is", `{"op":"diff"}`, d)
	for _, c := range v.talks("is") {
		v.ask("was", "render", map[string]any{"request": c.Request})
	}
	return v.View, v.failure
}

// viewer makes the page of a template out of the one that was checked, so that the bound on its
// renders is that of the check.
func (s *Service) viewer(src subject.Source) *viewer {
	of := New(s.ctx, s.o)
	of.given = map[string]subject.Source{keyOf(src, false): src}
	return &viewer{View: &report.View{Name: src.Name, Version: s.o.Version, Template: src.Text,
		Open: "findings"}, s: of,
		of: map[string]*reference{"is": referenceOf(src)}}
}

func referenceOf(src subject.Source) *reference {
	ref := &reference{Name: src.Name, Text: src.Text}
	if !src.StandIns {
		ref.BOS, ref.EOS = &src.BOS, &src.EOS
	}
	return ref
}

// judged adds the answers that every page of a template asks for. Of the rules it keeps those that
// found something.
func (v *viewer) judged(j Judgement, rules []rule.Rule, more ...rule.Result) {
	fired := &report.Report{Rules: rules, Results: append(more, j.Findings...)}
	v.given("is", `{"op":"rules"}`, map[string]any{"rules": fired.Fired()})
	v.given("is", `{"op":"check"}`, j)
	for _, op := range []string{"analyze", "verify", "grammar", "coverage", "fix"} {
		v.ask("is", op, nil)
	}
	talks := v.talks("is")
	v.given("is", `{"op":"conversations"}`, talks)
	for _, c := range talks {
		v.ask("is", "render", map[string]any{"request": c.Request})
	}
	for _, res := range j.Findings[:min(len(j.Findings), maxTalks)] {
		if res.Request != nil {
			v.ask("is", "render", map[string]any{"request": res.Request, "as": view.Sent})
		}
	}
	var a Analyzed
	if json.Unmarshal(v.answer("is", "analyze", nil), &a) == nil {
		v.ask("is", "stream", map[string]any{"insist": true, "output": a.Sample})
	}
}

// talks are the conversations of the page.
func (v *viewer) talks(of string) []Named {
	var all []Named
	if err := json.Unmarshal(v.answer(of, "conversations", nil), &all); err != nil {
		return []Named{} // the template does not compile
	}
	return all[:min(len(all), maxTalks)]
}

// given adds an answer that is known.
func (v *viewer) given(of, request string, result any) {
	answer, err := json.Marshal(map[string]any{"ok": true, "result": result})
	if err != nil {
		v.failure = err
	}
	v.Answers = append(v.Answers,
		report.Asked{Of: of, Request: json.RawMessage(request), Answer: answer})
}

// ask adds the service's answer to a request about a template, and returns the result.
func (v *viewer) ask(of, op string, fields map[string]any) json.RawMessage {
	request := pageRequest(op, fields)
	var answer struct{ Result json.RawMessage }
	whole := v.whole(of, op, fields)
	v.Answers = append(v.Answers, report.Asked{Of: of, Request: request, Answer: whole})
	if err := json.Unmarshal(whole, &answer); err != nil {
		v.failure = err
	}
	return answer.Result
}

// answer returns the result of a request without adding it.
func (v *viewer) answer(of, op string, fields map[string]any) json.RawMessage {
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal(v.whole(of, op, fields), &answer); err != nil {
		v.failure = err
	}
	return answer.Result
}

func (v *viewer) whole(of, op string, fields map[string]any) json.RawMessage {
	all := map[string]any{"op": op, "template": v.of[of]}
	for name, value := range fields {
		all[name] = value
	}
	line, err := json.Marshal(all)
	if err != nil {
		v.failure = err
	}
	return v.s.Answer(line)
}

// pageRequest spells a request as the page does, less the template: its answers are found by that.
func pageRequest(op string, fields map[string]any) json.RawMessage {
	text, err := json.Marshal(struct {
		Insist  any    `json:"insist,omitempty"`
		Op      string `json:"op"`
		Request any    `json:"request,omitempty"`
		Output  any    `json:"output,omitempty"`
		As      any    `json:"as,omitempty"`
	}{fields["insist"], op, fields["request"], fields["output"], fields["as"]})
	if err != nil {
		panic(err) // the fields are of this package
	}
	return text
}
