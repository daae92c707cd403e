// Package tokenizer reads the tokens of a model's tokeniser from its files: the added tokens, as a
// vocabulary, and the bytes of all tokens. It encodes nothing.
//
// # Specifications followed
//
// tokenizer.json, tokenizer_config.json and generation_config.json as package vocab reads them; of
// a GGUF the keys tokenizer.ggml.* of the specification in the ggml repository.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/vocab"
)

// The files of a folder that name a tokeniser's added tokens.
const (
	TokenizerFile  = "tokenizer.json"
	ConfigFile     = "tokenizer_config.json"
	GenerationFile = "generation_config.json"
)

// maxVocabulary bounds each of those files, in bytes: the largest known tokenizer.json is 34 MB.
const maxVocabulary = 128 << 20

// ErrNoVocabulary reports that nothing names the added tokens.
var ErrNoVocabulary = errors.New("no tokenizer.json, no tokenizer_config.json and no GGUF file")

// ErrNoTexts reports that the texts of tokens are not known: only the added tokens are named.
var ErrNoTexts = errors.New("there is no tokenizer.json and no GGUF file, which spell the tokens")

// Vocabulary reads the added tokens of a tokeniser: of a model folder, of a GGUF file, or of one of
// the JSON files of a folder. A file named tokenizer.json or tokenizer_config.json is read with the
// others beside it; a file of another name is taken for a tokenizer.json.
func Vocabulary(path string) (*engine.Vocabulary, error) {
	s, err := open(path)
	switch {
	case err != nil:
		return nil, err
	case s.gguf != "":
		return ofFile(s.gguf, VocabularyOf)
	}
	return named[*vocab.Vocabulary](s.at)(vocab.Read(s.files))
}

// Texts reads the bytes of all tokens of a tokeniser, found as [Vocabulary] finds it: of a
// tokenizer.json or a GGUF file.
func Texts(path string) (*vocab.Texts, error) {
	s, err := open(path)
	switch {
	case err != nil:
		return nil, err
	case s.gguf != "":
		return ofFile(s.gguf, TextsOf)
	case s.files.Tokenizer == "":
		return nil, fmt.Errorf("%s: %w", s.at, ErrNoTexts)
	}
	return named[*vocab.Texts](s.at)(vocab.ReadTexts(s.files.Tokenizer))
}

// tokeniser is where a tokeniser is described.
type tokeniser struct {
	gguf  string // a model file; "": the files of a folder
	at    string // the name of the files in errors
	files vocab.Files
}

func open(path string) (s tokeniser, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if strings.HasSuffix(strings.ToLower(path), ".gguf") && !info.IsDir() {
		return tokeniser{gguf: path}, nil
	}
	dir, name := filepath.Split(path)
	if info.IsDir() {
		dir, name = path, TokenizerFile
	}
	if name != TokenizerFile && name != ConfigFile {
		s.at = path
		s.files.Tokenizer, err = readText(path)
		return s, err
	}
	for file, text := range map[string]*string{
		TokenizerFile: &s.files.Tokenizer, ConfigFile: &s.files.Config,
		GenerationFile: &s.files.Generation,
	} {
		if *text, err = readText(filepath.Join(dir, file)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	if s.at = dir; s.files.Tokenizer != "" || s.files.Config != "" {
		return s, nil
	}
	models, _ := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if len(models) == 0 {
		return s, fmt.Errorf("%s: %w", path, ErrNoVocabulary)
	}
	return tokeniser{gguf: slices.Min(models)}, nil // of a split model the first part has it
}

// named puts a path before an error.
func named[T any](path string) func(T, error) (T, error) {
	return func(v T, err error) (T, error) {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return v, err
	}
}

func readText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxVocabulary {
		return "", fmt.Errorf("%s: expected a file of at most %d MiB", path, maxVocabulary>>20)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// ofFile opens a GGUF and returns what read reads from it.
func ofFile[T any](path string, read func(*gguf.File) (*T, error)) (*T, error) {
	f, file, err := gguf.OpenFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	v, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// The types of tokens in a GGUF, of enum llama_token_type.
const (
	unknownToken     = 2
	controlToken     = 3
	userDefinedToken = 4
)

// stopKeys are the keys of a GGUF that name tokens which end a generation.
var stopKeys = []string{"eos", "eot", "eom"}

// VocabularyOf reads the added tokens of a GGUF: its control and unknown tokens, which are special,
// and its user-defined tokens.
func VocabularyOf(f *gguf.File) (*engine.Vocabulary, error) {
	texts, types, err := tokens(f)
	if err != nil {
		return nil, err
	}
	var added []vocab.Token
	id := -1
	for v, err := range types.All() {
		if err != nil {
			return nil, err
		}
		id++
		kind, _ := v.Int()
		if kind != controlToken && kind != userDefinedToken && kind != unknownToken ||
			uint64(id) >= texts.Len {
			continue
		}
		text, err := texts.At(uint64(id))
		if err != nil {
			return nil, err
		}
		t := vocab.Token{ID: id, Special: kind != userDefinedToken}
		t.Text, _ = text.Text()
		added = append(added, t)
	}
	info, err := f.Info()
	if err != nil {
		return nil, err
	}
	c := vocab.Config{BOS: info.BOS.Text, EOS: info.EOS.Text}
	if info.BOS.Said {
		c.AddsBOS = &info.BOS.Add
	}
	if info.EOS.Said {
		c.AddsEOS = &info.EOS.Add
	}
	for _, key := range stopKeys {
		if p, ok := f.Find("tokenizer.ggml." + key + "_token_id"); ok {
			if n, ok := p.Value.Uint(); ok && n < texts.Len && !slices.Contains(c.Stops, int(n)) {
				c.Stops = append(c.Stops, int(n))
			}
		}
	}
	return vocab.New(added, c), nil
}

// tokens returns how a GGUF spells its tokens, and their types.
func tokens(f *gguf.File) (spelt, types *gguf.Array, err error) {
	if spelt, err = array(f, "tokenizer.ggml.tokens"); err == nil {
		types, err = array(f, "tokenizer.ggml.token_type")
	}
	return spelt, types, err
}

func array(f *gguf.File, key string) (*gguf.Array, error) {
	p, ok := f.Find(key)
	if !ok {
		return nil, fmt.Errorf("there is no %s: the file has no vocabulary", key)
	}
	a, ok := p.Value.Array()
	if !ok {
		return nil, fmt.Errorf("%s is not an array", key)
	}
	return a, nil
}

// TextsOf reads the bytes of a GGUF's tokens. The kind of vocabulary that the file names decides
// how they are spelt.
func TextsOf(f *gguf.File) (*vocab.Texts, error) {
	spelt, types, err := tokens(f)
	if err != nil {
		return nil, err
	}
	p, _ := f.Find("tokenizer.ggml.model")
	name, _ := p.Value.Text()
	decode, ok := spellings[name]
	if !ok {
		return nil, fmt.Errorf("tokenizer.ggml.model is %.40q; known are gemma4, gpt2 and llama",
			name)
	}
	if types.Len != spelt.Len {
		return nil, fmt.Errorf("%d tokens and %d types of tokens; expected equally many", spelt.Len,
			types.Len)
	}
	var kinds []int64
	for v, err := range types.All() {
		if err != nil {
			return nil, err
		}
		kind, _ := v.Int()
		kinds = append(kinds, kind)
	}
	var texts []string
	for v, err := range spelt.All() {
		if err != nil {
			return nil, err
		}
		text, _ := v.Text()
		switch kinds[len(texts)] {
		case unknownToken, controlToken, userDefinedToken: // these stand for themselves
		default:
			text = decode(text)
		}
		texts = append(texts, text)
	}
	return vocab.NewTexts(texts), nil
}

// spellings has the functions that decode the tokens of each kind of vocabulary in a GGUF.
var spellings = map[string]func(string) string{
	"gpt2":   vocab.ByteLevel,
	"llama":  vocab.SentencePiece,
	"gemma4": vocab.SentencePiece,
}
