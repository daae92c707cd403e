//go:build js && wasm

// Command module is the engine of the module for JavaScript: package pipe, compiled to WebAssembly,
// with what a page does without, the other engines' languages, patches and tokens by their ids. It
// gives its host two functions: assay takes a request in JSON and returns its answer
// (docs/reference/protocol.md), and assayTokenizer takes the texts of a tokeniser's files and
// returns the name by which requests know it. It reads no file and asks no server.
package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall/js"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/foreign/target"
	"github.com/goassay/assay/harness/serve/pipe"
)

func main() {
	var known tokenizers
	s := pipe.New(context.Background(), pipe.Options{Version: version, Limits: subject.LookedAt,
		Tight: subject.Untrusted, Grammars: target.Grammars(), Objects: target.Objects(),
		Vocabulary: known.vocabulary, Texts: known.texts})
	js.Global().Set("assay", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(s.Answer([]byte(args[0].String())))
	}))
	js.Global().Set("assayTokenizer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		known = append(known, engine.VocabularyFiles{Tokenizer: args[0].String(),
			Config: args[1].String(), Generation: args[2].String()})
		return strconv.Itoa(len(known))
	}))
	js.Global().Call("assayReady")
	select {}
}

// tokenizers are the tokenisers that the host has given. The name of one is its number, from 1.
type tokenizers []engine.VocabularyFiles

func (t *tokenizers) named(name string) (engine.VocabularyFiles, error) {
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= len(*t) {
		return (*t)[n-1], nil
	}
	return engine.VocabularyFiles{}, fmt.Errorf("there is no tokenizer %q; give its texts first",
		name)
}

func (t *tokenizers) vocabulary(name string) (*engine.Vocabulary, error) {
	files, err := t.named(name)
	if err != nil {
		return nil, err
	}
	return engine.ReadVocabulary(files)
}

func (t *tokenizers) texts(name string) (*vocab.Texts, error) {
	files, err := t.named(name)
	if err != nil {
		return nil, err
	}
	return vocab.ReadTexts(files.Tokenizer)
}

// version is that of the release, which the linker sets.
var version = "devel"
