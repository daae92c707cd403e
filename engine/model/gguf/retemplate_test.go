package gguf_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/model/gguf"
)

func retemplated(t testing.TB, data []byte, name, template string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gguf.Retemplate(&b, open(t, data), name, template); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRetemplate(t *testing.T) {
	for _, order := range []gguf.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, alignment := range []uint32{8, 32, 4096} {
			pairs := append(modelPairs(), pair("general.alignment", gguf.Of(alignment)))
			data := append(create(t, order, pairs, modelTensors()),
				"what follows the last tensor"...)
			f := open(t, data)
			for n := range 70 {
				text := strings.Repeat("é", n)
				for _, name := range []string{"", "tool_use", "new"} {
					out := retemplated(t, data, name, text)
					g := open(t, out)
					info, err := g.Info()
					if err != nil {
						t.Fatal(err)
					}
					if got, _ := info.Template(name); got.Text != text {
						t.Errorf("template %q is %q, want %q", name, got.Text, text)
					}
					if !bytes.Equal(out[g.Data:], data[f.Data:]) || g.Data%int64(alignment) != 0 {
						t.Errorf("data at %d differ", g.Data)
					}
					if fmt.Sprint(f.Tensors) != fmt.Sprint(g.Tensors) {
						t.Errorf("tensors %v, want %v", g.Tensors, f.Tensors)
					}
				}
			}
			if again := retemplated(t, retemplated(t, data, "", "another"), "",
				"default {{ messages }}"); !bytes.Equal(again, data) {
				t.Error("there and back again is not the same file")
			}
		}
	}
}

func TestRetemplateAdds(t *testing.T) {
	list := func(data []byte) string {
		p, _ := open(t, data).Find("tokenizer.chat_templates")
		a, ok := p.Value.Array()
		if !ok {
			return "none"
		}
		var names []string
		for v, err := range a.All() {
			if err != nil {
				t.Fatal(err)
			}
			s, _ := v.Text()
			names = append(names, s)
		}
		return strings.Join(names, " ")
	}
	bare := create(t, nil, nil, nil)
	if got := list(retemplated(t, bare, "", "x")); got != "none" {
		t.Errorf("a default template is listed: %s", got)
	}
	one := retemplated(t, bare, "tool_use", "x")
	if got := list(one); got != "tool_use" {
		t.Error(got)
	}
	if got := list(retemplated(t, one, "rag", "x")); got != "tool_use rag" {
		t.Error(got)
	}
	unlisted := create(t, nil, []gguf.Pair{pair("tokenizer.chat_template.a", gguf.Text("x"))}, nil)
	if got := list(retemplated(t, unlisted, "b", "x")); got != "a b" {
		t.Error(got)
	}
	for _, name := range []string{"default", "a.b", "é", "a b"} {
		if err := gguf.Retemplate(&bytes.Buffer{}, open(t, bare), name, "x"); err == nil {
			t.Errorf("template name %q is taken", name)
		}
	}
	wrong := create(t, nil, []gguf.Pair{pair("tokenizer.chat_templates", gguf.Text("x"))}, nil)
	if err := gguf.Retemplate(&bytes.Buffer{}, open(t, wrong), "a", "x"); err == nil {
		t.Error("a list that is a text is replaced")
	}
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// entries lists a folder, hidden files too.
func entries(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestRetemplateFile(t *testing.T) {
	dir := t.TempDir()
	data := model(t)
	in, out := write(t, filepath.Join(dir, "in.gguf"), data), filepath.Join(dir, "out.gguf")
	var last, total int64
	err := gguf.RetemplateFile(context.Background(), in, out, "new",
		gguf.RetemplateOptions{Name: gguf.ToolUse,
			Progress: func(done, of int64) { last, total = done, of }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil || !bytes.Equal(got, retemplated(t, data, gguf.ToolUse, "new")) {
		t.Errorf("the output differs: %v", err)
	}
	if info, _ := os.Stat(out); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if last == 0 || last > total || total != 2*int64(len(data)) {
		t.Errorf("progress ends at %d of %d", last, total)
	}

	err = gguf.RetemplateFile(context.Background(), in, out, "newer", gguf.RetemplateOptions{})
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("the output is replaced: %v", err)
	}
	if err = gguf.RetemplateFile(context.Background(), in, out, "newer",
		gguf.RetemplateOptions{Force: true}); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(out); !bytes.Equal(got, retemplated(t, data, "", "newer")) {
		t.Error("the output is not replaced")
	}
	if got := entries(t, dir); got != "in.gguf out.gguf" {
		t.Errorf("left over: %s", got)
	}
}

func TestRetemplateFileRefusesInput(t *testing.T) {
	dir := t.TempDir()
	data := model(t)
	in := write(t, filepath.Join(dir, "in.gguf"), data)
	outs := []string{in, filepath.Join(dir, ".", "in.gguf")}
	for name, link := range map[string]func(old, new string) error{"soft.gguf": os.Symlink,
		"hard.gguf": os.Link} {
		if out := filepath.Join(dir, name); link(in, out) == nil {
			outs = append(outs, out)
		}
	}
	for _, out := range outs {
		if err := gguf.RetemplateFile(context.Background(), in, out, "new",
			gguf.RetemplateOptions{Force: true}); err == nil ||
			!strings.Contains(err.Error(), "is the input") {
			t.Errorf("%s: %v", out, err)
		}
	}
	for out, want := range map[string]string{dir: "not a regular file",
		filepath.Join(dir, "no", "out.gguf"): "no such"} {
		if err := gguf.RetemplateFile(context.Background(), in, out, "new",
			gguf.RetemplateOptions{Force: true}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", out, err)
		}
	}
	for _, in := range []string{dir, filepath.Join(dir, "no.gguf"),
		write(t, filepath.Join(dir, "bad.gguf"), data[:100])} {
		if err := gguf.RetemplateFile(context.Background(), in, filepath.Join(dir, "out.gguf"),
			"new", gguf.RetemplateOptions{}); err == nil {
			t.Errorf("%s is copied", in)
		}
	}
	if got, _ := os.ReadFile(in); !bytes.Equal(got, data) {
		t.Error("the input has changed")
	}
	if _, err := os.Stat(filepath.Join(dir, "out.gguf")); err == nil {
		t.Error("there is an output")
	}
}

// parts writes a model in three parts and returns the path of the first.
func parts(t *testing.T, dir string) string {
	for no := range 3 {
		pairs := []gguf.Pair{pair("split.no", gguf.Of(uint16(no))),
			pair("split.count", gguf.Of(uint16(3))), pair("split.tensors.count", gguf.Of(int32(3)))}
		if no == 0 {
			pairs = append(pairs, modelPairs()...)
		}
		write(t, filepath.Join(dir, fmt.Sprintf("m-%05d-of-00003.gguf", no+1)),
			create(t, nil, pairs,
				[]gguf.Content{content(fmt.Sprint("t", no), gguf.F32, make([]byte, 400), 100)}))
	}
	return filepath.Join(dir, "m-00001-of-00003.gguf")
}

func TestRetemplateSplit(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	in := parts(t, dir)
	out := filepath.Join(to, "n-00001-of-00003.gguf")
	if err := gguf.RetemplateFile(context.Background(), in, out, "new",
		gguf.RetemplateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := entries(t, to), "n-00001-of-00003.gguf n-00002-of-00003.gguf n-00003-of-00003.gguf"; got != want {
		t.Fatalf("wrote %s, want %s", got, want)
	}
	for no := range 3 {
		tail := fmt.Sprintf("-%05d-of-00003.gguf", no+1)
		was, _ := os.ReadFile(filepath.Join(dir, "m"+tail))
		if no == 0 {
			was = retemplated(t, was, "", "new")
		}
		if is, _ := os.ReadFile(filepath.Join(to, "n"+tail)); !bytes.Equal(is, was) {
			t.Errorf("part %d differs", no+1)
		}
	}

	refused := []struct{ in, out, want string }{
		{filepath.Join(dir, "m-00002-of-00003.gguf"), filepath.Join(to, "x.gguf"), "is part 2 of 3, and the templates are in the first"},
		{in, filepath.Join(to, "x.gguf"), "the output's name must end in -00001-of-00003.gguf"},
		{in, filepath.Join(to, "x-00002-of-00003.gguf"), "the output's name must end in -00001-of-00003.gguf"},
		{in, filepath.Join(dir, "m-00002-of-00003.gguf"), "must end in"},
		{in, out, "file already exists"},
	}
	for _, r := range refused {
		if err := gguf.RetemplateFile(context.Background(), r.in, r.out, "new",
			gguf.RetemplateOptions{}); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s to %s: %v", r.in, r.out, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "m-00003-of-00003.gguf")); err != nil {
		t.Fatal(err)
	}
	if err := gguf.RetemplateFile(context.Background(), in,
		filepath.Join(to, "x-00001-of-00003.gguf"), "new",
		gguf.RetemplateOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if got := entries(t, to); strings.Contains(got, "x") {
		t.Errorf("half a model is left: %s", got)
	}
}

// examine uses a file as users do; it fails where Open accepts a file that cannot be used.
func examine(t *testing.T, data []byte) {
	f, err := gguf.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		var e *gguf.Error
		if !errors.As(err, &e) || e.Off < 0 || e.Off > int64(len(data)) {
			t.Fatalf("not a position within %d bytes: %v", len(data), err)
		}
		return
	}
	_ = f.String()
	if _, err := f.Info(); err != nil {
		return
	}
	for _, p := range f.Pairs {
		a, ok := p.Value.Array()
		if !ok {
			continue
		}
		items := uint64(0)
		for v, err := range a.All() {
			if err != nil {
				break // a boolean that is neither 0 nor 1
			}
			if items++; v.Type() != a.Type {
				t.Fatalf("%s: an item of type %s in an array of %s", p.Key, v.Type(), a.Type)
			}
		}
		if items == a.Len && items > 0 {
			if _, err := a.At(items - 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"", "tool_use"} {
		out := retemplated(t, data, name, "{{ x }}")
		g := open(t, out)
		info, err := g.Info()
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := info.Template(name); got.Text != "{{ x }}" {
			t.Fatalf("template %q is %q", name, got.Text)
		}
		if !bytes.Equal(data[f.Data:], out[g.Data:]) {
			t.Fatal("the data differ")
		}
	}
}

// TestMutated changes bytes of good files.
func TestMutated(t *testing.T) {
	const seed = 20
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	small := modelPairs()
	small[5] = pair("tokenizer.ggml.tokens", gguf.Texts(vocabulary(9)...))
	for _, order := range []gguf.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data := create(t, order, small, modelTensors())
		for range 5_000 {
			bad := bytes.Clone(data)
			for range 1 + random.IntN(3) {
				i := random.IntN(len(bad))
				switch random.IntN(3) {
				case 0:
					bad[i] = byte(random.Uint32())
				case 1:
					bad[i] ^= 1 << random.IntN(8)
				case 2:
					for j := i; j < min(i+8, len(bad)); j++ {
						bad[j] = 0xff
					}
				}
			}
			examine(t, bad)
		}
	}
}

func FuzzOpen(f *testing.F) {
	small := modelPairs()
	small[5] = pair("tokenizer.ggml.tokens", gguf.Texts(vocabulary(9)...))
	f.Add(create(f, binary.LittleEndian, small, modelTensors()))
	f.Add(create(f, binary.BigEndian, small, modelTensors()))
	for _, h := range hostile {
		if len(h.file.b) < 4096 {
			f.Add(h.file.b)
		}
	}
	f.Fuzz(examine)
}
