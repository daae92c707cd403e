package codegen

import (
	"slices"

	"github.com/goassay/assay/engine/lists"
)

// A shape is the order in which the literals of a format may stand: the tree that FIRST and FOLLOW
// sets are computed from (A. Aho et al., Compilers, 2006, section 4.4.2). It has no patterns in it;
// the parser and the grammar each make theirs.
type shape struct {
	kind  shapeKind
	text  string   // literal
	words []string // slot: the words that can stand in it, where they are known
	parts []shape
}

type shapeKind uint8

const (
	shapeLiteral shapeKind = iota
	shapeSlot              // data
	shapeRow               // its parts, one after the other
	shapeEither            // one of its parts
	shapeMaybe             // its one part, or nothing
)

func literal(text string) shape     { return shape{kind: shapeLiteral, text: text} }
func slot(words ...string) shape    { return shape{kind: shapeSlot, words: words} }
func row(parts ...shape) shape      { return shape{kind: shapeRow, parts: parts} }
func either(parts ...shape) shape   { return shape{kind: shapeEither, parts: parts} }
func maybe(s shape) shape           { return shape{kind: shapeMaybe, parts: []shape{s}} }
func literals(texts []string) shape { return either(lists.Map(texts, literal)...) }

// first returns the literals with which a shape can begin, in order, each once, after those in
// texts, and reports whether it may be empty.
func (s shape) first(texts []string) (all []string, empty bool) {
	switch s.kind {
	case shapeLiteral:
		return s.all(texts), s.text == ""
	case shapeSlot:
		for _, word := range s.words {
			texts = literal(word).all(texts)
		}
		return texts, false
	case shapeMaybe:
		texts, _ = s.parts[0].first(texts)
		return texts, true
	case shapeRow:
		for _, part := range s.parts {
			if texts, empty = part.first(texts); !empty {
				return texts, false
			}
		}
		return texts, true
	}
	for _, part := range s.parts {
		var none bool
		texts, none = part.first(texts)
		empty = empty || none
	}
	return texts, empty
}

// firsts is first without the report.
func (s shape) firsts() []string {
	texts, _ := s.first(nil)
	return texts
}

// all returns the literals in a shape, each once, after those in texts.
func (s shape) all(texts []string) []string {
	if s.kind == shapeLiteral && s.text != "" && !slices.Contains(texts, s.text) {
		return append(texts, s.text)
	}
	for _, part := range s.parts {
		texts = part.all(texts)
	}
	return texts
}

// closing returns the literals that close something: in each row, those after its last slot, the
// outer row's before those of the rows in it.
func (s shape) closing() (texts []string) {
	if s.kind == shapeRow {
		for i := len(s.parts) - 1; i >= 0 && !s.parts[i].holds(); i-- {
			texts = append(s.parts[i].all(nil), texts...)
		}
	}
	for _, part := range s.parts {
		texts = append(texts, part.closing()...)
	}
	return texts
}

// holds reports whether there is a slot in a shape.
func (s shape) holds() bool {
	return s.kind == shapeSlot || slices.ContainsFunc(s.parts, shape.holds)
}
