//go:build cgo && libassay && abitest

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/reduce"
	"github.com/goassay/assay/harness/foreign/vector"
)

const hermes = `{{ tools|tojson if tools }}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// request is one with tools.
func request() string { return standard.ToolRequest().Value().String() }

// must fails a test where a call has failed.
func must(t testing.TB, a answer) string {
	t.Helper()
	if a.status != statusOK {
		t.Fatalf("%s: %s", words[a.status], a.text)
	}
	return a.text
}

// opened returns a template, a plan and a parser.
func opened(t testing.TB, m *memory, text string) (handle, handle, handle) {
	t.Helper()
	template, a := m.compile(given{text: text, now: subject.Now()})
	must(t, a)
	plan, a := m.prepare(template, request(), "")
	must(t, a)
	parser, a := m.parser(plan)
	must(t, a)
	return template, plan, parser
}

// vectors calls a function with each vector of the kind parse, and each fixture, of the files and
// folders of ASSAY_VECTORS, whose templates are in the folders of ASSAY_TEMPLATES.
func vectors(t *testing.T, each func(id string, c reduce.Case)) {
	files := os.Getenv("ASSAY_VECTORS")
	if files == "" {
		t.Skip("ASSAY_VECTORS names the inputs; `make libassay` sets it")
	}
	var folders []fs.FS
	for _, dir := range filepath.SplitList(os.Getenv("ASSAY_TEMPLATES")) {
		folders = append(folders, os.DirFS(dir))
	}
	v := &vector.Verifier{Templates: vector.NewTemplates(folders...)}
	n := map[string]int{}
	for _, given := range filepath.SplitList(files) {
		names, err := vector.Files(given)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			for r := vector.NewReader(name, f); ; {
				vec, err := r.Next()
				if err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if vec.Kind != "parse" && vec.Kind != "fixture" {
					continue
				}
				c, err := v.Case(t.Context(), &vec)
				if err != nil && vec.Kind == "fixture" {
					n["fixtures without a template"]++ // ci/known/fixtures.txt lists them
					continue
				} else if err != nil {
					t.Fatalf("%s: %v", vec.ID, err)
				}
				n[vec.Kind]++
				each(vec.ID, c)
			}
			f.Close()
		}
	}
	if n["parse"] == 0 {
		t.Error("there is no vector of the kind parse")
	}
	t.Logf("read: %v", n)
}

// pair is a plan behind a handle, and the same one in Go.
type pair struct {
	handle handle
	plan   *engine.Plan
}

// read reads an output in pieces on both sides, and compares what each piece gives. It returns the
// deltas of each piece.
func (p pair) read(t *testing.T, m *memory, id string, pieces []string, cut bool) []string {
	t.Helper()
	h, a := m.parser(p.handle)
	must(t, a)
	defer free(h)
	spans, a := m.parser(p.handle)
	must(t, a)
	defer free(spans)
	twin := p.plan.NewParser()
	var all []string
	for i, piece := range pieces {
		a := m.write(h, piece)
		got := must(t, a)
		deltas := twin.Write([]byte(piece))
		if want := inGo(t, deltas); got != want {
			t.Fatalf("%s: piece %d of %q:\ngot  %s\nwant %s", id, i, pieces, got, want)
		}
		var want []part
		eachPart(deltas, func(kind, call int, text string) {
			want = append(want, part{kind, call, text})
		})
		if _, got := m.writeSpans(spans, piece); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: piece %d of %q: spans %v, want %v", id, i, pieces, got, want)
		}
		held, _ := twin.Held()
		if s, n := m.held(h); s != statusOK || n != held {
			t.Fatalf("%s: piece %d of %q: %d bytes are held, want %d", id, i, pieces, n, held)
		}
		all = append(all, got)
	}
	reason := 0
	if cut {
		reason = 1
	}
	got := must(t, m.finish(h, reason))
	all = append(all, got)
	var result struct {
		Deltas  json.RawMessage `json:"deltas"`
		Message json.RawMessage `json:"message"`
		Finish  string          `json:"finish_reason"`
	}
	if err := json.Unmarshal([]byte(got), &result); err != nil {
		t.Fatalf("%s: %v in %s", id, err, got)
	}
	last := inGo(t, twin.Close(reasons[reason]))
	if last == "" {
		last = "[]"
	}
	message, err := twin.Message().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if string(result.Deltas) != last || !bytes.Equal(result.Message, message) ||
		result.Finish != string(twin.Finish()) {
		t.Fatalf("%s: in the pieces %q:\ngot  %s\nwant %s %s %s", id, pieces, got, last, message,
			twin.Finish())
	}
	return all
}

// inGo returns deltas as chat writes them.
func inGo(t *testing.T, deltas []chat.Delta) string {
	if len(deltas) == 0 {
		return ""
	}
	var parts []string
	for _, d := range deltas {
		text, err := d.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// cut cuts a text at offsets.
func cut(text string, at ...int) []string {
	var pieces []string
	from := 0
	for _, to := range append(at, len(text)) {
		if to > from {
			pieces = append(pieces, text[from:to])
			from = to
		}
	}
	return pieces
}

// splits returns ways to cut a text: not at all, in two at every place, into bytes, and at random.
func splits(text string) [][]string {
	all := [][]string{cut(text)}
	var every []int
	for i := 1; i < len(text); i++ {
		every = append(every, i)
		all = append(all, cut(text, i))
	}
	all = append(all, cut(text, every...))
	r := rand.New(rand.NewPCG(uint64(len(text)), 36))
	for range 8 {
		var at []int
		for i := 1; i < len(text); i++ {
			if r.IntN(6) == 0 {
				at = append(at, i)
			}
		}
		all = append(all, cut(text, at...))
	}
	return all
}

// insisted is the options of a vector.
func insisted(fallbacks []string) (string, engine.PrepareOptions) {
	o := ordered.ObjectOf(ordered.MemberOf("insist", ordered.Boolean(true)))
	if len(fallbacks) > 0 {
		o = o.With("fallbacks", ordered.ListOf(fallbacks, ordered.Str))
	}
	return o.String(), engine.PrepareOptions{Insist: true, Fallbacks: fallbacks}
}

// TestVectors reads all vectors by C and by Go, in every split: each piece gives the same bytes. A
// plan of the template's format, without the template, reads the same.
//
// ASSAY_DELTAS names a file to write the results of some splits into, for bindings in other
// languages.
func TestVectors(t *testing.T) {
	var m memory
	defer m.free()
	var written io.Writer = io.Discard
	if name := os.Getenv("ASSAY_DELTAS"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w := bufio.NewWriter(f)
		defer w.Flush()
		written = w
	}
	type both struct {
		handle   handle
		template *engine.Template
		format   string
	}
	templates := map[string]both{}
	vectors(t, func(id string, c reduce.Case) {
		name, text := c.Template.ChatTemplate().Source.Name, c.Template.ChatTemplate().Source.Text
		b, ok := templates[name]
		if !ok {
			h, a := m.compile(given{name: name, text: text, bos: subject.BOS, eos: subject.EOS,
				now: subject.Now()})
			must(t, a)
			compiled, err := engine.Compile(t.Context(), engine.Source{Name: name, Text: text,
				BOS: subject.BOS, EOS: subject.EOS, StandIns: true},
				engine.Options{Now: subject.Now})
			if err != nil {
				t.Fatal(err)
			}
			b = both{h, compiled, must(t, m.format(h))}
			templates[name] = b
		}
		r, err := chat.ParseRequest(c.Request)
		if err != nil {
			t.Fatal(err)
		}
		options, o := insisted(c.Fallbacks)
		h, a := m.prepare(b.handle, c.Request.String(), options)
		prepared := must(t, a)
		defer free(h)
		plan, err := b.template.Prepare(r, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := compactly((&lib{Plan: plan}).value()); prepared != want {
			t.Fatalf("%s:\ngot  %s\nwant %s", id, prepared, want)
		}
		grammar, err := plan.Grammar()
		if a := m.grammar(h, "lazy-gbnf"); err == nil && a.text != grammar ||
			(err == nil) != (a.status == statusOK) {
			t.Errorf("%s: grammar: got %s, want %v %s", id, a.text, err, grammar)
		}
		output, isCut := c.Output, c.Reason.Cut()
		all := splits(output)
		for i, pieces := range all {
			deltas := pair{h, plan}.read(t, &m, id, pieces, isCut)
			if i == 0 || i >= len(all)-3 {
				line, err := json.Marshal(map[string]any{"id": id, "template": name, "text": text,
					"bos": subject.BOS, "eos": subject.EOS, "request": c.Request,
					"options": json.RawMessage(options), "cut": isCut, "pieces": latin(pieces),
					"deltas": deltas})
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(written, "%s\n", line)
			}
		}
		if len(r.Tools) == 0 || r.Continue != chat.ContinueNone || len(o.Fallbacks) > 0 {
			return
		}
		h, a = m.prepareFormat(b.format, c.Request.String())
		must(t, a)
		defer free(h)
		d, err := formatjson.Read(parsed(t, b.format))
		if err != nil {
			t.Fatal(err)
		}
		prefill := ""
		if len(d.Prefills) > 0 {
			prefill = d.Prefills[0]
		}
		plan, err = engine.PrepareFormat(d.Format, prefill, r, engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pair{h, plan}.read(t, &m, id+" by its format", all[len(all)-1], isCut)
	})
	for _, b := range templates {
		free(b.handle)
	}
}

// lib is a plan of the library.
type lib = plan

func compactly(v ordered.Value) string { return string(v.Append(nil, ordered.Compact)) }

func parsed(t *testing.T, text string) ordered.Value {
	v, err := ordered.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// latin returns bytes as characters of Latin-1, since a piece may end inside a character.
func latin(pieces []string) []string {
	all := make([]string, len(pieces))
	for i, piece := range pieces {
		var b strings.Builder
		for _, c := range []byte(piece) {
			b.WriteRune(rune(c))
		}
		all[i] = b.String()
	}
	return all
}

// TestDeltas compares deltas of all shapes with chat's JSON.
func TestDeltas(t *testing.T) {
	odd := "a\"\\\n\x01\u2028<é\xff"
	for _, d := range []chat.Delta{
		{}, {Content: odd}, {Reasoning: odd}, {Reasoning: "r", Content: "c"},
		{ToolCalls: []chat.ToolCallDelta{{Index: 3, ID: odd, Name: odd, Arguments: odd}}},
		{ToolCalls: []chat.ToolCallDelta{{Name: "f"}, {Index: 1, Arguments: "{"}}},
		{Content: "c", ToolCalls: []chat.ToolCallDelta{{Index: 1, ID: "x"}}},
	} {
		want, err := d.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if got := appendDelta(nil, &d); !bytes.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestHandles frees handles, and uses them for what they are not.
func TestHandles(t *testing.T) {
	var m memory
	defer m.free()
	template, plan, parser := opened(t, &m, hermes)
	for _, h := range []handle{0, 1 << 63, template + 7<<32, plan, parser, 1<<64 - 1,
		maxBlocks * blockSize, maxBlocks*blockSize + 1} {
		if a := m.gate(h); a.status != statusHandle || !strings.Contains(a.text, `"error":"handle"`) {
			t.Errorf("gate of %#x: %v", h, a)
		}
	}
	for what, a := range map[string]answer{"parser of a template": second(m.parser(template)),
		"write to a plan": m.write(plan, "x"), "finish of a template": m.finish(template, 0),
		"grammar of a parser": m.grammar(parser, "gbnf")} {
		if a.status != statusHandle || !strings.Contains(a.text, "expected a ") {
			t.Errorf("%s: %v", what, a)
		}
	}
	// What a handle depends on stays without it.
	if free(template) != statusOK || free(template) != statusHandle || free(plan) != statusOK {
		t.Error("a handle is not freed once")
	}
	if got := must(t, m.write(parser, "Hi")); got != `[{"content":"Hi"}]` {
		t.Errorf("a parser without its plan: %s", got)
	}
	if a := m.gate(template); a.status != statusHandle {
		t.Errorf("gate after free: %v", a)
	}
	// The place is used again; the old handle stays wrong.
	again, a := m.compile(given{text: hermes})
	must(t, a)
	defer free(again)
	if again == template || m.gate(template).status != statusHandle {
		t.Errorf("the handle %#x is used again as %#x", template, again)
	}
	must(t, m.finish(parser, 0))
	after := map[string]answer{"write": m.write(parser, "x"), "finish": m.finish(parser, 0)}
	for what, a := range after {
		if a.status != statusFinished {
			t.Errorf("%s after finish: %v", what, a)
		}
	}
	if free(parser) != statusOK || m.write(parser, "x").status != statusHandle {
		t.Error("a parser is not freed")
	}
	for what, s := range nothing(again, plan, parser) {
		if s != statusRequest && s != statusHandle {
			t.Errorf("%s: %s", what, words[s])
		}
	}
}

func second[T any](_ T, a answer) answer { return a }

// TestErrors has a failure of each status.
func TestErrors(t *testing.T) {
	var m memory
	defer m.free()
	template, plan, parser := opened(t, &m, hermes)
	unproven, a := m.compile(given{text: `{% for m in messages %}{{ m.content }}{% endfor %}`})
	must(t, a)
	stubborn, a := m.compile(given{text: `{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}` +
		`{% if m.content == 'no' %}{{ raise_exception('never') }}{% endif %}<end>{% endfor %}` +
		`{% if add_generation_prompt %}<assistant>{% endif %}`})
	must(t, a)
	withTokens, a := m.compile(given{text: hermes, tokenizer: tokenizer})
	must(t, a)
	spelling, a := m.prepare(withTokens, request(), "")
	must(t, a)
	spelled, a := m.parser(spelling)
	must(t, a)
	asked := `{"messages":[{"role":"user","content":"no"}]}`
	for _, c := range []struct {
		what   string
		a      answer
		status status
		text   string
	}{
		{"a template with a fault", second(m.compile(given{name: "x.jinja", text: "a\n{% if %}"})),
			statusTemplate, `"line":2,"column":`},
		{"a template that is too long", second(m.compile(given{text: hermes, source: 10})),
			statusLimit, "10"},
		{"a template that costs too much", second(m.compile(given{text: hermes, total: 20})),
			statusLimit, "steps"},
		{"a broken tokenizer.json", second(m.compile(given{text: hermes, tokenizer: "{"})),
			statusTemplate, "error"},
		{"a request that is no JSON", second(m.prepare(template, `{"messages":[}`, "")),
			statusRequest, `"offset":13`},
		{"a request in bytes", second(m.prepare(template, "\xff\xfe", "")), statusRequest, "error"},
		{"a request without messages", second(m.prepare(template, `[1]`, "")), statusRequest, ""},
		{"options that there are not", second(m.prepare(template, asked, `{"fly":1}`)),
			statusRequest, "fly"},
		{"a tolerance that there is not", second(m.prepare(template, asked,
			`{"tolerances":{"T99":true}}`)), statusRequest, "T99"},
		{"a policy that there is not", second(m.prepare(template, asked, `{"incomplete":"x"}`)),
			statusRequest, "keep"},
		{"a request that the template refuses", second(m.prepare(stubborn, asked, "")),
			statusRender, "never"},
		{"a format that is not proven", second(m.prepare(unproven, request(), "")),
			statusUnverified, ""},
		{"a format that is no document", second(m.prepareFormat(`{"assay_format":99}`, asked)),
			statusRequest, "version"},
		{"a language that there is not", m.grammar(plan, "klingon"), statusRequest, "lark"},
		{"a token that ends before it begins", m.writeTokens(parser, "abc", []int32{1, 2},
			[]uint{2, 1}), statusRequest, "token 1"},
		{"a token beyond the piece", m.writeTokens(parser, "abc", []int32{1}, []uint{1 << 60}),
			statusRequest, "token 0"},
		{"tokens that nothing spells", m.writeTokens(parser, "", []int32{1}, nil),
			statusRequest, "tokenizer.json"},
		{"a token that the tokenizer does not have", m.writeTokens(spelled, "", []int32{1 << 30},
			nil), statusRequest, "1073741824"},
		{"tokens that are too short", m.writeTokens(parser, "abc", []int32{1}, []uint{2}),
			statusRequest, "3"},
	} {
		if c.a.status != c.status || !strings.Contains(c.a.text, c.text) ||
			!strings.HasPrefix(c.a.text, `{"error":"`+words[c.status]+`"`) ||
			!json.Valid([]byte(c.a.text)) {
			t.Errorf("%s: got %s %s, want %s with %q", c.what, words[c.a.status], c.a.text,
				words[c.status], c.text)
		}
	}
	for s, want := range words {
		if got := word(status(s)); got != want {
			t.Errorf("status %d: got %q, want %q", s, got, want)
		}
	}
	if word(-1) != "unknown" || word(99) != "unknown" {
		t.Error("a status that there is not has a word")
	}
}

// TestPlan looks at the other results of a plan.
func TestPlan(t *testing.T) {
	var m memory
	defer m.free()
	template, plan, parser := opened(t, &m, hermes)
	if got, want := must(t, m.gate(template)),
		`{"pass":true,"tool_capable":true,"verified":true,"verdict":"pass"}`; got != want {
		t.Errorf("gate: got %s, want %s", got, want)
	}
	for _, language := range []string{"lazy-gbnf", "gbnf", "ebnf", "lark", "structural-tag"} {
		if got := must(t, m.grammar(plan, language)); !strings.Contains(got, "tool_call") {
			t.Errorf("%s: %s", language, got)
		}
	}
	var segments []struct {
		Offset, Size int
		Own          bool
		Path, Role   string
	}
	if err := json.Unmarshal([]byte(must(t, m.segments(plan))), &segments); err != nil {
		t.Fatal(err)
	}
	at, roles := 0, map[string]bool{}
	for _, s := range segments {
		if s.Offset != at {
			t.Errorf("a segment begins at %d, expected %d", s.Offset, at)
		}
		at += s.Size
		roles[s.Role] = true
	}
	if !roles["user"] {
		t.Errorf("no segment is the user's: %v", segments)
	}
	must(t, m.write(parser, `<tool_call>{"name": "get_weather", "arguments": {"city": "B`))
	if got := must(t, m.finish(parser, 0)); !strings.Contains(got, `"diagnostics":[{"at":`) {
		t.Errorf("an odd output has no diagnostic: %s", got)
	}
	if got := must(t, m.diagnostics(parser)); !strings.HasPrefix(got, `[{"at":`) {
		t.Errorf("diagnostics: %s", got)
	}
}

// tokenizer is a tokenizer.json with a few tokens over bytes.
const tokenizer = `{"added_tokens":[{"id":7,"content":"<tool_call>","special":false},
	{"id":8,"content":"</tool_call>","special":false},
	{"id":9,"content":"<|im_end|>","special":true}],
	"model":{"type":"BPE","vocab":{"<tool":20,"_call>":21,"{\"name\":\"get_weather\",":22,
		"\"arguments\":{\"city\":\"Z\u00c3":23,"\u00bcrich\"}}":24}},
	"decoder":{"type":"ByteLevel"}}`

// TestTokens reads markers by their ids: the text of one in other tokens is text.
func TestTokens(t *testing.T) {
	var m memory
	defer m.free()
	template, a := m.compile(given{text: hermes, tokenizer: tokenizer})
	must(t, a)
	plan, a := m.prepare(template, request(), "")
	must(t, a)
	parser, a := m.parser(plan)
	must(t, a)
	call := `{"name":"get_weather","arguments":{"city":"Bern"}}`
	got := must(t, m.writeTokens(parser, "<tool_call>", []int32{1, 2}, []uint{5, 11}))
	got += must(t, m.writeTokens(parser, " x<tool_call>"+call+"</tool_call>", []int32{3, 7, 4, 8},
		[]uint{2, 13, uint(13 + len(call)), uint(25 + len(call))}))
	if !strings.Contains(got, `{"content":"<tool_call>`) ||
		!strings.Contains(got, `"name":"get_weather"`) {
		t.Errorf("got %s", got)
	}
	spelled, a := m.parser(plan)
	must(t, a)
	for _, ids := range [][]int32{{20, 21}, {7, 22, 23}, {24, 8, 9}} {
		must(t, m.writeTokens(spelled, "", ids, nil))
	}
	if got := must(t, m.finish(spelled, 0)); !strings.Contains(got, `"content":"<tool_call>"`) ||
		!strings.Contains(got, `{\"city\":\"Zürich\"}`) {
		t.Errorf("tokens that the tokenizer spells: %s", got)
	}
}

// TestMany writes to many parsers at once, one of which is wrong.
func TestMany(t *testing.T) {
	var m memory
	defer m.free()
	_, plan, _ := opened(t, &m, hermes)
	var all []handle
	var pieces []string
	for i := range 200 {
		h, a := m.parser(plan)
		must(t, a)
		all = append(all, h)
		pieces = append(pieces, strings.Repeat("word ", i))
	}
	free(all[3])
	whole, each := m.writeMany(all, pieces)
	if whole != statusOK {
		t.Fatal(words[whole])
	}
	for i, a := range each {
		want := answer{statusOK, ""}
		if text := strings.TrimRight(pieces[i], " "); text != "" {
			want.text = `[{"content":"` + text + `"}]`
		}
		if i == 3 {
			if a.status != statusHandle {
				t.Errorf("a freed parser: %v", a)
			}
		} else if a != want {
			t.Errorf("parser %d: got %v, want %v", i, a, want)
		}
	}
}

// TestMemory keeps a thousand parsers alive, and makes and frees a million.
func TestMemory(t *testing.T) {
	var m memory
	defer m.free()
	_, plan, _ := opened(t, &m, hermes)
	used := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := used()
	var all []handle
	for range 1000 {
		h, a := m.parser(plan)
		must(t, a)
		must(t, m.write(h, `Some words. <tool_call>{"name": "get_weather", "arguments": {"city": "B`))
		all = append(all, h)
	}
	if bytes := used() - before; bytes > 64<<20 {
		t.Errorf("1,000 parsers take %d bytes", bytes)
	} else {
		t.Logf("1,000 parsers take %d KiB", bytes>>10)
	}
	for _, h := range all {
		free(h)
	}
	n := 1_000_000
	if testing.Short() {
		n = 20_000
	}
	for range n {
		h, a := m.parser(plan)
		must(t, a)
		free(h)
	}
	if after := used(); after > before+1<<20 {
		t.Errorf("%d parsers made and freed leave %d bytes", n, after-before)
	}
}

// BenchmarkPiece reads 8,192 pieces of four bytes: in Go, by C, and by C to 200 parsers at once. It
// reports the least processor time of a piece, which work beside it hardly changes.
func BenchmarkPiece(b *testing.B) {
	var m memory
	defer m.free()
	_, plan, _ := opened(b, &m, hermes)
	const pieces = 8192
	compiled, err := engine.Compile(b.Context(), engine.Source{Text: hermes}, engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	twin, err := compiled.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		b.Fatal(err)
	}
	processor := func() int64 {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		return used.Utime.Nano() + used.Stime.Nano()
	}
	least := func(b *testing.B, pieces int, read func()) {
		best := int64(math.MaxInt64)
		for b.Loop() {
			from := processor()
			read()
			best = min(best, processor()-from)
		}
		b.ReportMetric(float64(best)/float64(pieces), "ns/piece")
	}
	b.Run("Go", func(b *testing.B) {
		word, p := []byte("word"), twin.NewParser()
		least(b, pieces, func() {
			p.Reset()
			for range pieces {
				p.Write(word)
			}
		})
	})
	for _, parsers := range []int{1, 200} {
		b.Run(fmt.Sprintf("C, %d parsers", parsers), func(b *testing.B) {
			var all []handle
			for range parsers {
				h, a := m.parser(plan)
				must(b, a)
				defer free(h)
				all = append(all, h)
			}
			rounds := pieces / parsers
			least(b, rounds*parsers, func() { writePieces(all, rounds) })
		})
	}
}

// FuzzCalls makes calls as the input says, in one to four threads at once that share their handles:
// handles of all kinds in every place, freed ones and ones that never were, and the input's texts,
// which are often no JSON and no UTF-8. Each call gives a status and, where it fails, an error in
// JSON; where it does not, its result is JSON where assay.h says so.
func FuzzCalls(f *testing.F) {
	const made = "\x00\x01\x02" // compile, prepare, parser
	call := `Hi <tool_call>{"name": "get_weather", "arguments": {"city": "B"}}</tool_call>`
	f.Add([]byte("\x00"+made+"\x03\x03\x03\x06\x07"), hermes, request(), call)
	f.Add([]byte("\x01"+made+"\x08\x02\x09\x03\x05\x04\x07\x03\x06"), hermes,
		`{"messages":[]}`, "\xff<tool_call>")
	f.Add([]byte("\x02\x0a\x00\xff\x01\x0c\x02\xfa"), "{% if %}", `{`, "")
	f.Add([]byte("\x03\x00\x0b\x0a\x02\x03\x10\x0d\x0e\x0f\x07\x03\x06"), hermes, request(), call)
	f.Add([]byte("\x00"+made+"\x14\x15\x06\x06\x13"), hermes, request(), `{"insist":1}`)
	f.Fuzz(func(t *testing.T, calls []byte, template, request, output string) {
		if len(calls) == 0 {
			return
		}
		shared := &drawn{handles: []handle{0}, formats: []string{output}}
		defer shared.free()
		var threads sync.WaitGroup
		for i := range 1 + int(calls[0])%4 {
			threads.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var m memory
				defer m.free()
				for at, call := range calls[1:min(len(calls), 64)] {
					a, isJSON := shared.call(&m, int(call), at+i, template, request, output)
					if a.status < 0 || a.status >= statusInternal {
						t.Errorf("call %d: status %d: %s", call, a.status, a.text)
					}
					failed := a.status != statusOK
					if failed && a.text != "" && !strings.HasPrefix(a.text, `{"error":"`) {
						t.Errorf("call %d: %s: %s", call, words[a.status], a.text)
					}
					if (failed || isJSON) && a.text != "" && !json.Valid([]byte(a.text)) {
						t.Errorf("call %d: %s: no JSON: %q", call, words[a.status], a.text)
					}
				}
			})
		}
		threads.Wait()
	})
}

// drawn has the handles that some threads draw from, and the formats that were read.
type drawn struct {
	mu      sync.Mutex
	handles []handle
	formats []string
}

// handle returns the newest handle, an older one, freed or not, or a number that is none.
func (d *drawn) handle(call, at int) (handle, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, format := d.handles[len(d.handles)-1], d.formats[len(d.formats)-1]
	switch call / 22 {
	case 8, 9:
		h = d.handles[at%len(d.handles)]
	case 10:
		h += handle(at) << (at % 64)
	case 11:
		h = handle(at) * 0x9e3779b97f4a7c15 >> (at % 64)
	}
	return h, format
}

func (d *drawn) free() {
	for _, h := range d.handles {
		free(h)
	}
}

// call makes a call, and says whether its result is JSON.
func (d *drawn) call(m *memory, call, at int, template, request, output string) (a answer,
	isJSON bool) {
	h, format := d.handle(call, at)
	var made handle
	isJSON = true
	switch call % 22 {
	case 0:
		made, a = m.compile(given{text: template, total: 100_000, tokenizer: tokenizer})
	case 1:
		made, a = m.prepare(h, request, `{"insist":true}`)
	case 2:
		made, a = m.parser(h)
	case 3, 4:
		from := min(at*call%67, len(output))
		a = m.write(h, output[from:min(from+call%13, len(output))])
	case 5:
		a = m.writeTokens(h, output, []int32{int32(call), -int32(call)},
			[]uint{uint(call) / 2, uint(len(output))})
	case 6:
		a = m.finish(h, call/60)
	case 7:
		a.status = free(h)
	case 8:
		a, isJSON = m.grammar(h, []string{"gbnf", "lark", "ebnf", "lazy-gbnf", output}[at%5]), false
	case 9:
		a = m.segments(h)
	case 10:
		made, a = m.prepareFormat(format, request)
	case 11:
		if a = m.format(h); a.status == statusOK {
			d.mu.Lock()
			// The format as it is, and with a text of the input in the place of one of its bytes.
			broken := a.text[:at*97%len(a.text)] + output + a.text[at*97%len(a.text)+1:]
			d.formats = append(d.formats, a.text, broken)
			d.mu.Unlock()
		}
	case 12:
		a, _ = m.writeSpans(h, output)
		isJSON = false
	case 13:
		a.status, _ = m.held(h)
	case 14:
		a = m.diagnostics(h)
	case 15:
		a = m.gate(h)
	case 16, 17:
		_, each := m.writeMany([]handle{h, 0, h}, []string{output, output, template})
		a = each[2]
	case 18:
		made, a = m.compile(given{text: output, source: at, tokenizer: request, held: 64})
	case 19:
		made, a = m.prepare(h, output, "")
	case 20:
		made, a = m.prepare(h, request, output)
	case 21:
		a = m.writeTokens(h, "", []int32{7, 20, int32(uint32(at) * 0x9e3779b1)}[:1+at%3], nil)
	}
	if made != 0 {
		d.mu.Lock()
		d.handles = append(d.handles, made)
		d.mu.Unlock()
	}
	return a, isJSON
}
