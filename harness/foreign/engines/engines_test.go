package engines_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/foreign/engines"
)

// TestMain lets the test's program be an adapter: Assay itself, right or wrong at will.
func TestMain(m *testing.M) {
	if how := os.Getenv("ENGINES_TEST_ADAPTER"); how != "" {
		adapter(how)
		return
	}
	os.Exit(m.Run())
}

// adapter answers with Assay's reading of the output by the case's template. The ways to be wrong
// are words of how.
func adapter(how string) {
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r engines.Request
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		answer := engines.Answer{ID: r.ID}
		switch {
		case r.Op == "describe" && how == "lists":
			answer.Engine, answer.ToolParsers = "fake", make([]string, 2000)
		case r.Op == "describe" && how != "renders":
			answer.Description = engines.Description{Engine: "fake", Version: "1",
				ToolParsers: []string{"none", "right"}, Streams: true}
		case how == "renders" && r.Op == "describe":
			answer.Description = engines.Description{Engine: "fake", Version: "1", Renders: true,
				ByTemplate: true}
		case how == "renders" && r.Op == "render":
			text := rendered(r)
			if strings.Contains(text, "<tools>") {
				text = strings.ToUpper(text)
			}
			answer.Text = &text
		case how == "dies" && strings.Contains(r.Output, "<tool_call>"):
			os.Exit(3)
		case how == "shouts":
			os.Stdout.WriteString(strings.Repeat("a", 5<<20) + "\n")
			continue
		case how == "babbles":
			os.Stdout.WriteString("Loading checkpoint shards\n")
			continue
		case r.Op == "parse" && how == "channels":
			answer.Message = &engines.Message{}
			for _, m := range channelFirst.FindAllStringSubmatch(r.Output, -1) {
				answer.Message.Calls = append(answer.Message.Calls,
					engines.Call{Name: m[1], Arguments: m[2]})
			}
		case r.Op == "parse":
			answer.Message = &engines.Message{Content: r.Output}
			if _, call, ok := strings.Cut(r.Output, "<tool_call>\n"); ok &&
				r.Parser.Tool == "right" {
				call, _, _ = strings.Cut(call, "\n</tool_call>")
				var c struct {
					Name      string
					Arguments json.RawMessage
				}
				if json.Unmarshal([]byte(call), &c) == nil {
					answer.Message = &engines.Message{Calls: []engines.Call{{Name: c.Name,
						Arguments: string(c.Arguments)}}}
				}
			}
		default:
			answer.Unsupported = "no operation " + r.Op
		}
		if out.Encode(answer) != nil {
			return
		}
		if how == "deaf" {
			time.Sleep(time.Hour)
		}
	}
}

// channelFirst matches a call of channels as models write it, behind another part.
var channelFirst = regexp.MustCompile(`(?s)<\|end\|><\|start\|>assistant<\|channel\|>commentary ` +
	`to=functions\.(\S+) <\|constrain\|>json<\|message\|>(.*?)<\|call\|>`)

// rendered is the prompt of a request, by our own renderer.
func rendered(r engines.Request) string {
	t, err := jinja.Compile(source.New("t", r.Template))
	if err != nil {
		panic(err)
	}
	vars, err := ordered.Parse(r.Vars)
	if err != nil {
		panic(err)
	}
	text, err := t.Render(context.Background(), jinja.VarsFromJSON(vars),
		jinja.Options{Now: subject.Now})
	if err != nil {
		panic(err)
	}
	return text
}

func start(t *testing.T, how string) (*engines.Adapter, error) {
	t.Helper()
	t.Setenv("ENGINES_TEST_ADAPTER", how)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := engines.Start(context.Background(), []string{program}, nil)
	if err == nil {
		t.Cleanup(a.Close)
	}
	return a, err
}

func hermes(t *testing.T) (*engines.Subject, []engines.Case) {
	t.Helper()
	c, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := c.Family("hermes")
	if !ok {
		t.Fatal("the corpus has no family hermes")
	}
	s, cases, err := engines.CorpusCases(c, f)
	if err != nil {
		t.Fatal(err)
	}
	return s, cases
}

func TestPickAndRun(t *testing.T) {
	a, err := start(t, "right")
	if err != nil {
		t.Fatal(err)
	}
	s, cases := hermes(t)
	choice, err := a.Pick(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if choice.Best.Tool != "right" || choice.Tools[1].Read != 0 || choice.Tools[1].Witness == "" {
		t.Errorf("picked %+v", choice)
	}
	var one, broken engines.Result
	if err := a.Run(context.Background(), s, cases, choice, func(r engines.Result) {
		switch {
		case strings.Contains(r.Case, "tools_one_call") && r.Cut == "whole":
			one = r
		case strings.Contains(r.Case, "tools_parallel") && r.Verdict == engines.Fault:
			broken = r
		}
	}); err != nil {
		t.Fatal(err)
	}
	if one.Verdict != engines.Equal {
		t.Errorf("one call: %+v", one)
	}
	if broken.Kind != "lost call" || broken.Output == "" || broken.Got == nil {
		t.Errorf("parallel calls, of which the adapter reads the first: %+v", broken)
	}
	m, err := engines.ReadMatrix("")
	if err != nil {
		t.Fatal(err)
	}
	m.Add(one, broken)
	if text := m.Markdown(); !strings.Contains(text, "| hermes | 1/2 |") ||
		!strings.Contains(text, "| fault: lost call | 1 |") {
		t.Errorf("the table is\n%s", text)
	}
	if html := m.HTML(); !strings.Contains(html, "hermes in fake") {
		t.Errorf("the page has no details:\n%s", html)
	}
	again := broken
	again.Judgement, again.Cut = engines.Judgement{Verdict: engines.Equal}, "whole"
	m.Replace(again)
	if text := m.Markdown(); !strings.Contains(text, "| hermes | 2/2 |") {
		t.Errorf("a case that was run again has its old results:\n%s", text)
	}
	m.Replace(broken)
	name := t.TempDir() + "/results.jsonl"
	if err := m.Write(name); err != nil {
		t.Fatal(err)
	}
	back, err := engines.ReadMatrix(name)
	if err != nil || back.Markdown() != m.Markdown() {
		t.Errorf("read back: %v\n%s", err, back.Markdown())
	}
}

// TestPublished has readings that were published answer for a template of another text and the same
// format, and not for one of another format.
func TestPublished(t *testing.T) {
	a, err := start(t, "right")
	if err != nil {
		t.Fatal(err)
	}
	c, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := hermes(t)
	choice, err := a.Pick(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	var run engines.Published
	run.Begin(a.Description, "2026-01-31")
	run.Add("fake", "hermes", s, choice)
	text, err := run.Text()
	if err != nil {
		t.Fatal(err)
	}
	published, err := engines.ReadPublished([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	subjectOf := func(name, text string) *engines.Subject {
		t.Helper()
		s, err := engines.NewSubject(subject.New(name, text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	same := subjectOf("mine", "{# of my own #}"+s.Source.Text)
	report, err := published.Pick(c, "fake", same, engines.Parser{Tool: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Published; got == nil || *got != (engines.Origin{"2026-01-31", "hermes"}) {
		t.Errorf("the origin is %+v", got)
	}
	if len(report.Tools) != 2 || report.Tools[0].Parser != "right" ||
		report.Tools[0].Read != choice.Tools[0].Read || report.Tools[1].Of != report.Tools[0].Of {
		t.Errorf("the readings are %+v, the engine's own are %+v", report.Tools, choice.Tools)
	}
	if len(report.Faults) != 1 {
		t.Errorf("a parser that reads nothing was named, and the faults are %q", report.Faults)
	}
	if text := report.String(); !strings.Contains(text, "published on 2026-01-31, of the family") {
		t.Errorf("the answer does not tell where it is from:\n%s", text)
	}
	other := subjectOf("other", strings.ReplaceAll(s.Source.Text, "tool_call>", "use>"))
	_, err = published.Pick(c, "fake", other, engines.Parser{})
	if none := new(engines.NoFamilyError); !errors.As(err, &none) {
		t.Errorf("a template of another format: %v", err)
	}
	_, err = published.Pick(c, "real", same, engines.Parser{})
	if err == nil || !strings.Contains(err.Error(), "there are those of fake") {
		t.Errorf("an engine without readings: %v", err)
	}
	if _, err := engines.ReadPublished([]byte(text + "{}\n")); err == nil ||
		!strings.HasPrefix(err.Error(), "line 3 of") {
		t.Errorf("a line that is none: %v", err)
	}
}

// TestPublishedReadings reads the readings in the program. One of a template that the corpus has no
// more answers nothing, and few are.
func TestPublishedReadings(t *testing.T) {
	published, err := engines.PublishedReadings()
	if err != nil {
		t.Fatal(err)
	}
	c, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	names := published.Engines()
	if len(names) < 8 {
		t.Errorf("there are readings of %q, expected at least eight engines", names)
	}
	if stale := published.Stale(c); len(stale)*10 > len(names)*len(c.Families) {
		t.Errorf("%d readings are of templates that the corpus has no more: run `make engines`\n%q",
			len(stale), stale)
	}
}

// TestPrompts has an engine render, which spoils the prompts with tools, and which makes its parser
// of the template.
func TestPrompts(t *testing.T) {
	a, err := start(t, "renders")
	if err != nil {
		t.Fatal(err)
	}
	s, cases := hermes(t)
	prompts, err := engines.CorpusPrompts(s, "hermes", cases)
	if err != nil {
		t.Fatal(err)
	}
	m, err := engines.ReadMatrix("")
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := 0, 0
	if err := a.RunPrompts(context.Background(), s, prompts, func(r engines.Result) {
		m.Add(r)
		switch tools := strings.Contains(string(r.Vars), `"tools"`); {
		case r.Verdict == engines.Equal:
			right++
		case !tools || r.Kind != "wrong text" || r.GotPrompt == r.WantPrompt:
			t.Errorf("%s: %+v", r.Case, r.Judgement)
		default:
			wrong++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if right == 0 || wrong == 0 || right+wrong != len(prompts) {
		t.Errorf("%d right and %d wrong of %d prompts", right, wrong, len(prompts))
	}
	text := m.Markdown()
	if !strings.HasPrefix(text, "| prompts of | fake 1 |") ||
		!strings.Contains(text, "| fault: wrong text | ") {
		t.Errorf("the tables are\n%s", text)
	}
	if html := m.HTML(); !strings.Contains(html, "<h2>Prompts</h2>") ||
		strings.Contains(html, "<h2>Outputs</h2>") {
		t.Errorf("the page has other tables than the one of prompts:\n%.2000s", html)
	}
	choice, err := a.Pick(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	report := engines.NewPick(a.Description, choice, engines.Parser{})
	if len(report.Faults) == 0 || strings.Contains(report.String(), "flags:") {
		t.Errorf("a parser that reads no call fits:\n%s", report)
	}
}

// TestAdapterFaults has adapters that die and that break the protocol.
func TestAdapterFaults(t *testing.T) {
	a, err := start(t, "dies")
	if err != nil {
		t.Fatal(err)
	}
	s, cases := hermes(t)
	var verdicts []engines.Verdict
	choice := engines.Choice{Best: engines.Parser{Tool: "right"}}
	if err := a.Run(context.Background(), s, cases, choice,
		func(r engines.Result) { verdicts = append(verdicts, r.Verdict) }); err != nil {
		t.Fatal(err)
	}
	faults, right := 0, 0
	for _, v := range verdicts {
		switch v {
		case engines.Fault:
			faults++
		case engines.Equal:
			right++
		}
	}
	if faults == 0 || right == 0 {
		t.Errorf("%d faults and %d right: an adapter that dies costs one answer", faults, right)
	}
	a, err = start(t, "babbles")
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Pick(context.Background(), s)
	if err == nil || !strings.Contains(err.Error(), "the answer is not a JSON object "+
		"of the protocol") || !strings.Contains(err.Error(), "Loading checkpoint") {
		t.Errorf("an adapter that prints its log: %v", err)
	}
}

// TestAdapterLimits has adapters that read nothing more, print lines without an end, and name more
// parsers than can be tried.
func TestAdapterLimits(t *testing.T) {
	if _, err := start(t, "lists"); err == nil || !strings.Contains(err.Error(), "2000 parsers") {
		t.Errorf("2000 parsers: %v", err)
	}
	a, err := start(t, "shouts")
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Ask(t.Context(), engines.Request{Op: "parse"})
	if err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("a line of 5 MiB: %v", err)
	}
	if a, err = start(t, "deaf"); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the caller is gone")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, gone)
	defer cancel()
	ask := engines.Request{Op: "parse", Output: strings.Repeat("a", 1<<20)} // fills the pipe
	if _, err := a.Ask(ctx, ask); !errors.Is(err, gone) {
		t.Errorf("an adapter that does not read: %v", err)
	}
}

// TestBreach finds breaches of the protocol of deltas.
func TestBreach(t *testing.T) {
	part := func(index int, name, arguments string) engines.CallDelta {
		d := engines.CallDelta{Index: index}
		d.Function.Name, d.Function.Arguments = name, arguments
		return d
	}
	for _, tt := range []struct {
		name   string
		deltas []engines.Delta
		breach string
	}{
		{"right", []engines.Delta{{Content: "a"}, {Calls: []engines.CallDelta{part(0, "f", "")}}, {Calls: []engines.CallDelta{part(0, "", "{}")}}}, ""},
		{"empty", []engines.Delta{{}}, "delta 1 of 1 is empty"},
		{"late name", []engines.Delta{{Calls: []engines.CallDelta{part(0, "", "{")}}}, "delta 1 of 1 starts a call without its name"},
		{"name twice", []engines.Delta{{Calls: []engines.CallDelta{part(0, "f", ""), part(0, "f", "{}")}}}, "delta 1 of 1 repeats a call's name"},
		{"index", []engines.Delta{{Calls: []engines.CallDelta{part(2, "f", "")}}}, "delta 1 of 1 has the index 2, expected 0 or 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if breach := engines.Breach(tt.deltas); breach != tt.breach {
				t.Errorf("breach %q, want %q", breach, tt.breach)
			}
		})
	}
}

// TestTurns checks that a template's turns are read by its own parser, and that none holds the
// turn's end.
func TestTurns(t *testing.T) {
	s, err := engines.NewSubject(subject.New("t.jinja", mustText(t, "qwen3")))
	if err != nil {
		t.Fatal(err)
	}
	turns, err := s.Turns()
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, c := range turns {
		calls += len(c.Want.Calls)
		if strings.Contains(c.Request.Output, "<|im_end|>") {
			t.Errorf("%s holds the turn's end: %q", c.ID, c.Request.Output)
		}
	}
	if calls < 5 {
		t.Errorf("%d calls in %d turns", calls, len(turns))
	}
}

// TestOrders has a template whose history shows another order of a call's head than models write:
// a parser of theirs reads its calls.
func TestOrders(t *testing.T) {
	a, err := start(t, "channels")
	if err != nil {
		t.Fatal(err)
	}
	s, err := engines.NewSubject(subject.New("t.jinja", mustText(t, "gpt-oss")))
	if err != nil {
		t.Fatal(err)
	}
	choice, err := a.Pick(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	best := choice.Tools[0]
	if best.Other == 0 || !best.First || best.Witness != "" && best.Other != best.Read {
		t.Errorf("the best reading is %+v", best)
	}
	report := engines.NewPick(a.Description, choice, engines.Parser{}).String()
	if best.Read == best.Of && !strings.Contains(report, "as models write it") {
		t.Errorf("the report tells nothing of the order:\n%s", report)
	}
	turns, err := s.Turns()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range turns {
		if (c.Other != "") != (len(c.Want.Calls) > 0) {
			t.Errorf("%s: %d calls, in the other order %q", c.ID, len(c.Want.Calls), c.Other)
		}
	}
}

func mustText(t *testing.T, family string) string {
	t.Helper()
	text, err := corpus.FS.ReadFile(family + "/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFaults lists the faults in outputs by their digests, each once, in the cut that shows it
// first.
func TestFaults(t *testing.T) {
	m, err := engines.ReadMatrix("")
	if err != nil {
		t.Fatal(err)
	}
	fault := engines.Judgement{Verdict: engines.Fault, Kind: "leak"}
	m.Add(engines.Result{Engine: "a", Case: "x/1", Cut: "runes", Judgement: fault},
		engines.Result{Engine: "a", Case: "x/1", Cut: "tokens", Judgement: fault},
		engines.Result{Engine: "b", Case: "x/1", Cut: "whole", Judgement: fault},
		engines.Result{Engine: "b", Case: "x/2", Cut: "whole",
			Judgement: engines.Judgement{Verdict: engines.Equal}},
		engines.Result{Engine: "b", Case: "x/prompt/1", Cut: "prompt", Judgement: fault})
	faults := m.Faults()
	if len(faults) != 2 || faults[0].Digest() >= faults[1].Digest() {
		t.Fatalf("faults: %+v", faults)
	}
	for i := range faults {
		if f := &faults[i]; f.Engine == "a" && f.Cut != "tokens" ||
			!strings.HasPrefix(f.Line(), f.Digest()+" "+f.Engine) {
			t.Errorf("%s of %s", f.Line(), f.Cut)
		}
	}
}

// TestPolicies judges readings of outputs on which engines differ by design.
func TestPolicies(t *testing.T) {
	_, cases := hermes(t)
	var closer, open engines.Case
	for _, c := range cases {
		switch {
		case strings.Contains(c.ID, "stray_closer"):
			closer = c
		case strings.Contains(c.ID, "tools_one_call"):
			open = c
		}
	}
	if len(closer.LoneClosers) != 1 || closer.LoneClosers[0] != "</tool_call>" {
		t.Errorf("the lone closers of an output with one are %q", closer.LoneClosers)
	}
	open.Incomplete = true
	verbatim := engines.Answer{Message: &engines.Message{Content: closer.Request.Output}}
	lost := engines.Answer{Message: &engines.Message{Content: open.Request.Output}}
	wrong := engines.Answer{Message: &engines.Message{Content: closer.Request.Output + "x"}}
	for _, test := range []struct {
		name string
		c    engines.Case
		a    engines.Answer
		want engines.Judgement
	}{
		{"a lone closer that is text", closer, verbatim,
			engines.Judgement{Verdict: engines.Policy, Kind: engines.PolicyCloser}},
		{"more than a lone closer", closer, wrong,
			engines.Judgement{Verdict: engines.Fault, Kind: "leak"}},
		{"a malformed call that is text", open, lost,
			engines.Judgement{Verdict: engines.Policy, Kind: engines.PolicyMalformed}},
		{"a malformed call that is an error", open, engines.Answer{Error: "no JSON"},
			engines.Judgement{Verdict: engines.Policy, Kind: engines.PolicyMalformed}},
	} {
		got := engines.Judge(&test.c, test.a)
		if got.Text = ""; got != test.want {
			t.Errorf("%s: %+v, expected %+v", test.name, got, test.want)
		}
	}
}
