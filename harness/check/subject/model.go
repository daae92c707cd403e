package subject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/corpus/families"
)

// Model is a model folder, or a model file, with its templates as sources.
type Model struct {
	*modeldir.Folder
	Path    string   // as a person names it
	Sources []Source // of the folder's templates, in their order
	// Ignored are the Jinja files of a folder on the disk that no engine looks for.
	Ignored []string
}

// IsModel reports whether a path is a model folder, or has the name of a model file.
func IsModel(name string) bool {
	if strings.EqualFold(filepath.Ext(name), ".gguf") {
		return true
	}
	if _, own := ownTemplate(name); own {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// ownTemplate is the template of a family's folder, where a path is one: a folder as a corpus has
// them, and no model's.
func ownTemplate(dir string) (string, bool) {
	own := filepath.Join(dir, families.OwnTemplate)
	return own, exists(own) && !exists(filepath.Join(dir, modeldir.JinjaFile)) &&
		!exists(filepath.Join(dir, modeldir.TokenizerConfig))
}

// OpenModel reads a folder or a model file.
func OpenModel(name string) (*Model, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if info.IsDir() {
		f, err := modeldir.Read(os.DirFS(name), modeldir.Options{})
		if err != nil {
			return nil, err
		}
		m := NewModel(name, name, f)
		m.Ignored, err = ignored(name)
		return m, err
	}
	dir, file := filepath.Split(name)
	f, err := modeldir.ReadGGUF(os.DirFS(filepath.Clean(dir+".")), file)
	if err != nil {
		return nil, located(dir, err)
	}
	return NewModel(name, dir, f), nil
}

// ignored are the Jinja files that stand in a folder itself, except for the one that engines look
// for.
func ignored(dir string) ([]string, error) {
	files, err := fs.Glob(os.DirFS(dir), "*.jinja")
	files = slices.DeleteFunc(files, func(file string) bool { return file == modeldir.JinjaFile })
	for i, file := range files {
		files[i] = filepath.Join(dir, file)
	}
	return files, err
}

// NewModel returns a model of a folder that was read; dir is put before the names of files.
func NewModel(name, dir string, f *modeldir.Folder) *Model {
	m := &Model{Folder: f, Path: name}
	for i, p := range f.Problems {
		f.Problems[i] = located(dir, p)
	}
	for _, t := range f.Templates {
		src := newSource(filepath.Join(dir, t.ID), t.Text, t.BOS, t.EOS)
		src.File = filepath.Join(dir, t.File)
		m.Sources = append(m.Sources, src)
	}
	return m
}

// Limited returns the model with limits on the renders of its templates together; zero: the
// defaults.
func (m *Model) Limited(ctx context.Context, l engine.Limits) *Model {
	return m.With(ctx, engine.Options{Limits: l})
}

// With returns the model with options for its templates together, except for the clock.
func (m *Model) With(ctx context.Context, o engine.Options) *Model {
	with := *m
	with.Sources = With(ctx, m.Sources, o)
	return &with
}

// openConfig reads a JSON file with templates: a tokenizer_config.json with the files that stand
// beside it, except for models, or another file alone.
func openConfig(name, text string) (*Model, error) {
	dir, file := filepath.Split(name)
	if file == modeldir.TokenizerConfig {
		f, err := modeldir.Read(os.DirFS(filepath.Clean(dir+".")),
			modeldir.Options{Models: func([]string) []string { return nil }})
		if err != nil {
			return nil, err
		}
		return NewModel(name, dir, f), nil
	}
	f, err := modeldir.ReadConfig(file, text)
	if err != nil {
		return nil, located(dir, err)
	}
	return NewModel(name, dir, f), nil
}

// OpenConfig opens a tokenizer_config.json as a model, with the files that stand beside it, except
// for model files; or another JSON file alone.
func OpenConfig(name string) (*Model, error) {
	if filepath.Ext(name) != ".json" {
		return nil, fmt.Errorf("%s is no JSON file", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return openConfig(name, string(text))
}

// located puts a folder before the name of the file that a problem is about.
func located(dir string, err error) modeldir.Problem {
	var p modeldir.Problem
	if !errors.As(err, &p) {
		return modeldir.Problem{File: dir, Err: err}
	}
	p.File = filepath.Join(dir, p.File)
	var at *source.Error
	if errors.As(p.Err, &at) {
		p.Err = source.Errorf(source.New(p.File, at.Src.Text), at.Off, "%s", at.Msg)
	}
	return p
}

// Taken is the source that transformers takes from the folder for requests with tools, or llama.cpp
// from the first model file.
func (m *Model) Taken() (Source, error) {
	for _, p := range m.Picks() {
		if p.Of != "" && p.Loader != modeldir.LlamaCPP {
			continue
		}
		if p.Tools.Template < 0 {
			if len(m.Problems) > 0 {
				return Source{}, m.Problems[0]
			}
			return Source{}, fmt.Errorf("%s: no chat "+
				"template for %s: %s%s", m.Path, p, p.Tools.Why, m.Hint())
		}
		s := m.Sources[p.Tools.Template]
		for _, other := range m.Sources {
			if other.Text != s.Text && !slices.Contains(s.Shadowed, other.Name) {
				s.Shadowed = append(s.Shadowed, other.Name)
			}
		}
		return s, nil
	}
	return Source{}, fmt.Errorf("%s: no chat template%s", m.Path, m.Hint())
}

// Hint names the Jinja files that were not looked at, and gives advice for them; "" where there are
// none.
func (m *Model) Hint() string {
	if len(m.Ignored) == 0 {
		return ""
	}
	const most = 5
	names := m.Ignored[:min(most, len(m.Ignored))]
	text := strings.Join(names, ", ")
	if more := len(m.Ignored) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("; no engine looks for %s: name the files themselves (%s), or call the "+
		"model's template %s",
		text, filepath.Join(filepath.Dir(m.Ignored[0]), "*.jinja"), modeldir.JinjaFile)
}

// all are the one that is taken and the other templates of the same file, each text once.
func (m *Model) all() ([]Source, error) {
	taken, err := m.Taken()
	if err != nil {
		return nil, err
	}
	all := []Source{taken}
	for _, src := range m.Sources {
		if src.File == taken.File &&
			!slices.ContainsFunc(all, func(s Source) bool { return s.Text == src.Text }) {
			all = append(all, src)
		}
	}
	return all, nil
}

// named is the source of a name, as sources print it.
func (m *Model) named(name string) (Source, error) {
	var names []string
	for _, src := range m.Sources {
		if src.Name == name {
			return src, nil
		}
		names = append(names, src.Name)
	}
	return Source{}, fmt.Errorf("there is no template %s; there are %q", name, names)
}

// Distinct are the templates of a model, each once where several are equal.
func (m *Model) Distinct() []Source {
	var all []Source
	for _, src := range m.Sources {
		if !slices.ContainsFunc(all, func(s Source) bool { return s.Same(src) }) {
			all = append(all, src)
		}
	}
	return all
}

// Counterpart returns the template whose place a template of a later version of the model takes:
// the one at its place, else, where a template has moved, the first one of its name; nil where
// there is none, or no earlier version.
func (m *Model) Counterpart(later *Model, src Source) *Source {
	if m == nil {
		return nil
	}
	place := func(of *Model) int {
		return slices.IndexFunc(of.Sources, func(s Source) bool { return s.Name == src.Name })
	}
	at := place(m)
	if at < 0 {
		name := later.Templates[place(later)].Name
		at = slices.IndexFunc(m.Templates,
			func(t modeldir.Template) bool { return t.Name == name })
	}
	if at < 0 {
		return nil
	}
	return &m.Sources[at]
}
