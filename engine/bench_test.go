package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/source"
)

// vendors reads the vendor templates from the folder that ASSAY_VENDOR names (make bench sets it), else the template of the
// tests alone, so that the benchmarks run anywhere and say what they ran.
func vendors(b *testing.B) []engine.Source {
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASSAY_VENDOR"), "*.jinja"))
	if err != nil {
		b.Fatal(err)
	}
	if os.Getenv("ASSAY_VENDOR") == "" || len(files) == 0 {
		return []engine.Source{{Name: "template.jinja", Text: template}}
	}
	sources := make([]engine.Source, len(files))
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		sources[i] = engine.Source{Name: filepath.Base(f), Text: string(text), BOS: "<s>", EOS: "</s>"}
	}
	return sources
}

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// BenchmarkCompile is the cold path of all templates up to the capabilities; bar, together with BenchmarkAnalyze: 150 ms for 70.
func BenchmarkCompile(b *testing.B) {
	sources := vendors(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range sources {
			if _, err := engine.Compile(s, engine.Options{Now: clock}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(sources)), "templates")
}

// BenchmarkAnalyze adds the analysis.
func BenchmarkAnalyze(b *testing.B) {
	sources := vendors(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range sources {
			t, err := engine.Compile(s, engine.Options{Now: clock})
			if err != nil {
				b.Fatal(err)
			}
			t.Analysis()
		}
	}
	b.ReportMetric(float64(len(sources)), "templates")
}

// BenchmarkVerify is the round trip of all templates; bar: 2 s for 70.
func BenchmarkVerify(b *testing.B) {
	sources := vendors(b)
	for b.Loop() {
		for _, s := range sources {
			t, err := engine.Compile(s, engine.Options{Now: clock})
			if err != nil {
				b.Fatal(err)
			}
			t.Verify()
		}
	}
	b.ReportMetric(float64(len(sources)), "templates")
}

// BenchmarkRender renders one request without analysis or parser.
func BenchmarkRender(b *testing.B) {
	ct, err := chattemplate.Compile(source.New("template.jinja", template), "", "", nil)
	if err != nil {
		b.Fatal(err)
	}
	in := chattemplate.Input{Messages: request(b, `{"messages": [{"role": "user", "content": "Rain?"}]}`).Messages, Generate: true}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ct.Render(in); err != nil {
			b.Fatal(err)
		}
	}
}

func manyTools(n int) string {
	tools := make([]string, n)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"type": "function", "function": {"name": "tool_%d", "description": "d", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}`, i)
	}
	return `{"messages": [{"role": "user", "content": "x"}], "tools": [` + strings.Join(tools, ",") + `]}`
}

// BenchmarkPrepare is a warm Prepare, its render included; bar beyond the render: 100 microseconds for 2 tools, 1 ms for 30.
func BenchmarkPrepare(b *testing.B) {
	for _, n := range []int{2, 30} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			t, r := compile(b, template), request(b, manyTools(n))
			t.Analysis()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := t.Prepare(r, engine.PrepareOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func plan(b *testing.B) *engine.Plan {
	p, err := compile(b, template).Prepare(request(b, manyTools(2)), engine.PrepareOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

const code = "for (size_t i = 0; i < n && a[i] != b[i]; ++i) { out << a[i] << \"\\n\"; }\n"

// BenchmarkParse parses in one go; bars: content 1 GB/s, JSON arguments 400 MB/s.
func BenchmarkParse(b *testing.B) {
	p := plan(b)
	for name, text := range map[string]string{
		"content":   strings.Repeat(code, 1<<20/len(code)),
		"arguments": `<call>{"name": "tool_1", "arguments": {"city": "` + strings.Repeat("Bern and its surroundings, ", 1<<20/27) + `"}}</call>`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				p.Parse(text, false)
			}
		})
	}
}

// BenchmarkStream feeds tokens of four bytes, one a call; bar: 8,192 tokens in 1 ms, four times as many in at most 4.5 times that.
func BenchmarkStream(b *testing.B) {
	p := plan(b)
	for _, n := range []int{512, 2048, 8192, 32768} {
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			text := []byte(strings.Repeat(code, 4*n/len(code)+1)[:4*n])
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var deltas []chat.Delta
			for b.Loop() {
				parser := p.NewParser()
				for i := 0; i < len(text); i += 4 {
					deltas = parser.Write(text[i : i+4])
				}
				parser.Close(false)
			}
			_ = deltas
		})
	}
}
