package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/model/gguf"
)

func pair(key string, v gguf.Value) gguf.Pair { return gguf.Pair{Key: key, Value: v} }

// vocabulary has texts of differing lengths, so that finding one needs a walk.
func vocabulary(n int) []string {
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = strings.Repeat("t", i%7) + fmt.Sprint(i)
	}
	return tokens
}

func modelPairs() []gguf.Pair {
	return []gguf.Pair{
		pair("general.architecture", gguf.Text("llama")),
		pair("general.name", gguf.Text("Tiny")),
		pair("general.file_type", gguf.Of(uint32(15))),
		pair("llama.context_length", gguf.Of(uint32(4096))),
		pair("tokenizer.ggml.model", gguf.Text("gpt2")),
		pair("tokenizer.ggml.tokens", gguf.Texts(vocabulary(5000)...)),
		pair("tokenizer.ggml.bos_token_id", gguf.Of(uint32(1))),
		pair("tokenizer.ggml.eos_token_id", gguf.Of(uint32(4242))),
		pair("tokenizer.ggml.add_bos_token", gguf.Of(true)),
		pair("tokenizer.chat_template", gguf.Text("default {{ messages }}")),
		pair("tokenizer.chat_template.tool_use", gguf.Text("tools {{ tools }}")),
		pair("tokenizer.chat_template.rag", gguf.Text("rag")),
		pair("tokenizer.chat_templates", gguf.Texts("tool_use", "rag", "gone")),
	}
}

func content(name string, t gguf.TensorType, data []byte, dims ...uint64) gguf.Content {
	return gguf.Content{Tensor: gguf.Tensor{Name: name, Type: t, Dims: dims},
		Data: bytes.NewReader(data)}
}

func modelTensors() []gguf.Content {
	return []gguf.Content{
		content("a", gguf.F32, bytes.Repeat([]byte{1, 2, 3}, 4), 3, 1),
		content("b", gguf.Q8_0, bytes.Repeat([]byte{9}, 68), 32, 2),
		content("empty", gguf.F32, nil, 0),
		content("c", gguf.F16, []byte{7, 7}, 1),
	}
}

func create(t testing.TB, order gguf.ByteOrder, pairs []gguf.Pair, tensors []gguf.Content) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gguf.Create(&b, order, pairs, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func model(t testing.TB) []byte { return create(t, nil, modelPairs(), modelTensors()) }

func open(t testing.TB, data []byte) *gguf.File {
	t.Helper()
	f, err := gguf.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestInfo(t *testing.T) {
	for _, order := range []gguf.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		f := open(t, create(t, order, modelPairs(), modelTensors()))
		i, err := f.Info()
		if err != nil {
			t.Fatal(order, err)
		}
		got := fmt.Sprintf("%+v", *i)
		want := `{Architecture:llama Name:Tiny Parameters:68 ContextLength:4096 FileType:Q4_K_M Tokenizer:gpt2 ` +
			`BOS:{ID:1 Text:t1 Add:true Said:true} EOS:{ID:4242 Text:4242 Add:false Said:false} ` +
			`Templates:[{Name: Text:default {{ messages }}} {Name:rag Text:rag} {Name:tool_use Text:tools {{ tools }}}] ` +
			`Split:{No:0 Count:0 Tensors:0} ` +
			`Problems:[tokenizer.chat_templates lists "gone", and there is no tokenizer.chat_template.gone]}`
		if got != want {
			t.Errorf("%v:\n got %s\nwant %s", order, got, want)
		}
		if f.Order != order || f.Alignment != 32 || f.Data%32 != 0 {
			t.Errorf("order %v, alignment %d, data at %d", f.Order, f.Alignment, f.Data)
		}
	}
}

func TestInfoBare(t *testing.T) {
	i, err := open(t, create(t, nil, nil,
		[]gguf.Content{content("w", gguf.BF16, []byte{1, 2}, 1)})).Info()
	if err != nil || i.FileType != "BF16" || i.BOS.ID != -1 || i.Templates != nil ||
		i.Parameters != 1 {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestInfoWrongTypes(t *testing.T) {
	for _, p := range []gguf.Pair{
		pair("general.architecture", gguf.Of(uint32(7))),
		pair("general.name", gguf.Texts("x")),
		pair("general.file_type", gguf.Text("x")),
		pair("tokenizer.chat_template", gguf.Of(true)),
		pair("tokenizer.chat_template.x", gguf.Of(1.5)),
		pair("tokenizer.chat_templates", gguf.Text("tool_use")),
		pair("tokenizer.ggml.bos_token_id", gguf.Of(int32(-1))),
		pair("tokenizer.ggml.add_bos_token", gguf.Of(uint8(1))),
		pair("split.count", gguf.Of(int64(-3))),
	} {
		_, err := open(t, create(t, nil, []gguf.Pair{p}, nil)).Info()
		var e *gguf.Error
		if !errors.As(err, &e) || e.Off != 24 || !strings.Contains(e.Msg, p.Key) ||
			!strings.Contains(e.Msg, "expected") {
			t.Errorf("%s: %v", p.Key, err)
		}
	}
}

func TestInfoProblems(t *testing.T) {
	tests := []struct {
		pairs []gguf.Pair
		want  string
	}{
		{[]gguf.Pair{pair("tokenizer.ggml.eos_token_id", gguf.Of(uint32(9))),
			pair("tokenizer.ggml.tokens", gguf.Texts("a"))},
			"tokenizer.ggml.eos_token_id is 9, and the vocabulary has 1 tokens"},
		{[]gguf.Pair{pair("split.no", gguf.Of(uint16(3))), pair("split.count", gguf.Of(uint16(3)))}, "split.no is 3, and split.count is 3"},
		{[]gguf.Pair{pair("tokenizer.chat_templates", array(t, gguf.Uint8, gguf.Of(uint8(1))))}, "tokenizer.chat_templates is an array of uint8, expected texts"},
	}
	for _, test := range tests {
		i, err := open(t, create(t, nil, test.pairs, nil)).Info()
		if err != nil || !slices.Equal(i.Problems, []string{test.want}) {
			t.Errorf("%v: %q", err, i.Problems)
		}
	}
}

func array(t testing.TB, item gguf.Type, items ...gguf.Value) gguf.Value {
	t.Helper()
	v, err := gguf.ArrayOf(item, items...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// numbers has a value of each type but arrays, at its extremes.
func numbers() []gguf.Value {
	return []gguf.Value{
		gguf.Of(uint8(math.MaxUint8)), gguf.Of(int8(math.MinInt8)), gguf.Of(uint16(math.MaxUint16)),
		gguf.Of(int16(math.MinInt16)),
		gguf.Of(uint32(math.MaxUint32)), gguf.Of(int32(math.MinInt32)),
		gguf.Of(uint64(math.MaxUint64)), gguf.Of(int64(math.MinInt64)),
		gguf.Of(float32(1.5)), gguf.Of(math.Pi), gguf.Of(true), gguf.Of(false),
		gguf.Text("é\xff\x00"), gguf.Text(""),
	}
}

func TestValues(t *testing.T) {
	for _, order := range []gguf.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		var pairs []gguf.Pair
		for i, v := range numbers() {
			pairs = append(pairs, pair(fmt.Sprint("scalar ", i), v),
				pair(fmt.Sprint("array ", i), array(t, v.Type(), v, v, v)),
				pair(fmt.Sprint("nested ", i),
					array(t, gguf.ArrayType, array(t, v.Type(), v), array(t, v.Type()))))
		}
		f := open(t, create(t, order, pairs, nil))
		for i, v := range numbers() {
			got, _ := f.Find(fmt.Sprint("scalar ", i))
			if got.Value != v {
				t.Errorf("%v: %v, want %v", order, got.Value, v)
			}
			got, _ = f.Find(fmt.Sprint("array ", i))
			a, _ := got.Value.Array()
			for item, err := range a.All() {
				if err != nil || item != v {
					t.Errorf("%v: item %v, want %v: %v", order, item, v, err)
				}
			}
			got, _ = f.Find(fmt.Sprint("nested ", i))
			a, _ = got.Value.Array()
			inner, err := a.At(0)
			if err != nil {
				t.Fatal(err)
			}
			in, _ := inner.Array()
			if item, err := in.At(0); err != nil || item != v || in.Len != 1 {
				t.Errorf("%v: nested item %v, want %v: %v", order, item, v, err)
			}
		}
	}
	if n, ok := gguf.Of(uint64(math.MaxUint64)).Int(); ok {
		t.Errorf("2^64-1 is the int %d", n)
	}
	if n, ok := gguf.Of(int32(-1)).Uint(); ok {
		t.Errorf("-1 is the uint %d", n)
	}
	if _, err := gguf.ArrayOf(gguf.Uint8, gguf.Text("x")); err == nil {
		t.Error("a text in an array of uint8")
	}
}

func TestString(t *testing.T) {
	pairs := []gguf.Pair{pair("f", gguf.Of(float32(0.1))), pair("d", gguf.Of(0.1)),
		pair("i", gguf.Of(int8(-3))), pair("u", gguf.Of(uint64(math.MaxUint64))),
		pair("b", gguf.Of(true)), pair("s", gguf.Text("a\x1b")), pair("a", gguf.Texts("x", "y"))}
	want := "version 3, LittleEndian, alignment 32, data at 224 of 292\nf = 0.1\nd = 0.1\ni = " +
		"-3\nu = 18446744073709551615\nb = true\n" +
		"s = \"a\\x1b\"\na = [2]string\nb: [32 2] Q8_0 at 0\n"
	if got := open(t, create(t, nil, pairs, modelTensors()[1:2])).String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestArrayAt(t *testing.T) {
	words := vocabulary(3000)
	for _, v := range []gguf.Value{gguf.Texts(words...)} {
		f := open(t, create(t, nil, []gguf.Pair{pair("x", v)}, nil))
		p, _ := f.Find("x")
		a, _ := p.Value.Array()
		for _, i := range []int{0, 1, 511, 512, 513, 1023, 1024, 2999} {
			got, err := a.At(uint64(i))
			if s, _ := got.Text(); err != nil || s != words[i] {
				t.Errorf("item %d is %q, want %q: %v", i, s, words[i], err)
			}
		}
		if _, err := a.At(3000); err == nil {
			t.Error("item beyond the end")
		}
	}
}

// raw builds headers that Create would not.
type raw struct{ b []byte }

func start(tensors, pairs uint64) *raw {
	return (&raw{[]byte("GGUF")}).u32(3).u64(tensors).u64(pairs)
}
func (r *raw) u32(v uint32) *raw { r.b = binary.LittleEndian.AppendUint32(r.b, v); return r }
func (r *raw) u64(v uint64) *raw { r.b = binary.LittleEndian.AppendUint64(r.b, v); return r }
func (r *raw) str(s string) *raw { r.u64(uint64(len(s))); r.b = append(r.b, s...); return r }
func (r *raw) pad(n int) *raw    { r.b = append(r.b, make([]byte, n)...); return r }
func (r *raw) tensor(name string, kind uint32, offset uint64, dims ...uint64) *raw {
	r.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		r.u64(d)
	}
	return r.u32(kind).u64(offset)
}

func deep(n int) *raw {
	r := start(0, 1).str("a").u32(9)
	for range n {
		r.u32(9).u64(1)
	}
	return r.u32(0).u64(0)
}

var hostile = map[string]struct {
	file *raw
	want string
}{
	"empty": {&raw{}, "byte 0: 4 bytes are expected, and 0 are left: the file is " +
		"cut off, or damaged"},
	"magic": {&raw{[]byte("GGML0000")}, `byte 0: expected "GGUF", found "GGML": this is not a GGUF file`},
	"version 1": {(&raw{[]byte("GGUF")}).u32(1).pad(64), "byte 4: version 1 is not " +
		"supported, only 2 and 3 are; convert the model again"},
	"version 4": {(&raw{[]byte("GGUF")}).u32(4).pad(64), "byte 4: version 4 is not " +
		"supported, only 2 and 3 are; convert the model again"},
	"pairs 2^62": {start(0, 1<<62).pad(20), "byte 16: 4611686018427387904 key-value " +
		"pairs, and 20 bytes are left: the file is cut off, or damaged"},
	"tensors 2^63": {start(1<<63, 0).pad(20), "byte 8: 9223372036854775808 tensors, and 28 " +
		"bytes are left: the file is cut off, or damaged"},
	"too many pairs": {start(0, 1<<17).pad(14 << 17), "byte 16: 131072 key-value pairs, " +
		"expected at most 65536"},
	"too many tensors": {start(1<<19, 0).pad(25 << 19), "byte 8: 524288 tensors, " +
		"expected at most 262144"},
	"key of 2^63": {start(0, 1).u64(1 << 63).pad(20), "byte 32: 9223372036854775808 bytes " +
		"are expected, and 20 are left: the file is cut off, or damaged"},
	"text of 2^64-1":     {start(0, 1).str("a").u32(8).u64(math.MaxUint64), `byte 45: key "a": 18446744073709551615 bytes are expected, and 0 are left: the file is cut off, or damaged`},
	"array of 2^62":      {start(0, 1).str("a").u32(9).u32(10).u64(1 << 62).pad(8), `byte 41: key "a": 4611686018427387904 items of type uint64, and 8 bytes are left: the file is cut off, or damaged`},
	"texts of 2^40":      {start(0, 1).str("a").u32(9).u32(8).u64(1 << 40).pad(80), `byte 41: key "a": 1099511627776 items of type string, and 80 bytes are left: the file is cut off, or damaged`},
	"text in array":      {start(0, 1).str("a").u32(9).u32(8).u64(2).str("x").u64(1 << 63), `byte 66: key "a": 9223372036854775808 bytes are expected, and 0 are left: the file is cut off, or damaged`},
	"deep":               {deep(100_000), `byte 133: key "a": arrays are nested deeper than 8`},
	"type":               {start(0, 1).str("a").u32(13).pad(20), `byte 33: key "a": unknown type 13 of a value`},
	"type of items":      {start(0, 1).str("a").u32(9).u32(1 << 31).u64(0), `byte 37: key "a": unknown type 2147483648 of a value`},
	"boolean":            {start(0, 1).str("a").u32(7).u32(2), `byte 37: key "a": a boolean is 2, expected 0 or 1`},
	"key twice":          {start(0, 2).str("a").u32(4).u32(0).str("a").u32(4).u32(0), `byte 41: key "a" is there twice, first at byte 24`},
	"key not UTF-8":      {start(0, 1).str("a\xff").u32(4).u32(0), `byte 24: key "a\xff" is not valid UTF-8`},
	"key empty":          {start(0, 1).str("").u32(4).u32(0), `byte 24: key "" is empty`},
	"key with null":      {start(0, 1).str("a\x00b").u32(4).u32(0), `byte 24: key "a\x00b" has a null byte in it`},
	"alignment 0":        {start(0, 1).str("general.alignment").u32(4).u32(0), "byte 24: general.alignment must be a power of two, at most 1048576"},
	"alignment 48":       {start(0, 1).str("general.alignment").u32(4).u32(48), "byte 24: general.alignment must be a power of two, at most 1048576"},
	"alignment 2^31":     {start(0, 1).str("general.alignment").u32(4).u32(1 << 31), "byte 24: general.alignment must be a power of two, at most 1048576"},
	"alignment text":     {start(0, 1).str("general.alignment").u32(8).str("32"), "byte 24: general.alignment must be a power of two, at most 1048576"},
	"dimensions":         {start(1, 0).str("t").u32(1 << 31).pad(40), `byte 33: tensor "t": 2147483648 dimensions, expected at most 4`},
	"elements":           {start(1, 0).tensor("t", 0, 0, 1<<32, 1<<32), `byte 24: tensor "t": dimensions [4294967296 4294967296]: more than 2^63 elements`},
	"bytes":              {start(1, 0).tensor("t", 0, 0, 1<<62), `byte 24: tensor "t": dimensions [4611686018427387904]: more than 2^63 bytes`},
	"elements in all":    {start(2, 0).tensor("t", 99, 0, 1<<63).tensor("u", 99, 0, 1), `byte 57: tensor "u": more than 2^63 elements in all`},
	"blocks":             {start(1, 0).tensor("t", 2, 0, 31), `byte 24: tensor "t": rows of 31 elements, expected a multiple of 32 as Q4_0 is made of blocks`},
	"misaligned":         {start(1, 0).tensor("t", 0, 4, 1).pad(128), `byte 24: tensor "t": offset 4 is not a multiple of the alignment 32`},
	"out of range":       {start(1, 0).tensor("t", 0, 1<<63, 1).pad(128), `byte 185: tensor "t": 4 bytes at 9223372036854775808 of the data, which begin at byte 64, end beyond the file: it is cut off, or damaged`},
	"unknown beyond end": {start(1, 0).tensor("t", 999, 1<<40, 1).pad(128), `byte 185: tensor "t": 0 bytes at 1099511627776 of the data, which begin at byte 64, end beyond the file: it is cut off, or damaged`},
	"no data":            {start(1, 0).tensor("t", 0, 0, 1), `byte 57: tensor "t": 4 bytes at 0 of the data, which begin at byte 57, end beyond the file: it is cut off, or damaged`},
	"overlap":            {start(2, 0).tensor("t", 0, 0, 9).tensor("u", 0, 32, 1).pad(200), `byte 128: tensors "t" and "u" overlap`},
	"tensor twice":       {start(2, 0).tensor("t", 0, 0, 1).tensor("t", 0, 32, 1).pad(200), `byte 57: tensor "t" is there twice`},
}

func TestHostile(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		test := hostile[name]
		data := test.file.b
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := gguf.Open(bytes.NewReader(data), int64(len(data)))
		runtime.ReadMemStats(&after)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, test.want)
		}
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(16*len(data)+
			80<<10); used > most {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, used, len(data))
		}
	}
}

// TestMemory opens files that are all small items.
func TestMemory(t *testing.T) {
	const n = 65_536
	files := map[string]*raw{"pairs": start(0, n), "tensors": start(n, 0),
		"empty texts":  start(0, 1).str("a").u32(9).u32(8).u64(n).pad(8 * n),
		"empty arrays": start(0, 1).str("a").u32(9).u32(9).u64(n).pad(12 * n)}
	for i := range n {
		files["pairs"].str(fmt.Sprint(i)).u32(0).pad(1)
		files["tensors"].tensor(fmt.Sprint(i), 0, 0, 0)
	}
	for name, r := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f := open(t, r.b)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes allocated for a "+
			"header of %d (%.1f)", name, used, len(r.b), float64(used)/float64(len(r.b)))
		if used > uint64(16*len(r.b)+80<<10) {
			t.Errorf("%s: %d bytes allocated for a header of %d", name, used, len(r.b))
		}
		runtime.KeepAlive(f)
	}
}

// TestInfoMemory calls Info for files that are all names of templates: Info allocates a bounded
// amount.
func TestInfoMemory(t *testing.T) {
	const n = 65_536
	files := map[string]*raw{"names": start(0, 1).str("tokenizer.chat_templates").u32(9).u32(8).
		u64(n).pad(8 * n), "templates": start(0, n-1)}
	for i := range n - 1 {
		files["templates"].str(fmt.Sprint("tokenizer.chat_template.", i)).u32(8).str("")
	}
	for name, r := range files {
		f := open(t, r.b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		i, err := f.Info()
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes allocated for a "+
			"header of %d (%.1f)", name, used, len(r.b), float64(used)/float64(len(r.b)))
		if err != nil || len(i.Templates) > 256 || len(i.Problems) > 257 ||
			used > uint64(4*len(r.b)+256<<10) {
			t.Errorf("%s: %d bytes allocated for a header of %d; %d templates, "+
				"%d problems, %v", name, used, len(r.b), len(i.Templates), len(i.Problems), err)
		}
	}
}

func TestTruncated(t *testing.T) {
	data := model(t)
	cuts := []int{}
	for i := 0; i < len(data); i += 4096 {
		cuts = append(cuts, i)
	}
	for i := range 200 {
		cuts = append(cuts, i, len(data)-1-i)
	}
	for _, n := range cuts {
		_, err := gguf.Open(bytes.NewReader(data[:n]), int64(n))
		var e *gguf.Error
		if n < len(data)-40 && !errors.As(err, &e) {
			t.Errorf("cut at %d of %d: %v", n, len(data), err)
		}
		// A size that the reader does not keep.
		if _, err := gguf.Open(bytes.NewReader(data[:n]), int64(len(data))); n < 60_000 &&
			!errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d of %d without notice: %v", n, len(data), err)
		}
	}
}

// counting counts reads.
type counting struct {
	r           io.ReaderAt
	reads, size int
}

func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	c.reads++
	c.size += len(b)
	return c.r.ReadAt(b, off)
}

// sparse writes a model whose data are a hole of 100 GB.
func sparse(t testing.TB) string {
	t.Helper()
	tokens := gguf.Texts(vocabulary(150_000)...)
	scores := array(t, gguf.Float32, slices.Repeat([]gguf.Value{gguf.Of(float32(0))}, 150_000)...)
	path := filepath.Join(t.TempDir(), "big.gguf")
	pairs := append(modelPairs()[:5:5], pair("tokenizer.ggml.scores", scores),
		pair("tokenizer.ggml.tokens", tokens),
		pair("tokenizer.ggml.eos_token_id", gguf.Of(uint32(149_999))),
		pair("tokenizer.chat_template", gguf.Text(strings.Repeat("x", 100_000))))
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := gguf.Create(w, nil, pairs,
		[]gguf.Content{content("w", gguf.F32, make([]byte, 4), 1)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Truncate(100 << 30); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	return path
}

func TestSparse(t *testing.T) {
	r, err := os.Open(sparse(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := &counting{r: r}
	f, err := gguf.Open(c, 100<<30)
	if err != nil {
		t.Fatal(err)
	}
	i, err := f.Info()
	if err != nil || i.EOS.Text != vocabulary(150_000)[149_999] ||
		len(i.Templates[0].Text) != 100_000 {
		t.Errorf("%+v, %v", i.EOS, err)
	}
	t.Logf("%d reads of %d bytes, header of %d", c.reads, c.size, f.Data)
	if int64(c.size) > f.Data {
		t.Errorf("%d bytes read of a header of %d", c.size, f.Data)
	}
}

func BenchmarkInfoSparse(b *testing.B) {
	path := sparse(b)
	b.ReportAllocs()
	for b.Loop() {
		r, f, err := gguf.OpenFile(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Info(); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func TestHeaderLimit(t *testing.T) {
	data := start(0, 1).str("a").u32(8).u64(300 << 20).b
	_, err := gguf.Open(zeros{data}, 1<<40)
	if err == nil || err.Error() != `byte 45: key "a": the header is longer than 256 MiB` {
		t.Error(err)
	}
	data = start(0, 1).str("a").u32(9).u32(8).u64(1 << 36).b
	if _, err = gguf.Open(zeros{data}, 1<<40); err == nil ||
		!strings.HasSuffix(err.Error(), "the header is longer than 256 MiB") {
		t.Error(err)
	}
}

// zeros is some bytes and zeros without end.
type zeros struct{ head []byte }

func (z zeros) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < int64(len(z.head)) {
		copy(b, z.head[off:])
	}
	return len(b), nil
}

// failing is a reader that fails from some byte on.
type failing struct {
	data []byte
	from int64
}

var errDisk = errors.New("the disk is gone")

func (f failing) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > f.from {
		return 0, errDisk
	}
	return copy(b, f.data[off:]), nil
}

func TestReadError(t *testing.T) {
	data := model(t)
	if _, err := gguf.Open(failing{data, 0}, int64(len(data))); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	f, err := gguf.Open(failing{data, 1 << 40}, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := gguf.Retemplate(io.Discard, f, "", "x"); err != nil {
		t.Error(err)
	}
}

func TestCreateRefuses(t *testing.T) {
	one := content("t", gguf.F32, make([]byte, 4), 1)
	tests := []struct {
		pairs   []gguf.Pair
		tensors []gguf.Content
		want    string
	}{
		{[]gguf.Pair{pair("a", gguf.Of(true)), pair("a", gguf.Of(true))}, nil, `key "a" is given twice`},
		{[]gguf.Pair{pair("", gguf.Of(true))}, nil, `key "" is empty`},
		{[]gguf.Pair{pair("general.alignment", gguf.Of(uint32(3)))}, nil, "general.alignment must be a power of two, at most 1048576"},
		{nil, []gguf.Content{one, one}, `tensor "t" is given twice`},
		{nil, []gguf.Content{content("t", gguf.F32, make([]byte, 3), 1)}, `tensor "t": 3 bytes of data, expected 4: unexpected EOF`},
		{nil, []gguf.Content{content("t", 99, nil, 1)}, `tensor "t" cannot be written: its type, type 99, is not known`},
		{nil, []gguf.Content{content("t", gguf.Q4_0, nil, 5)}, `tensor "t" cannot be written: rows of 5 elements, expected a multiple of 32 as Q4_0 is made of blocks`},
		{nil, []gguf.Content{content("t", gguf.F32, nil, 1, 1, 1, 1, 1)}, `tensor "t" cannot be written: 5 dimensions, expected at most 4`},
	}
	for _, test := range tests {
		if err := gguf.Create(io.Discard, nil, test.pairs, test.tensors); err == nil ||
			err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestPartName(t *testing.T) {
	for _, test := range []struct {
		name      string
		no, count uint64
		want      string
	}{
		{"d/x-00001-of-00003.gguf", 2, 3, "d/x-00003-of-00003.gguf"},
		{"x-00002-of-00003.gguf", 0, 3, "x-00001-of-00003.gguf"},
		{"x-00001-of-00003.gguf", 1, 4, ""},
		{"x-00004-of-00003.gguf", 1, 3, ""},
		{"x.gguf", 0, 1, ""},
		{"x-00001-of-00003.gguf", 3, 3, ""},
		{"x-0+001-of-00003.gguf", 0, 3, ""},
	} {
		if got, ok := gguf.PartName(test.name, test.no, test.count); got != test.want ||
			ok != (test.want != "") {
			t.Errorf("part %d of %d of "+
				"%s: %q, want %q", test.no, test.count, test.name, got, test.want)
		}
	}
}
