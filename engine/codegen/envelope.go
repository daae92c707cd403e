package codegen

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
)

// Where a marker after the function's name says that a call follows, its text may be an object that
// has the name once more, and the arguments as a member:
//
//	NAME<call>{"name":"NAME","args":{"a":1}}
//
// A format has that text as literals and slots. The model writes JSON: its white space and the
// order of the members are its own.

// Words that stand for the slots of an envelope, none of which a template writes.
const (
	nameMark = "\x00name"
	argsMark = "\x00args"
)

// withoutEnvelope takes the object around the arguments off the head and the tail of a call. The
// object is nil where there is none.
func withoutEnvelope(c *format.Calls) (*format.Calls, *format.Object) {
	at := nameAt(c.Head)
	if c.Object != nil || c.Body.Kind != format.BodyJSON || !c.Body.Pair.IsZero() || at < 0 ||
		at+1 >= len(c.Head) || c.Head[at+1].Kind != format.SlotLit {
		return c, nil
	}
	first := c.Head[at+1].Text.Full()
	brace := strings.IndexByte(first, '{')
	before, ok := written(c.Head[at+2:])
	after, closed := written(c.Tail)
	if brace < 0 || onlyBlank(first[:brace]) || !ok || !closed {
		return c, nil
	}
	text := first[brace:] + before + quoted('"', argsMark) + after
	value, end, err := ordered.ParsePrefix(text)
	end = len(strings.TrimRight(text[:end], format.Space))
	trail := text[end:]
	o := &format.Object{Fields: envelopeFields(value, nil)}
	if err != nil || len(namePath(o)) == 0 || !strings.HasSuffix(after, trail) ||
		strings.Contains(trail, nameMark) || !slices.ContainsFunc(o.Fields,
		func(f format.Field) bool { return f.Slot == format.SlotArgs }) {
		return c, nil
	}
	bare := *c
	bare.Head = append(slices.Clone(c.Head[:at+1]), format.Lit(first[:brace]))
	if bare.Tail = nil; trail != "" {
		bare.Tail = []format.Part{format.Lit(trail)}
	}
	return &bare, o
}

func onlyBlank(text string) bool { return strings.Trim(text, format.Space) == "" }

// written returns the text of literals and names; ok is false where there are other parts.
func written(parts []format.Part) (text string, ok bool) {
	for _, p := range parts {
		switch {
		case p.Kind == format.SlotLit && !p.Opt && len(p.Alts) == 0:
			text += p.Text.Full()
		case p.Kind == format.SlotName && p.Escapes == "":
			// a control character is escaped in JSON
			text += strings.Trim(quoted('"', nameMark), `"`)
		default:
			return "", false
		}
	}
	return text, true
}

// envelopeFields returns the members of an object, those of objects in it apart.
func envelopeFields(v ordered.Value, path []string) (fields []format.Field) {
	for _, m := range v.Members() {
		f := format.Field{Path: append(slices.Clone(path), m.Key)}
		switch {
		case m.Value.Kind() == ordered.Object && len(m.Value.Members()) > 0:
			fields = append(fields, envelopeFields(m.Value, f.Path)...)
			continue
		case m.Value.Text() == nameMark:
			f.Slot = format.SlotName
		case m.Value.Text() == argsMark:
			f.Slot = format.SlotArgs
		default:
			f.Const = m.Value.String()
		}
		fields = append(fields, f)
	}
	return fields
}

// envelope matches the object around the arguments. Its name must be the call's.
func (c *callReader) envelope(tool *tool) peg.Pattern {
	r := &objectReader{callReader: c, o: c.s.envelope, again: tool}
	if c.t.on(AnyLiteral) {
		return peg.Seq{peg.Space{}, r.members(nil)}
	}
	return peg.Seq{peg.Space{}, fixedObject(r.o, nil, r.value)}
}

// envelope matches the object around a tool's arguments.
func (c *callWriter) envelope(t *tool) peg.Pattern {
	value := c.value(t)
	return peg.Seq{peg.Space{}, fixedObject(c.s.envelope, nil, func(f format.Field) peg.Pattern {
		if f.Slot == format.SlotName {
			return peg.Lit{Text: quoted('"', t.name)}
		}
		return value(f)
	})}
}
