package jinja

import "slices"

// Trace records what a render does with its input (E4): which paths it looks up, and with which literals text from the
// input is compared, searched, split or stripped. The zero value is ready for use; one trace may go through several renders,
// one after the other, and then holds what any of them did.
type Trace struct {
	reads    []Read
	index    map[string]int
	literals []Comparison
	seen     map[Comparison]bool
	pending  []pendingRead // look-ups of the operand of an "is defined"
	testing  int
}

// Read is one path that a render looked up. What is printed or encoded as a whole counts as one look-up, of itself and not of
// its parts.
type Read struct {
	Path    string // such as messages[1].tool_calls
	Value   bool   // its value was used
	Tested  bool   // it was asked for with "is defined", or as a key with "in"
	Missing bool   // it was not there
}

// Comparison is one use of a literal on text from the input, or on a value that was compared with it.
type Comparison struct {
	Path    string // where the text is from
	Op      string // ==, !=, in, split, strip, startswith, replace, ...
	Literal string
}

type pendingRead struct {
	path    string
	missing bool
}

// Reads returns the paths that were looked up, in the order of the first time. The caller must not change them.
func (t *Trace) Reads() []Read { return t.reads }

// Read says that the value at a path was used.
func (t *Trace) Read(path string) bool { return t.at(path).Value }

// Tested says that a path was asked for with "is defined", or as a key with "in".
func (t *Trace) Tested(path string) bool { return t.at(path).Tested }

// Missing returns the paths that were looked up in vain.
func (t *Trace) Missing() []string {
	var out []string
	for _, r := range t.reads {
		if r.Missing {
			out = append(out, r.Path)
		}
	}
	return out
}

// Comparisons returns the literals that the input met. The caller must not change them.
func (t *Trace) Comparisons() []Comparison { return t.literals }

// Literals returns the literals that met the value at a path, or text of it, through one of the operations, or any where none
// is named.
func (t *Trace) Literals(path string, ops ...string) []string {
	var out []string
	for _, c := range t.literals {
		if c.Path == path && (len(ops) == 0 || slices.Contains(ops, c.Op)) {
			out = append(out, c.Literal)
		}
	}
	return out
}

func (t *Trace) at(path string) Read {
	if i, ok := t.index[path]; ok {
		return t.reads[i]
	}
	return Read{}
}

func (t *Trace) entry(path string) *Read {
	i, ok := t.index[path]
	if !ok {
		if t.index == nil {
			t.index = map[string]int{}
		}
		i = len(t.reads)
		t.index[path] = i
		t.reads = append(t.reads, Read{Path: path})
	}
	return &t.reads[i]
}

// read records the look-up of a value.
func (t *Trace) read(path string) { t.note(pendingRead{path, false}) }

// missing records the look-up of something that is not there.
func (t *Trace) missing(path string) { t.note(pendingRead{path, true}) }

func (t *Trace) note(r pendingRead) {
	if t.testing > 0 {
		t.pending = append(t.pending, r)
		return
	}
	e := t.entry(r.path)
	e.Value = e.Value || !r.missing
	e.Missing = e.Missing || r.missing
}

// tested runs the operand of an "is defined": its last look-up is what is asked for, those before lead there.
func (t *Trace) tested(operand func() (Value, error)) (Value, error) {
	base := len(t.pending)
	t.testing++
	v, err := operand()
	t.testing--
	noted := slices.Clone(t.pending[base:])
	t.pending = t.pending[:base]
	for i, r := range noted {
		if i < len(noted)-1 {
			t.note(r)
			continue
		}
		t.asked(r.path, r.missing)
	}
	return v, err
}

// asked records that a render wanted to know whether there is something at a path.
func (t *Trace) asked(path string, missing bool) {
	e := t.entry(path)
	e.Tested = true
	e.Missing = e.Missing || missing
}

// compared records a literal.
func (t *Trace) compared(path, op, literal string) {
	c := Comparison{path, op, literal}
	if t.seen[c] {
		return
	}
	if t.seen == nil {
		t.seen = map[Comparison]bool{}
	}
	t.seen[c] = true
	t.literals = append(t.literals, c)
}
