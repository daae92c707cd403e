package modeldir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// reader reads a model's folder into a Folder.
type reader struct {
	*Folder
	fsys fs.FS
	full bool // the problem of too many templates is reported
}

func (r *reader) problem(file string, err error) {
	// A path error repeats the file's name.
	var at *fs.PathError
	if errors.As(err, &at) {
		err = fmt.Errorf("cannot be read: %w", at.Err)
	}
	r.Problems = append(r.Problems, Problem{file, err})
}

// open opens a regular file, or a link to one. Other files are not opened at all: opening a pipe
// waits for its other end.
func (r *reader) open(file string) (fs.File, int64, error) {
	info, err := fs.Stat(r.fsys, file)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("cannot be read: it is not a regular file")
	}
	f, err := r.fsys.Open(file)
	return f, info.Size(), err
}

// text reads a file of at most limit bytes. If it cannot, it records a problem and returns false.
func (r *reader) text(file string, limit int64) (string, bool) {
	f, _, err := r.open(file)
	if err != nil {
		r.problem(file, err)
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("is larger than %d MiB, which no such file is", limit>>20)
	}
	if err != nil {
		r.problem(file, err)
		return "", false
	}
	return string(text), true
}

func (r *reader) add(id, file, name, text string) {
	if len(text) > maxJinja {
		r.problem(file, fmt.Errorf("the template %s has %d bytes, "+
			"expected at most %d MiB", source.Printable(name), len(text), maxJinja>>20))
		return
	}
	if len(r.Templates) == maxNamed && !r.full {
		r.full = true
		r.problem(file, fmt.Errorf("there are more than %d templates; the "+
			"others are left out", maxNamed))
	}
	if len(r.Templates) < maxNamed {
		for n := 2; r.Find(source.Printable(id)) >= 0; n++ {
			id = fmt.Sprintf("%s#%s (%d)", file, name, n)
		}
		r.Templates = append(r.Templates,
			Template{ID: source.Printable(id), File: file, Name: name, Text: text})
	}
}

// jinja reads the files that are templates.
func (r *reader) jinja(names []string) {
	if slices.Contains(names, JinjaFile) {
		if text, ok := r.text(JinjaFile, maxJinja); ok {
			r.add(JinjaFile, JinjaFile, Default, text)
		}
	}
	if !slices.Contains(names, AdditionalDir) {
		return
	}
	entries, err := fs.ReadDir(r.fsys, AdditionalDir)
	if err != nil {
		r.problem(AdditionalDir, err)
		return
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), jinjaSuffix)
		if !ok {
			continue
		}
		file := path.Join(AdditionalDir, e.Name())
		if text, ok := r.text(file, maxJinja); ok {
			r.add(file, file, name, text)
		}
	}
}

// processor reads a processor's files.
func (r *reader) processor(names []string) {
	for _, file := range []string{ProcessorTemplate, ProcessorConfig} {
		if !slices.Contains(names, file) {
			continue
		}
		r.Processor = true
		if text, ok := r.text(file, maxJSON); ok {
			if v, ok := r.object(file, text); ok {
				r.named(file, text, v)
			}
		}
	}
	r.Processor = r.Processor || slices.Contains(names, PreprocessorConfig)
}

// tokenizer reads the tokenizer's configuration and its map of special tokens.
func (r *reader) tokenizer(names []string) {
	var config ordered.Value
	if slices.Contains(names, TokenizerConfig) {
		r.configured = true
		if text, ok := r.text(TokenizerConfig, maxJSON); ok {
			config = r.configuration(TokenizerConfig, text)
		}
	}
	if !slices.Contains(names, TokensMap) {
		return
	}
	// The map dates from before added_tokens_decoder, and is ignored where that is present.
	if _, newer := config.Get("added_tokens_decoder"); newer {
		return
	}
	text, ok := r.text(TokensMap, maxJSON)
	if !ok {
		return
	}
	v, ok := r.object(TokensMap, text)
	if !ok {
		return
	}
	t := tokensOf(TokensMap, v)
	if len(r.Tokens) > 0 {
		// Tokens that the map does not give are taken from the configuration.
		if before := r.Tokens[0]; t.BOS == "" || t.EOS == "" {
			t.BOS, t.EOS = or(t.BOS, before.BOS), or(t.EOS, before.EOS)
			t.File = before.File + ", " + t.File
		}
		r.Tokens = r.Tokens[1:]
	}
	r.Tokens = append([]Tokens{t}, r.Tokens...)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// configuration reads a tokenizer's configuration.
func (r *reader) configuration(file, text string) ordered.Value {
	v, ok := r.object(file, text)
	if !ok {
		return v
	}
	if _, ok := v.Get("processor_class"); ok {
		r.Processor = true
	}
	r.ResponseTemplate = v.At("response_template")
	r.named(file, text, v)
	r.Tokens = append(r.Tokens, tokensOf(file, v))
	return v
}

func tokensOf(file string, v ordered.Value) Tokens {
	return Tokens{file, tokenText(v.At("bos_token")), tokenText(v.At("eos_token"))}
}

// tokenText reads a special token, a string or an object with the string as its content.
func tokenText(v ordered.Value) string {
	if v.Kind() == ordered.Object {
		return v.At("content").Text()
	}
	return v.Text()
}

// object reads a JSON object.
func (r *reader) object(file, text string) (ordered.Value, bool) {
	src := source.New(file, text)
	v, err := ordered.ParseString(text)
	if at, ok := err.(*source.Error); ok {
		err = source.Errorf(src, at.Off, "%s", at.Msg)
	} else if err == nil && v.Kind() != ordered.Object {
		err = source.Errorf(src, 0, "expected an object, found %s", v.Kind())
	}
	if err != nil {
		r.problem(file, err)
		return ordered.Value{}, false
	}
	return v, true
}

// maxProblems bounds the problems that are reported for one list of templates: finding the place of
// each takes another pass over the file.
const maxProblems = 100

// named reads the value of "chat_template": a string, an object of names and strings, or a list of
// objects with a name and a template.
func (r *reader) named(file, text string, config ordered.Value) {
	v, ok := config.Get("chat_template")
	if ok {
		r.kinds[file] = v.Kind()
	}
	if !ok || v.IsNull() {
		return
	}
	src, problems := source.New(file, text), 0
	problem := func(at []any, format string, args ...any) {
		if problems++; problems <= maxProblems {
			keys := append([]any{"chat_template"}, at...)
			r.problem(file, source.Errorf(src, offset(text, keys...), format, args...))
		}
	}
	defer func() {
		if more := problems - maxProblems; more > 0 {
			r.problem(file, source.Errorf(src, 0, "%d more problems like these are not listed",
				more))
		}
	}()
	wrong := func(found ordered.Value, what, format string, keys ...any) {
		problem(keys, format+": expected "+what+", found %s", found.Kind())
	}
	switch v.Kind() {
	case ordered.String:
		r.add(file+"#chat_template", file, Default, v.Text())
	case ordered.Object:
		for _, m := range v.Members() {
			if m.Value.Kind() != ordered.String {
				wrong(m.Value, "a text", "the template of a name", m.Key)
				continue
			}
			r.add(file+"#"+m.Key, file, m.Key, m.Value.Text())
		}
	case ordered.Array:
		names := map[string]bool{}
		for i, item := range v.Items() {
			name, template := item.At("name"), item.At("template")
			switch {
			case item.Kind() != ordered.Object:
				wrong(item, `an object with "name" and "template"`, "an item of the "+
					"list of templates", i)
			case name.Kind() != ordered.String || name.Text() == "":
				wrong(name, "a text that is not empty", `"name" of an item of the list of templates`, i, "name")
			case template.Kind() != ordered.String:
				wrong(template, "a text", fmt.Sprintf(`"template" of the one named %q`, name.Text()), i, "template")
			default:
				if names[name.Text()] {
					problem([]any{i, "name"},
						"there are two templates named %q; transformers takes "+
							"the last, others may take the first", name.Text())
				}
				names[name.Text()] = true
				r.add(file+"#"+name.Text(), file, name.Text(), template.Text())
			}
		}
	default:
		wrong(v, "a text or a list", `"chat_template"`)
	}
}

// offset returns where in a valid JSON text the value at a path of keys (string) and indices (int)
// begins. If there is none, it returns the start of the value that would hold it. For a key that
// occurs twice it returns the first place.
func offset(text string, keys ...any) int {
	d := json.NewDecoder(strings.NewReader(text))
	at := 0
	for depth := 0; ; depth++ {
		at = int(d.InputOffset())
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t\r\n:,"))
		if depth == len(keys) {
			return at
		}
		if _, err := d.Token(); err != nil || !enter(d, keys[depth]) {
			return at
		}
	}
}

// enter moves a decoder from just after the opening bracket of an array or object to the value of a
// key.
func enter(d *json.Decoder, key any) bool {
	for i := 0; d.More(); i++ {
		found := key == any(i)
		if _, inObject := key.(string); inObject {
			name, err := d.Token()
			if err != nil {
				return false
			}
			found = name == key
		}
		if found {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// modelFiles returns the model files among names, of a split model only the first part.
func modelFiles(names []string) []string {
	return lists.Filter(names, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), ".gguf") && !laterPart(name)
	})
}

// laterPart reports whether a name is that of a part of a split model other than the first.
func laterPart(name string) bool {
	var no, count uint64
	tail := name[max(0, len(name)-len("-00001-of-00001.gguf")):]
	if _, err := fmt.Sscanf(tail, "-%05d-of-%05d.gguf", &no, &count); err != nil {
		return false
	}
	first, ok := gguf.PartName(name, 0, count)
	return ok && first != name
}

// models reads the model files of a folder.
func (r *reader) models(files []string, o Options) {
	wanted := files
	if o.Models != nil {
		wanted = o.Models(files)
	}
	if len(wanted) > maxGGUF {
		r.problem(wanted[maxGGUF], fmt.Errorf("there are more than %d model files; this one and "+
			"those after it are left out", maxGGUF))
		wanted = wanted[:maxGGUF]
	}
	for _, file := range files {
		if !slices.Contains(wanted, file) {
			r.Unread = append(r.Unread, file)
		}
	}
	for _, file := range wanted {
		r.model(file)
	}
}

// model reads a model file. One without vocabulary and templates, such as an image projector, is
// left out, and so is a later part of a split model.
func (r *reader) model(file string) {
	f, size, err := r.open(file)
	if err != nil {
		r.problem(file, err)
		return
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		r.problem(file, errors.New("cannot be read by ranges"))
		return
	}
	var info *gguf.Info
	model, err := gguf.Open(at, size)
	if err == nil {
		info, err = model.Info()
	}
	if err != nil {
		r.problem(file, err)
		return
	}
	if info.Tokenizer == "" && len(info.Templates) == 0 || info.Split.No > 0 {
		return
	}
	r.Models = append(r.Models, file)
	r.Tokens = append(r.Tokens, Tokens{file, info.BOS.Text, info.EOS.Text})
	for _, t := range info.Templates {
		name := or(t.Name, Default)
		r.add(file+"#"+name, file, name, t.Text)
	}
}

// tokens gives each template its special tokens. A template of a model file has those of that file.
// Any other has those of the tokenizer's files or, where these give none, of the first model file
// that does.
func (r *reader) tokens() {
	for i := range r.Templates {
		t := &r.Templates[i]
		if slices.Contains(r.Models, t.File) {
			for _, tokens := range r.Tokens {
				if tokens.File == t.File {
					t.BOS, t.EOS = tokens.BOS, tokens.EOS
				}
			}
			continue
		}
		for _, tokens := range r.Tokens {
			if t.BOS == "" && t.EOS == "" {
				t.BOS, t.EOS = tokens.BOS, tokens.EOS
			}
		}
	}
}
