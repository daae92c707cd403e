package boundary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// Sort is what a piece of a prompt is.
type Sort uint8

// The sorts of pieces.
const (
	Text   Sort = iota // a value of the request, or several that are written as one
	Mark               // a marker, with the word right after it: <|im_start|>user
	Word               // other text of the template's own, without white space
	Finish             // the end of the prompt
)

// Piece is a stretch of a prompt without white space of the template's own.
type Piece struct {
	Sort     Sort
	Name     string // a marker's or a word's text; of a text, what it is of
	From, To int
	// the message that it is of, or the next one; None: the last is over
	Kind    conversation.Kind
	message int           // its index
	mark    markup.Marker // of a Mark
}

// Join is where two pieces of a prompt meet.
type Join struct {
	Left, Right *Piece
	In          *Reading
	at          int               // the right one among the pieces
	after       conversation.Kind // the message whose text was the last one
}

// At is the place that wrote the begin of the right piece.
func (j Join) At(s *probe.Subject) probe.Where {
	return s.Rendered(j.In.Seen.String, j.In.In).Seen(j.In.Seen, j.Right.From)
}

// Quote shows the prompt where the two pieces meet.
func (j Join) Quote() string { return report.Quote(j.In.Seen.String, j.Right.From) }

// Reading is a prompt in pieces.
type Reading struct {
	In     chattemplate.Input
	Seen   chattemplate.Observation
	Pieces []Piece
}

// The bounds of what is kept in pieces. The longest prompts of published templates have some 3,000;
// one that has thousands of markers repeats them, and tells nothing of messages.
const (
	mostPieces = 1 << 13 // of a prompt
	mostOfAll  = 1 << 19 // of all prompts
)

// Readings are the prompts of all requests that the template takes, those of single features
// first, without those that have too many pieces.
var Readings = probe.NewFact(func(s *probe.Subject) []*Reading {
	var all []*Reading
	kept := 0
	add := func(r *Reading) {
		if len(r.Pieces) <= mostPieces && kept+len(r.Pieces) <= mostOfAll {
			all, kept = append(all, r), kept+len(r.Pieces)
		}
	}
	for _, e := range account.Entries.Of(s) {
		add(read(e.In, e.Seen))
	}
	for t := range prompts.Rendered(s) {
		add(read(t.In, t.Seen))
	}
	return all
})

// field names what a run is of, with the message that it is in; "" for the template's own text.
func field(r jinja.Run, kinds []conversation.Kind) (name string, of int) {
	switch {
	case r.Role == jinja.Literal:
		return "", -1
	case strings.HasPrefix(r.Path, "tools"):
		return "tool", -1
	case strings.HasPrefix(r.Path, "documents"):
		return "document", -1
	case r.Role == jinja.Computed:
		return "number", -1
	}
	i := prompts.MessageOf(r)
	if i < 0 || i >= len(kinds) {
		return "", -1
	}
	_, rest, _ := strings.Cut(r.Path, "]")
	switch {
	case strings.Contains(rest, ".tool_calls"):
		name = "call"
		if strings.Contains(rest, ".arguments") {
			name = "argument"
		}
	case strings.HasPrefix(rest, ".content"):
		name = "text"
	default:
		if name = strings.TrimPrefix(rest, "."); slices.Contains(chat.ReasoningFields[:], name) {
			name = "reasoning"
		}
	}
	return name, i
}

// read cuts a prompt into pieces.
func read(in chattemplate.Input, seen chattemplate.Observation) *Reading {
	r := &Reading{In: in, Seen: seen}
	kinds := make([]conversation.Kind, len(in.Messages))
	for i, m := range in.Messages {
		kinds[i] = conversation.KindOf(m)
	}
	own := []byte(seen.String)
	var texts []Piece
	for from, run := range seen.All() {
		at := from + run.Len
		name, of := field(run, kinds)
		if name == "" || run.Len == 0 {
			continue
		}
		clear(own[from:at])
		kind := conversation.None
		if of >= 0 {
			kind = kinds[of]
		}
		if n := len(texts); n > 0 && texts[n-1].To == from && texts[n-1].Name == name &&
			texts[n-1].message == of {
			texts[n-1].To = at
			continue
		}
		texts = append(texts, Piece{Sort: Text, Name: name, From: from, To: at, Kind: kind,
			message: of})
	}
	r.Pieces = pieces(string(own), texts, len(kinds))
	return r
}

// pieces cuts the template's own text between the texts of a prompt with a number of messages. It
// ends where there are more than mostPieces.
func pieces(own string, texts []Piece, messages int) []Piece {
	var all []Piece
	find := func(at int) (from, to int) {
		from, to, ok := markup.Next(own, at)
		if !ok {
			return len(own), len(own)
		}
		return from, to
	}
	mark, end := find(0)
	t := 0
	for at := 0; at < len(own) && len(all) <= mostPieces; {
		for t < len(texts) && texts[t].To <= at {
			t++
		}
		for mark < at {
			mark, end = find(at)
		}
		c, size := utf8.DecodeRuneInString(own[at:])
		switch {
		case at == mark:
			p := Piece{Sort: Mark, From: at}
			p.mark, _ = markup.At(own, at, end)
			p.To = wordAt(own, end)
			p.Name = holes(own[at:p.To])
			all = append(all, p)
			at = p.To
		case own[at] == 0:
			p := texts[t]
			p.From = at
			all = append(all, p)
			at = p.To
		case unicode.IsSpace(c):
			at += size
		default:
			to := at
			for to < mark && own[to] != 0 && !unicode.IsSpace(c) {
				to += size
				if to == len(own) {
					break
				}
				c, size = utf8.DecodeRuneInString(own[to:])
			}
			all = append(all, Piece{Sort: Word, Name: own[at:to], From: at, To: to})
			at = to
		}
	}
	all = append(all, Piece{Sort: Finish, From: len(own), To: len(own)})
	next := Piece{message: messages}
	for i, p := range slices.Backward(all) {
		if p.Sort == Text && p.message >= 0 {
			next = p
		}
		all[i].Kind, all[i].message = next.Kind, next.message
	}
	return all
}

// wordAt is the end of the word that begins at an offset.
func wordAt(own string, at int) int {
	for at < len(own) {
		c, size := utf8.DecodeRuneInString(own[at:])
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' {
			break
		}
		at += size
	}
	return at
}

// holes leaves one zero of each row of them.
func holes(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if text[i] != 0 || i == 0 || text[i-1] != 0 {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// Joins returns where the pieces of a prompt meet, without the words of the template's own. Before
// the first question stand instructions, whose markers are often those of an example: only those
// beside a text and between tools count there. Nor do places count where a message is missing.
func (r *Reading) Joins() []Join {
	lastTool := -1
	for i, p := range r.Pieces {
		if p.Sort == Text && p.Name == "tool" {
			lastTool = i
		}
	}
	var all []Join
	talk, tools := false, false // a message that is no instruction has begun; the list of tools has
	last := Piece{message: -1}  // the text of a message that was the last one
	for i := 1; i < len(r.Pieces); i++ {
		left, right := &r.Pieces[i-1], &r.Pieces[i]
		switch {
		case left.Sort != Text:
		case left.Name == "tool":
			tools = true
		default:
			talk = talk || left.Kind != conversation.None && !prompts.Instructs(left.Kind)
			last = *left
		}
		if right.message > last.message+1 {
			continue // a message between them left nothing in the prompt
		}
		if left.plain(r) && right.plain(r) && (talk || left.Sort == Text || right.Sort == Text ||
			tools && i <= lastTool) {
			all = append(all, Join{left, right, r, i, last.Kind})
		}
	}
	return all
}

// plain reports whether the white space beside a piece tells something: it is no word of prose, and
// no text that begins or ends with white space itself.
func (p *Piece) plain(r *Reading) bool {
	switch p.Sort {
	case Text:
		text := r.Seen.String[p.From:p.To]
		return strings.TrimSpace(text) == text && p.Name != "number"
	case Mark:
		return !p.mark.Spoken
	}
	return false
}

// Fed reports whether a line feed parts the two pieces; bare, whether nothing does.
func (j Join) Fed() bool  { return strings.Contains(j.space(), "\n") }
func (j Join) bare() bool { return j.space() == "" }

func (j Join) space() string { return j.In.Seen.String[j.Left.To:j.Right.From] }
