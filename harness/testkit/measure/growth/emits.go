package main

import (
	"fmt"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/vocab"
)

// special is a vocabulary whose special tokens stand in the literals of grammars.
func special() (*vocab.Vocabulary, error) {
	return engine.ReadVocabulary(engine.VocabularyFiles{Tokenizer: `{"added_tokens": [` +
		`{"id": 7, "content": "<tool_call>", "special": true}, ` +
		`{"id": 8, "content": "</tool_call>", "special": true}]}`})
}

// form writes the grammar of an answer as another engine reads it.
type form func(*engine.Plan) (string, error)

// grammarForms write a grammar in as much work as it is long.
var grammarForms = []form{
	func(p *engine.Plan) (string, error) { return emit.GBNF(p.Output) },
	func(p *engine.Plan) (string, error) { return emit.EBNF(p.Output) },
}

// tagForms write a grammar for each place at which an answer may go over to a call.
var tagForms = []form{
	func(p *engine.Plan) (string, error) {
		tag, err := emit.StructuralTag(p.Output)
		return emit.Indent(tag), err
	},
}

// larkForms look for lexemes, which takes more work than that, up to a bound.
var larkForms = []form{
	func(p *engine.Plan) (string, error) { return emit.Lark(p.Output, nil) },
	func(p *engine.Plan) (string, error) {
		v, err := special()
		if err != nil {
			return "", err
		}
		return emit.Lark(p.Output, v)
	},
}

// The bounds of a grammar's length, in bytes: for each byte of its tools, where a property whose
// value ends at a tag with its name gets the automaton of that tag; and for texts that stop at a
// marker of several characters. Their lengths are counted by rules, at most 512 for each of 128
// lengths, whose least is written in few bytes of a schema.
const (
	maxSpelled = 512
	maxCounted = 5 << 20
)

// spelledTool writes the grammar of a request with one tool that has a schema.
func spelledTool(family string, forms []form) func(text string) error {
	return ofTool(spelledTools(family, forms))
}

// spelledTools writes the grammar of a request with tools in several forms. The model may call one
// or answer: the grammar of an answer that has to call is a part of that.
func spelledTools(family string, forms []form) func(text string) error {
	return ofTools(func(r chat.Request, size int) error {
		r.ToolChoice = chat.ToolChoice{Mode: chat.ChoiceAuto}
		plan, err := planned(family, r)
		if err != nil {
			return err
		}
		for _, form := range forms {
			grammar, err := form(plan)
			if err != nil {
				return limited(err)
			}
			if len(grammar) > maxSpelled*size+maxCounted {
				return fmt.Errorf("a grammar of %d bytes", len(grammar))
			}
		}
		return nil
	})
}
