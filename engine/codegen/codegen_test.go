package codegen_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func generate(t *testing.T, f format.Format, o codegen.Options) *codegen.Output {
	t.Helper()
	out, err := codegen.Generate(f, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Program.Verify(); err != nil {
		t.Errorf("%v\n%s", err, out.Program)
	}
	return out
}

// grammar prints when a grammar sets in, and the grammar.
func grammar(t *testing.T, out *codegen.Output) string {
	t.Helper()
	var b strings.Builder
	for _, trigger := range out.Triggers {
		fmt.Fprintf(&b, "# trigger: %q, a pattern: "+
			"%t, a call: %t\n", trigger.Text, trigger.Pattern, trigger.Call)
	}
	g, err := out.Grammar()
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + g.String()
}

// assert compares a text with a golden. The engine's tests need no module that the engine does not.
func assert(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text == string(want) {
		return
	}
	got, old := strings.Split(text, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(old)) {
		if i >= len(got) || i >= len(old) || got[i] != old[i] {
			t.Fatalf("%s:%d differs; -update rewrites "+
				"it\ngot  %s\nwant %s", file, i+1,
				strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""),
				strings.Join(old[min(i, len(old)):min(i+1, len(old))], ""))
		}
	}
}

// TestForms compares, for every form, the parser's tree, the linked part of its program and the
// grammar with a golden; -update rewrites them. One tool with one argument keeps them short.
func TestForms(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			out := generate(t, f.f, codegen.Options{Tools: small, Tolerances: codegen.Usual})
			text := "# tree\n" + out.Tree().
				String() + "\n# program\n" + linked(out) + "\n# grammar\n" + grammar(t, out)
			text += fmt.Sprintf("\n# stops: %q\n# preserved: %q\n", out.Stops, out.Preserved)
			assert(t, f.name, text)
		})
	}
}

// linked prints how large a program is, and of its code that which is linked for the tool. The rest
// is the tree's, which package peg compiles.
func linked(out *codegen.Output) string {
	listing := out.Program.String()
	at := strings.Index(listing, "\n\"get\":\n")
	return fmt.Sprintf("%d instructions, ...%s", len(out.Program.Code), listing[at:])
}

// TestGoldens finds goldens that belong to nothing.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) != len(forms)+len(requests) {
		t.Errorf("%d goldens for %d forms and "+
			"%d requests (%v)", len(files), len(forms), len(requests), err)
	}
}

var weather = func() ordered.Value {
	v, err := ordered.ParseString(`{"type": "object", "properties": {"sunny": {"type": "boolean"}}, "required": ["sunny"]}`)
	if err != nil {
		panic(err)
	}
	return v
}()

// requests are requests that ask for something else of a form than one call or text.
var requests = []struct {
	name, form string
	o          codegen.Options
}{
	{"request-required", "object-in-tag", codegen.Options{Choice: chat.ToolChoice{Mode: chat.ChoiceRequired}, Tolerances: codegen.Usual}},
	{"request-named", "tagged", codegen.Options{Choice: chat.ToolChoice{Mode: chat.ChoiceNamed, Name: "get_more"}, Tolerances: codegen.Usual, Parallel: true}},
	{"request-json", "object-in-tag", codegen.Options{JSONSchema: weather, HasJSONSchema: true, Tolerances: codegen.Usual}},
	{"request-json-channels", "channels", codegen.Options{JSONSchema: weather, HasJSONSchema: true, Tolerances: codegen.Usual, Parallel: true}},
	{"request-parallel", "object-array", codegen.Options{Parallel: true, Tolerances: codegen.Usual}},
	{"request-opened", "head-json", codegen.Options{Prefill: "<think>\n", Tolerances: codegen.Usual, Parallel: true}},
	{"request-inside", "head-json", codegen.Options{Prefill: "<think>\nWell,", Continue: chat.ContinueReasoning, Tolerances: codegen.Usual}},
	{"request-begun", "content-addressed", codegen.Options{Prefill: "<|to|>", Tolerances: codegen.Usual}},
	{"request-strict", "tagged", codegen.Options{}},
}

// TestRequests does the same for requests, with tools of all kinds, except for the program.
func TestRequests(t *testing.T) {
	for _, r := range requests {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range forms {
				if f.name != r.form {
					continue
				}
				r.o.Tools = large
				out := generate(t, f.f, r.o)
				assert(t, r.name, "# tree\n"+out.Tree().String()+"\n# grammar\n"+grammar(t, out))
			}
		})
	}
}

// TestAll generates every form for every kind of request, and with each tolerance switched off:
// programs can be run, and there is a grammar, which prints and can be read again.
func TestAll(t *testing.T) {
	settings := []func(o *codegen.Options){
		func(o *codegen.Options) {},
		func(o *codegen.Options) { o.Parallel, o.Reasoning = true, chat.ReasoningKeep },
		func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired },
		func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceNone },
		func(o *codegen.Options) {
			o.Choice = chat.ToolChoice{Mode: chat.ChoiceNamed,
				Name: "get"}
		},
		func(o *codegen.Options) { o.JSONSchema, o.HasJSONSchema = weather, true },
		func(o *codegen.Options) { o.Prefill, o.Parallel = "<think>\n", true },
		func(o *codegen.Options) { o.Prefill = "<|channel|>analysis<|message|>" },
		func(o *codegen.Options) { o.Fallbacks = []string{"hermes", "pythonic", "deepseek-r1"} },
		func(o *codegen.Options) { o.Tools = nil },
	}
	for _, f := range forms {
		for n, set := range settings {
			for off := codegen.Tolerances(1); off <= codegen.Usual+1; off <<= 1 {
				o := codegen.Options{Tools: large, Tolerances: codegen.Usual &^ off}
				set(&o)
				t.Run(fmt.Sprintf("%s/%d/%x", f.name, n, off), func(t *testing.T) {
					out := generate(t, f.f, o)
					if _, err := out.Grammar(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestGenerator compares a generator's outputs from one frame with outputs made from scratch: the
// tools of one request do not affect the next one.
func TestGenerator(t *testing.T) {
	for _, f := range forms {
		g := codegen.NewGenerator(f.f)
		for n := range 40 { // more prefills than a generator keeps frames for
			o := codegen.Options{Tools: large[:1+n%len(large)], Tolerances: codegen.Usual,
				Parallel: n%2 == 0}
			if n > 5 {
				o.Prefill, o.Continue = fmt.Sprint("text ", n), chat.ContinueContent
			}
			got, err := g.Generate(o)
			if err != nil {
				t.Fatal(err)
			}
			want := generate(t, f.f, o)
			if got.Program.String() != want.Program.String() ||
				fmt.Sprint(got.Marks, got.Values, got.Triggers) != fmt.Sprint(want.Marks,
					want.Values, want.Triggers) {
				t.Fatalf("%s, request %d: another program than from scratch", f.name, n)
			}
		}
	}
}

// manyMarkers is a format with as many bytes of markers in a row around calls, and at the end of
// turns.
func manyMarkers(calls, others int) format.Format {
	row := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "<x%d>", i)
		}
		return b.String()
	}
	f := forms[0].f
	f.End = []string{"<|end|>" + row(others)}
	f.Calls = slices.Clone(f.Calls)
	f.Calls[0].Call = format.Pair{Open: format.Mark("<call>" + row(calls)),
		Close: format.Mark(row(calls) + "</call>")}
	return f
}

// TestManyMarkers makes programs of long rows of markers, between which white space is free: they
// grow as the rows do.
func TestManyMarkers(t *testing.T) {
	size := func(n int) int {
		return len(generate(t, manyMarkers(0, n), codegen.Options{Tools: small,
			Tolerances: codegen.Usual}).Program.Code)
	}
	if small, large := size(700), size(2800); large > 5*small {
		t.Errorf("markers of 700 bytes make %d instructions, of 2,800 %d", small, large)
	}
}

// TestErrors looks at formats and requests that cannot be read.
func TestErrors(t *testing.T) {
	bad := tools(`[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"$ref": "#/nowhere/at/all", "type": 3}}}}}]`)
	blank := tools(`[{"type": "function", "function": {"name": " f", "parameters": {}}}]`)
	long := tools(`[{"type": "function", "function": {"name": "` + strings.Repeat("f", 5000) + `", "parameters": {}}}]`)
	for _, c := range []struct {
		f    format.Format
		o    codegen.Options
		want string
	}{
		{calls(format.Calls{Head: []format.Part{name}, Body: jsonBody}), codegen.Options{Tools: small}, "no literal before a function's name"},
		{calls(format.Calls{Head: []format.Part{lit("<f>")}, Body: jsonBody}), codegen.Options{Tools: small}, "no slot for the function's name"},
		{calls(format.Calls{Object: object(field(format.SlotArgs, "a"))}), codegen.Options{Tools: small}, "no field for the function's name"},
		{calls(format.Calls{Head: []format.Part{lit("<f>"), name}, Body: format.Body{Kind: format.BodyTagged, Entry: []format.Part{value}}}), codegen.Options{Tools: small}, "without a key and a value"},
		{calls(format.Calls{Head: []format.Part{lit("<f>"), name}, Body: coded(tagged("<p>", "=", "</p>", ""), format.Codec{Nested: true})}), codegen.Options{Tools: large}, "nested arguments need tags"},
		{format.Format{Routes: []format.Route{{Kind: format.RouteCall, Head: []format.Part{lit("<f>")}, Body: jsonBody}}}, codegen.Options{Tools: small}, "route 1 is for calls and has no slot"},
		{calls(), codegen.Options{Tools: small, Fallbacks: []string{"nobody"}}, `fallback "nobody"`},
		{manyMarkers(4<<10, 0), codegen.Options{Tools: small}, "markers of 8227 bytes"},
		{forms[0].f, codegen.Options{Tools: bad}, "tools[0].function.parameters"},
		{forms[0].f, codegen.Options{Tools: blank}, "without white space around it"},
		{forms[0].f, codegen.Options{Tools: long}, "1 to 1024 bytes"},
		{forms[0].f, codegen.Options{JSONSchema: ordered.Int(3), HasJSONSchema: true}, "json_schema"},
	} {
		if _, err := codegen.Generate(c.f, c.o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	never := tools(`[{"type": "function", "function": {"name": "f", "parameters": {"enum": ["a"]}}}]`)
	out, err := codegen.Generate(forms[0].f, codegen.Options{Tools: never})
	if err != nil {
		t.Fatal(err) // parsers are made for any schema
	}
	if _, err := out.Grammar(); err == nil || !strings.Contains(err.Error(),
		`tools[0].function.parameters: no object satisfies the schema`) {
		t.Errorf("got %v", err)
	}
	if _, err := codegen.ParseTolerance("T99"); err == nil {
		t.Error("T99 is a tolerance")
	}
	for i, n := range codegen.ToleranceNames() {
		if got, err := codegen.ParseTolerance(n); err != nil || got != 1<<i {
			t.Errorf("%s: %v, %v", n, got, err)
		}
	}
}
