package responsetemplate_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/turns"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/foreign/engines"
	"github.com/goassay/assay/harness/foreign/responsetemplate"
)

func value(t *testing.T, text string) ordered.Value {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestParse pins the observed behaviour of transformers 5.23.0.
func TestParse(t *testing.T) {
	const (
		hermes = `{"reasoning": {"open": "<think>", "close": "</think>"},
			"tool_calls": {"open": "<c>", "close": "</c>", "content": "json", "repeats": true},
			"content": {"content": "text"}}`
		joined = `{"a": {"open": "<x>", "close": "</x>"},
			"content": {"close_pattern": "\\s*END\\s*", "repeats": true, "join": "|"}}`
		tags = `{"a": {"open": "<x>", "close": "</x>", "content": "xml-inline", "content_args":
			{"tag_pattern": "<p=(?P<key>[^>]+)>(?P<value>.*?)</p>", "value_parser":
			{"name": "json", "args": {"allow_non_json": true}}}}}`
		merged = `{"a": {"open": "<x>", "close": "</x>", "content": "xml-inline", "content_args":
			{"tag_pattern": "<p=(?P<key>[^>]+)>(?P<value>.*?)</p>", "merge_duplicates": true}}}`
		named = `{"a": {"open_pattern": "<(?P<n>\\w+)>", "close_pattern": "</(?P<n>\\w+)>",
			"transform": {"a": "{n}", "b": "{content}"}}}`
	)
	for _, test := range []struct{ fields, output, want string }{
		{hermes, "  hi  ", `{"content": "hi"}`},
		{hermes, "a<think>b</think>c", `{"content": "c", "reasoning": "b"}`},
		{hermes, "<think>x</think>  ", `{"reasoning": "x"}`},
		{hermes, "<think></think>a", `{"content": "a"}`},
		{hermes, "<think>x", `{"reasoning": "x"}`},
		{hermes, "</think>a", `{"content": "</think>a"}`},
		{hermes, `<c>{"a":1}</c>x<c>2</c>`, `{"tool_calls": [{"a": 1}, 2], "content": "x"}`},
		{hermes, "a<c>1</c> ", `{"tool_calls": [1]}`},
		{hermes, "<c>{bad</c>", "error"},
		{hermes, `<c>{"a":1`, "error"},
		{hermes, "", `{}`},
		{joined, "q END r<x>1</x> s END", `{"content": "q|r|s", "a": "1"}`},
		{`{"a": {"open": "<x", "close": ">"}, "b": {"open": "<xy", "close": ">"}}`, "<xyz>",
			`{"b": "z"}`},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "int"}}`, "<x> 3 </x>", `{"a": 3}`},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "int"}}`, "<x>x</x>", "error"},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "bool"}}`, "<x>yes</x>",
			`{"a": false}`},
		{`{"a": {"open": "<x>", "close": "</x>", "content_args": {"strip": false}}}`,
			"<x> t </x>", `{"a": " t "}`},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "json", "content_args":
			{"unquoted_keys": true, "string_delims": [["<|", "|>"]]}}}`,
			"<x>{a:<|x{b:1},c:|>,d:[<|y|>]}</x>", `{"a": {"a": "x{b:1},c:", "d": ["y"]}}`},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "json", "content_args":
			{"unquoted_keys": true}}}`, "<x>{a:1, b:2}</x>", "error"},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "kv-lines"}}`,
			"<x>a: 1\nb : c:d\n\nzz\n</x>", `{"a": {"a": "1", "b": "c:d"}}`},
		{tags, "<x>junk<p=k> 1 </p><p=n>x</p></x>", `{"a": {"k": 1, "n": "x"}}`},
		{merged, "<x><p=k>1</p><p=k>2</p><p=j>1</p></x>", `{"a": {"k": ["1", "2"], "j": "1"}}`},
		{named, "<q>1</r>", `{"a": {"a": "q", "b": "1"}}`},
		{`{"c": {"open": "<c>", "close_pattern": "(?=<c>)|E", "repeats": true}, "content": {}}`,
			"<c>1<c>2E z", `{"c": ["1", "2"], "content": "z"}`},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "json",
			"transform": {"n": "{name}"}, "transform_each": true}}`,
			`<x>[{"name":1},{"name":2}]</x>`, `{"a": [{"n": 1}, {"n": 2}]}`},
		{`{"a": {"open": "<x>", "close": "</x>", "content": "json", "transform": "{content.k}"}}`,
			`<x>{"q":1}</x>`, "error"},
	} {
		object := `{"version": 1, "start_anchor": "<A>", "fields": ` + test.fields + `}`
		read, err := responsetemplate.Read(value(t, object))
		if err != nil {
			t.Errorf("%s: %v", object, err)
			continue
		}
		got, err := read.Parse(test.output, "", ordered.Value{})
		switch {
		case test.want == "error":
			if err == nil {
				t.Errorf("%q: %s, want an error", test.output, got)
			}
		case err != nil:
			t.Errorf("%q: %v", test.output, err)
		case !ordered.Equal(got, value(t, test.want)):
			t.Errorf("%q: %s, want %s", test.output, got, test.want)
		}
	}
}

func TestPrompt(t *testing.T) {
	read, err := responsetemplate.Read(value(t, `{"version": 1, "start_anchor": ["<A>", "<B>"],
		"fields": {"thought": {"open": "<think>", "close": "</think>"}, "content": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for prompt, want := range map[string]string{
		"q<A><think>":    `{"thought": "b", "content": "c"}`,
		"<A>x<B>y":       `{"content": "yb</think>c"}`,
		"<B>x<A>y<B>z":   `{"content": "zb</think>c"}`,
		"no anchor ":     `{"content": "no anchor b</think>c"}`,
		"<think><A> <B>": `{"content": "b</think>c"}`,
	} {
		got, err := read.Parse("b</think>c", prompt, ordered.Value{})
		if err != nil || !ordered.Equal(got, value(t, want)) {
			t.Errorf("after %q: %s, %v; want %s", prompt, got, err, want)
		}
	}
}

// TestCast pins how transformers casts arguments by the types of their schemas.
func TestCast(t *testing.T) {
	read, err := responsetemplate.Read(value(t, `{"version": 1, "start_anchor": "<A>", "fields":
		{"tool_calls": {"open_pattern": "<f (?P<name>\\w+)>", "close": "</f>", "repeats": true,
		"content": "xml-inline", "content_args":
		{"tag_pattern": "<p=(?P<key>[^>]+)>(?P<value>.*?)</p>"}, "transform":
		{"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ schema, text, want string }{
		{`{"type": "integer"}`, "1.0", "1"},
		{`{"type": "integer"}`, "1e2", "100"},
		{`{"type": "integer"}`, "007", "7"},
		{`{"type": "integer"}`, "x", `"x"`},
		{`{"type": "integer"}`, "12345678901234567890123", "12345678901234567890123"},
		{`{"type": "number"}`, "-0.50", "-0.5"},
		{`{"type": "number"}`, "NaN", `"NaN"`},
		{`{"type": "boolean"}`, "FALSE", "false"},
		{`{"type": "boolean"}`, "1", "true"},
		{`{"type": "boolean"}`, "yes", `"yes"`},
		{`{"type": ["integer", "null"]}`, "None", "null"},
		{`{"type": ["string", "integer"]}`, "5", "5"},
		{`{"anyOf": [{"type": "string"}, {"type": "integer"}]}`, "5", "5"},
		{`{"type": "array"}`, "{}", `"{}"`},
		{`{"type": "object"}`, `{"a":1}`, `{"a": 1}`},
		{`{"type": "string"}`, "5", `"5"`},
		{`{}`, "5", `"5"`},
	} {
		tools := value(t, `[{"type": "function", "function": {"name": "f", "parameters":
			{"type": "object", "properties": {"a": `+test.schema+`}}}}]`)
		got, err := read.Parse("<f f><p=a>"+test.text+"</p></f>", "<A>", tools)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		a := got.At("tool_calls").Items()[0].At("function", "arguments", "a")
		if !ordered.Equal(a, value(t, test.want)) {
			t.Errorf("%s as %s: %s, want %s", test.text, test.schema, a, test.want)
		}
	}
}

// TestRefused demands that constructs whose meaning differs from Python's are named.
func TestRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		`a++`: "possessive", `(?R)`: "the group (?R", `\p{L}`: `\p`, `(a)\1`: "by number",
		`[[:alpha:]]`: "a set in a set", `[a-z--b]`: "an operation on sets", `a{e<=1}`: "fuzzy",
		`(?|a|b)`: "the group (?|", `(*SKIP)`: "the verb", `\`: "backslash", `(`: "pattern",
	} {
		object := ordered.ObjectOf(ordered.MemberOf("version", ordered.Int(1)),
			ordered.MemberOf("start_anchor_pattern", ordered.Str(pattern)))
		if _, err := responsetemplate.Read(object); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it refused for %q", pattern, err, want)
		}
	}
	for object, want := range map[string]string{
		`[]`:                         "expected an object",
		`{"version": 2}`:             "this reader knows version 1",
		`{"version": 1}`:             "start_anchor is missing",
		`{"version": 1, "extra": 1}`: `member "extra"`,
		`{"version": 1, "start_anchor": "a", "fields": {"a": {}, "b": {}}}`:            "have no opener",
		`{"version": 1, "start_anchor": "a", "fields": {"a": {"join": ""}}}`:           "needs repeats",
		`{"version": 1, "start_anchor": "a", "fields": {"a": {"content": "yaml"}}}`:    "content:",
		`{"version": 1, "start_anchor": "a", "fields": {"a": {"transform": "x {b}"}}}`: "is the whole",
	} {
		if _, err := responsetemplate.Read(value(t, object)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", object, err, want)
		}
	}
}

// TestPatience demands that a pattern which takes exponential time ends in an error.
func TestPatience(t *testing.T) {
	read, err := responsetemplate.Read(value(t, `{"version": 1, "start_anchor": "<A>",
		"fields": {"a": {"open_pattern": "(a|aa)+$"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read.Parse(strings.Repeat("a", 100)+"b", "", ordered.Value{}); err == nil {
		t.Error("no error")
	}
}

// TestAgainstTransformers holds the reader to transformers on the outputs of the corpus, with the
// objects that are emitted for their formats. ASSAY_TRANSFORMERS is the adapter's command.
func TestAgainstTransformers(t *testing.T) {
	command := os.Getenv("ASSAY_TRANSFORMERS")
	if command == "" {
		return // `make engines ENGINE=transformers` sets it up; .ci/run names it
	}
	a, err := engines.Start(context.Background(), []string{command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	alike := 0
	for i := range loaded.Families {
		f := &loaded.Families[i]
		if len(f.Cases) == 0 {
			continue
		}
		s, cases, err := engines.CorpusCases(loaded, f)
		if err != nil {
			t.Fatal(err)
		}
		object, err := responsetemplate.Emit(s.Template)
		if err != nil {
			continue
		}
		read, err := responsetemplate.Read(object)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		for _, c := range cases {
			request := c.Request
			request.ResponseTemplate = json.RawMessage(object.String())
			answer, err := a.Ask(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readResponse(read, request)
			switch {
			case (err != nil) != (answer.Error != ""):
				t.Errorf("%s: %v; transformers: %s", c.ID, err, answer.Error)
			case err == nil && !got.Equal(*answer.Message):
				t.Errorf("%s: got %+v\ntransformers %+v", c.ID, got, *answer.Message)
			default:
				alike++
			}
		}
	}
	t.Logf("%d outputs are read alike", alike)
}

// TestEmit writes the object of every family, and lists the families for which one can be written
// that misreads a turn. Those are refused.
func TestEmit(t *testing.T) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	var misread []string
	for i := range loaded.Families {
		f := &loaded.Families[i]
		source, err := corpus.FS.ReadFile(f.Name + "/" + families.OwnTemplate)
		if err != nil {
			continue
		}
		tm, err := subject.New(f.Name, string(source)).Compile()
		if err != nil {
			t.Fatal(err)
		}
		_, err = responsetemplate.Emit(tm)
		var refused *emit.Inexpressible
		switch {
		case err == nil:
			written++
		case !errors.As(err, &refused):
			t.Errorf("%s: %v", f.Name, err)
		case refused.Part == "turns":
			misread = append(misread, f.Name)
		}
	}
	want := []string{"minimax-m1", "name-as-tag", "seed-oss"}
	if written < 55 || !slices.Equal(misread, want) {
		t.Errorf("%d objects are written; %q are misread, expected %q", written, misread, want)
	}
}

// TestProve holds objects that misread one kind of text to the turns of a template that have it.
func TestProve(t *testing.T) {
	source, err := corpus.FS.ReadFile("qwen3-coder/" + families.OwnTemplate)
	if err != nil {
		t.Fatal(err)
	}
	tm, err := subject.New("qwen3-coder", string(source)).Compile()
	if err != nil {
		t.Fatal(err)
	}
	object, err := responsetemplate.Emit(tm)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a fence":   {`<\\|im_end\\|>`, `<\\|im_end\\|>|` + "```"},
		"a bracket": {`<\\|im_end\\|>`, `<\\|im_end\\|>|\\[`},
		"blanks":    {`"strip": false`, `"strip": true`},
	} {
		text := strings.Replace(object.String(), change[0], change[1], 1)
		if text == object.String() {
			t.Fatalf("%s: the object has no %s", name, change[0])
		}
		read, err := responsetemplate.Read(value(t, text))
		if err != nil {
			t.Fatal(err)
		}
		v, err := responsetemplate.Prove(read, tm, turns.Usual)
		if err != nil || len(v.Differences) == 0 {
			t.Errorf("%s: %d of %d turns are read, %v", name, v.Read, v.Turns, err)
		}
	}
}

// readResponse parses the output of a request with a response_template.
func readResponse(t *responsetemplate.Template, r engines.Request) (engines.Message, error) {
	request, err := ordered.Parse(r.Request)
	if err != nil {
		return engines.Message{}, err
	}
	tools := request.At("tools")
	if request.At("tool_choice").Text() == "none" {
		tools = ordered.Value{}
	}
	v, err := t.Parse(r.Output, r.Prompt, tools)
	if err != nil {
		return engines.Message{}, err
	}
	m := engines.Message{Content: v.At("content").Text(), Calls: []engines.Call{}}
	m.Reasoning = cmp.Or(v.At("reasoning_content").Text(), v.At("thinking").Text(),
		v.At("reasoning").Text())
	for _, call := range v.At("tool_calls").Items() {
		f := call.At("function")
		if f.IsNull() {
			f = call
		}
		arguments := f.At("arguments")
		text := arguments.Text()
		if arguments.Kind() != ordered.String {
			text = arguments.String()
		}
		m.Calls = append(m.Calls, engines.Call{ID: call.At("id").Text(),
			Name: f.At("name").Text(), Arguments: text})
	}
	return m, nil
}

// TestEndurance judges objects of patterns that take long, each alone and all together: a judgement
// ends.
func TestEndurance(t *testing.T) {
	source, err := corpus.FS.ReadFile("hermes/" + families.OwnTemplate)
	if err != nil {
		t.Fatal(err)
	}
	tm, err := subject.New("hermes", string(source)).Compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`(?:(?:\\w|\\s|[^x])+)+\\x01`, `(\\w+\\s?){1,5}\\x01`, `[^x]*[^y]*\\x01`} {
		var fields strings.Builder
		for i := range 2_000 {
			fmt.Fprintf(&fields, `"f%d": {"open_pattern": "%s", "close": "x"}, `, i, pattern)
		}
		read, err := responsetemplate.Read(value(t, `{"version": 1, "start_anchor": "assistant\n", `+
			`"fields": {`+fields.String()+`"content": {}}}`))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		v, err := responsetemplate.Judge(read, tm)
		if took := time.Since(began); err != nil || v.Read == v.Turns || took > time.Minute {
			t.Errorf("%s: %d of %d turns are read, %v, after %v", pattern, v.Read, v.Turns, err, took)
		}
	}
}

// FuzzRead reads whatever stands in the place of an object, and outputs with it.
func FuzzRead(f *testing.F) {
	for _, fields := range []string{`{"a": {"open": "<x>", "close": "</x>", "content": "json"}, "content": {}}`,
		`{"a": {"open_pattern": "<(?P<n>\\w+)>", "close_pattern": "</(?P<n>\\w+)>", "transform": {"a": "{n}"}}}`,
		`{"a": {"open": "<x>", "content": "xml-inline", "content_args": {"tag_pattern": "<(?P<key>.)>(?P<value>.)"}}}`,
		`{"a": {"open": "", "close": "", "repeats": true, "join": ""}}`} {
		f.Add(`{"version": 1, "start_anchor": "A", "fields": `+fields+`}`, "<x>1</x>", "A")
	}
	f.Fuzz(func(t *testing.T, object, output, prompt string) {
		if len(object) > 16<<10 || len(output)+len(prompt) > 16<<10 {
			return
		}
		v, err := ordered.ParseString(object)
		if err != nil {
			return
		}
		read, err := responsetemplate.Read(v)
		if err != nil {
			return
		}
		if message, err := read.Parse(output, prompt, ordered.Value{}); err == nil &&
			message.Kind() != ordered.Object {
			t.Errorf("%s reads %q as %s", object, output, message)
		}
	})
}
