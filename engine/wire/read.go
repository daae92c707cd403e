package wire

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Reader reads the events of one answer, in the order in which they come. It believes nothing: it
// checks every event's type, place, numbers and ids.
type Reader interface {
	// Event takes an event and its data. The name is "" where the stream gives none.
	Event(name string, data ordered.Value)
	// Mark takes an event whose data are [DONE] and no object.
	Mark()
	// End ends the stream and returns the answer.
	End() Answer
}

// A FaultKind is a sort of fault that a client stumbles over.
type FaultKind uint8

// The kinds of faults.
const (
	FaultShape      FaultKind = iota // an object lacks a member, or has one of another type
	FaultOrder                       // an event comes where it must not, or does not come
	FaultNumber                      // an index or a sequence number is not the next one
	FaultID                          // an id is missing, comes twice or changes
	FaultText                        // the whole text of a part is not its deltas put together
	FaultCharacters                  // a text is no UTF-8
	FaultUsage                       // counts of tokens are missing or do not add up
	FaultEnd                         // the answer does not come to its end
	FaultRole                        // an answer does not begin with the assistant's role
	FaultMixed                       // a delta has reasoning and content
	FaultCall                        // the head of a call is missing, or comes again
	FaultArguments                   // arguments are no text
	FaultName                        // the name of an event is not the type of its data
)

// Fault is one thing that a client stumbles over.
type Fault struct {
	Kind FaultKind
	// Cause is the fault itself. Faults that come from one cause have the same text, wherever they
	// are seen.
	Cause    string
	Evidence string // where it was seen, and what was found there; "" where the cause says it all
}

func (f Fault) String() string {
	if f.Evidence == "" {
		return f.Cause
	}
	return f.Cause + "\n  " + f.Evidence
}

// maxFaults bounds the faults that are kept of one answer.
const maxFaults = 100

// Answer is an answer as a client understands it.
type Answer struct {
	ID string
	// Message has the parts of each kind put together. Calls of custom tools have their input as
	// arguments.
	Message chat.Message
	Custom  []bool // of each call: a custom tool's
	Finish  chat.FinishReason
	Stop    string // the stop that ended it, where the protocol tells
	Usage   chat.Usage
	Counted bool // the server has sent usage
	Whole   bool // it came to its end
	// Broken is the error with which the server ended it.
	Broken string
	// Lost tells that a fault made the reader leave text out, so that the message lacks it.
	Lost   bool
	Faults []Fault
	Sealed []string // reasoning in sealed form
	// Turn is the answer as a client hands it back: a message, items, or a turn with blocks.
	Turn []ordered.Value

	event int // the number of the event that is being read, from 1; 0 in an answer in one piece
	// contents and reasonings are those of the parts that were taken, until they are joined.
	contents, reasonings []byte
}

// fault notes a fault; the evidence may be "".
func (a *Answer) fault(kind FaultKind, cause, evidence string, args ...any) {
	if len(a.Faults) == maxFaults {
		return
	}
	f := Fault{Kind: kind, Cause: cause, Evidence: fmt.Sprintf(evidence, args...)}
	if a.event > 0 {
		f.Evidence = strings.TrimSuffix(fmt.Sprintf("event %d: %s", a.event, f.Evidence), ": ")
	}
	a.Faults = append(a.Faults, f)
}

// indices are those in a path.
var indices = regexp.MustCompile(`\[\d+\]`)

// expect notes that a value is another one than was expected at a path. Its indices are evidence.
func (a *Answer) expect(kind FaultKind, path, want string, found ordered.Value) {
	general := indices.ReplaceAllString(path, "[]")
	evidence := "found " + ordered.Excerpt(found, 60)
	if general != path {
		evidence = path + ": " + evidence
	}
	a.fault(kind, general+": expected "+want, "%s", evidence)
}

// text demands a text.
func (a *Answer) text(v ordered.Value, path string) string {
	if v.Kind() != ordered.String {
		a.expect(FaultShape, path, "a text", v)
		a.Lost = true
		return ""
	}
	a.characters(v, path)
	return v.Text()
}

// characters demands UTF-8; halves of surrogate pairs are none.
func (a *Answer) characters(v ordered.Value, path string) {
	if !utf8.ValidString(v.Text()) {
		a.expect(FaultCharacters, path, "UTF-8", v)
	}
}

// maybe reads a text that may be null or missing.
func (a *Answer) maybe(v ordered.Value, path string) string {
	if v.IsNull() {
		return ""
	}
	if v.Kind() != ordered.String {
		a.expect(FaultShape, path, "a text or null", v)
		a.Lost = true
		return ""
	}
	a.characters(v, path)
	return v.Text()
}

// id demands a text that is not empty.
func (a *Answer) id(v ordered.Value, path string) string {
	if v.Kind() != ordered.String || v.Text() == "" {
		a.expect(FaultID, path, "an id", v)
	}
	return v.Text()
}

// word demands one of some words.
func (a *Answer) word(v ordered.Value, path string, words ...string) {
	for _, w := range words {
		if v.Kind() == ordered.String && v.Text() == w {
			return
		}
	}
	a.expect(FaultShape, path, fmt.Sprintf("%q", words), v)
}

// kind demands a value of a type.
func (a *Answer) kind(v ordered.Value, path string, k ordered.Kind) {
	if v.Kind() != k {
		a.expect(FaultShape, path, k.String(), v)
	}
}

// count demands a number from 0.
func (a *Answer) count(v ordered.Value, path string) int {
	n, err := strconv.Atoi(v.Text())
	if err != nil || v.Kind() != ordered.Number || n < 0 {
		a.expect(FaultUsage, path, "a count", v)
		return 0
	}
	return n
}

// counts demands usage, and reports whether it is there.
func (a *Answer) counts(usage ordered.Value) bool {
	if a.Counted = !usage.IsNull(); !a.Counted {
		a.fault(FaultUsage, "usage is missing", "")
	}
	return a.Counted
}

// next demands that an index is the one that is expected.
func (a *Answer) next(v ordered.Value, path string, want int) bool {
	if v.Kind() != ordered.Number || v.Text() != strconv.Itoa(want) {
		a.fault(FaultNumber, path+": expected the next number", "expected %d, found %s", want,
			ordered.Excerpt(v, 60))
		return false
	}
	return true
}

// fresh demands that the id of a call is one that no other call has.
func (a *Answer) fresh(kind FaultKind, id, path string) {
	for _, c := range a.Message.ToolCalls {
		if c.ID == id && id != "" {
			a.fault(kind, indices.ReplaceAllString(path, "[]")+": two calls have the same id",
				"%q", id)
		}
	}
}

// take adds a part of an answer to the message. What the protocol does not have is no part of it.
func (a *Answer) take(b *readBlock) {
	text := b.whole.String()
	switch b.kind {
	case "thinking", "reasoning":
		a.reasonings = append(a.reasonings, text...)
	case "text", "message":
		a.contents = append(a.contents, text...)
	case "tool_use", "function_call", "custom_tool_call":
		a.Message.ToolCalls = append(a.Message.ToolCalls, chat.ToolCall{ID: b.id, Name: b.name,
			Arguments: text, Complete: true})
		a.Custom = append(a.Custom, b.kind == "custom_tool_call")
	}
}

// joined returns the answer with the texts of its parts put together.
func (a *Answer) joined() Answer {
	a.Message.Content += string(a.contents)
	a.Message.Reasoning += string(a.reasonings)
	a.contents, a.reasonings = nil, nil
	return *a
}

// ended returns the answer of a stream that is over, whose last event should have been last.
func (a *Answer) ended(last string) Answer {
	a.event = 0
	if !a.Whole && a.Broken == "" {
		a.fault(FaultEnd, "the stream ends without "+last, "")
	}
	return a.joined()
}

// named demands that the name of an event is the type of its data.
func (a *Answer) named(name, kind string) {
	if name != kind {
		a.fault(FaultName, "the name of an event is not the type of its data",
			"the event %q has data of the type %q", name, kind)
	}
}

// lostBlock is the kind of a block whose beginning did not come, or that is not the protocol's.
const lostBlock = "lost"

// readBlock is a block or an item that is being read.
type readBlock struct {
	kind     string
	id, name string
	item     string // the id of an item
	whole    strings.Builder
	sealed   string
	part     int8 // of an item with parts: 0 before its part, 1 within, 2 after
	done     bool // the event with its whole text came
}
