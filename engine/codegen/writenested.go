package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// nestedWriter makes the states of values that are spelled as entries and items.
type nestedWriter struct {
	*sheet
	tags codec.Tags
}

// value matches a value to the depth to which the schema describes it.
func (c *nestedWriter) value(name string, s *schema.Schema, stop string) peg.Pattern {
	n := c.nested.of(s)
	return c.ref(fmt.Sprintf("nested %s %d", c.nestedName(n, name), n+1), func() peg.Pattern {
		types := s.Types()
		switch {
		case types == schema.AnyType ||
			types&^(schema.Object|schema.Array) == 0 && len(s.Fields()) == 0 && !hasItems(s):
			return c.free(name, types, s)
		case types&(schema.Array|schema.Object) == 0 || types&schema.String != 0:
			return peg.Choice{constrained(name, s, gbnf.Codec{Raw: true, Stops: []string{stop}})}
		}
		var alts peg.Choice
		if types&schema.Object != 0 {
			alts = append(alts, c.object(name, s))
		}
		if types&schema.Array != 0 && c.tags.ItemOpen != "" {
			alts = append(alts, c.array(name, s))
		}
		if rest := types &^ (schema.Array | schema.Object); rest != 0 {
			alts = append(alts, constrained(name, s.Only(rest), gbnf.Codec{}))
		}
		return alts
	})
}

// nestedName returns the name under which a schema was first met, since a recursive one is met
// again under others.
func (c *nestedWriter) nestedName(n int, name string) string {
	if n == len(c.nestedNames) {
		c.nestedNames = append(c.nestedNames, name)
	}
	return c.nestedNames[n]
}

// object matches the entries of an object with declared keys.
func (c *nestedWriter) object(name string, s *schema.Schema) peg.Pattern {
	var all peg.Seq // the entries, those that are required there
	var each []peg.Pattern
	required := false
	for _, f := range s.Fields() {
		close := c.tags.Close + f.Name + c.tags.CloseMid
		p := peg.Pattern(peg.Seq{peg.Space{}, peg.Lit{Text: c.tags.Open + f.Name + c.tags.Mid},
			c.value(nestedPart(name, f.Name), f.Schema, close), peg.Lit{Text: close}})
		each, required = append(each, p), required || f.Required
		if !f.Required {
			p = peg.Opt{P: p}
		}
		all = append(all, p)
	}
	switch {
	case len(all) == 0:
		return c.free(name, s.Types()&^schema.Array, s)
	case required || s.Types() == schema.Object:
		return append(all, peg.Space{})
	}
	// an empty value is no object where it may be something else
	return peg.Seq{c.oneOf(each), peg.Space{}}
}

// maxSpelledEntries bounds the entries for which the grammar spells out which entries may follow
// each of them.
const maxSpelledEntries = 8

// oneOf matches at least one of the entries of an object: in their order, or any so many where
// there are many.
func (c *nestedWriter) oneOf(entries []peg.Pattern) peg.Pattern {
	if len(entries) > maxSpelledEntries { // spelled out, n entries would make n*n/2 of them
		return peg.Rep{P: peg.Choice(entries), Min: 1, Max: len(entries)}
	}
	var one peg.Choice
	for i, p := range entries {
		for k := range i {
			one[k] = peg.Seq{one[k], peg.Opt{P: p}}
		}
		one = append(one, p)
	}
	return one
}

// nestedPart names a part of something that has a name. The rule's name has only the beginning of a
// long one.
func nestedPart(name, part string) string {
	const most = 240
	if name += "-" + part; len(name) > most {
		return strings.ToValidUTF8(name[:most], "")
	}
	return name
}

// array matches the items of an array.
func (c *nestedWriter) array(name string, s *schema.Schema) peg.Pattern {
	items := schema.Any()
	for _, leaf := range append([]*schema.Schema{s}, s.Alts...) {
		if leaf.Items != nil {
			items = leaf.Items
		}
	}
	item := peg.Seq{peg.Space{}, peg.Lit{Text: c.tags.ItemOpen},
		c.value(nestedPart(name, "item"), items, c.tags.ItemClose), peg.Lit{Text: c.tags.ItemClose}}
	lo, hi := atLeast(s.Types() != schema.Array), 0
	if len(s.Alts) == 0 {
		lo, hi = max(lo, s.MinItems), max(s.MaxItems, 0)
	}
	return peg.Seq{peg.Rep{P: item, Min: lo, Max: hi}, peg.Space{}}
}

// atLeast is how many entries or items must be there: an empty value is text where the value may be
// something else.
func atLeast(one bool) int {
	if one {
		return 1
	}
	return 0
}

func hasItems(s *schema.Schema) bool {
	return slices.ContainsFunc(append([]*schema.Schema{s}, s.Alts...),
		func(leaf *schema.Schema) bool { return leaf.Items != nil })
}

// key matches a key that is not declared. One that makes the tag of an item would begin an array.
func (c *nestedWriter) key() peg.Pattern {
	item, ok := strings.CutPrefix(c.tags.ItemOpen, c.tags.Open)
	if ok {
		item, ok = strings.CutSuffix(item, c.tags.Mid)
	}
	if !ok || item == "" || strings.ContainsFunc(item, func(r rune) bool {
		return r >= 0x80 || !nameBytes.Has(byte(r))
	}) {
		return word(nameBytes)
	}
	return c.ref("nested key", func() peg.Pattern {
		more := peg.Rep{P: peg.Set{Set: nameBytes}, Max: MaxName - len(item)}
		alts := peg.Choice{peg.Seq{peg.Lit{Text: item}, peg.Set{Set: nameBytes}, more}}
		for n := range len(item) {
			if n > 0 {
				alts = append(alts, peg.Lit{Text: item[:n]})
			}
			other := nameBytes.Not().Or(peg.Bytes(item[n : n+1])).Not()
			alts = append(alts, peg.Seq{peg.Lit{Text: item[:n]}, peg.Set{Set: other}, more})
		}
		return alts
	})
}

// free matches a value that the schema does not describe. That a closing tag has the key of the
// opening one is beyond a grammar, and the parser does not ask for it where the key is not
// declared: the closing tag of an entry that only the model has named ends it whatever key it
// repeats, since nothing else could stand there that the grammar has not kept out. s, where it is
// known, describes the entries' values.
func (c *nestedWriter) free(name string, types schema.TypeSet, s *schema.Schema) peg.Pattern {
	rule := "nested " + types.String()
	value, known := s.Field("")
	if value == nil || known || value.IsAny() {
		value = schema.Any()
	} else {
		rule += " " + name
	}
	return c.ref(rule, func() peg.Pattern {
		tags := c.tags
		var alts peg.Choice
		any := func() peg.Pattern { return c.free(name, schema.AnyType, schema.Any()) }
		if types&schema.Object != 0 {
			key, inner := c.key(), any()
			if !value.IsAny() {
				inner = c.value(nestedPart(name, "value"), value, tags.Close)
			}
			entry := peg.Seq{peg.Space{}, peg.Lit{Text: tags.Open}, key, peg.Lit{Text: tags.Mid},
				inner, peg.Lit{Text: tags.Close}, key, peg.Lit{Text: tags.CloseMid}}
			alts = append(alts, peg.Seq{peg.Rep{P: entry, Min: atLeast(types != schema.Object)},
				peg.Space{}})
		}
		if types&schema.Array != 0 && tags.ItemOpen != "" {
			item := peg.Seq{peg.Space{}, peg.Lit{Text: tags.ItemOpen}, any(),
				peg.Lit{Text: tags.ItemClose}}
			alts = append(alts, peg.Seq{peg.Rep{P: item, Min: atLeast(types != schema.Array)},
				peg.Space{}})
		}
		if types == schema.AnyType {
			stops := []peg.Stop{{Text: tags.Open}, {Text: tags.Close}}
			if tags.ItemOpen != "" {
				stops = append(stops, peg.Stop{Text: tags.ItemOpen}, peg.Stop{Text: tags.ItemClose})
			}
			alts = append(alts, peg.Until{Kind: Value, Stops: stops})
		}
		return alts
	})
}
