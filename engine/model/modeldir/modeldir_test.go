package modeldir_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/source"
)

// folder makes a file system of names and texts.
func folder(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

func read(t *testing.T, fsys fs.FS) *modeldir.Folder {
	t.Helper()
	f, err := modeldir.Read(fsys, modeldir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// model is a model file with one tensor, and keys with texts.
func model(t testing.TB, pairs ...string) string {
	t.Helper()
	list := []gguf.Pair{{Key: "general.architecture", Value: gguf.Text("llama")},
		{Key: "tokenizer.ggml.model", Value: gguf.Text("gpt2")},
		{Key: "tokenizer.ggml.tokens", Value: gguf.Texts("<unk>", "<g>", "</g>")},
		{Key: "tokenizer.ggml.bos_token_id", Value: gguf.Of(uint32(1))}, {Key: "tokenizer.ggml.eos_token_id", Value: gguf.Of(uint32(2))}}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, gguf.Pair{Key: pairs[i], Value: gguf.Text(pairs[i+1])})
	}
	var b bytes.Buffer
	if err := gguf.Create(&b, nil, list, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The files of the cases below; the texts say where they come from.
const (
	jinja   = modeldir.JinjaFile
	tools   = modeldir.AdditionalDir + "/tool_use.jinja"
	rag     = modeldir.AdditionalDir + "/rag.jinja"
	again   = modeldir.AdditionalDir + "/default.jinja"
	legacy  = modeldir.ProcessorTemplate
	proc    = modeldir.ProcessorConfig
	config  = modeldir.TokenizerConfig
	nothing = `{"bos_token": "<s>", "eos_token": "</s>"}`
	text    = `{"chat_template": "cfg"}`
	list    = `{"chat_template": [{"name": "default", "template": "cfg:default"}, {"name": "tool_use", "template": "cfg:tool_use"}]}`
)

// TestPicksObserved compares the choices with observed ones: of transformers 5.23.0 the tokenizer's
// get_chat_template without and with tools and the processor's chat_template, of gguf-py in
// llama.cpp 0.5.0 SpecialVocab.chat_template. "-" is an error, or none.
func TestPicksObserved(t *testing.T) {
	for _, c := range []struct {
		name                                      string
		files                                     []string
		plain, tools, processor, converted, calls string
	}{
		{"none", []string{config, nothing}, "-", "-", "-", "-", "-"},
		{"text", []string{config, text}, "cfg", "cfg", "-", "cfg", "cfg"},
		{"list", []string{config, list}, "cfg:default", "cfg:tool_use", "-", "cfg:default", "cfg:tool_use"},
		{"list without default", []string{config, `{"chat_template": [{"name": "tool_use", "template": "cfg:tool_use"}]}`},
			"-", "cfg:tool_use", "-", "cfg:tool_use", "cfg:tool_use"},
		{"list of others", []string{config, `{"chat_template": [{"name": "rag", "template": "cfg:rag"}]}`}, "-", "-", "-", "-", "-"},
		{"list of one", []string{config, `{"chat_template": [{"name": "default", "template": "cfg:default"}]}`},
			"cfg:default", "cfg:default", "-", "cfg:default", "cfg:default"},
		{"object", []string{config, `{"chat_template": {"default": "cfg:default", "tool_use": "cfg:tool_use"}}`},
			"cfg:default", "cfg:tool_use", "-", "-", "-"},
		{"name twice", []string{config, `{"chat_template": [{"name": "default", "template": "a"}, {"name": "default", "template": "b"}]}`},
			"b", "b", "-", "b", "b"},
		{"file", []string{config, nothing, jinja, "jinja"}, "jinja", "jinja", "jinja", "jinja", "jinja"},
		{"file alone", []string{jinja, "jinja"}, "jinja", "jinja", "jinja", "-", "-"},
		{"text and file", []string{config, text, jinja, "jinja"}, "jinja", "jinja", "jinja", "cfg", "cfg"},
		{"list and file", []string{config, list, jinja, "jinja"}, "jinja", "jinja", "jinja", "cfg:default", "cfg:tool_use"},
		{"null and file", []string{config, `{"chat_template": null}`, jinja, "jinja"}, "jinja", "jinja", "jinja", "-", "-"},
		{"empty and file", []string{config, `{"chat_template": ""}`, jinja, "jinja"}, "jinja", "jinja", "jinja", "", ""},
		{"number and file", []string{config, `{"chat_template": 7}`, jinja, "jinja"}, "jinja", "jinja", "jinja", "-", "-"},
		{"file and named", []string{config, nothing, jinja, "jinja", tools, "add:tool_use", rag,
			"add:rag"},
			"jinja", "add:tool_use", "jinja", "jinja", "add:tool_use"},
		{"text, file and named", []string{config, text, jinja, "jinja", tools, "add:tool_use"}, "jinja", "add:tool_use", "jinja", "cfg", "cfg"},
		{"text and named", []string{config, text, tools, "add:tool_use"}, "-", "add:tool_use", "-", "cfg", "cfg"},
		{"list and named", []string{config, list, rag, "add:rag"}, "-", "-", "-", "cfg:default", "cfg:tool_use"},
		{"named", []string{config, nothing, tools, "add:tool_use"}, "-", "add:tool_use", "-", "-", "-"},
		{"file and default", []string{config, text, jinja, "jinja", again, "add:default"}, "add:default", "add:default", "jinja", "cfg", "cfg"},
		{"legacy", []string{config, nothing, legacy, `{"chat_template": "json"}`}, "-", "-", "json", "json", "json"},
		{"text and legacy", []string{config, text, legacy, `{"chat_template": "json"}`}, "cfg", "cfg", "json", "cfg", "cfg"},
		{"file and legacy", []string{config, nothing, jinja, "jinja", legacy, `{"chat_template": "json"}`}, "jinja", "jinja", "json", "jinja", "jinja"},
		{"legacy and named", []string{config, nothing, legacy, `{"chat_template": "json"}`, tools, "add:tool_use"}, "-", "add:tool_use", "-", "json", "json"},
		{"legacy object", []string{config, nothing, legacy, `{"chat_template": {"default": "json:default"}}`}, "-", "-", "json:default", "-", "-"},
		{"processor", []string{config, nothing, proc, `{"chat_template": "proc"}`}, "-", "-", "proc", "-", "-"},
		{"processor and text", []string{config, text, proc, `{"chat_template": "proc"}`}, "cfg", "cfg", "proc", "cfg", "cfg"},
		{"processor and file", []string{config, text, proc, `{"chat_template": "proc"}`, jinja, "jinja"}, "jinja", "jinja", "proc", "cfg", "cfg"},
		{"processor and legacy", []string{config, text, proc, `{"chat_template": "proc"}`, legacy, `{"chat_template": "json"}`},
			"cfg", "cfg", "proc", "cfg", "cfg"},
	} {
		fsys := folder(c.files...)
		if _, ok := fsys[proc]; !ok {
			fsys[proc] = &fstest.MapFile{Data: []byte("{}")} // so that there is a processor to ask
		}
		f := read(t, fsys)
		got := map[string][2]string{}
		for _, p := range f.Picks() {
			got[p.String()] = [2]string{shown(f, p.Plain), shown(f, p.Tools)}
		}
		vllm := [2]string{c.processor, c.tools}
		if c.processor == "-" {
			vllm[0] = c.plain
		}
		want := map[string][2]string{"transformers": {c.plain, c.tools},
			"transformers processor": {c.processor, c.processor}, "vLLM": vllm,
			"llama.cpp (after conversion)": {c.converted, c.calls}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n got %v\nwant %v", c.name, got, want)
		}
	}
}

func shown(f *modeldir.Folder, c modeldir.Choice) string {
	if c.Template < 0 {
		return "-"
	}
	return f.Templates[c.Template].Text
}

// summary has the templates, a line each, and the choices.
func summary(f *modeldir.Folder) string {
	var b strings.Builder
	for _, t := range f.Templates {
		fmt.Fprintf(&b, "%s %s %q %q %q\n", t.ID, t.Name, t.Text, t.BOS, t.EOS)
	}
	for _, p := range f.Picks() {
		fmt.Fprintf(&b, "%s: %s, %s\n", p, shown(f, p.Plain), shown(f, p.Tools))
	}
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "problem: %v\n", p)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestRead(t *testing.T) {
	const key, variant = "tokenizer.chat_template", "tokenizer.chat_template.tool_use"
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"nothing", nil, `
transformers: -, -
vLLM: -, -
llama.cpp (after conversion): -, -`},
		{"a model file alone", []string{"m.gguf", model(t, key, "g", variant, "v")}, `
m.gguf#default default "g" "<g>" "</g>"
m.gguf#tool_use tool_use "v" "<g>" "</g>"
transformers (m.gguf): g, g
vLLM (m.gguf): g, g
llama.cpp (m.gguf): g, v`},
		{"a variant alone", []string{"m.gguf", model(t, variant, "v")}, `
m.gguf#tool_use tool_use "v" "<g>" "</g>"
transformers (m.gguf): -, -
vLLM (m.gguf): -, -
llama.cpp (m.gguf): v, v`},
		{"a model file without template", []string{"m.gguf", model(t)}, `
transformers (m.gguf): -, -
vLLM (m.gguf): -, -
llama.cpp (m.gguf): -, -`},
		{"files and model files",
			[]string{config, nothing, jinja, "j", "b.GGUF", model(t, key, "b"), "a.gguf",
				model(t, key, "a")}, `
chat_template.jinja default "j" "<s>" "</s>"
a.gguf#default default "a" "<g>" "</g>"
b.GGUF#default default "b" "<g>" "</g>"
transformers: j, j
vLLM: j, j
llama.cpp (a.gguf): a, a
llama.cpp (b.GGUF): b, b
llama.cpp (after conversion): j, j`},
		{"tokens of the model file where no other says any", []string{jinja, "j", "a.gguf", model(t, key, "a")}, `
chat_template.jinja default "j" "<g>" "</g>"
a.gguf#default default "a" "<g>" "</g>"
transformers: j, j
vLLM: j, j
llama.cpp (a.gguf): a, a`},
		{"tokens as objects", []string{config, `{"bos_token": {"content": "<b>", "lstrip": false}, "eos_token": null, "chat_template": "c"}`}, `
tokenizer_config.json#chat_template default "c" "<b>" ""
transformers: c, c
vLLM: c, c
llama.cpp (after conversion): c, c`},
		// Observed: the map goes before a configuration without added_tokens_decoder, and is not
		// looked at beside one with it.
		{"tokens of the map", []string{config, `{"bos_token": "<s>", "eos_token": "</s>", "chat_template": "c"}`, modeldir.TokensMap, `{"bos_token": "<m>"}`}, `
tokenizer_config.json#chat_template default "c" "<m>" "</s>"
transformers: c, c
vLLM: c, c
llama.cpp (after conversion): c, c`},
		{"tokens beside the map", []string{config, `{"bos_token": "<s>", "added_tokens_decoder": {}, "chat_template": "c"}`, modeldir.TokensMap, `{"bos_token": "<m>"}`}, `
tokenizer_config.json#chat_template default "c" "<s>" ""
transformers: c, c
vLLM: c, c
llama.cpp (after conversion): c, c`},
		{"a processor", []string{config, `{"processor_class": "P", "chat_template": "c"}`}, `
tokenizer_config.json#chat_template default "c" "" ""
transformers: c, c
transformers processor: -, -
vLLM: c, c
llama.cpp (after conversion): c, c`},
		{"other files", []string{"README.md", "x", "model.safetensors", "x",
			modeldir.AdditionalDir + "/notes.txt", "x"}, `
transformers: -, -
vLLM: -, -
llama.cpp (after conversion): -, -`},
	} {
		if got, want := summary(read(t, folder(c.files...))), strings.TrimPrefix(c.want,
			"\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// TestParts: of a split model the first part is read, and a projector without vocabulary is none.
func TestParts(t *testing.T) {
	var projector bytes.Buffer
	if err := gguf.Create(&projector, nil,
		[]gguf.Pair{{Key: "general.architecture", Value: gguf.Text("clip")}}, nil); err != nil {
		t.Fatal(err)
	}
	f := read(t, folder("m-00001-of-00002.gguf", model(t), "m-00002-of-00002.gguf", "not read",
		"mmproj.gguf", projector.String()))
	if fmt.Sprint(f.Models) != "[m-00001-of-00002.gguf]" || f.Problems != nil {
		t.Errorf("%q, %v", f.Models, f.Problems)
	}
	f, err := modeldir.Read(folder("a.gguf", "not read", "b.gguf", model(t)),
		modeldir.Options{Models: func(files []string) []string { return files[1:] }})
	if err != nil || fmt.Sprint(f.Models, f.Unread) != "[b.gguf] [a.gguf]" || f.Problems != nil {
		t.Errorf("%q, %q, %v, %v", f.Models, f.Unread, f.Problems, err)
	}
}

// TestProblems reads folders with errors: each error has its place, and the rest is read all the
// same.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, file, text, want string
		templates              int // beside chat_template.jinja
	}{
		{"cut off", config, "{\n  \"chat_template\": \"x", `tokenizer_config.json:2:22: `, 0},
		{"not JSON", legacy, "{bad}", "chat_template.json:1:2: ", 0},
		{"no object", config, "[]", "tokenizer_config.json:1:1: expected an object, found array", 0},
		{"empty file", config, "", "tokenizer_config.json:1:1: ", 0},
		{"number", config, "{\n  \"chat_template\": 7}", `tokenizer_config.json:2:20: "chat_template": expected a text or a list, found number`, 0},
		{"item", config, `{"chat_template": ["x", {"name": "default", "template": "y"}]}`,
			`tokenizer_config.json:1:20: an item of the list of templates: expected an object with "name" and "template", found string`, 1},
		{"no name", config, `{"chat_template": [{"name": "a", "template": "b"},` + "\n" + ` {"template": "y"}]}`,
			`tokenizer_config.json:2:2: "name" of an item of the list of templates: expected a text that is not empty, found null`, 1},
		{"name a number", config, `{"chat_template": [{"template": "y", "name" : 5}]}`,
			`tokenizer_config.json:1:47: "name" of an item of the list of templates: expected a text that is not empty, found number`, 0},
		{"no template", config, `{"x": [1, {"chat_template": 3}], "chat_template": [{"name": "rag"}]}`,
			`tokenizer_config.json:1:52: "template" of the one named "rag": expected a text, found null`, 0},
		{"name twice", config, `{"chat_template": [{"name": "a", "template": "x"}, {"name": "a", "template": "y"}]}`,
			`tokenizer_config.json:1:61: there are two templates named "a"; transformers takes the last, others may take the first`, 2},
		{"object with a list", config, `{"chat_template": {"default": "x", "tool_use": ["y"]}}`,
			`tokenizer_config.json:1:48: the template of a name: expected a text, found array`, 1},
		{"no model file", "m.gguf", "GGML", `m.gguf: byte 0: expected "GGUF", found "GGML": this is not a GGUF file`, 0},
		{"cut off model file", "m.gguf", model(t)[:60], `m.gguf: byte `, 0},
	} {
		f := read(t, folder(jinja, "j", c.file, c.text))
		if len(f.Problems) != 1 || !strings.HasPrefix(f.Problems[0].Error(), c.want) ||
			len(f.Templates) != c.templates+1 {
			t.Errorf("%s: %d templates, %v\nwant %d, %s", c.name, len(f.Templates), f.Problems,
				c.templates+1, c.want)
		}
		if len(f.Problems) == 1 && f.Problems[0].File != c.file {
			t.Errorf("%s: problem of %s", c.name, f.Problems[0].File)
		}
	}
	f := read(t, folder(config, `{"chat_template": ["x"]}`))
	var at *source.Error
	if len(f.Problems) != 1 || !errors.As(f.Problems[0], &at) || at.Off != 19 {
		t.Errorf("%v", f.Problems)
	}
}

func TestLimits(t *testing.T) {
	f := read(t, folder(jinja, strings.Repeat("x", 4<<20+1), config, `{"chat_template": "`+strings.Repeat("y", 5<<20)+`"}`,
		legacy, `{"x": "`+strings.Repeat("y", 32<<20)+`"}`, "m.gguf", model(t, "tokenizer.chat_template", strings.Repeat("z", 4<<20+1))))
	if got, want := summary(f), `
transformers: -, -
transformers processor: -, -
vLLM: -, -
llama.cpp (m.gguf): -, -
llama.cpp (after conversion): -, -
problem: chat_template.jinja: is larger than 4 MiB, which no such file is
problem: chat_template.json: is larger than 32 MiB, which no such file is
problem: tokenizer_config.json: the template default has 5242880 bytes, expected at most 4 MiB
problem: m.gguf: the template default has 4194305 bytes, expected at most 4 MiB`; "\n"+got != want {
		t.Errorf("%s", got)
	}
	var named strings.Builder
	for i := range 300 {
		fmt.Fprintf(&named, `, {"name": "n%d", "template": "x"}`, i)
	}
	f = read(t, folder(config, `{"chat_template": [{"name": "default", "template": "d"}`+named.String()+"]}"))
	if len(f.Templates) != 256 || len(f.Problems) != 1 ||
		!strings.Contains(f.Problems[0].Error(), "more than 256 templates") {
		t.Errorf("%d templates, %d problems", len(f.Templates), len(f.Problems))
	}
}

// TestLinks: a cache of the Hub is made of links, and links may go in circles; pipes are not waited
// for.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	blob := filepath.Join(dir, "blob")
	if err := os.WriteFile(blob, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "snapshot")
	if err := os.Mkdir(at, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{config: "../blob", jinja: jinja, "m.gguf": "n.gguf",
		"n.gguf": "m.gguf", legacy: "gone", modeldir.AdditionalDir: "."} {
		if err := os.Symlink(to, filepath.Join(at, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	f := read(t, os.DirFS(at))
	got := summary(f)
	for _, want := range []string{"tokenizer_config.json#chat_template default \"cfg\"", "problem: chat_template.jinja: cannot be read: too many levels of symbolic links",
		"problem: m.gguf: cannot " +
			"be read: too many", "problem: n.gguf: cannot " +
			"be read: too many", "problem: chat_template.json: cannot be read: no such file"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if err := os.Mkdir(filepath.Join(at, "x.gguf"), 0o777); err != nil {
		t.Fatal(err)
	}
	if f = read(t, os.DirFS(at)); !strings.Contains(summary(f), "problem: x.gguf: cannot be "+
		"read: it is not a regular file") {
		t.Errorf("%v", f.Problems)
	}
}

// unreadable is a file system one of whose files cannot be opened.
type unreadable struct{ fstest.MapFS }

func (u unreadable) Open(name string) (fs.File, error) {
	if name == jinja {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.MapFS.Open(name)
}

func TestUnreadable(t *testing.T) {
	f := read(t, unreadable{folder(jinja, "j", config, text)})
	if len(f.Templates) != 1 || len(f.Problems) != 1 || f.Problems[0].Error() != "chat_template.jinja: cannot be read: permission denied" ||
		!errors.Is(f.Problems[0], fs.ErrPermission) {
		t.Errorf("%v, %v", f.Templates, f.Problems)
	}
	if _, err := modeldir.Read(os.DirFS(filepath.Join(t.TempDir(), "none")),
		modeldir.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestReadGGUF(t *testing.T) {
	fsys := folder(jinja, "j", "m.gguf", model(t, "tokenizer.chat_template", "g"))
	f, err := modeldir.ReadGGUF(fsys, "m.gguf")
	if err != nil || summary(f) != "m.gguf#default default \"g\" \"<g>\" \"</g>\"\ntransformers (m.gguf): g, g\nvLLM (m.gguf): g, g\nllama.cpp (m.gguf): g, g" {
		t.Errorf("%v\n%s", err, summary(f))
	}
	if _, err := modeldir.ReadGGUF(fsys, jinja); err == nil ||
		!strings.HasPrefix(err.Error(), "chat_template.jinja: byte 0: ") {
		t.Errorf("%v", err)
	}
	if _, err := modeldir.ReadGGUF(fsys, "no.gguf"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("", text)
	f.Add("j", list)
	f.Add("j", `{"chat_template": [{"name": 1}, {"template": 2}, [], {"name": "a", "template": "b"}]}`)
	f.Add("j", `{"chat_template": {"a": {}}, "bos_token": {"content": 3}, "chat_template": [[1]]}`)
	f.Fuzz(func(t *testing.T, jinjaText, configText string) {
		folder := read(t, folder(jinja, jinjaText, config, configText, legacy, configText))
		for _, p := range folder.Problems {
			var at *source.Error
			if !errors.As(p, &at) || at.Off < 0 || at.Off > len(configText) {
				t.Fatalf("no place: %v", p)
			}
		}
		for _, p := range folder.Picks() {
			for _, c := range []modeldir.Choice{p.Plain, p.Tools} {
				if c.Template >= len(folder.Templates) || c.Template < 0 && c.Why == "" {
					t.Fatalf("%s takes %v of %d templates", p, c, len(folder.Templates))
				}
			}
		}
	})
}
