package model

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

// maxVocabulary bounds each of those files, in bytes: the largest known tokenizer.json has 34 MB.
const maxVocabulary = 128 << 20

// ErrNoVocabulary is why there is no vocabulary: nothing names the added tokens.
var ErrNoVocabulary = errors.New("no tokenizer.json, no tokenizer_config.json and no GGUF file")

// Vocabulary reads the added tokens of a tokeniser: of a model folder, of a GGUF file, or of one of
// the JSON files of a folder. A file named tokenizer.json or tokenizer_config.json is read with
// those that stand beside it; one of another name is a tokenizer.json.
func Vocabulary(path string) (*engine.Vocabulary, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(strings.ToLower(path), ".gguf") && !info.IsDir() {
		return vocabularyOfFile(path)
	}
	dir, name := filepath.Split(path)
	if info.IsDir() {
		dir, name = path, TokenizerFile
	}
	var files vocab.Files
	if name != TokenizerFile && name != ConfigFile {
		if files.Tokenizer, err = readText(path); err != nil {
			return nil, err
		}
		return named(path)(vocab.Read(files))
	}
	for file, text := range map[string]*string{
		TokenizerFile: &files.Tokenizer, ConfigFile: &files.Config,
		GenerationFile: &files.Generation,
	} {
		if *text, err = readText(filepath.Join(dir, file)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if files.Tokenizer != "" || files.Config != "" {
		return named(dir)(vocab.Read(files))
	}
	models, _ := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if len(models) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNoVocabulary)
	}
	return vocabularyOfFile(slices.Min(models)) // of a split model the first part has it
}

// named puts a path before an error.
func named(path string) func(*engine.Vocabulary, error) (*engine.Vocabulary, error) {
	return func(v *engine.Vocabulary, err error) (*engine.Vocabulary, error) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return v, nil
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

func vocabularyOfFile(path string) (*engine.Vocabulary, error) {
	f, file, err := gguf.OpenFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	return named(path)(VocabularyOf(file))
}

// The types of tokens in a GGUF, of enum llama_token_type.
const (
	unknownToken     = 2
	controlToken     = 3
	userDefinedToken = 4
)

// stopKeys are the keys of a GGUF that name tokens which end a generation.
var stopKeys = []string{"eos", "eot", "eom"}

// VocabularyOf reads the added tokens of a GGUF: its control tokens, which are special, and those
// that its maker has defined.
func VocabularyOf(f *gguf.File) (*engine.Vocabulary, error) {
	texts, err := array(f, "tokenizer.ggml.tokens")
	if err != nil {
		return nil, err
	}
	types, err := array(f, "tokenizer.ggml.token_type")
	if err != nil {
		return nil, err
	}
	var tokens []vocab.Token
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
		tokens = append(tokens, t)
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
	return vocab.New(tokens, c), nil
}

func array(f *gguf.File, key string) (*gguf.Array, error) {
	p, ok := f.Find(key)
	if !ok {
		return nil, fmt.Errorf("there is no %s: the file has no vocabulary", key)
	}
	a, ok := p.Value.Array()
	if !ok {
		return nil, fmt.Errorf("%s is no array", key)
	}
	return a, nil
}
