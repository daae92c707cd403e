package analysis

import (
	"github.com/goassay/assay/engine/internal/observe"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

const (
	plain  = jinja.Plain
	python = jinja.Python
)

// objectOf returns the object that a call is written as, nil if there is none: one JSON object, or
// a Python dict, that holds the name and all other slots, each of them as a member's whole value.
// If there is one, it cuts the spelling's lead and trail to the text outside the object.
func (a *callsPass) objectOf(s *spelling) *format.Object {
	inner := observe.Text(s.core)
	text := s.lead + inner + s.trail
	for start := 0; start < len(s.lead); start++ {
		if s.lead[start] != '{' {
			continue
		}
		value, end, quote := readObject(text[start:])
		if end == 0 || start+end < len(s.lead)+len(inner) {
			continue
		}
		o := &format.Object{Quote: quote}
		r := objectReader{core: s.core, object: o, ids: a.observer.Facts.IDs.Kept}
		r.read(value, nil)
		if !r.named || r.mixed {
			continue
		}
		s.cut = len(s.lead) - start
		s.trail = text[start+end:]
		s.lead = s.lead[:start]
		return o
	}
	return nil
}

// readObject reads a JSON object, or a Python dict, at the start of a text. It returns the object,
// its length, 0 if there is none, and the quote of a dict's strings, 0 for JSON.
func readObject(text string) (ordered.Value, int, byte) {
	if v, end, err := ordered.ParsePrefix(text); err == nil && v.Kind() == ordered.Object {
		return v, len(strings.TrimRight(text[:end], format.Space)), 0
	}
	for end, depth := 0, 0; end < len(text); end++ {
		switch text[end] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				v, err := ordered.ParseString(pythonToJSON.Replace(text[:end+1]))
				if err != nil || v.Kind() != ordered.Object {
					return ordered.Value{}, 0, 0
				}
				return v, end + 1, '\''
			}
		}
	}
	return ordered.Value{}, 0, 0
}

// pythonToJSON turns the Python literals of our own needles, which hold no quotes, into JSON.
var pythonToJSON = strings.NewReplacer("'", `"`, "True", "true", "False", "false", "None", "null")

type objectReader struct {
	core   []observe.Atom
	object *format.Object
	ids    format.IDs // those that the template writes unchanged
	named  bool
	// a member that is not a slot is made of the call's data, such as a list of the arguments' keys
	// and values
	mixed bool
}

// read matches the members of a call's object with the slots whose values they hold.
func (r *objectReader) read(v ordered.Value, path []string) {
	for _, m := range v.Members() {
		here := append(slices.Clone(path), m.Key)
		field := format.Field{Path: here}
		switch text := m.Value.Text(); {
		case r.holds(observe.Name, m.Key):
			r.named, r.object.NameIsKey = true, true
			field = format.Field{Slot: format.SlotArgs, Path: path}
		case m.Value.Kind() == ordered.String && r.holds(observe.Name, text):
			r.named = true
			field.Slot = format.SlotName
		case m.Value.Kind() == ordered.String && r.holds(observe.ID, text):
			field.Slot, field.IDs = format.SlotID, r.ids
		case r.isArguments(m.Value):
			field.Slot = format.SlotArgs
			field.Text = m.Value.Kind() == ordered.String
		case text != "" && r.holds(observe.Counter, text):
			field.Slot = format.SlotNumber
			field.Text = m.Value.Kind() == ordered.String
		case m.Value.Kind() == ordered.Object && len(m.Value.Members()) > 0:
			r.read(m.Value, here)
			continue
		case r.written(m.Value):
			r.mixed = true
		default:
			field.Const = m.Value.String()
		}
		r.object.Fields = append(r.object.Fields, field)
	}
}

func (r *objectReader) holds(k observe.Kind, text string) bool {
	return slices.ContainsFunc(r.core,
		func(at observe.Atom) bool { return at.Kind == k && at.Text == text })
}

// written reports whether a string or a key in a value contains something of the conversation:
// other calls do not have it, so the value is not a constant.
func (r *objectReader) written(v ordered.Value) bool {
	of := func(text string) bool {
		return slices.ContainsFunc(r.core, func(at observe.Atom) bool {
			return at.Kind != observe.Literal && at.Kind != observe.Structure &&
				at.Kind != observe.Counter && strings.Contains(text, at.Text)
		})
	}
	return of(v.Text()) || slices.ContainsFunc(v.Items(), r.written) ||
		slices.ContainsFunc(v.Members(), func(m ordered.Member) bool {
			return of(m.Key) || r.written(m.Value)
		})
}

// isArguments reports whether a value is the arguments of the probe, as an object or as a string of
// JSON.
func (r *objectReader) isArguments(v ordered.Value) bool {
	if v.Kind() == ordered.String {
		parsed, err := ordered.ParseString(v.Text())
		return err == nil && parsed.Kind() == ordered.Object && r.isArguments(parsed)
	}
	if v.Kind() != ordered.Object || len(v.Members()) == 0 {
		return false
	}
	key := v.Members()[0].Key
	return slices.Contains(observe.KeyNeedles[:], key)
}

// written records as evidence that the call's id is written, and which ids are kept (T7).
func (a *callsPass) written(c *format.Calls) {
	for _, f := range c.Object.Fields {
		if f.Slot == format.SlotID {
			a.gave("T7", "object", format.Observed, "the call's id is written%s", keptIDs(f.IDs))
		}
	}
}

// counted are the ids of a template that numbers the calls: in a prompt it replaces every other id
// by a number.
var counted = format.IDs{Characters: "0-9", Max: 20}

// numbered turns the numbers in a call's object that count the calls into ids, which the model
// makes up by counting (T7).
func (a *callsPass) numbered(c *format.Calls) {
	n := 0
	for i := range c.Object.Fields {
		f := &c.Object.Fields[i]
		if f.Slot != format.SlotNumber {
			continue
		}
		if base, counts := a.counts(n); counts {
			if f.Slot = format.SlotIndex; f.Text {
				f.Slot, f.IDs = format.SlotID, counted
			}
			a.gave("T7", "object", format.Observed, "ids are counted, from %d", base)
		}
		n++
	}
}
