// Package spelling learns how a template writes a call: the markers and keys around its name and
// its arguments.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package spelling

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
)

// Piece distinguishes a spelling: a marker, or the key of a JSON object.
type Piece struct {
	markup.Marker
	Word          string // by which two pieces are the same
	Quote         byte   // around a key
	Before, After bool   // a line feed stands right there
	Text          string
}

// fence opens and closes a block of code in Markdown.
const fence = "```"

// jsonKey is a key of a JSON object.
var jsonKey = regexp.MustCompile(`(["'])([A-Za-z_]\w*)["']\s*:`)

// Pieces returns the markers and keys that the template itself writes in a stretch of a prompt.
func Pieces(t *prompts.Prompt, from, to int) []Piece {
	var all []Piece
	own := t.Own()[from:to]
	add := func(m markup.Marker, word string, quote byte) {
		p := Piece{Marker: m, Word: word, Quote: quote, Text: t.Text[from+m.At : from+m.To]}
		p.Before = m.At > 0 && own[m.At-1] == '\n'
		p.After = m.To < len(own) && own[m.To] == '\n'
		all = append(all, p)
	}
	for _, m := range markup.In(own) {
		sign := "<"
		if m.Side == markup.Closing {
			sign = "</"
		}
		add(m, sign+m.Key, 0)
	}
	for at := strings.Index(own, fence); at >= 0; {
		word := fence
		if r, _ := utf8.DecodeRuneInString(own[at+len(fence):]); unicode.IsLetter(r) {
			word += "open"
		}
		add(markup.Marker{At: at, To: at + len(fence), Side: markup.Closing}, word, 0)
		next := strings.Index(own[at+len(fence):], fence)
		if next < 0 {
			break
		}
		at += len(fence) + next
	}
	for _, found := range jsonKey.FindAllStringSubmatchIndex(own, -1) {
		add(markup.Marker{At: found[0], To: found[1]}, own[found[4]:found[5]], own[found[2]])
	}
	slices.SortFunc(all, func(a, b Piece) int { return a.At - b.At })
	for i := range all {
		all[i].At, all[i].To = all[i].At+from, all[i].To+from
	}
	return all
}

// plainWords are a value without quotes: no placeholder in brackets, and no literal of JSON.
var plainWords = regexp.MustCompile(`^[A-Za-z][\w-]*( [\w,.-]+)*$`)

// Quotes returns where the instructions show a string between two markers as it is, where the
// history has it in quotes between the same ones.
func (s Spelling) Quotes(shown Spelling, matched [][2]Piece) (int, bool) {
	for i := 1; i < len(matched); i++ {
		open, end := matched[i-1], matched[i]
		if open[0].Key != end[0].Key || open[0].Side == markup.Closing ||
			end[0].Side != markup.Closing ||
			open[0].Quote != 0 || open[1].To > end[1].At {
			continue
		}
		value := strings.TrimSpace(shown.Rendering.Text[open[1].To:end[1].At])
		if strings.TrimSpace(s.Rendering.Text[open[0].To:end[0].At]) == `"CITYNEEDLE"` &&
			plainWords.MatchString(value) {
			return open[1].To, true
		}
	}
	return 0, false
}

// Spelling is a stretch of a prompt with its pieces.
type Spelling struct {
	probe.Rendering
	Text   string
	End    int
	Pieces []Piece
}

// Around reports whether a piece is a marker around all that the instructions show: the section of
// calls, say, of which they may speak elsewhere. Its other half is not shown either.
func (s Spelling) Around(i int, matched [][2]Piece) bool {
	p := s.Pieces[i]
	if p.Quote != 0 || matched[0][0].At < p.At && p.At < matched[len(matched)-1][0].At {
		return false
	}
	return !slices.ContainsFunc(matched, func(m [2]Piece) bool {
		return m[0].Key == p.Key && m[0].Side != p.Side
	})
}

// Spelled returns a call as the history has it: the part of a turn with nothing but a call that an
// answer does not have.
func Spelled(s *probe.Subject) (Spelling, bool) {
	one := sample.CallIn("callid001", "CITYNEEDLE")
	call, err1 := prompts.Observe(s, sample.Talk(sample.User, sample.CallTurnOf(one)), true, false)
	answer, err2 := prompts.Observe(s, sample.Talk(sample.User, sample.Answer), true, false)
	if err1 != nil || err2 != nil {
		return Spelling{}, false
	}
	cut := func(t *prompts.Prompt) []Piece {
		at := strings.Index(t.Text, "USERNEEDLE")
		if at < 0 {
			return nil
		}
		return Pieces(t, at+len("USERNEEDLE"), len(t.Text))
	}
	other := map[string]bool{}
	for _, p := range cut(answer) {
		other[p.Word] = true
	}
	found := slices.DeleteFunc(cut(call), func(p Piece) bool { return other[p.Word] })
	for n := len(found); n > 0 && found[n-1].Quote == 0 && found[n-1].Side == markup.Alone; n-- {
		found = found[:n-1] // it ends the turn
	}
	if len(found) == 0 {
		return Spelling{}, false
	}
	return Spelling{call.Rendering, call.Text[found[0].At:found[len(found)-1].To],
		len(call.Text), found}, true
}
