package notation

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/report"
)

// notated are the prompt of a request and needles in it, each in a value of its own; the
// text that counts begins after a needle of the messages before.
type notated struct {
	name    string
	request chat.Request
	after   string
	needles []string
}

// notation looks for JSON that is broken: around all needles, then around each. It reports whether
// it found some.
func notation(s *probe.Subject, find probe.Finder, n notated) bool {
	prompt, err := s.Ask(n.request)
	if err != nil {
		return false // other rules are about it
	}
	_, rest, ok := strings.Cut(prompt.Text, n.after)
	if !ok {
		return false
	}
	from := len(prompt.Text) - len(rest)
	for _, needles := range slices.AppendSeq([][]string{n.needles}, slices.Chunk(n.needles, 1)) {
		at, err := brokenAround(prompt.Text, from, needles)
		if err == nil {
			continue
		}
		place, why := prompt.At(at), strings.Replace(err.Error(), "expected a JSON value",
			"a value is missing, or lacks its quotes", 1)
		if off := unknownNull(s, place); off >= 0 {
			place = probe.Offset(off).Shown(prompt.In)
			why = "Jinja knows no null, only none, and writes nothing for it"
		}
		find(place, "%s is no valid JSON: %s\nthe model sees: %s", n.name, why,
			report.Quote(prompt.Text, at))
		return true
	}
	return false
}

// unknownNull returns where the name null stands in the line of a place; -1: it does not. To Jinja
// it is a variable, which nothing defines.
func unknownNull(s *probe.Subject, at probe.Where) int {
	line := func(off int) int { return s.Source.Places().Position(off).Line }
	for r := range s.Flow().Reads("null") {
		if at.Known() && line(r.Off()) == line(at.Off()) && !s.Flow().Assigns("null") {
			return r.Off()
		}
	}
	return -1
}

// jsonStart is the start of an object of JSON, or of a list of some.
var jsonStart = regexp.MustCompile(`^(?:\[\s*)?\{\s*"[A-Za-z_]+"`)

// brokenAround returns the fault of the largest stretch of a text around needles that begins as
// JSON does and ends with the bracket that belongs to the first one, and where the fault is. The
// error is nil where there is no such stretch, or it is sound.
func brokenAround(text string, from int, needles []string) (int, error) {
	first, last := len(text), -1
	for _, needle := range needles {
		at := strings.Index(text[from:], needle)
		if at < 0 {
			return 0, nil
		}
		first, last = min(first, from+at), max(last, from+at+len(needle))
	}
	for at := from; at < first; at++ {
		if !jsonStart.MatchString(text[at:first]) {
			continue
		}
		end := closed(text[at:])
		if at+end < last {
			continue
		}
		_, err := ordered.ParseString(text[at : at+end])
		var fault *source.Error
		if errors.As(err, &fault) {
			return at + fault.Off, errors.New(fault.Msg)
		}
		return 0, nil
	}
	return 0, nil
}

// closed is how long a text is up to the bracket that closes its first one; 0 where none does.
func closed(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// weighed are two requests, of which one has more of something with a needle in it.
type weighed struct {
	name          string
	with, without chat.Request
	needle        string
}

// weigh compares the brackets of two prompts. The values in them are balanced themselves.
func weigh(s *probe.Subject, find probe.Finder, w weighed) {
	with, err1 := s.Ask(w.with)
	without, err2 := s.Ask(w.without)
	if err1 != nil || err2 != nil || !with.Has(w.needle) {
		return // other rules are about it
	}
	for _, pair := range [][2]string{{"{", "}"}, {"[", "]"}} {
		open := strings.Count(with.Text, pair[0]) - strings.Count(without.Text, pair[0])
		shut := strings.Count(with.Text, pair[1]) - strings.Count(without.Text, pair[1])
		if open != shut {
			end := report.Parting(with.Text, without.Text) + len(with.Text) - len(without.Text)
			end = len(strings.TrimRight(with.Text[:end], " \n"))
			find(with.At(end-1), "%s opens %d %q and closes %d", w.name, open, pair[0], shut)
			return
		}
	}
}
