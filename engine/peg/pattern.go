package peg

// Pattern is a node of a pattern tree. Trees are plain data: a node may stand in several places,
// and nothing in it changes. The types of this file are all there are.
//
// Matching is that of parsing expression grammars: ordered choice, greedy repetition, no second
// thoughts about a match, except where an alternative fails. A node either matches and moves the
// position forward (or leaves it), or it fails.
//
// # Where a failure stands
//
// A failure has a place, which [Try] and [Rejected] use. A leaf fails where it stands: before
// itself, for the atomic Lit, Stub, Dispatch word and single bytes; after the text that it
// consumed, for Scan. A failure inside a combinator keeps its place, except that an alternative or
// iteration that can be undone is undone: a Choice fails where its last alternative fails (or the
// one that was decided on), a Rep of too few where the failed iteration began; And, Not and Hold
// fail where they began.
//
// # When an event leaves (E13)
//
// Each comment that says "Leaves" argues why an event that has left can never be taken back. The
// common ground: the only thing that takes events back is a failure that goes back to a backtrack
// entry, and that takes back those events only that were logged after the entry was made. So an
// event is safe once there is no entry that is older than it; the machine hands out exactly those.
type Pattern interface{ pattern() }

// Kind is the meaning of an event. Users define the meanings; 0 is no event at all: a Capture, an
// Until, a Scan or a Rejected of kind 0 reads its text and logs nothing.
type Kind uint8

// Tree is a root pattern and the rules that its Refs name.
type Tree struct {
	Root  Pattern
	Rules []Rule
	Kinds []string // names of the kinds for dumps, indexed by Kind
}

// Rule is a named pattern, for recursion.
type Rule struct {
	Name string
	P    Pattern
}

// Leaves that read input.
type (
	// Lit matches its text. It is atomic: the position moves only once all of it has matched. The
	// empty text matches without input. Leaves: nothing, it logs nothing.
	Lit struct{ Text string }

	// Set matches one byte of a set.
	Set struct{ Set ByteSet }

	// Any matches one byte.
	Any struct{}

	// Space matches a run of white space, blank, tab, carriage return, line feed, of any length,
	// also none.
	Space struct{}

	// End matches without input at the end of the input, which exists only once the input is
	// closed.
	End struct{}

	// Before matches without input where at most Off bytes precede.
	Before struct{ Off int }

	// Stub matches the whole rest of the input where it is a proper prefix of Text of at least one
	// byte: the beginning of a marker that the end of the input cut off.
	Stub struct{ Text string }
)

// Combinators.
type (
	// Seq matches its parts one after the other. The empty Seq matches without input.
	Seq []Pattern

	// Choice matches the first of its alternatives that matches; each is tried where the Choice
	// began.
	//
	// An alternative that logs events must have a way to leave (E13). One of these must hold,
	// else it does not compile:
	//
	//	(a) It begins with a byte with which no later alternative can begin. Then that byte decides: no entry is made, and
	//	    if the alternative fails afterwards the Choice fails. Leaves at once: there is no entry.
	//	(b) It has a Cut after at most [ConfirmBytes] bytes. Leaves at the Cut, which removes the entry.
	//	(c) It is a Hold. Leaves when the Hold has matched, which removes the entry.
	//	(d) It is the last one. Leaves at once: with nothing left to try there is no entry.
	//
	// All this is about the Choice's own entry: where the Choice itself is in something that is
	// held, it is held too.
	Choice []Pattern

	// Rep matches P as often as it can, at least Min times, at most Max (0: no maximum). An
	// iteration that fails is undone, and ends the repetition; one that matches without input ends
	// it too. A P that logs events must satisfy (a), (b) or (c) of [Choice], where (a) means: a
	// byte with which P can begin decides that there is a further iteration. Leaves: as there,
	// since an iteration is an alternative to stopping, with an entry of its own that is removed
	// when the iteration has matched or is cut; no entry outlives its iteration.
	Rep struct {
		P        Pattern
		Min, Max int
	}

	// Opt matches P, or nothing where P fails. The conditions of Rep on P and on events hold here,
	// too.
	Opt struct{ P Pattern }

	// Cut decides the innermost alternative of a Choice, iteration of a Rep, or Opt that it stands
	// in: it will not be undone any more; if the rest fails, the Choice, Rep or Opt fails.
	// Predicates, Hold, Try, Capture and rules are walls: a Cut concerns nothing outside them.
	// Leaves: the entry that the Cut removes is the youngest, so the events logged since leave
	// exactly if no older entry is there; that is the common rule.
	Cut struct{}

	// Hold matches P, holding back all that P logs until it has matched as a whole; if P fails,
	// nothing has happened. The bytes read meanwhile stay in memory, so there is a cap
	// (vm.Limits.Held): P fails where it would read beyond it. Leaves: when P has matched and its
	// entry is removed.
	Hold struct{ P Pattern }

	// Rejected begins an alternative of a Choice, after alternatives that failed. It takes the text
	// that they read, from where the Choice began to the farthest place where one of them failed
	// (failures inside And and Not count where these began), as text of Kind, so that a failed
	// attempt is not entered again (a byte is read at most twice). If they read nothing, the next
	// alternative is tried; else the Choice is decided, as by a Cut. Leaves at once: it makes no
	// entry.
	Rejected struct{ Kind Kind }

	// Dispatch matches one of many words, then After, then the body of that word. The word is the
	// longest one at this place for which After matches. After may be nil and logs nothing. Bodies
	// has one pattern per word, or is empty. A Cut in a body, which must then be in every body,
	// belongs to the alternative around the Dispatch. Leaves: the entry made for a word that has a
	// shorter word to fall back to is removed before the body begins.
	Dispatch struct {
		Words  []string
		After  Pattern
		Bodies []Pattern
	}

	// Switch is a Dispatch whose words and bodies are not known yet: they come when the frame that
	// it stands in is linked ([Frame.Link]). Every body has a Cut where Cuts is set, else none has;
	// only where Logs is set may one log events.
	Switch struct {
		Name       string
		After      Pattern
		Cuts, Logs bool
	}

	// And matches without input where P would match; Not where P would fail. P logs nothing.
	And struct{ P Pattern }
	// Not is the opposite of And.
	Not struct{ P Pattern }

	// Try matches P; if P fails, Else runs at the place of the failure: neither the position nor
	// the log go back. Leaves: Try makes no entry. The text that P logged has been read and stays
	// so. For this reason an announced call that breaks off is an incomplete call instead of
	// content.
	Try struct{ P, Else Pattern }

	// Ref matches the rule of that name. Left recursion does not compile.
	Ref struct{ Name string }
)

// Patterns that log events.
type (
	// Emit logs an event without input, with a number or a constant text.
	Emit struct {
		Kind Kind
		Arg  int
		Text string
	}

	// Capture logs the text that P reads as text of Kind. P logs nothing itself. Leaves as it is
	// read, as far as no entry is older: the text before an entry is logged when the entry is made,
	// so only the text that P itself may still undo is held back. If P fails, the text that it had
	// read is text of Kind all the same, unless the failure goes back to an entry.
	Capture struct {
		Kind Kind
		P    Pattern
	}

	// Until reads text of Kind up to the first of its stops, or to the end of the input. The stop
	// is not read: the pattern after the Until reads it. Among stops at one place the longest is
	// taken, whether or not its After holds. Until never fails, except at the cap of a Hold; it
	// makes no entry. One automaton looks for all stops: O(1) a byte.
	//
	// Leaves: all up to the place p-d, where p is the place looked at and d the length of the
	// longest suffix of the input so far that is a proper prefix of a stop (E13). A stop that is
	// found later cannot begin before p-d, or its beginning would be such a suffix, and longer.
	// Where a stop has Space, the white space before p-d stays too, at most [SpaceBytes] of it,
	// since it may turn out to belong to a stop.
	Until struct {
		Kind  Kind
		Stops []Stop
		// TrimEnd reports whether white space at the end of the input is left unread, as before a
		// stop with Space.
		TrimEnd bool
	}

	// Scan reads with an external automaton and logs its text as text of Kind. Leaves as it is
	// produced: a scanner makes no entry, and its events stand even if it fails later.
	Scan struct {
		Kind    Kind
		Scanner ScannerType
	}
)

// Stop ends an [Until].
type Stop struct {
	Text string
	// Space reports whether white space before the stop is not text: the Until stops before it.
	// Text then begins with another byte.
	Space bool
	// Stub reports whether a proper prefix of Text at the very end of the input ends the text too.
	Stub bool
	// After, where set, must match after Text, else the stop is text and the search goes on after
	// Text. It logs nothing and reads nothing. To keep time linear it should look ahead over white
	// space and bounded text only.
	After Pattern
}

// Annotations.
type (
	// Label is P. The name appears in dumps; the value is for other readers of the tree, such as a
	// grammar generator.
	Label struct {
		Name  string
		Value any
		P     Pattern
	}
)

// ConfirmBytes is the longest prefix of an alternative, in bytes, that may precede a Cut without a
// Hold (E13 (b)). A run of white space counts as one byte.
const ConfirmBytes = 4096

// SpaceBytes is the longest run of white space, in bytes, that an [Until] keeps back because a stop
// may follow. The earlier part of a longer run is text.
const SpaceBytes = 1 << 16

func (Lit) pattern()      {}
func (Set) pattern()      {}
func (Any) pattern()      {}
func (Space) pattern()    {}
func (End) pattern()      {}
func (Before) pattern()   {}
func (Stub) pattern()     {}
func (Seq) pattern()      {}
func (Choice) pattern()   {}
func (Rep) pattern()      {}
func (Opt) pattern()      {}
func (Cut) pattern()      {}
func (Hold) pattern()     {}
func (Rejected) pattern() {}
func (Dispatch) pattern() {}
func (And) pattern()      {}
func (Not) pattern()      {}
func (Try) pattern()      {}
func (Ref) pattern()      {}
func (Emit) pattern()     {}
func (Capture) pattern()  {}
func (Until) pattern()    {}
func (Scan) pattern()     {}
func (Switch) pattern()   {}
func (Label) pattern()    {}
