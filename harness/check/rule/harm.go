package rule

import "slices"

// Harm is the sort of damage that the fault of a rule does to a request or to its answer.
type Harm uint8

// The sorts of harm; a rule that judges no template has none.
const (
	_       Harm = iota
	Lost         // a part of the request does not reach the prompt
	Doubled      // a part of the request, or a marker, stands twice
	Glued        // two things run together: a header, an end, a bracket or a separator is missing
	Refused      // the template refuses the request in its own words
	Crashed      // the request ends in an error that nobody planned
	Misread      // a text is taken for something else: by the model, or by the parser of its answer
	Changed      // the prompt has the part, and not as it was sent
	Style        // no request suffers: what is written could be plainer
)

var harmNames = [...]string{"", "lost", "doubled", "glued", "refused", "crashed", "misread",
	"changed", "style"}

func (h Harm) String() string { return harmNames[h] }

// MarshalText implements [encoding.TextMarshaler].
func (h Harm) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Harm) UnmarshalText(text []byte) error {
	i, err := index("harm", harmNames[:], string(text))
	*h = Harm(i)
	return err
}

// breaking are the sorts of harm of which a gate lets no new warning through: users of the template
// lose what they had.
var breaking = []Harm{Lost, Doubled, Glued, Refused, Crashed}

// Close makes failures of the warnings that are news where their rule does a harm that no edit may
// bring: a part of a request is lost, doubled or glued to another one, or the request is refused or
// crashes. The reason is added to their text.
func Close(results []Result, reason string) {
	for i := range results {
		res := &results[i]
		if res.News() && res.Status == Found && res.Severity == Warning &&
			slices.Contains(breaking, res.harm) {
			res.Status = Failed
			res.Add(reason)
		}
	}
}
