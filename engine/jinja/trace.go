package jinja

import (
	"slices"
	"sort"
	"strings"
	"unsafe"
)

// Trace records the uses of a render's input (E4): which paths it looks up, and with which literals
// text from the input is compared, searched, split or stripped. The zero value is ready for use;
// one trace may go through several renders, one after the other, and then holds the uses of all.
type Trace struct {
	// Everywhere notes all places where a path is looked up (Places), not the first and the last
	// alone.
	Everywhere bool

	reads    []Read
	places   map[Place]bool
	literals []Comparison
	writes   []Write
	calls    []Write // whole texts of calls, in order; calls within them are left out
}

// Read is one path that a render looked up. A value that is printed or encoded as a whole counts as
// one look-up, of itself and not of its parts.
type Read struct {
	Path    string // such as messages[1].tool_calls
	Value   bool   // its value was used
	Tested  bool   // it was asked for with "is defined", or as a key with "in"
	Missing bool   // it was not there
	First   int    // where in the template it was looked up first, a byte offset into the source
	Last    int    // and where last

	order int // of the last look-up among all
}

// Place is a place in a template where a path was looked up.
type Place struct {
	Read int // the path, an index of [Trace.Reads]
	Off  int // a byte offset into the source
}

// Write is a stretch of the output that one statement wrote.
type Write struct {
	From, To int // bytes of the output
	Off      int // where in the template the statement is, a byte offset into the source
}

// Comparison is one use of a literal on text from the input, or on a value that was compared with
// it.
type Comparison struct {
	Path    string // where the text is from
	Op      string // ==, !=, in, split, strip, startswith, replace, ...
	Literal string
}

// Size is about how many bytes the trace takes.
func (t *Trace) Size() int {
	size := (len(t.writes) + len(t.calls)) * int(unsafe.Sizeof(Write{}))
	for i := range t.reads {
		size += int(unsafe.Sizeof(t.reads[i])) + len(t.reads[i].Path)
	}
	for i := range t.literals {
		size += int(unsafe.Sizeof(t.literals[i])) + len(t.literals[i].Path) +
			len(t.literals[i].Literal)
	}
	return size
}

// Reads returns the paths that were looked up, in the order of the first time. The caller must not
// change them.
func (t *Trace) Reads() []Read { return t.reads }

// Places reports for each place in the template which paths were looked up there; nil without
// Everywhere. The caller must not change them.
func (t *Trace) Places() map[Place]bool { return t.places }

// Read reports whether the value at a path was used.
func (t *Trace) Read(path string) bool { return t.at(path).Value }

// Tested reports whether a path was asked for with "is defined", or as a key with "in".
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

// LastMissing returns the path that was looked up in vain last, and reports whether there is one.
func (t *Trace) LastMissing() (string, bool) {
	path, order := "", -1
	for _, r := range t.reads {
		if r.Missing && r.order > order {
			path, order = r.Path, r.order
		}
	}
	return path, order >= 0
}

// Comparisons returns the literals that the input met. The caller must not change them.
func (t *Trace) Comparisons() []Comparison { return t.literals }

// Literals returns the literals that met the value at a path, or text of it, through one of the
// operations, or any where none is named.
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
	r, _ := t.Reading(path)
	return r
}

// Reading returns the look-ups of a path, and reports whether there was any.
func (t *Trace) Reading(path string) (Read, bool) {
	i := slices.IndexFunc(t.reads, func(r Read) bool { return r.Path == path })
	if i < 0 {
		return Read{}, false
	}
	return t.reads[i], true
}

// Nearest returns where the template last looked at a path or, where it never did, at something
// beside it: the last look-up below the nearest parent that has any. It is where to look for why a
// text did not reach the output.
func (t *Trace) Nearest(path string) (off int, ok bool) {
	if r, ok := t.Reading(path); ok {
		return r.Last, true
	}
	for parent := above(path); parent != ""; parent = above(parent) {
		best := -1
		for i, r := range t.reads {
			if inside := strings.HasPrefix(r.Path, parent) &&
				(len(r.Path) == len(parent) ||
					strings.IndexByte(".[", r.Path[len(parent)]) >= 0); inside &&
				(best < 0 || r.order > t.reads[best].order) {
				best = i
			}
		}
		if best >= 0 {
			return t.reads[best].Last, true
		}
	}
	return 0, false
}

// above is the path that a path is in, "" for a variable.
func above(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}

// WriteAt returns the statement that wrote a byte of the last render's output; false: there is no
// such byte. Text that went through a variable was written by the statement that printed the
// variable.
func (t *Trace) WriteAt(off int) (Write, bool) {
	i := sort.Search(len(t.writes), func(i int) bool { return t.writes[i].To > off })
	if i == len(t.writes) || off < t.writes[i].From {
		return Write{}, false
	}
	return t.writes[i], true
}

// Writes returns the stretches of the last render's output in order. The caller must not change
// them.
func (t *Trace) Writes() []Write { return t.writes }

// PrintAt returns the statement outside of macros that wrote a byte of the last render's output,
// with all that it wrote there; false: there is no such byte. Of a macro's text [Trace.WriteAt]
// finds the place in the macro, and PrintAt the place that calls it.
func (t *Trace) PrintAt(off int) (Write, bool) {
	i := sort.Search(len(t.calls), func(i int) bool { return t.calls[i].To > off })
	if i < len(t.calls) && off >= t.calls[i].From {
		return t.calls[i], true
	}
	return t.WriteAt(off)
}
