package vm_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/peg/vm"
)

// source is C++ text: content with many '<', the byte that markers begin with.
const source = `template <typename T, typename Alloc = std::allocator<T>>
class ring_buffer {
public:
    explicit ring_buffer(std::size_t n) : data_(n), head_(0), size_(0) {}

    // Appends a value; the oldest one goes if the buffer is full.
    void push(const T &value) {
        data_[(head_ + size_) % data_.size()] = value;
        if (size_ < data_.size()) { ++size_; } else { head_ = (head_ + 1) % data_.size(); }
    }
    T &operator[](std::size_t i) { assert(i < size_); return data_[(head_ + i) % data_.size()]; }

    friend std::ostream &operator<<(std::ostream &out, const ring_buffer<T> &r) {
        for (std::size_t i = 0; i < r.size_; i++) out << r.data_[(r.head_ + i) % r.data_.size()] << ' ';
        return out << "\n";
    }
private:
    std::vector<T, Alloc> data_;
    std::size_t head_, size_;
};

`

// text is source repeated to n bytes.
func text(n int) []byte {
	return []byte(strings.Repeat(source, n/len(source)+1)[:n])
}

// turn is a tree as codegen writes it: content with four markers, reasoning and calls after them.
func turn(tb testing.TB, stops ...peg.Stop) *vm.Machine {
	space := peg.Space{}
	content := peg.Until{Kind: kindA, Stops: stops}
	p, err := peg.Compile(peg.Tree{Kinds: kinds, Root: peg.Ref{Name: "content"}, Rules: []peg.Rule{
		{Name: "content", P: peg.Seq{content, peg.Choice{
			peg.Seq{space, peg.Lit{Text: "<think>"}, peg.Cut{}, peg.Ref{Name: "reasoning"}},
			peg.Seq{space, peg.Lit{Text: "<tool_call>"}, space, peg.Lit{Text: `{"name": "`}, peg.Dispatch{
				Words: []string{"read", "write"}, After: peg.Lit{Text: `", "arguments": `},
				Bodies: []peg.Pattern{
					peg.Seq{peg.Cut{}, peg.Emit{Kind: markA, Arg: 0}, peg.Ref{Name: "arguments"}},
					peg.Seq{peg.Cut{}, peg.Emit{Kind: markA, Arg: 1}, peg.Ref{Name: "arguments"}},
				}}},
			peg.Seq{peg.Rejected{Kind: kindA}, peg.Ref{Name: "content"}},
			peg.Seq{space, peg.End{}},
			peg.Seq{peg.Capture{Kind: kindA, P: peg.Any{}}, peg.Ref{Name: "content"}},
		}}},
		{Name: "reasoning", P: peg.Seq{
			peg.Until{Kind: kindB, Stops: []peg.Stop{{Text: "</think>", Space: true}},
				TrimEnd: true}, space,
			peg.Choice{peg.Seq{peg.Lit{Text: "</think>"}, peg.Cut{}, peg.Ref{Name: "content"}},
				peg.End{}},
		}},
		{Name: "arguments", P: peg.Seq{
			peg.Try{P: peg.Seq{peg.Scan{Kind: kindC, Scanner: object{}}, space, peg.Lit{Text: "}"},
				space, peg.Lit{Text: "</tool_call>"}}, Else: peg.Emit{Kind: markB}},
			peg.Ref{Name: "content"}}},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return vm.New(p, vm.Limits{})
}

func four() []peg.Stop {
	return []peg.Stop{{Text: "<think>", Space: true}, {Text: "</think>", Space: true},
		{Text: "<tool_call>", Space: true}, {Text: "<|im_end|>", Stub: true}}
}

// object scans balanced braces outside strings: the least that a scanner of JSON must do, to
// measure the cost of the interface.
type object struct{}

func (object) Name() string               { return "object" }
func (object) First() (peg.ByteSet, bool) { return peg.Bytes("{"), false }
func (object) New() peg.Scanner           { return new(objectScanner) }

type objectScanner struct {
	depth           int
	quoted, escaped bool
}

func (s *objectScanner) Reset() { *s = objectScanner{} }

func (s *objectScanner) Step(in []byte, closed bool, out peg.Out) (int, peg.Status) {
	for i, b := range in {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = b == '\\', b != '"'
		case b == '"':
			s.quoted = true
		case b == '{':
			s.depth++
		case b == '}':
			if s.depth--; s.depth == 0 {
				out.Copy(0, i+1)
				return i + 1, peg.Match
			}
		case s.depth == 0:
			return i, peg.Fail
		}
	}
	out.Copy(0, len(in))
	return len(in), wait(closed)
}

func writeAll(m *vm.Machine, in []byte, n int) (events int) {
	m.Reset()
	for len(in) > 0 {
		k := min(n, len(in))
		m.Write(in[:k])
		events += len(m.Events())
		in = in[k:]
	}
	m.Close()
	return events + len(m.Events())
}

// BenchmarkStream is one call per token of 4 bytes. A text four times as long should cost at most
// 4.5 times as much.
func BenchmarkStream(b *testing.B) {
	for _, bench := range []struct {
		name   string
		tokens int
	}{{"2048", 2048}, {"8192", 8192}, {"32768", 32768}} {
		b.Run(bench.name+"-tokens", func(b *testing.B) {
			in := text(4 * bench.tokens)
			m := turn(b, four()...)
			writeAll(m, in, 4)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				writeAll(m, in, 4)
			}
		})
	}
}

// BenchmarkOneShot is content in one call, by the markers' first bytes.
func BenchmarkOneShot(b *testing.B) {
	for _, bench := range []struct {
		name  string
		stops []peg.Stop
	}{
		{"four-markers", four()},
		{"two-first-bytes", []peg.Stop{{Text: "<think>"}, {Text: "[TOOL_CALLS]"}, {Text: "</think>"}, {Text: "[ARGS]"}}},
		{"four-first-bytes", []peg.Stop{{Text: "<think>"}, {Text: "[TOOL_CALLS]"}, {Text: "✿FUNCTION"}, {Text: ">>>"}}},
		{"no-marker", nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			in := text(1 << 20)
			m := turn(b, bench.stops...)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				writeAll(m, in, len(in))
			}
		})
	}
}

// BenchmarkCalls is a call with large arguments: the price of the scanner interface.
func BenchmarkCalls(b *testing.B) {
	args := `<tool_call>{"name": "write", "arguments": {"path": "a.cc", "text": "` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(string(text(1<<16))) + `"}}</tool_call>`
	in := []byte(strings.Repeat(args, 4))
	m := turn(b, four()...)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		writeAll(m, in, len(in))
	}
}

// BenchmarkHeld is a long tentative span that comes byte by byte and fails at its end.
func BenchmarkHeld(b *testing.B) {
	p, err := peg.Compile(peg.Tree{Kinds: kinds, Root: peg.Choice{
		peg.Hold{P: peg.Seq{peg.Until{Kind: kindA, Stops: []peg.Stop{{Text: "<end>", Space: true}}},
			peg.Lit{Text: "<end>"}}},
		peg.Rejected{Kind: kindB},
	}})
	if err != nil {
		b.Fatal(err)
	}
	in := text(1 << 16)
	m := vm.New(p, vm.Limits{})
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		writeAll(m, in, 1)
	}
}

// BenchmarkCompile is a tree with many tools.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{2, 30, 1000} {
		b.Run(strconv.Itoa(n)+"-tools", func(b *testing.B) {
			d := peg.Dispatch{After: peg.Lit{Text: `", "arguments": `}}
			for i := range n {
				d.Words = append(d.Words, "function_"+strconv.Itoa(i))
				d.Bodies = append(d.Bodies,
					peg.Seq{peg.Cut{}, peg.Emit{Kind: markA, Arg: i}, peg.Ref{Name: "arguments"}})
			}
			tree := peg.Tree{Kinds: kinds, Root: peg.Ref{Name: "content"}, Rules: []peg.Rule{
				{Name: "content", P: peg.Seq{peg.Until{Kind: kindA, Stops: four()}, peg.Choice{
					peg.Seq{peg.Space{}, peg.Lit{Text: `<tool_call>{"name": "`}, d},
					peg.Seq{peg.Rejected{Kind: kindA}, peg.Ref{Name: "content"}},
				}}},
				{Name: "arguments", P: peg.Scan{Kind: kindC, Scanner: object{}}},
			}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := peg.Compile(tree); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
