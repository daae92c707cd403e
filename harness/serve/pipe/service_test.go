package pipe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/foreign/target"
	"github.com/goassay/assay/harness/serve/pipe"
)

// limits are tight enough for a test to meet them.
var limits = engine.Limits{TotalSteps: 2_000_000}

// client asks a service and reads its answers.
type client struct {
	t *testing.T
	s *pipe.Service
	n int
}

func newClient(t *testing.T) *client {
	return &client{t: t,
		s: pipe.New(t.Context(), pipe.Options{Version: "test", Limits: limits, Tight: limits})}
}

// answer is any answer.
type answer struct {
	ID      json.RawMessage `json:"id"`
	OK      bool            `json:"ok"`
	Result  json.RawMessage `json:"result"`
	Kind    string          `json:"error"`
	Message string          `json:"message"`
	Offset  int             `json:"offset"`
	Line    int             `json:"line"`
}

func (c *client) raw(line string) answer {
	c.t.Helper()
	out := c.s.Answer([]byte(line))
	var a answer
	if err := json.Unmarshal(out, &a); err != nil || strings.Count(string(out), "\n") != 1 {
		c.t.Fatalf("%s is answered by %v: %s", line, err, out)
	}
	return a
}

// ask asks with further fields and reads the result into a value.
func ask[T any](c *client, op string, fields map[string]any) (result T) {
	c.t.Helper()
	c.n++
	r := map[string]any{"op": op, "id": c.n}
	for name, value := range fields {
		r[name] = value
	}
	line, err := json.Marshal(r)
	if err != nil {
		c.t.Fatal(err)
	}
	a := c.raw(string(line))
	if !a.OK || string(a.ID) != fmt.Sprint(c.n) {
		c.t.Fatalf("%s: %+v", op, a)
	}
	if err := json.Unmarshal(a.Result, &result); err != nil {
		c.t.Fatalf("%s: %v: %s", op, err, a.Result)
	}
	return result
}

func own(t *testing.T, family string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../../corpus/" + family + "/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"name": family + ".jinja", "text": string(text)}
}

const callText = "Hi <tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\"}}\n</tool_call>"

func TestParser(t *testing.T) {
	c := newClient(t)
	p := ask[pipe.Opened](c, "parser", map[string]any{"template": own(t, "hermes")})
	if !strings.Contains(p.Prompt, "Weather in Zürich?") || len(p.Stops) == 0 {
		t.Errorf("%+v", p)
	}
	var deltas []map[string]any
	for i := range len(callText) { // a byte at a time, in the middle of characters too
		w := ask[struct{ Deltas []map[string]any }](c, "write",
			map[string]any{"parser": p.Parser, "bytes": []byte{callText[i]}})
		deltas = append(deltas, w.Deltas...)
	}
	end := ask[struct {
		Message  struct{ Content string }
		Finish   string `json:"finish_reason"`
		Complete []bool
	}](c, "close", map[string]any{"parser": p.Parser, "reason": "stop"})
	if end.Message.Content != "Hi" || end.Finish != "tool_calls" || len(end.Complete) != 1 ||
		!end.Complete[0] || len(deltas) < 10 {
		t.Errorf("%+v after %d deltas", end, len(deltas))
	}
	if a := c.raw(fmt.Sprintf(`{"op": "write", "parser": %d, "text": "x"}`, p.Parser)); a.Kind != "request" ||
		!strings.Contains(a.Message, "no parser") {
		t.Errorf("a parser that is closed: %+v", a)
	}
	q := ask[pipe.Opened](c, "parser", map[string]any{"template": own(t, "hermes")})
	ask[struct{}](c, "drop", map[string]any{"parser": q.Parser})
	if q.Parser == p.Parser {
		t.Error("a number is used twice")
	}
}

// TestPrepare compares a plan with its parts asked for one by one.
func TestPrepare(t *testing.T) {
	c := newClient(t)
	fields := map[string]any{"template": own(t, "qwen3"), "request": map[string]any{
		"messages": []map[string]any{{"role": "user", "content": "Hi"}}}}
	p := ask[pipe.Prepared](c, "prepare", fields)
	opened := ask[pipe.Opened](c, "parser", fields)
	if !strings.Contains(p.Prompt, "Hi") || fmt.Sprint(opened.Prepared) != fmt.Sprint(p) {
		t.Errorf("%+v, a parser's %+v", p, opened)
	}
	s := ask[struct{ Segments []pipe.Segment }](c, "segments", fields).Segments
	at, theirs := 0, ""
	for _, one := range s {
		if one.Offset != at {
			t.Errorf("a segment begins at %d, want %d", one.Offset, at)
		}
		if at += one.Size; one.Path == "messages[0].content" && *one.Turn == 0 && !one.Own {
			theirs = p.Prompt[one.Offset:at]
		}
	}
	if at != len(p.Prompt) || theirs != "Hi" {
		t.Errorf("%+v of %q", s, p.Prompt)
	}
	source := ask[struct {
		Text     string
		BOS      string
		StandIns bool `json:"stand_ins"`
	}](c, "source", fields)
	if source.Text != own(t, "qwen3")["text"] || !source.StandIns || source.BOS == "" {
		t.Errorf("%+v", source)
	}
	fields["prefill"] = "<think>\n"
	begun := ask[pipe.Opened](c, "parser", fields)
	w := ask[struct{ Deltas []map[string]any }](c, "write",
		map[string]any{"parser": begun.Parser, "text": "hm"})
	if begun.Prompt != "" || fmt.Sprint(w.Deltas) != "[map[reasoning_content:hm]]" {
		t.Errorf("%+v gives %v", begun, w)
	}
	fields["language"] = "klingon"
	line, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if a := c.raw(`{"op":"grammar",` + string(line[1:])); a.Kind != "request" ||
		!strings.Contains(a.Message, "lazy-gbnf") {
		t.Errorf("%+v", a)
	}
	a := c.raw(`{"op": "prepare", "template": {"text": "a\n{% if %}"}}`)
	if a.Kind != "template" || a.Line != 2 || a.Offset != 8 {
		t.Errorf("%+v", a)
	}
	for _, wrong := range []string{`"ids": [1]`, `"ids": [1], "text": "x"`} {
		a := c.raw(fmt.Sprintf(`{"op": "write", "parser": %d, %s}`, begun.Parser, wrong))
		if a.Kind != "request" {
			t.Errorf("%s: %+v", wrong, a)
		}
	}
}

// TestEmitAndFix writes formats, and mends a template by the function that the service has.
func TestEmitAndFix(t *testing.T) {
	c := &client{t: t, s: pipe.New(t.Context(), pipe.Options{Limits: limits, Tight: limits,
		Grammars: target.Grammars(), Objects: target.Objects()})}
	hermes := own(t, "hermes")
	for name, want := range map[string]string{"format": `"assay_format"`, "gbnf": "root ::=",
		"capabilities": `"tools"`, "lazy-gbnf": "root ::="} {
		got := ask[string](c, "emit", map[string]any{"template": hermes, "target": name})
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	line, err := json.Marshal(map[string]any{"op": "emit", "template": hermes, "target": "klingon"})
	if err != nil {
		t.Fatal(err)
	}
	if a := c.raw(string(line)); a.Kind != "request" || !strings.Contains(a.Message, "klingon") {
		t.Errorf("a target that there is not: %+v", a)
	}
	bad := map[string]any{"text": strings.ReplaceAll(hermes["text"].(string),
		"(message.content or '')", "message.content")}
	mended := ask[fix.Report](c, "fix", map[string]any{"template": bad})
	if len(mended.Patches) != 1 || !slices.Contains(mended.Patches[0].Gone, "A012") {
		t.Errorf("%+v", mended)
	}
}

func TestCheckAndDiff(t *testing.T) {
	c, good := newClient(t), own(t, "hermes")
	bad := map[string]any{"text": strings.Replace(good["text"].(string), "(message.content or '')",
		"message.content", 1)}
	j := ask[pipe.Judgement](c, "check", map[string]any{"template": good})
	if !j.OK || j.Passed < 50 || len(j.Templates) != 1 || !j.Templates[0].Tools {
		t.Errorf("a good template: %+v", j)
	}
	j = ask[pipe.Judgement](c, "check", map[string]any{"template": bad})
	if j.OK || j.Findings[0].Rule != "A012" || j.Findings[0].Place.Line != 22 {
		t.Errorf("a bad template: %+v", j.Findings)
	}
	j = ask[pipe.Judgement](c, "check",
		map[string]any{"template": bad, "only": []string{"A001"}, "untrusted": true})
	if !j.OK || len(j.Findings) != 0 {
		t.Errorf("one rule: %+v", j)
	}
	d := ask[pipe.Difference](c, "diff", map[string]any{"was": good, "is": bad})
	if d.Class != "breaking" || len(d.Changes) == 0 {
		t.Errorf("%+v", d)
	}
	if d = ask[pipe.Difference](c, "diff",
		map[string]any{"was": good, "is": good}); d.Class != "identical" {
		t.Errorf("%+v", d)
	}
	config, err := json.Marshal(map[string]any{"chat_template": bad["text"],
		"eos_token": "<|im_end|>"})
	if err != nil {
		t.Fatal(err)
	}
	j = ask[pipe.Judgement](c, "check",
		map[string]any{"template": map[string]any{"name": "tokenizer_config.json",
			"text": string(config)}})
	if j.OK || j.Findings[0].Rule != "A012" {
		t.Errorf("a configuration: %+v", j.Findings)
	}
	if n := len(ask[struct{ Rules []any }](c, "rules", nil).Rules); n < len(check.Rules()) {
		t.Errorf("%d rules", n)
	}
}

func TestLook(t *testing.T) {
	c := newClient(t)
	with := func(more map[string]any) map[string]any {
		more["template"] = own(t, "qwen3")
		return more
	}
	a := ask[pipe.Analyzed](c, "analyze", with(map[string]any{}))
	if p := ask[pipe.Proven](c, "verify", with(map[string]any{})); !p.Verified || p.Gate == "" {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(a.Format, "calls:") || !strings.Contains(a.Sample, "get_weather") ||
		a.Diagram.Kind != "sequence" || len(a.Diagram.Items) < 3 {
		t.Errorf("%+v", a)
	}
	p := ask[pipe.Prompt](c, "render",
		with(map[string]any{"request": map[string]any{
			"messages": []any{map[string]any{"role": "user", "content": "Grüezi"}}}}))
	at, who := 0, map[string]string{}
	for _, s := range p.Spans {
		if s.Start != at {
			t.Errorf("a gap before %+v", s)
		}
		at = s.End
		who[s.Who] += p.Prompt[s.Start:s.End]
	}
	if at != len(p.Prompt) || who["user"] != "userGrüezi" ||
		who["generation"] != "<|im_start|>assistant\n" {
		t.Errorf("%d of %d bytes: %q", at, len(p.Prompt), who)
	}
	s := ask[pipe.Stream](c, "stream", with(map[string]any{"output": callText}))
	held := 0
	for _, step := range s.Steps {
		held = max(held, step.Held)
	}
	if held == 0 || len(s.Steps) != len([]rune(callText))+1 ||
		s.Parts[len(s.Parts)-1].End != len(callText) {
		t.Errorf("%d steps, at most %d bytes held, parts %v", len(s.Steps), held, s.Parts)
	}
	s = ask[pipe.Stream](c, "stream",
		with(map[string]any{"output": callText, "cuts": []int{3, 20}, "reason": "length"}))
	if len(s.Steps) != 4 || s.Steps[1].At != 20 {
		t.Errorf("%+v", s.Steps)
	}
	g := ask[pipe.Constraint](c, "grammar", with(map[string]any{}))
	if !strings.Contains(g.Grammar, "root ::=") || !g.Lazy || len(g.Triggers) == 0 {
		t.Errorf("%+v", g)
	}
	if n := len(ask[[]pipe.Named](c, "conversations", with(map[string]any{}))); n < 15 {
		t.Errorf("%d conversations", n)
	}
	if x := ask[struct{ Reached, Outcomes int }](c, "coverage",
		with(map[string]any{})); x.Reached < 10 || x.Reached > x.Outcomes {
		t.Errorf("%+v", x)
	}
}

// TestRefused has requests that strangers and slips make. Each gets an answer, and the service goes
// on.
func TestRefused(t *testing.T) {
	c := newClient(t)
	loop := `{"text": "{% for i in range(9999) %}{% for j in range(9999) %}{{ messages[0].content }}{% endfor %}{% endfor %}"}`
	for _, r := range []struct{ line, kind, message string }{
		{"", "request", "no JSON object"},
		{"[]", "request", "no JSON object"},
		{`{"op": "check"} {}`, "request", "more than one request"},
		{`{"op": "fly"}`, "request", "describe lists them"},
		{`{"op": "check", "tempalte": {}}`, "request", "unknown field"},
		{`{"op": "check"}`, "request", `check needs "template"`},
		{`{"op": "check", "template": {"file": "/etc/passwd"}}`, "request", "reads no files"},
		{`{"op": "find", "dir": "/"}`, "request", "reads no folders"},
		{`{"op": "render", "template": {"text": "{% if %}"}}`, "template", "Expected an expression"},
		{`{"op": "render", "template": {"text": "{{ messages[0].content }}"}, "request": {"messages": 3}}`, "request", "messages"},
		{`{"op": "analyze", "template": ` + loop + `}`, "", ""},
		{`{"op": "write", "parser": 7}`, "request", "no parser 7"},
		{`{"op": "stream", "template": {"text": "x"}, "output": "abc", "cuts": [2, 1]}`, "request", "rising order"},
		{`{"op": "stream", "template": {"text": "x"}, "output": "abc", "reason": "boredom"}`, "request", "no reason"},
		{`{"op": "grammar", "template": {"text": "x"}, "tolerances": {"stray": true}}`, "request", `tolerance "stray"`},
		{`{"op": "grammar", "template": {"text": "x"}, "incomplete": "forget"}`, "request", `policy "forget"`},
		{`{"op": "check", "template": {"text": "` + strings.Repeat("x", pipe.MaxRequest) + `"}}`, "limit", "more than"},
		{strings.Repeat("[", 100_000), "request", "no JSON object"},
	} {
		if a := c.raw(r.line); a.OK || a.Kind == "internal" || r.kind != "" && a.Kind != r.kind ||
			!strings.Contains(a.Message, r.message) {
			t.Errorf("%.100s is answered by %+v, want %s: %s", r.line, a, r.kind, r.message)
		}
	}
	template := own(t, "hermes")
	for range pipe.MaxParsers {
		ask[pipe.Opened](c, "parser", map[string]any{"template": template})
	}
	line, err := json.Marshal(map[string]any{"op": "parser", "template": template})
	if err != nil {
		t.Fatal(err)
	}
	if a := c.raw(string(line)); a.Kind != "limit" {
		t.Errorf("too many parsers: %+v", a)
	}
	ask[struct{}](c, "drop", map[string]any{"parser": 1})
	ask[pipe.Opened](c, "parser", map[string]any{"template": template})
}

// FuzzAnswer holds the service to an answer for whatever line comes, and to none that is its own
// fault.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"op":"describe","id":1}`, `{"op":"check","template":{"text":"{{ messages }}"}}`, `{"op":"render","template":{"text":"{{ messages[0].content }}"}}`,
		`{"op":"stream","insist":true,"template":{"text":"{% for m in messages %}{{ m.content }}{% endfor %}"},"output":"a","cuts":[0,1]}`,
		`{"op":"diff","was":{"text":"a"},"is":{"text":"b"}}`, `{"op":"parser","insist":true,"template":{"text":"{{ messages[0].content }}"}}`, `{"op":"close","parser":1}`,
	} {
		f.Add([]byte(seed))
	}
	small := engine.Limits{TotalSteps: 20_000}
	s := pipe.New(context.Background(), pipe.Options{Limits: small, Tight: small})
	f.Fuzz(func(t *testing.T, line []byte) {
		var a answer
		if out := s.Answer(line); json.Unmarshal(out, &a) != nil || a.Kind == "internal" {
			t.Errorf("%q is answered by %s", line, out)
		}
	})
}
