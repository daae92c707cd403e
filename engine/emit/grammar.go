package emit

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
)

// GBNF returns the grammar of an answer as llama.cpp reads it.
func GBNF(out *codegen.Output) (string, error) {
	g, err := out.Whole()
	if err != nil {
		return "", err
	}
	return g.String(), nil
}

// EBNF returns the grammar of an answer as xgrammar reads it.
func EBNF(out *codegen.Output) (string, error) {
	g, err := out.Whole()
	if err != nil {
		return "", err
	}
	return g.EBNF()
}

// Lark returns the grammar of an answer as llguidance reads it. There, a special token is none of
// the texts that a grammar spells. With a vocabulary the grammar names the special tokens in its
// literals by their ids; without one it is for tokenisers that have none.
func Lark(out *codegen.Output, v *vocab.Vocabulary) (string, error) {
	g, err := out.Whole()
	if err != nil {
		return "", err
	}
	if v != nil {
		g = withTokens(g, v, func(t vocab.Token) bool { return t.Special })
	}
	return g.Lark(), nil
}

// ByTokens returns a grammar of the tokens of an output: each marker in its literals that is a
// token of the vocabulary is that token and nothing that spells it, as engine.Parser.WriteTokens
// reads it.
func ByTokens(g *gbnf.Grammar, v *vocab.Vocabulary) *gbnf.Grammar {
	return withTokens(g, v, func(t vocab.Token) bool { return v.Marker(t.ID) })
}

// withTokens returns a grammar that names the tokens in its literals by their ids.
func withTokens(g *gbnf.Grammar, v *vocab.Vocabulary, names func(vocab.Token) bool) *gbnf.Grammar {
	return g.WithTokens(func(literal string) []gbnf.Element { return cut(v, literal, names) })
}

// cut cuts a literal at the tokens in it that are named.
func cut(v *vocab.Vocabulary, literal string, names func(vocab.Token) bool) (parts []gbnf.Element) {
	done := 0
	add := func(until int) {
		if done < until {
			parts = append(parts, gbnf.Element{Kind: gbnf.Literal, Text: literal[done:until]})
		}
	}
	for _, m := range v.Scan(literal) {
		if names(m.Token) {
			add(m.Off)
			parts = append(parts, gbnf.Element{Kind: gbnf.Token, ID: m.ID})
			done = m.End()
		}
	}
	add(len(literal))
	return parts
}

// StructuralTag returns the grammar of an answer as a structural tag of xgrammar, which vLLM and
// SGLang take in requests. Where a request leaves the model free to call, and a call or reasoning
// begins with a word, the answer is free text up to the first of those words, and the rest is
// constrained to the end of the answer: triggered_tags, a tag for each word. Everything else is one
// grammar. Grammars stand in EBNF: arguments are no json_schema, since that has white space, an
// order of keys and a meaning of missing schemas of its own.
func StructuralTag(out *codegen.Output) (ordered.Value, error) {
	tag := func(format ordered.Value) ordered.Value {
		return ordered.Pairs("type", "structural_tag", "format", format)
	}
	if tags, ok := triggered(out); ok {
		return tag(tags), nil
	}
	text, err := EBNF(out)
	if err != nil {
		return ordered.Value{}, err
	}
	return tag(grammarFormat(text)), nil
}

func grammarFormat(text string) ordered.Value {
	return ordered.Pairs("type", "grammar", "grammar", text)
}

// Tagged reports whether the structural tag of an output waits for the triggers, so that it
// constrains nothing before the first of them.
func Tagged(out *codegen.Output) bool {
	_, ok := triggered(out)
	return ok
}

// triggered returns the tags of the words for which a lazy grammar waits. ok is false where it
// waits for a pattern, or where one word is part of another, so that two ways to search differ.
func triggered(out *codegen.Output) (tags ordered.Value, ok bool) {
	if !out.Lazy {
		return tags, false
	}
	for i, t := range out.Triggers {
		if t.Pattern || slices.ContainsFunc(out.Triggers[:i], func(o codegen.Trigger) bool {
			return strings.Contains(o.Text, t.Text) || strings.Contains(t.Text, o.Text)
		}) {
			return tags, false
		}
	}
	g, err := out.Grammar() // which takes time in proportion to the tools
	if err != nil {
		return tags, false
	}
	var triggers, each []ordered.Value
	for _, t := range out.Triggers {
		rest, ok := g.After(t.Text)
		if !ok {
			return tags, false
		}
		text, err := rest.EBNF()
		if err != nil {
			return tags, false
		}
		triggers = append(triggers, ordered.Str(t.Text))
		each = append(each, ordered.Pairs("type", "tag", "begin", t.Text, "content",
			grammarFormat(text), "end", ""))
	}
	return ordered.Pairs("type", "triggered_tags", "triggers", triggers, "tags", each,
		"at_least_one", false, "stop_after_first", true), true
}
