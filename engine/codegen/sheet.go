package codegen

import (
	"fmt"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// sheet is the paper on which a tree is written: its rules, and the meanings of its events'
// numbers.
type sheet struct {
	free   bool // white space at markers is free (T1)
	rules  []peg.Rule
	under  map[string]peg.Pattern // references to the rules of the sheet before
	known  map[string]peg.Pattern // and to its own
	lits   map[string]peg.Pattern // of texts of markers
	marks  table[MarkInfo]
	values table[ValueInfo]
	nested table[*schema.Schema] // whose values are spelled as entries and items
	err    error

	nestedNames []string // the name that each of them had first
}

func newSheet(t *turn) *sheet {
	return &sheet{free: t.on(FreeSpace), known: map[string]peg.Pattern{},
		lits: map[string]peg.Pattern{}}
}

// extend returns a sheet that goes on where one ends. The one stays as it is, and others may go on
// from it.
func (s *sheet) extend() *sheet {
	return &sheet{free: s.free, under: s.known, known: map[string]peg.Pattern{},
		lits: map[string]peg.Pattern{}, marks: s.marks.extend(), values: s.values.extend()}
}

// table numbers things as they come.
type table[K comparable] struct {
	under map[K]int // the entries of the sheet before
	own   map[K]int
	list  []K
}

func (t *table[K]) extend() table[K] {
	return table[K]{under: t.own, list: t.list[:len(t.list):len(t.list)]}
}

// of returns the number of a thing.
func (t *table[K]) of(k K) int {
	i, ok := t.own[k]
	if !ok {
		i, ok = t.under[k]
	}
	if ok {
		return i
	}
	if t.own == nil {
		t.own = map[K]int{}
	}
	t.own[k] = len(t.list)
	t.list = append(t.list, k)
	return len(t.list) - 1
}

func (s *sheet) fail(format string, args ...any) peg.Pattern {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
	return peg.Seq{}
}

// ref returns a reference to a rule, which is built when it is first referred to.
func (s *sheet) ref(name string, build func() peg.Pattern) peg.Pattern {
	if ref := s.under[name]; ref != nil {
		return ref
	}
	ref := s.known[name]
	if ref == nil {
		ref = peg.Ref{Name: name}
		s.known[name] = ref
		i := len(s.rules)
		s.rules = append(s.rules, peg.Rule{Name: name})
		p := build()
		s.rules[i].P = p
	}
	return ref
}

// rule returns the body of a rule of this sheet.
func (s *sheet) rule(name string) peg.Pattern {
	for _, r := range s.rules {
		if r.Name == name {
			return r.P
		}
	}
	return nil
}

// space matches the white space beside a marker: any, or exactly the template's own.
func (s *sheet) space(exact string) peg.Pattern {
	if s.free {
		return peg.Space{}
	}
	return peg.Lit{Text: exact}
}

// spelled matches a literal as it is, its line breaks apart, where white space is free.
func (s *sheet) spelled(text string) peg.Pattern { return s.apart(text, segments(text)) }

// apart matches the parts of a literal with free white space between them.
func (s *sheet) apart(text string, parts []string) peg.Pattern {
	if len(parts) == 1 || !s.free {
		return peg.Lit{Text: text}
	}
	seq := peg.Seq{peg.Lit{Text: parts[0]}}
	for _, part := range parts[1:] {
		seq = append(seq, peg.Space{}, peg.Lit{Text: part})
	}
	return seq
}

// mark logs a marker's place.
func (s *sheet) mark(m format.Marker) peg.Pattern {
	return s.markInfo(MarkInfo{Before: m.Before, After: m.After, Free: s.free})
}

func (s *sheet) markInfo(info MarkInfo) peg.Pattern {
	return peg.Emit{Kind: Mark, Arg: s.marks.of(info)}
}

// lead logs the mark before a marker, trail the one after it.
func (s *sheet) lead(m format.Marker) peg.Pattern {
	return s.mark(format.Marker{Before: m.Before})
}

func (s *sheet) trail(m format.Marker) peg.Pattern { return s.mark(format.Marker{After: m.After}) }

// value returns the number of a kind of value.
func (s *sheet) value(v ValueInfo) int {
	return s.values.of(v)
}

// mute returns a pattern that reads the same and logs nothing.
func (s *sheet) mute(p peg.Pattern) peg.Pattern {
	list := func(l []peg.Pattern) []peg.Pattern { return lists.Map(l, s.mute) }
	switch p := p.(type) {
	case peg.Emit:
		return peg.Seq{}
	case peg.Capture:
		return s.mute(p.P)
	case peg.Until:
		p.Kind = 0
		return p
	case peg.Scan:
		p.Kind = 0
		return p
	case peg.Seq:
		return peg.Seq(list(p))
	case peg.Choice:
		return peg.Choice(list(p))
	case peg.Rep:
		p.P = s.mute(p.P)
		return p
	case peg.Opt:
		return peg.Opt{P: s.mute(p.P)}
	case peg.Hold:
		return peg.Hold{P: s.mute(p.P)}
	case peg.Try:
		return peg.Try{P: s.mute(p.P), Else: s.mute(p.Else)}
	case peg.Dispatch:
		p.Bodies = list(p.Bodies)
		return p
	case peg.Ref:
		body := s.rule(p.Name)
		return s.ref(p.Name+" unlogged", func() peg.Pattern { return s.mute(body) })
	}
	return p // a pattern without events
}
