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

	differences []*difference
	refused     []*difference // by the template alone
	unknown     []*difference // refused by the encoder alone
}

// Counts are the conversations by how they compare.
type Counts struct {
	Equal, Different   int
	Refused            int // by the template alone
	Unknown            int // by the encoder alone
	RefusedBoth        int
	Beyond             int // the encoder says nothing of them
	Tokenized, SameIDs int // of those that are equal: whose tokens were compared, and are the same
}

// Add adds the counts of other conversations.
func (c *Counts) Add(o Counts) {
	c.Equal, c.Different = c.Equal+o.Equal, c.Different+o.Different
	c.Refused, c.Unknown = c.Refused+o.Refused, c.Unknown+o.Unknown
	c.RefusedBoth, c.Beyond = c.RefusedBoth+o.RefusedBoth, c.Beyond+o.Beyond
	c.Tokenized, c.SameIDs = c.Tokenized+o.Tokenized, c.SameIDs+o.SameIDs
}

// String is a line for people.
func (c Counts) String() string {
	text := fmt.Sprintf("%d conversations: %d equal, %d different, %d refused by the template "+
		"alone, %d by the encoder alone, %d by both", c.Equal+c.Different+c.Refused+c.Unknown+
		c.RefusedBoth+c.Beyond, c.Equal, c.Different, c.Refused, c.Unknown, c.RefusedBoth)
	if c.Beyond > 0 {
		text += fmt.Sprintf("; the encoder does not do %d", c.Beyond)
	}
	if c.Tokenized > c.SameIDs {
		text += fmt.Sprintf("; the text of %d equal ones becomes other tokens than the encoder's",
			c.Tokenized-c.SameIDs)
	}
	return text
}

// difference is a cause: a place of the template, or the words of a refusal.
type difference struct {
	at     probe.Where
	cause  string
	prompt *prompts.Prompt // the first one
	text   string          // the encoder's prompt, or its words
	n      int             // how many conversations have it
}

// note counts a conversation under its cause.
func note(all *[]*difference, at probe.Where, cause string, t *prompts.Prompt, text string) {
	i := slices.IndexFunc(*all,
		func(d *difference) bool { return d.at == at && d.cause == cause })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &difference{at: at, cause: cause, prompt: t, text: text})
	}
	(*all)[i].n++
}

// Compared is the comparison of all conversations of the checks.
var Compared = probe.NewFact(func(s *probe.Subject) *Comparison {
	c := new(Comparison)
	for _, t := range prompts.All.Of(s) {
		if c.Err = c.compare(s, t); c.Err != nil {
			break
		}
	}
	for _, list := range [][]*difference{c.differences, c.refused, c.unknown} {
		slices.SortStableFunc(list, func(a, b *difference) int { return cmp.Compare(b.n, a.n) })
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
		c.RefusedBoth++
	case encoded.Refuse != "":
		c.Unknown++
		note(&c.unknown, probe.Nowhere, cmp.Or(encoded.At, encoded.Refuse), t, encoded.Refuse)
	case t.Err != nil:
		c.Refused++
		note(&c.refused, probe.Nowhere, t.Err.Error(), t, encoded.Text)
	case t.Text != encoded.Text:
		c.Different++
		note(&c.differences, t.At(report.Parting(t.Text, encoded.Text)), "", t, encoded.Text)
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
	at, before := 0, ""
	for _, r := range t.Seen.Runs {
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
		at += r.Len
	}
	switch {
	case off >= len(t.Text):
		return "the end of the template's prompt"
	case before == "":
		return "the template's own text"
	}
	return "the template's own text, after " + before
}

// counted tells which conversation shows a difference first, and how many others do.
func (d *difference) counted() string {
	text := "request: " + d.prompt.Name
	if kwargs := d.prompt.Request.Kwargs; len(kwargs.Members()) > 0 {
		text += ", with " + kwargs.String()
	}
	if d.n > 1 {
		text += fmt.Sprintf(" (one of %d)", d.n)
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
