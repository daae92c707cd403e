package observe

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
)

// Kind is the kind of a stretch of a turn.
type Kind uint8

const (
	Literal   Kind = iota // the template's own text
	Content               // the assistant's content
	Reasoning             // its reasoning, under whatever name
	Name                  // a call's function name
	ID                    // a call's id
	Counter               // computed by the template
	Structure             // the text that a codec writes around arguments
	ArgKey                // a key in the arguments
	ArgValue              // a value in the arguments, or the arguments as text
	Foreign               // anything else from the input
)

// Atom is a stretch of a turn with one meaning.
type Atom struct {
	Kind Kind
	Text string
	Call int // of name, id, structure, argKey, argValue: which call
	// of structure, argKey, argValue: the place below the arguments, such as .city or .list[0]; ""
	// for the whole
	Path  string
	Codec jinja.Codec
	Exact bool
}

// atomize turns runs of origin into atoms; neighbours of one meaning become one.
func atomize(text string, runs []jinja.Run, p Probe) []Atom {
	answer, thought, said := p.AnswerPath(), "", ""
	if !p.Form.Blocks.IsZero() {
		thought, said = p.Form.Blocks.Paths()
	}
	room := scratch.Get().(*[]Atom) // most runs have neighbours of their meaning
	atoms := (*room)[:0]
	pos, start := 0, 0 // start is where the last atom begins
	for _, run := range runs {
		at := classify(run, answer, thought, said)
		at.Text = text[pos : pos+run.Len]
		pos += run.Len
		if at.Text == "" {
			continue
		}
		if n := len(atoms); n > 0 && atoms[n-1].Kind == at.Kind && atoms[n-1].Call == at.Call &&
			atoms[n-1].Path == at.Path && atoms[n-1].Codec == at.Codec {
			atoms[n-1].Text = text[start:pos]
			atoms[n-1].Exact = atoms[n-1].Exact && at.Exact
			continue
		}
		atoms, start = append(atoms, at), pos-len(at.Text)
	}
	kept := make([]Atom, len(atoms))
	copy(kept, atoms)
	clear(atoms)
	*room = atoms
	scratch.Put(room)
	return kept
}

// scratch has room for atoms while they are made.
var scratch = sync.Pool{New: func() any { return new([]Atom) }}

// namedIDs cuts ids that hold the call's name (see [chat.NamedID]) into the name, the number and
// the text around them.
func namedIDs(atoms []Atom) []Atom {
	out := make([]Atom, 0, len(atoms))
	for _, at := range atoms {
		lead, rest, dot := strings.Cut(at.Text, ".")
		name, index, colon := strings.Cut(rest, ":")
		if at.Kind != ID || !dot || !colon {
			out = append(out, at)
			continue
		}
		part := func(kind Kind, text string) Atom {
			return Atom{Kind: kind, Text: text, Call: at.Call, Exact: at.Exact}
		}
		literal := part(Literal, lead+".")
		if n := len(out); n > 0 && out[n-1].Kind == Literal {
			out[n-1].Text += literal.Text
		} else {
			out = append(out, literal)
		}
		out = append(out, part(Name, name), part(Literal, ":"), part(Counter, index))
	}
	return out
}

// classify returns the atom of a run. Thought and said are where in the answer the texts of blocks
// are, "" where there are none.
func classify(run jinja.Run, answer, thought, said string) Atom {
	if run.Role == jinja.Literal {
		return Atom{Kind: Literal, Exact: true}
	}
	if run.Path == "bos_token" || run.Path == "eos_token" {
		return Atom{Kind: Literal, Exact: true} // the template's own text, kept beside it
	}
	path, ours := strings.CutPrefix(run.Path, answer+".")
	if !ours {
		if isRole(run.Path) && run.Role == jinja.FromValue {
			return Atom{Kind: Literal, Exact: true} // so is another message's
		}
		if run.Role == jinja.Computed && run.Path == "" {
			return Atom{Kind: Counter}
		}
		return Atom{Kind: Foreign, Path: run.Path, Exact: run.Exact}
	}
	at := Atom{Codec: run.Codec, Exact: run.Exact}
	switch {
	case path == "role":
		// a template that writes the role's name means a literal
		return Atom{Kind: Literal, Exact: true}
	case isTyped(path, "text") && run.Codec != jinja.Plain ||
		isTyped(path, "thinking") && run.Codec != jinja.Plain:
		at.Kind = Foreign // the list of parts printed as a whole
	case path == thought && run.Codec == jinja.Plain:
		at.Kind = Reasoning
	case path == "content" || path == said || isTyped(path, "text"):
		at.Kind = Content
	case slices.Contains(chat.ReasoningFields[:], path) || isTyped(path, "thinking"):
		at.Kind = Reasoning
	case strings.HasPrefix(path, "tool_calls"):
		return classifyCall(at, strings.TrimPrefix(path, "tool_calls"), run.Role)
	default:
		at.Kind = Foreign
	}
	if run.Role != jinja.FromValue {
		at.Kind = Foreign
	}
	return at
}

// isRole reports whether a path is that of a message's role.
func isRole(path string) bool {
	index, ok := strings.CutPrefix(path, "messages[")
	if !ok {
		return false
	}
	_, field, _ := strings.Cut(index, "]")
	return field == ".role"
}

// isTyped reports whether a path below the message is the text of a typed part of the content.
func isTyped(path, field string) bool {
	rest, ok := strings.CutPrefix(path, "content[")
	if !ok {
		return false
	}
	_, rest, ok = strings.Cut(rest, "]")
	return ok && rest == "."+field
}

// classifyCall reads the path of a part of a call, which starts after "tool_calls". Text that a
// codec writes around or above the arguments (the keys "name" and "arguments", say) belongs to the
// format, not to the call: it is literal text.
func classifyCall(at Atom, path string, role jinja.Role) Atom {
	index, path, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !ok {
		return Atom{Kind: Literal, Exact: true}
	}
	at.Call, _ = strconv.Atoi(index)
	path = strings.TrimPrefix(path, ".function")
	switch {
	case path == ".name" && role == jinja.FromValue:
		at.Kind = Name
	case path == ".id" && role == jinja.FromValue:
		at.Kind = ID
	case strings.HasPrefix(path, ".arguments"):
		rest := strings.TrimPrefix(path, ".arguments")
		switch {
		case role == jinja.Structure:
			at.Kind = Structure
		case role == jinja.FromKey && rest != "":
			at.Kind = ArgKey
		case role == jinja.FromKey:
			return Atom{Kind: Literal, Exact: true}
		default:
			at.Kind = ArgValue
		}
		at.Path = rest
	default:
		return Atom{Kind: Literal, Exact: true}
	}
	return at
}

// tailAfterUser returns the atoms after the last byte of the user's message, nil where the template
// writes none.
func (r *Rendering) tailAfterUser() []Atom {
	content, end := r.Probe.UserPath()+".content", len(r.String)
	for i, run := range slices.Backward(r.Runs) {
		if run.Role != jinja.Literal && strings.HasPrefix(run.Path, content) {
			return r.atomized(i+1, end)
		}
		end -= run.Len
	}
	return nil
}

// Text returns the text of atoms.
func Text(atoms []Atom) string {
	var b strings.Builder
	for _, at := range atoms {
		b.WriteString(at.Text)
	}
	return b.String()
}

// LastLiteral returns the literal text at the end of a turn.
func LastLiteral(atoms []Atom) string {
	if n := len(atoms); n > 0 && atoms[n-1].Kind == Literal {
		return atoms[n-1].Text
	}
	return ""
}

// FirstLiteral returns the literal text at the start of a tail.
func FirstLiteral(atoms []Atom) string {
	if len(atoms) > 0 && atoms[0].Kind == Literal {
		return atoms[0].Text
	}
	return ""
}

// DropPrefix returns atoms without their first n bytes, which are literal.
func DropPrefix(atoms []Atom, n int) []Atom {
	if n == 0 || len(atoms) == 0 {
		return atoms
	}
	first := atoms[0]
	first.Text = first.Text[min(n, len(first.Text)):]
	if first.Text == "" {
		return atoms[1:]
	}
	return append([]Atom{first}, atoms[1:]...)
}

// Before returns the literal text that directly precedes the first atom of a kind, and the atom's
// index, -1 if there is none.
func Before(atoms []Atom, kinds ...Kind) (string, int) {
	i := slices.IndexFunc(atoms, func(at Atom) bool { return slices.Contains(kinds, at.Kind) })
	if i < 0 {
		return "", -1
	}
	if i > 0 && atoms[i-1].Kind == Literal {
		return atoms[i-1].Text, i
	}
	return "", i
}

// LeadOf returns the literal text that directly precedes the first atom that is written from a path
// of the input.
func LeadOf(atoms []Atom, path string) string {
	i := slices.IndexFunc(atoms,
		func(at Atom) bool { return at.Kind == Foreign && strings.HasPrefix(at.Path, path) })
	if i > 0 && atoms[i-1].Kind == Literal {
		return atoms[i-1].Text
	}
	return ""
}

// After returns the literal text that directly follows the atom at an index.
func After(atoms []Atom, i int) string {
	if i >= 0 && i+1 < len(atoms) && atoms[i+1].Kind == Literal {
		return atoms[i+1].Text
	}
	return ""
}

// OwnEnd returns the text at the end of a rendering that the template wrote itself: after the last
// byte of its input, the names of roles apart.
func OwnEnd(text jinja.Text) string {
	at := len(text.String)
	for _, run := range slices.Backward(text.Runs) {
		if !chattemplate.IsOwn(run.Origin) {
			break
		}
		at -= run.Len
	}
	return text.String[at:]
}
