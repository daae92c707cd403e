package stream_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/stream"
)

func generate(t testing.TB, f format.Format, o codegen.Options) *codegen.Output {
	t.Helper()
	out, err := codegen.Generate(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func usual(prefill string) codegen.Options {
	return codegen.Options{Tools: tools, Parallel: true, Tolerances: codegen.Usual,
		Prefill: prefill}
}

// read parses pieces, and fails the test if the deltas break their protocol (E24) or the coverage
// its own (E20).
func read(t testing.TB, out *codegen.Output, pieces ...string) (*stream.Parser, chat.Message) {
	t.Helper()
	p := stream.NewParser(out)
	var got chat.Message
	take := func(deltas []chat.Delta) {
		for _, d := range deltas {
			if d.Content == "" && d.Reasoning == "" && len(d.ToolCalls) == 0 {
				t.Fatalf("%q: an empty delta", pieces)
			}
			if d.Content != "" && d.Reasoning != "" {
				t.Fatalf("%q: content and reasoning in one delta: %+v", pieces, d)
			}
			got.Content += d.Content
			got.Reasoning += d.Reasoning
			for _, c := range d.ToolCalls {
				switch {
				case c.Index == len(got.ToolCalls) && c.Name != "":
					got.ToolCalls = append(got.ToolCalls,
						chat.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
				case c.Index >= len(got.ToolCalls) || c.Name != "" || c.ID != "" ||
					c.Arguments == "":
					t.Fatalf("%q: call delta out of turn: %+v after %+v", pieces, c, got)
				default:
					got.ToolCalls[c.Index].Arguments += c.Arguments
				}
			}
		}
	}
	for _, piece := range pieces {
		b := []byte(piece)
		take(p.Write(b))
		clear(b) // the parser may not keep it
	}
	take(p.Close(chat.FinishStop))
	m := p.Message()
	for i, c := range m.ToolCalls {
		if i < len(got.ToolCalls) {
			got.ToolCalls[i].Complete = c.Complete
		}
	}
	if !reflect.DeepEqual(got, m) {
		t.Fatalf("%q: the deltas make\n%+v\nand the message is\n%+v", pieces, got, m)
	}
	checkCoverage(t, p, out.Prefill+strings.Join(pieces, ""))
	for _, c := range m.ToolCalls { // E37
		v, err := ordered.ParseString(c.Arguments)
		if c.Complete && (err != nil || v.Kind() != ordered.Object) {
			t.Fatalf("%q: the call is complete, its arguments are no JSON: %+v", pieces, c)
		}
	}
	return p, m
}

// checkCoverage compares the coverage with the message.
func checkCoverage(t testing.TB, p *stream.Parser, text string) {
	t.Helper()
	var content, reasoning strings.Builder
	at := 0
	for _, s := range p.Coverage() {
		if s.Off != at || s.End <= s.Off {
			t.Fatalf("%q: the coverage has a gap or overlaps at %d: %v", text, at, p.Coverage())
		}
		at = s.End
		switch s.Class {
		case stream.ClassContent:
			content.WriteString(text[s.Off:s.End])
		case stream.ClassReasoning:
			reasoning.WriteString(text[s.Off:s.End])
		}
	}
	if at != len(text) {
		t.Fatalf("%q: the coverage ends at %d of %d", text, at, len(text))
	}
	if m := p.Message(); content.String() != m.Content || reasoning.String() != m.Reasoning {
		t.Fatalf("%q: the coverage says\n%q, %q\nand the "+
			"message is\n%q, %q", text, content.String(), reasoning.String(), m.Content,
			m.Reasoning)
	}
}

func bytesOf(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}

func TestForms(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			for _, c := range form.cases {
				out := generate(t, form.f, usual(c.prefill))
				check := func(how string, pieces ...string) {
					t.Helper()
					if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, c.want) {
						t.Fatalf("%s: %q\n got %+v\nwant %+v", how, pieces, m, c.want)
					}
				}
				check("whole", c.output)
				for i := 1; i < len(c.output); i++ {
					check("in two", c.output[:i], c.output[i:])
				}
				check("byte by byte", bytesOf(c.output)...)
			}
		})
	}
}

// TestTruncated cuts every output off at every byte: earlier deltas stay, and nothing of a marker
// leaks.
func TestTruncated(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			for _, c := range form.cases {
				out := generate(t, form.f, usual(c.prefill))
				for i := range len(c.output) {
					_, whole := read(t, out, c.output[:i])
					if _, bytewise := read(t, out,
						bytesOf(c.output[:i])...); !reflect.DeepEqual(whole, bytewise) {
						t.Fatalf("cut to %q:\nin one "+
							"go      %+v\nbyte by byte %+v", c.output[:i], whole, bytewise)
					}
					if len(c.want.ToolCalls) == 0 {
						// a text like a call at the end of the output may be none with more text
						// after it
						continue
					}
					if len(whole.ToolCalls) > len(c.want.ToolCalls) {
						t.Fatalf("cut to %q: calls that are not there: %+v", c.output[:i], whole)
					}
					for n, call := range whole.ToolCalls {
						if want := c.want.ToolCalls[n]; call.Name != want.Name || !strings.HasPrefix(want.Arguments, strings.TrimRight(call.Arguments, `\`)) && call.Complete {
							t.Fatalf("cut to %q: call %+v is no "+
								"beginning of %+v", c.output[:i], call, want)
						}
					}
					// Inside a call that has been announced nothing is content.
					if n := len(whole.ToolCalls); n > 0 && !whole.ToolCalls[n-1].Complete &&
						!strings.HasPrefix(c.want.Content, strings.TrimSpace(whole.Content)) {
						t.Fatalf("cut to %q: content %q leaks", c.output[:i], whole.Content)
					}
				}
			}
		})
	}
}

// mutate changes a text at random: bytes lost, doubled, changed, runs moved.
func mutate(r *rand.Rand, s string) string {
	b := []byte(s)
	for range 1 + r.IntN(4) {
		if len(b) < 2 {
			break
		}
		i := r.IntN(len(b))
		j := min(len(b), i+1+r.IntN(12))
		switch r.IntN(5) {
		case 0:
			b = append(b[:i:i], b[j:]...)
		case 1:
			b = append(append(append([]byte{}, b[:j]...), b[i:j]...), b[j:]...)
		case 2:
			const odd = "<>[]{}\"'\\/|=: \n,a0\xc3\xa9\x00"
			b[i] = odd[r.IntN(len(odd))]
		case 3:
			k := r.IntN(len(b))
			b = append(append(append([]byte{}, b[:k]...), b[i:j]...), b[k:]...)
		case 4:
			b = b[:j]
		}
	}
	return string(b)
}

// pieces cuts a text at random.
func pieces(r *rand.Rand, s string) []string {
	var out []string
	for len(s) > 0 {
		n := min(len(s), 1+r.IntN(1+r.IntN(20)))
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func TestMutated(t *testing.T) {
	seed := uint64(1)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, form := range forms {
		for _, c := range form.cases {
			out := generate(t, form.f, usual(c.prefill))
			for range 200 {
				text := mutate(r, c.output)
				_, whole := read(t, out, text)
				if _, cut := read(t, out, pieces(r, text)...); !reflect.DeepEqual(whole, cut) {
					t.Fatalf("%s: %q\nin one go %+v\nin pieces %+v", form.name, text, whole, cut)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for i, form := range forms {
		for _, c := range form.cases {
			f.Add(i, c.output, uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string, seed uint64) {
		form := forms[uint(i)%uint(len(forms))]
		out := generate(t, form.f, usual(""))
		_, whole := read(t, out, text)
		r := rand.New(rand.NewPCG(seed, 1))
		if _, cut := read(t, out, pieces(r, text)...); !reflect.DeepEqual(whole, cut) {
			t.Fatalf("%s: %q\nin one go %+v\nin pieces %+v", form.name, text, whole, cut)
		}
	})
}

// TestLoose checks that the same outputs are read in the same way where a tolerance that they do
// not need is off.
func TestPlainText(t *testing.T) {
	const text = "  Indented,\n\n  <b>kept</b> to the byte: a < b, c[0] && `x`\n\n"
	for _, form := range forms {
		out := generate(t, form.f, usual(""))
		if form.name == "recipients" || form.name == "delimiter" {
			continue // text is addressed, or held until its end
		}
		if _, m := read(t, out, bytesOf(text)...); m.Content != text {
			t.Errorf("%s: %q", form.name, m.Content)
		}
	}
}

func ExampleParser() {
	f := format.Format{Calls: []format.Calls{{Call: pair("<tool_call>\n", "\n</tool_call>"),
		Object: plainObject}}}
	out, err := codegen.Generate(f, codegen.Options{Tools: tools, Tolerances: codegen.Usual})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := stream.NewParser(out)
	for _, piece := range []string{"Let me ", "look.\n<tool", "_call>\n{\"name\": \"get\", \"arg",
		"uments\": {\"city\": \"Ro", "me\"}}\n</tool_call>"} {
		for _, d := range p.Write([]byte(piece)) {
			fmt.Println(d.Value())
		}
	}
	for _, d := range p.Close(chat.FinishStop) {
		fmt.Println(d.Value())
	}
	fmt.Println(p.Finish())
	// Output:
	// {"content": "Let me"}
	// {"content": " look."}
	// {"tool_calls": [{"index": 0, "type": "function", "function": {"name": "get", "arguments": ""}}]}
	// {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\": \"Ro"}}]}
	// {"tool_calls": [{"index": 0, "function": {"arguments": "me\"}"}}]}
	// tool_calls
}
