// Package modeldir finds the chat templates that a model comes with, and reports which of them each
// inference engine takes.
//
// # Terminology
//
// A model folder is a directory, or a repository of files, as the Hugging Face Hub has them. It may
// hold chat templates in several places at once:
//
//	chat_template.jinja                  the default template
//	additional_chat_templates/NAME.jinja a named one
//	chat_template.json                   those of a processor, as older multimodal models have them: {"chat_template": ...}
//	processor_config.json                the same, as some of them have it
//	tokenizer_config.json                a text, a list of {"name", "template"}, or an object of name and template
//	*.gguf                               tokenizer.chat_template, and tokenizer.chat_template.NAME
//
// A loader is a program that takes one of them. The default template is the one named "default";
// "tool_use" is the name of the one for requests with tools.
//
// # Model
//
// [Read] reads a folder through an [fs.FS], so that a directory, a repository after HTTP and a
// test's map of files are the same; [ReadGGUF] reads one model file. Nothing is compiled here.
// [Folder.Picks] answers which template each loader takes, by the rules that the loaders document,
// with the reason in words. An error in a file is a [Problem], and the other files are read all the
// same.
//
// # Specifications followed
//
// Of transformers, "Storing and loading chat templates" (docs/source/en/chat_templating_writing.md
// in its repository), compared with version 5.23.0 on folders of every kind. The two differ in one
// respect: a chat_template.jinja, or any file of additional_chat_templates, replaces all that
// tokenizer_config.json has, its named templates too. Of vLLM, the order that its API reference
// gives for vllm.renderers.hf.resolve_chat_template. Of llama.cpp,
// https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md on the two templates
// of a model, and the choices of gguf-py's SpecialVocab of version 0.5.0, which its converter uses,
// on folders of every kind.
//
// # Limits
//
// Files are untrusted. A Jinja file has at most 4 MiB and a JSON file 32 MiB (vocabularies of added
// tokens are in there); there are at most 256 named templates and 1,024 model files in a folder.
// Nothing but regular files is opened, by way of links too.
//
// # Errors
//
// Read fails where the folder cannot be listed. A [Problem] wraps a positioned [source.Error] where
// a text is at fault, a [gguf.Error] where a model file is, or the error of the file system.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package modeldir

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// The files.
const (
	JinjaFile         = "chat_template.jinja"
	AdditionalDir     = "additional_chat_templates"
	ProcessorTemplate = "chat_template.json"
	ProcessorConfig   = "processor_config.json"
	TokenizerConfig   = "tokenizer_config.json"
	TokensMap         = "special_tokens_map.json"
	// PreprocessorConfig shows that the model has a processor; it holds no template.
	PreprocessorConfig = "preprocessor_config.json"
)

const jinjaSuffix = ".jinja"

// Default is the name of the template that is used where nothing asks for another one.
const Default = "default"

// The limits; see the package's comment.
const (
	maxJinja = 4 << 20
	maxJSON  = 32 << 20
	maxNamed = 256
	maxGGUF  = 1024
)

// Template is a chat template with the place that it comes from.
type Template struct {
	// ID is the place in words: a file's path in the folder, with slashes, and after "#" the key or
	// the name where the file holds more than the template; fit for a terminal.
	ID       string
	File     string
	Name     string // "default", "tool_use", ...
	Text     string
	BOS, EOS string // texts of the special tokens that go with it
}

// Tokens are the special tokens that a file gives; "" where it gives none.
type Tokens struct{ File, BOS, EOS string }

// Problem is a fault of a file that holds templates, or should.
type Problem struct {
	File string
	Err  error
}

// Error returns the file and the fault, with its place in the file where it has one.
func (p Problem) Error() string {
	var at *source.Error
	if errors.As(p.Err, &at) {
		return p.Err.Error() // it names the file
	}
	return source.Printable(p.File) + ": " + p.Err.Error()
}

// Unwrap returns the cause.
func (p Problem) Unwrap() error { return p.Err }

// Folder holds the files that a model comes with.
type Folder struct {
	// Templates are in the order in which the package's comment lists the places.
	Templates []Template
	Tokens    []Tokens // the tokenizer's first, then the model files'
	Problems  []Problem
	// Processor reports whether the model has a processor beside its tokenizer, as multimodal ones
	// do.
	Processor bool
	// the model files that were read and have a vocabulary; of a split model the first part
	Models []string
	Unread []string // those that [Options] left out
	// ResponseTemplate is transformers' object for reading answers, of tokenizer_config.json; null
	// where there is none.
	ResponseTemplate ordered.Value

	config     string                  // the name of tokenizer_config.json
	configured bool                    // there is one
	kinds      map[string]ordered.Kind // of the key "chat_template" in the JSON files that have it
}

func newFolder() *Folder {
	return &Folder{config: TokenizerConfig, kinds: map[string]ordered.Kind{}}
}

// Find returns the index of a template by its ID, -1 where there is none.
func (f *Folder) Find(id string) int {
	return slices.IndexFunc(f.Templates, func(t Template) bool { return t.ID == id })
}

// Options decide which files are read. The zero value is usable.
type Options struct {
	// Models reports which of a folder's model files to read; nil: all of them. Over a network each
	// costs the length of its header.
	Models func(files []string) []string
}

// Read reads a folder.
func Read(fsys fs.FS, o Options) (*Folder, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	r := &reader{fsys: fsys, Folder: newFolder()}
	names := lists.Map(entries, fs.DirEntry.Name)
	slices.Sort(names)
	r.jinja(names)
	r.processor(names)
	r.tokenizer(names)
	r.models(modelFiles(names), o)
	r.tokens()
	return r.Folder, nil
}

// Sources returns those of a folder's files, by their paths in it, that may hold templates, in the
// order of [Folder.Templates].
func Sources(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	var files []string
	add := func(name string) {
		if slices.Contains(names, name) {
			files = append(files, name)
		}
	}
	add(JinjaFile)
	var top []string
	for _, name := range names {
		dir, base := path.Split(name)
		switch {
		case dir == "":
			top = append(top, name)
		case dir == AdditionalDir+"/" && strings.HasSuffix(base, jinjaSuffix):
			files = append(files, name)
		}
	}
	add(ProcessorTemplate)
	add(ProcessorConfig)
	add(TokenizerConfig)
	return append(files, modelFiles(top)...)
}

// MaxSize returns how many bytes a file of [Sources] may have; 0: it is a model file, and only its
// header is read.
func MaxSize(name string) int64 {
	switch strings.ToLower(path.Ext(name)) {
	case jinjaSuffix:
		return maxJinja
	case ".json":
		return maxJSON
	}
	return 0
}

// ReadText reads one file of [Sources] that is no model file.
func ReadText(file, text string) (*Folder, error) {
	if !strings.HasSuffix(file, jinjaSuffix) {
		return ReadConfig(file, text)
	}
	r := &reader{Folder: newFolder()}
	name := Default
	if file != JinjaFile {
		name = strings.TrimSuffix(path.Base(file), jinjaSuffix)
	}
	if r.add(file, file, name, text); len(r.Problems) > 0 {
		return nil, r.Problems[0]
	}
	return r.Folder, nil
}

// ReadGGUF reads one model file of a folder, and nothing else that is there.
func ReadGGUF(fsys fs.FS, file string) (*Folder, error) {
	r := &reader{fsys: fsys, Folder: newFolder()}
	if r.model(file); len(r.Problems) > 0 {
		return nil, r.Problems[0]
	}
	r.tokens()
	return r.Folder, nil
}

// ReadConfig reads the templates of one JSON file, whatever its name is, as if it were a
// tokenizer_config.json.
func ReadConfig(file, text string) (*Folder, error) {
	r := &reader{Folder: newFolder()}
	r.Folder.config, r.configured = file, true
	r.configuration(file, text)
	if len(r.Problems) > 0 {
		return nil, r.Problems[0]
	}
	r.tokens()
	return r.Folder, nil
}
