package codegen

import (
	"fmt"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// objectReader makes the states of calls that are JSON objects.
type objectReader struct {
	*callReader
	o     *format.Object
	again *tool // the one whose name has been read before the object; else nil
}

func (c *callReader) object() *objectReader {
	return &objectReader{callReader: c, o: c.s.Object}
}

// anything reads any value, and says nothing.
var anything = peg.Scan{Scanner: codec.Syntax{}}

// quote matches the quote of a key or a name.
func (c *objectReader) quote() peg.Pattern {
	if c.t.on(AnyLiteral) {
		return peg.Set{Set: peg.Bytes(`"'`)}
	}
	return peg.Lit{Text: string(quoteOf(c.o))}
}

// keys returns the ways in which a key is written.
func (c *objectReader) keys(key string) []string {
	if c.t.on(AnyLiteral) {
		return []string{quoted('"', key), quoted('\'', key)}
	}
	return []string{quoted(quoteOf(c.o), key)}
}

var (
	colon = peg.Seq{peg.Space{}, peg.Lit{Text: ":"}, peg.Space{}}
	comma = peg.Seq{peg.Lit{Text: ","}, peg.Space{}}
)

// upToName matches an object up to its name; arguments may precede it (E14).
func (c *objectReader) upToName(named func(after peg.Pattern) peg.Pattern) peg.Pattern {
	if c.o.NameIsKey {
		return peg.Seq{peg.Lit{Text: "{"}, peg.Space{}, c.quote(), named(peg.Seq{c.quote(), colon})}
	}
	return peg.Seq{c.ref(c.name("object"), c.beforeName), named(c.quote())}
}

// beforeName matches an object from its brace to the quote before the name.
func (c *objectReader) beforeName() peg.Pattern {
	var seq peg.Seq
	path := namePath(c.o)
	for level := range path {
		seq = append(seq, peg.Lit{Text: "{"}, peg.Space{})
		var keys peg.Choice
		for _, k := range c.keys(path[level]) {
			keys = append(keys, peg.Lit{Text: k})
		}
		if c.t.on(AnyLiteral) {
			key := peg.Seq{keys, colon}
			seq = append(seq, peg.Rep{P: peg.Hold{P: peg.Seq{peg.Not{P: key},
				c.member(path[:level]), peg.Space{}, comma}}})
		} else {
			before, _ := around(c.o, level)
			for _, f := range before {
				seq = append(seq, fixedMember(c.o, f, level, c.value), peg.Space{}, comma)
			}
		}
		seq = append(seq, keys, colon)
	}
	return peg.Hold{P: append(seq, c.quote())}
}

// rest matches an object after its name.
func (c *objectReader) rest() peg.Seq {
	if c.o.NameIsKey {
		return peg.Seq{c.args.arguments(false, quoteOf(c.o)), peg.Space{}, peg.Lit{Text: "}"}}
	}
	path := namePath(c.o)
	var seq peg.Seq
	for level := len(path) - 1; level >= 0; level-- {
		seq = append(seq, peg.Space{})
		if c.t.on(AnyLiteral) {
			seq = append(seq, peg.Rep{P: peg.Seq{comma, c.member(path[:level]), peg.Space{}}})
		} else {
			_, after := around(c.o, level)
			for _, f := range after {
				seq = append(seq, comma, fixedMember(c.o, f, level, c.value), peg.Space{})
			}
		}
		seq = append(seq, peg.Lit{Text: "}"})
	}
	return seq
}

// fixedMember matches a member where the template has it.
func fixedMember(o *format.Object, f format.Field, level int,
	value func(f format.Field) peg.Pattern) peg.Pattern {
	key := peg.Seq{peg.Lit{Text: quoted(quoteOf(o), f.Path[level])}, colon}
	if len(f.Path) == level+1 {
		return append(key, value(f))
	}
	return append(key, fixedObject(o, f.Path[:level+1], value)...)
}

// fixedObject matches the object at a path with its members in the template's order.
func fixedObject(o *format.Object, path []string, value func(f format.Field) peg.Pattern) peg.Seq {
	seq := peg.Seq{peg.Lit{Text: "{"}, peg.Space{}}
	for n, f := range under(o, path) {
		if n > 0 {
			seq = append(seq, peg.Space{}, comma)
		}
		seq = append(seq, fixedMember(o, f, len(path), value))
	}
	return append(seq, peg.Space{}, peg.Lit{Text: "}"})
}

// member matches any member of the object at a path: a slot, an object that contains some, or a
// member that nobody asked for.
func (c *objectReader) member(path []string) peg.Pattern {
	name := fmt.Sprintf("member %d %q", c.s.number, path)
	if c.again != nil {
		name += " " + c.again.name
	}
	return c.ref(name, func() peg.Pattern {
		var words []string
		var bodies []peg.Pattern
		for _, f := range under(c.o, path) {
			body := peg.Pattern(nil)
			if len(f.Path) == len(path)+1 {
				body = c.value(f)
			} else {
				body = c.members(f.Path[:len(path)+1])
			}
			for _, k := range c.keys(f.Path[len(path)]) {
				words = append(words, k)
				bodies = append(bodies, peg.Seq{peg.Cut{}, body})
			}
		}
		unknown := peg.Seq{
			peg.Capture{Kind: Dropped, P: peg.Seq{peg.And{P: c.quote()}, anything, colon}},
			peg.Choice{
				peg.Seq{peg.And{P: peg.Lit{Text: "{"}}, peg.Cut{}, peg.Emit{Kind: Spare},
					peg.Scan{Kind: SpareText, Scanner: codec.Syntax{Marked: c.t.o.marked()}}},
				peg.Capture{Kind: Dropped, P: anything},
			},
		}
		if len(words) == 0 {
			return unknown
		}
		return peg.Choice{peg.Dispatch{Words: words, After: colon, Bodies: bodies}, unknown}
	})
}

// members matches a whole object at a path.
func (c *objectReader) members(path []string) peg.Pattern {
	m := c.member(path)
	return peg.Seq{peg.Lit{Text: "{"}, peg.Space{},
		peg.Choice{peg.Seq{peg.Lit{Text: "}"}},
			peg.Seq{m, peg.Space{}, peg.Rep{P: peg.Seq{comma, m, peg.Space{}}},
				peg.Lit{Text: "}"}}}}
}

// value matches the value of a member.
func (c *objectReader) value(f format.Field) peg.Pattern {
	switch f.Slot {
	case format.SlotName:
		if c.again != nil {
			return peg.Choice(lists.Map(c.keys(c.again.name),
				func(text string) peg.Pattern { return peg.Lit{Text: text} }))
		}
	case format.SlotArgs:
		return peg.Seq{c.args.arguments(f.Text, quoteOf(c.o)), peg.Emit{Kind: ArgsEnd}}
	case format.SlotID, format.SlotIndex: // a generated number is an id too
		digits := peg.Hold{P: peg.Seq{peg.Capture{Kind: ID, P: number}, peg.Emit{Kind: IDEnd}}}
		if c.t.on(AnyLiteral) { // an id between quotes may hold the other quote
			return peg.Choice{quotedID('"', `"`), quotedID('\'', "'"), digits, anything}
		}
		return peg.Choice{quotedID(quoteOf(c.o), `"'`), digits, anything}
	}
	return anything
}

// quotedID matches an id between quotes, in which the bytes of not do not stand unless they are
// escaped.
func quotedID(quote byte, not string) peg.Pattern {
	mark := peg.Lit{Text: string(quote)}
	char := peg.Choice{
		peg.Set{Set: peg.Bytes(not + `\`).Or(peg.Range(0, 0x1f)).Not()},
		peg.Seq{peg.Lit{Text: `\`}, peg.Set{Set: peg.Range(0, 0x1f).Not()}},
	}
	return peg.Hold{P: peg.Seq{mark, peg.Capture{Kind: ID, P: peg.Rep{P: char, Max: MaxName}}, mark,
		peg.Emit{Kind: IDEnd, Arg: int(quote)}}}
}
