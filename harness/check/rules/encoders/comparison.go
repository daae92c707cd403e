package encoders

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/report"
)

// Comparison is how the prompts of a template and of an encoder compare.
type Comparison struct {
	Counts
	Err error // the encoder's program failed, and the rest was not compared

	Differences []*Difference
	Refused     []*Difference // by the template alone
	Unknown     []*Difference // refused by the encoder alone
}

// Counts are the conversations by how they compare.
type Counts struct {
	Equal, Different   int
	ByTemplate         int // refused by the template alone
	ByEncoder          int // refused by the encoder alone
	ByBoth             int // refused by both
	Beyond             int // the encoder says nothing of them
	Tokenized, SameIDs int // of those that are equal: whose tokens were compared, and are the same
}

// Add adds the counts of other conversations.
func (c *Counts) Add(o Counts) {
	c.Equal, c.Different = c.Equal+o.Equal, c.Different+o.Different
	c.ByTemplate, c.ByEncoder = c.ByTemplate+o.ByTemplate, c.ByEncoder+o.ByEncoder
	c.ByBoth, c.Beyond = c.ByBoth+o.ByBoth, c.Beyond+o.Beyond
	c.Tokenized, c.SameIDs = c.Tokenized+o.Tokenized, c.SameIDs+o.SameIDs
}

// String is a line for people.
func (c Counts) String() string {
	text := fmt.Sprintf("%d conversations: %d equal, %d different, %d refused by the template "+
		"alone, %d by the encoder alone, %d by both", c.Equal+c.Different+c.ByTemplate+c.ByEncoder+
		c.ByBoth+c.Beyond, c.Equal, c.Different, c.ByTemplate, c.ByEncoder, c.ByBoth)
	if c.Beyond > 0 {
		text += fmt.Sprintf("; the encoder does not do %d", c.Beyond)
	}
	if c.Tokenized > c.SameIDs {
		text += fmt.Sprintf("; the text of %d equal ones becomes other tokens than the encoder's",
			c.Tokenized-c.SameIDs)
	}
	return text
}

// Difference is a cause: a place of the template, or the words of a refusal.
type Difference struct {
	At     probe.Where
	Prompt *prompts.Prompt // the first one
	Text   string          // the encoder's prompt, or its words
	N      int             // how many conversations have it

	cause string
}

// note counts a conversation under its cause.
func note(all *[]*Difference, at probe.Where, cause string, t *prompts.Prompt, text string) {
	i := slices.IndexFunc(*all,
		func(d *Difference) bool { return d.At.Off() == at.Off() && d.cause == cause })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &Difference{At: at, cause: cause, Prompt: t, Text: text})
	}
	(*all)[i].N++
}

// Compared is the comparison of all conversations of the checks.
var Compared = probe.NewFact(func(s *probe.Subject) *Comparison {
	c := new(Comparison)
	for _, t := range prompts.All.Of(s) {
		if c.Err = c.compare(s, t); c.Err != nil {
			break
		}
	}
	for _, list := range [][]*Difference{c.Differences, c.Refused, c.Unknown} {
		slices.SortStableFunc(list, func(a, b *Difference) int { return cmp.Compare(b.N, a.N) })
	}
	return c
})

// compare compares the prompts of a conversation.
func (c *Comparison) compare(s *probe.Subject, t *prompts.Prompt) error {
	encoded, err := s.Encoder.Encode(s.Template.ChatTemplate().Vars(t.In))
	if err != nil {
		return err
	}
	switch {
	case encoded.Beyond != "":
		c.Beyond++
	case encoded.Refuse != "" && t.Err != nil:
		c.ByBoth++
	case encoded.Refuse != "":
		c.ByEncoder++
		note(&c.Unknown, probe.Nowhere, cmp.Or(encoded.At, encoded.Refuse), t, encoded.Refuse)
	case t.Err != nil:
		c.ByTemplate++
		note(&c.Refused, probe.Nowhere, t.Err.Error(), t, encoded.Text)
	case t.Text != encoded.Text:
		c.Different++
		note(&c.Differences, t.At(report.Parting(t.Text, encoded.Text)), "", t, encoded.Text)
	default:
		c.Equal++
		return c.tokens(s, encoded)
	}
	return nil
}

// tokens compares the tokens of a prompt's text with those that the encoder made.
func (c *Comparison) tokens(s *probe.Subject, encoded probe.Encoded) error {
	if encoded.IDs == nil {
		return nil
	}
	ids, err := s.Encoder.Tokenize(encoded.Text)
	if err != nil || ids == nil {
		return err
	}
	c.Tokenized++
	if slices.Equal(ids, encoded.IDs) {
		c.SameIDs++
	}
	return nil
}

// whose tells whose text a byte of a prompt is.
func whose(t *prompts.Prompt, off int) string {
	before := ""
	for at, r := range t.Seen.All() {
		leaf := t.LeafAt(r)
		if off < at+r.Len {
			if leaf != "" {
				return leaf
			}
			break
		}
		if leaf != "" {
			before = leaf
		}
	}
	switch {
	case off >= len(t.Text):
		return "the end of the template's prompt"
	case before == "":
		return "the template's own text"
	}
	return "the template's own text, after " + before
}

// Told is the difference in a sentence.
func (d *Difference) Told(encoder string) string {
	at := report.Parting(d.Prompt.Text, d.Text)
	return fmt.Sprintf("the model is shown %s where %s writes %s", glimpse(d.Prompt.Text, at),
		encoder, glimpse(d.Text, at))
}

// counted tells which conversation shows a difference first, and how many others do.
func (d *Difference) counted() string {
	text := "request: " + d.Prompt.Name
	if kwargs := d.Prompt.Request.Kwargs; len(kwargs.Members()) > 0 {
		text += ", with " + kwargs.String()
	}
	if d.N > 1 {
		text += fmt.Sprintf(" (one of %d)", d.N)
	}
	return text
}

// glimpse is a text from an offset on, or from the brackets before it that open a marker.
func glimpse(text string, at int) string {
	const most = 32 // bytes
	if at >= len(text) {
		return "nothing more"
	}
	for at > 0 && strings.IndexByte("<[|/", text[at-1]) >= 0 {
		at--
	}
	rest := strings.ToValidUTF8(text[at:min(len(text), at+most)], "")
	return fmt.Sprintf("%q", rest)
}
