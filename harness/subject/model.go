package subject

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/modeldir"
	"github.com/goassay/assay/engine/source"
)

// Model is a model folder, or a model file, with its templates as sources.
type Model struct {
	*modeldir.Folder
	Path    string   // as a person names it
	Sources []Source // of the folder's templates, in their order
}

// IsModel says that a path is a folder, or has the name of a model file.
func IsModel(name string) bool {
	if strings.EqualFold(filepath.Ext(name), ".gguf") {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
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
		return NewModel(name, name, f), nil
	}
	dir, file := filepath.Split(name)
	f, err := modeldir.ReadGGUF(os.DirFS(filepath.Clean(dir+".")), file)
	if err != nil {
		return nil, located(dir, err)
	}
	return NewModel(name, dir, f), nil
}

// NewModel returns a model of what was read of a folder; dir is put before the names of files.
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

// Limited returns the model with limits on the renders of each template; zero: the defaults.
func (m *Model) Limited(l engine.Limits) *Model {
	limited := *m
	limited.Sources = make([]Source, len(m.Sources))
	for i, src := range m.Sources {
		limited.Sources[i] = src.Limited(l)
	}
	return &limited
}

// openConfig reads a JSON file with templates: a tokenizer_config.json with the files that stand beside it, but for models, or
// another file alone.
func openConfig(name, text string) (*Model, error) {
	dir, file := filepath.Split(name)
	if file == modeldir.TokenizerConfig {
		f, err := modeldir.Read(os.DirFS(filepath.Clean(dir+".")), modeldir.Options{Models: func([]string) []string { return nil }})
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

// taken is the source that transformers takes from the folder for requests with tools, or llama.cpp from the first model file.
func (m *Model) taken() (Source, error) {
	for _, p := range m.Picks() {
		if p.Of != "" && p.Loader != modeldir.LlamaCPP {
			continue
		}
		if p.Tools.Template < 0 {
			if len(m.Problems) > 0 {
				return Source{}, m.Problems[0]
			}
			return Source{}, fmt.Errorf("%s: no chat template for %s: %s", m.Path, p, p.Tools.Why)
		}
		s := m.Sources[p.Tools.Template]
		for i, other := range m.Templates {
			if other.Text != s.Text && !slices.Contains(s.Shadowed, m.Templates[i].ID) {
				s.Shadowed = append(s.Shadowed, other.ID)
			}
		}
		return s, nil
	}
	return Source{}, fmt.Errorf("%s: no chat template", m.Path)
}
