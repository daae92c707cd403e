package peg

// Status is the answer of a machine or a scanner (E12).
type Status uint8

// The three answers.
const (
	NeedMore Status = iota // all fine so far; the input ended
	Match                  // done; the position is after the match
	Fail                   // the input does not match; the position is where that became certain
)

func (s Status) String() string { return [...]string{"NeedMore", "Match", "Fail"}[s] }

// ScannerType makes scanners. Its values are compared: equal ones share a scanner in a machine, so
// a ScannerType should be a pointer or a small comparable struct (uncomparable ones are taken to
// differ).
type ScannerType interface {
	// Name is its name in dumps: "json", "python".
	Name() string
	// First is the set of bytes with which a match can begin. Nullable reports that the empty text
	// can match too.
	First() (set ByteSet, nullable bool)
	// New returns a scanner. A machine makes one at first use and keeps it.
	New() Scanner
}

// Scanner is an external automaton that reads a value which arrives in pieces.
//
// Its answers must be a function of the input alone, not of where the pieces end: after NeedMore
// the bytes consumed so far may depend on the pieces, but at Match and at Fail the total of bytes
// consumed and the text produced must not.
type Scanner interface {
	// Reset prepares for a new value.
	Reset()
	// Step reads on. in begins after the bytes consumed so far and holds all that is known of the
	// input; closed reports that nothing follows it. Step consumes the n first bytes of in, 0 ≤ n ≤
	// len(in), and produces text through out.
	//
	//	NeedMore  more input is needed; the rest comes again, with more after it, in the next call. Not
	//	          allowed when closed.
	//	Match     the value ends after the consumed bytes.
	//	Fail      no value begins with this input. The consumed bytes, and their text, are its good part.
	//
	// A scanner should consume all it looks at and keep its own state: unconsumed bytes are looked
	// at again.
	Step(in []byte, closed bool, out Out) (n int, st Status)
}

// Out takes the text that a scanner produces, in order.
type Out interface {
	// Copy produces in[from:to] as it is. Successive copies do not overlap; they cost nothing per
	// byte.
	Copy(from, to int)
	// Text produces other text, which stands for in[from:to] ([Event] has both).
	Text(text []byte, from, to int)
	// String is Text for a string.
	String(text string, from, to int)
	// Number gives the text that is produced from here on a number, which its events have as Arg.
	// Until it is called, in each Step, that is 0.
	Number(n int)
}

// Event is an entry of a program's log that the machine handed out.
type Event struct {
	Kind Kind
	Arg  int // Emit: its number; text of a scanner: the number that the scanner gave it
	Off  int // where in the input it begins; for an Emit, where it was logged
	End  int // where it ends; Off for an Emit
	// the text: input bytes [Off, End), the text that a scanner made of them, or an Emit's constant
	// text
	Text []byte
}
