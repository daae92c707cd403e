package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/stream"
)

// source is C++ with the angle brackets, braces and quotes of such text.
var source = strings.Repeat("#include <vector>\ntemplate <typename T> struct Node {\n\tstd::vector<T> items; // a < b && c[0] == '\"'\n\tbool less(const T &a, const T &b) const { return a < b; }\n};\n", 6000)

func benchmarked() format.Format {
	return calls(format.Calls{Call: pair("<tool_call>\n", "\n</tool_call>"), Object: plainObject})
}

func BenchmarkContent(b *testing.B) {
	out := generate(b, benchmarked(), usual(""))
	p := stream.NewParser(out)
	text := []byte(source)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p.Reset()
		p.Write(text)
		p.Close(chat.FinishStop)
	}
}

func BenchmarkArguments(b *testing.B) {
	out := generate(b, benchmarked(), usual(""))
	p := stream.NewParser(out)
	args := ordered.ObjectOf(ordered.Member{Key: "city", Value: ordered.Str(source)},
		ordered.Member{Key: "list", Value: ordered.ArrayOf(ordered.Str("a"), ordered.Int(3))})
	text := []byte("<tool_call>\n{\"name\": \"get\", \"arguments\": " + args.String() + "}\n</tool_call>")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p.Reset()
		p.Write(text)
		p.Close(chat.FinishStop)
	}
}

// BenchmarkTokens feeds one call in tokens of four bytes; the time must grow as the number of
// tokens does.
func BenchmarkTokens(b *testing.B) {
	out := generate(b, benchmarked(), usual(""))
	for _, n := range []int{512, 2048, 8192, 32768} {
		text := []byte("<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"" + strings.Repeat("word ", n*4/5))
		text = append(text[:n*4-20], "\"}}\n</tool_call>    "...)[:n*4]
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := stream.NewParser(out)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				p.Reset()
				for i := 0; i < len(text); i += 4 {
					p.Write(text[i : i+4])
				}
				p.Close(chat.FinishStop)
			}
		})
	}
}

func BenchmarkContentTokens(b *testing.B) {
	out := generate(b, benchmarked(), usual(""))
	text := []byte(source[:8192*4])
	p := stream.NewParser(out)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p.Reset()
		for i := 0; i < len(text); i += 4 {
			p.Write(text[i : i+4])
		}
		p.Close(chat.FinishStop)
	}
}

func BenchmarkGenerate(b *testing.B) {
	tagged := calls(format.Calls{Call: pair("<tool_call>\n", "\n</tool_call>"),
		Head: []format.Part{lit("<function="), name, lit(">\n")},
		Body: tagged("<parameter=", ">\n", "\n</parameter>", "\n"),
		Tail: []format.Part{lit("\n</function>")}})
	for _, n := range []int{2, 30, 1000} {
		var many []chat.Tool
		for i := range n {
			t := tools[i%2]
			t.Name = fmt.Sprintf("%s_%d", t.Name, i)
			many = append(many, t)
		}
		for name, f := range map[string]format.Format{"json": benchmarked(), "tagged": tagged} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := codegen.Generate(f,
						codegen.Options{Tools: many, Tolerances: codegen.Usual}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
