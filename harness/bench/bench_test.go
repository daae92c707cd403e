// Package bench measures the stages of a request's life on real templates: those of the corpus, and the vendors' where
// ASSAY_VENDOR names their folder (make bench sets it).
package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/subject"
)

// sources are the templates to measure with: the vendors' if they are at hand, else our own.
func sources(b *testing.B) []engine.Source {
	loaded, err := subject.Load(corpus.FS)
	if err != nil {
		b.Fatal(err)
	}
	dir := os.Getenv("ASSAY_VENDOR")
	var all []engine.Source
	for _, f := range loaded.Families {
		if dir == "" && f.Own {
			text, err := loaded.Text(f.Name)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, subject.New(f.Name, text).Source)
		}
		for _, v := range f.Vendors {
			if dir != "" {
				text, err := subject.ReadVendor(os.DirFS(dir), v)
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, subject.New(v.Name, text).Source)
			}
		}
	}
	return all
}

func compileAll(b *testing.B) []*engine.Template {
	var all []*engine.Template
	for _, src := range sources(b) {
		t, err := engine.Compile(src, engine.Options{Now: subject.Now})
		if err != nil {
			b.Fatal(src.Name, err)
		}
		all = append(all, t)
	}
	return all
}

// BenchmarkCold compiles, probes and analyses every template; bar: 150 ms for the vendors' 70 on one core.
func BenchmarkCold(b *testing.B) {
	all := sources(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range all {
			t, err := engine.Compile(src, engine.Options{Now: subject.Now})
			if err != nil {
				b.Fatal(err)
			}
			t.Analysis()
		}
	}
	b.ReportMetric(float64(len(all)), "templates")
}

// BenchmarkVerify proves the analysis of every template by round trip.
func BenchmarkVerify(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		all := compileAll(b)
		for _, t := range all {
			t.Analysis()
		}
		b.StartTimer()
		for _, t := range all {
			t.Verify()
		}
	}
}

// BenchmarkCheck runs the automatic checks on every template, compiling it included.
func BenchmarkCheck(b *testing.B) {
	all := sources(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range all {
			check.Template(subject.New(src.Name, src.Text), check.Options{})
		}
	}
}

// BenchmarkRender renders the standard battery with every template.
func BenchmarkRender(b *testing.B) {
	all := compileAll(b)
	for _, t := range all {
		t.Analysis()
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, t := range all {
			for _, c := range subject.Battery() {
				_, _ = t.Render(c.Request) // some refuse some
			}
		}
	}
	b.ReportMetric(float64(len(all)*len(subject.Battery())), "prompts")
}

// BenchmarkPrepare prepares a request with 2 and with 30 tools, warm; bars beyond the render: 100 microseconds and 1 ms.
func BenchmarkPrepare(b *testing.B) {
	t := hermes(b)
	for _, n := range []int{2, 30} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			r := withTools(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := t.Prepare(r, engine.PrepareOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func withTools(n int) chat.Request {
	r := subject.ToolRequest()
	base := r.Tools[0]
	r.Tools = nil
	for i := range n {
		tool := base
		tool.Name = fmt.Sprintf("%s_%d", base.Name, i)
		function := base.Value.At("function").With("name", ordered.Str(tool.Name))
		tool.Value = base.Value.With("function", function)
		r.Tools = append(r.Tools, tool)
	}
	return r
}

// hermes is a template with calls as JSON in a tag, the most common form.
func hermes(b *testing.B) *engine.Template {
	loaded, err := subject.Load(corpus.FS)
	if err != nil {
		b.Fatal(err)
	}
	text, err := loaded.Text("hermes")
	if err != nil {
		b.Fatal(err)
	}
	t, err := subject.New("hermes", text).Compile()
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// outputs are what models put out, of n tokens of 4 bytes.
var outputs = []struct {
	name string
	make func(tokens int) string
}{
	{"content", func(n int) string {
		return strings.Repeat("if (a < b) { return x[i]; } // <- so\n", n/9+1)[:4*n]
	}},
	{"call", func(n int) string {
		text := strings.Repeat(`line "two" of it\n`, n/4+1)[:4*n]
		return "<tool_call>\n" + `{"name": "store_note", "arguments": {"text": ` + ordered.Str(text).String() + `, "tags": ["a"]}}` + "\n</tool_call>"
	}},
}

// BenchmarkParse parses outputs in one go, BenchmarkStream token by token.
func BenchmarkParse(b *testing.B)  { parse(b, false) }
func BenchmarkStream(b *testing.B) { parse(b, true) }

func parse(b *testing.B, stream bool) {
	plan, err := hermes(b).Prepare(subject.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range outputs {
		for _, tokens := range []int{512, 2048, 8192, 32768} {
			b.Run(fmt.Sprintf("%s/tokens=%d", o.name, tokens), func(b *testing.B) {
				text := []byte(o.make(tokens))
				chunk := len(text)
				if stream {
					chunk = 4
				}
				p := plan.NewParser()
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					p.Reset()
					for at := 0; at < len(text); at += chunk {
						p.Write(text[at:min(at+chunk, len(text))])
					}
					p.Close(false)
				}
				if b.N > 0 {
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tokens), "ns/token")
				}
			})
		}
	}
}
