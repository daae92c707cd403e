package rule

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/source"
)

// Status is the outcome of a check.
type Status uint8

// The statuses. Found is a check that worked and has something to say: a finding below an error.
// Unjudged is a check whose probe failed for a reason of its own, so that nobody knows (E32); it
// never counts as passed.
const (
	Passed Status = iota
	Found
	Known // failed or was not judged, as a list of known failures says it must
	Unjudged
	Failed

	Statuses // how many there are
)

var statusNames = [Statuses]string{"passed", "found", "known", "not judged", "failed"}

func (s Status) String() string { return statusNames[s] }

// MarshalText implements [encoding.TextMarshaler].
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Status) UnmarshalText(text []byte) error {
	i, err := index("status", statusNames[:], string(text))
	*s = Status(i)
	return err
}

func index(what string, names []string, text string) (int, error) {
	if i := slices.Index(names, text); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%q is no %s; expected one of %q", text, what, names)
}

// Place is where in a file something is. The zero value is nowhere; Line 0 is the file as a whole.
type Place struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // 1-based
	Col  int    `json:"col,omitempty"`  // 1-based, in runes
	Part string `json:"part,omitempty"` // where in a template that the file has as a string: chat_template:3:5
	// Condition is where the condition begins that decides about what is found there, as
	// "line:column" of the template; "" where none is known.
	Condition string `json:"condition,omitempty"`
	// Excerpt is the line, and below it carets under the place; a long line is cut. "" where the
	// text is not at hand.
	Excerpt string `json:"excerpt,omitempty"`
}

// At returns the place of an offset in a text, with an excerpt.
func At(file string, src *source.Source, off int) Place {
	pos := src.Position(off)
	excerpt := strings.ReplaceAll(src.Excerpt(off), "\n    ", "\n")
	return Place{File: file, Line: pos.Line, Col: pos.Col,
		Excerpt: strings.TrimPrefix(excerpt, "    ")}
}

// Underlined returns the place with carets under a stretch of its line, from one byte of a text up
// to another.
func (p Place) Underlined(src *source.Source, from, to int) Place {
	at := At(p.File, src, from)
	excerpt := strings.ReplaceAll(src.Stretch(from, to), "\n    ", "\n")
	at.Excerpt = strings.TrimPrefix(excerpt, "    ")
	line, caret, _ := strings.Cut(at.Excerpt, "\n")
	room := source.Cells(line) - len(caret) // after the first caret
	more := min(source.Cells(src.Text[from:to])-1, room)
	p.Excerpt = at.Excerpt + strings.Repeat("^", max(0, more))
	return p
}

// Position returns the line and the column in the template, also in one that a file has as a
// string; 0, 0 where there are none.
func (p Place) Position() (line, col int) {
	if fields := strings.Split(p.Part, ":"); len(fields) > 2 {
		line, _ = strconv.Atoi(fields[len(fields)-2])
		col, _ = strconv.Atoi(fields[len(fields)-1])
		return line, col
	}
	return p.Line, p.Col
}

func (p Place) String() string {
	switch {
	case p.Part != "":
		return p.File + "#" + p.Part
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Result is one check and how it went.
type Result struct {
	Suite    string   `json:"suite"` // a template, a family or a file of vectors
	Group    string   `json:"group"` // the kind of check: a column of the matrix
	Name     string   `json:"name"`  // a check, a script or a vector's id
	Status   Status   `json:"status"`
	Rule     string   `json:"rule,omitempty"` // the id of the rule that was broken
	Severity Severity `json:"severity"`
	Place    Place    `json:"place"`
	Text     string   `json:"text,omitempty"`    // the fault in a line; further lines are evidence
	Fixable  bool     `json:"fixable,omitempty"` // a patch that was proven mends it
	Details  []Detail `json:"details,omitempty"` // of its cases, where a page is wanted
	// Request is the request that shows the fault, as OpenAI's clients write it, where that is
	// asked for and known.
	Request json.RawMessage `json:"request,omitempty"`
	// Old reports whether a finding, or a lesser check that was not judged, is no news: an earlier
	// version has it. It is counted and not told.
	Old bool `json:"old,omitempty"`

	harm Harm // of the rule
}

// Add adds a line to the text, before the advice at its end.
func (res *Result) Add(line string) {
	at := strings.Index(res.Text+advice, advice)
	res.Text = res.Text[:at] + "\n" + line + res.Text[at:]
}

// Advise puts other advice in the place of that of the rule.
func (res *Result) Advise(what string) {
	text, _, _ := strings.Cut(res.Text, advice)
	res.Text = text + advice + what
}

// Bad reports whether the result fails a run: a check failed, or one that looks for errors was not
// judged.
func (res *Result) Bad() bool {
	return res.Status == Failed || res.Status == Unjudged && res.Severity == Error
}

// IsFinding reports whether the result tells of a fault, be it a failure, a warning or a note.
func (res *Result) IsFinding() bool { return res.Status == Failed || res.Status == Found }

// Level is how bad the result is: a failure is an error, whatever rule produced it.
func (res *Result) Level() Severity {
	if res.Status == Failed {
		return Error
	}
	return res.Severity
}

// News reports whether the result is to be told: it is not if it passed or is known.
func (res *Result) News() bool {
	return res.Status != Passed && res.Status != Known && !res.Old
}

// Same reports whether two results are the same finding of a rule: their first lines say the same.
func (res *Result) Same(other *Result) bool {
	return res.Rule == other.Rule && res.Status == other.Status &&
		firstLine(res.Text) == firstLine(other.Text)
}

// Detail holds the facts that a page shows of a case beside its verdict. Offsets are bytes of the
// output.
type Detail struct {
	About    string `json:"about,omitempty"` // the story that the case tells
	Prompt   string `json:"prompt"`
	Prefill  int    `json:"prefill,omitempty"` // bytes at the prompt's end that are the start of the answer
	Output   string `json:"output"`
	Parts    []Span `json:"parts,omitempty"` // the fate of the output, without gaps
	Message  string `json:"message"`         // JSON
	Timeline []Step `json:"timeline,omitempty"`
}

// Span is a part of an output, and its fate: "marker", "content", "reasoning", "id", "arguments" or
// "dropped".
type Span struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Class string `json:"class"`
}

// Step is a part of the message as it left when the output was streamed byte by byte: how many
// bytes had been read at its first and its last delta, and the deltas' texts together.
type Step struct {
	Part string `json:"part"` // "reasoning", "content" or "call 1"
	From int    `json:"from"`
	To   int    `json:"to"`
	Text string `json:"text"`
}
