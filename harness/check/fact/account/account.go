// Package account keeps an account of the values of requests: where in the prompt each stands, and
// what stands around it.
//
// # Model
//
// An [Entry] is one request of package sent as the template writes it, with the origin of each
// stretch of its prompt: a value of the request, or the template's own text. The rules about single
// values, the text between two of them, the text before the first and the markers ask it.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package account

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/sent"
)

// Entry is a request that renders.
type Entry struct {
	Name string // of the request, in words
	In   chattemplate.Input
	Seen chattemplate.Observation
	Runs []Run
}

// Run is a stretch of a prompt with one origin that is not empty.
type Run struct {
	jinja.Run
	From int
	Text string
}

// Entries are the requests that the template renders, the shortest first.
var Entries = probe.NewFact(func(s *probe.Subject) []Entry {
	var all []Entry
	for _, r := range sent.Requests() {
		in, seen, err := view.Taken(r.Request, s.Template.ChatTemplate().Observe)
		if err != nil {
			continue // other rules are about it
		}
		e := Entry{Name: r.Name, In: in, Seen: seen}
		for at, run := range seen.All() {
			if run.Len > 0 {
				e.Runs = append(e.Runs, Run{run, at, seen.String[at : at+run.Len]})
			}
		}
		all = append(all, e)
	}
	return all
})

// At is the place of the template that wrote a byte of the prompt.
func (e Entry) At(off int) probe.Where { return probe.WrittenAt(e.Seen, off).Shown(e.In) }

// Joint is a place where a value runs into what follows with nothing between.
type Joint struct {
	Left, Right Run
	Before      string // what the left one is, in words
	After       string // what the right one is
}

// Joints returns the places of an entry where a value other than a message's text runs into
// another value, or into a letter of the template's own before or after it.
func (e Entry) Joints() []Joint {
	var all []Joint
	for i := 1; i < len(e.Runs); i++ {
		left, right := e.Runs[i-1], e.Runs[i]
		a, _ := utf8.DecodeLastRuneInString(left.Text)
		b, _ := utf8.DecodeRuneInString(right.Text)
		if unicode.IsSpace(a) || unicode.IsSpace(b) {
			continue
		}
		from, to := part(left), part(right)
		switch {
		case left.Role == jinja.Literal && to.field != "" && !to.isText() && to.field != "role" &&
			right.Role != jinja.Structure && isWord(a) && isWord(b):
			all = append(all, Joint{left, right, "a word of the template", e.words(to)})
		case from.owner == "" || from.field == "role":
		case from.field == "arguments" && right.Role == jinja.Literal:
			if !unicode.IsLetter(b) || !isWord(a) && left.Role != jinja.Structure {
				continue
			}
			all = append(all, Joint{left, right, e.words(from), "a letter of the template"})
		case to.owner == "" || to.field == "role" || from.isText() && to.isText():
		case from.isTool() && to.isTool():
			// a list of tools is written as such
		case strings.HasPrefix(from.owner, to.owner) && from.owner != to.owner,
			strings.HasPrefix(to.owner, from.owner) && from.owner != to.owner:
			// a list is written as a whole
		case from.owner == to.owner && from.field == to.field:
			// two members of one value
			if left.Origin == right.Origin || left.Role == jinja.Structure ||
				right.Role == jinja.Structure {
				continue
			}
			all = append(all, Joint{left, right, e.words(from), "the next one"})
		case from.owner == to.owner && right.Role == jinja.Structure:
			// a name before its arguments: the bracket divides them
		default:
			all = append(all, Joint{left, right, e.words(from), e.words(to)})
		}
	}
	return all
}

// Blank is white space at the start of a prompt: before its first marker, or the indentation of a
// source line.
type Blank struct {
	In   Entry
	Text string
	Some bool // other prompts begin without
}

// BlankStart returns the first prompt that begins with white space that nobody meant.
func BlankStart(all []Entry) (Blank, bool) {
	var found Blank
	ok := false
	for _, e := range all {
		text := e.Seen.String
		rest := strings.TrimLeft(text, " \t\r\n")
		at, _, marked := markup.Next(rest, 0)
		switch {
		case rest == "":
		case len(rest) == len(text):
			found.Some = true
		case ok || e.Runs[0].Role != jinja.Literal:
		case marked && at == 0 || strings.Contains(text[:len(text)-len(rest)], "  "):
			found.In, found.Text, ok = e, text[:len(text)-len(rest)], true
		}
	}
	return found, ok
}

// Start is a marker with which most prompts begin and one does not.
type Start struct {
	In     Entry
	Marker string
	With   Entry // one that has it
}

// StartMissing returns a prompt that lacks the marker before the first header of other prompts: one
// that stands nowhere else, and another marker follows at once.
func StartMissing(all []Entry) (Start, bool) {
	tried := map[string]bool{}
	for _, e := range all {
		marker, _, ok := begins(e.Seen.String)
		if !ok || tried[marker] {
			continue
		}
		tried[marker] = true
		if found, ok := lacking(all, marker); ok {
			return found, true
		}
	}
	return Start{}, false
}

// begins returns the marker at the start of a prompt, and the text after it.
func begins(prompt string) (marker, rest string, ok bool) {
	if at, to, ok := markup.Next(prompt, 0); ok && at == 0 {
		return prompt[:to], strings.TrimLeft(prompt[to:], " \n"), true
	}
	return "", "", false
}

// lacking returns a prompt that lacks a marker with which two others at least begin, and which
// stands nowhere else. Where another marker is at its start, the marker must be before a header in
// all of the others; where a system message is there, it is the first text, without a header.
func lacking(all []Entry, marker string) (Start, bool) {
	found := Start{Marker: marker}
	n, headed, bare := 0, true, false
	for _, e := range all {
		start, rest, ok := begins(e.Seen.String)
		_, _, header := begins(rest)
		switch {
		case start == marker && strings.Contains(rest, marker),
			start != marker && strings.Contains(e.Seen.String, marker):
			return Start{}, false // it is a header itself
		case start == marker:
			if headed = headed && header; n == 0 {
				found.With = e
			}
			n++
		case !ok && !(len(e.Runs) > 0 && e.Runs[0].Path == "messages[0].content" &&
			e.In.Messages[0].At("role").Text() == "system"):
			return Start{}, false
		case found.In.Name == "" || !ok && !bare:
			found.In, bare = e, !ok
		}
	}
	if n < 2 || found.In.Name == "" || bare {
		return found, n >= 2 && bare
	}
	first, after, _ := begins(found.In.Seen.String)
	_, rest, _ := begins(found.With.Seen.String)
	next, _, _ := begins(rest) // after a name of a role, such as <|user|><|text|>, it is no header
	return found, headed && strings.Contains(rest, first) && !strings.HasPrefix(after, next)
}

// Twin is a marker of the template that is spelt in two ways, such as <|user|> and <｜user｜>.
type Twin struct {
	In          Entry // that has the rarer spelling
	Rare, Usual string
	Off         int // of the rarer one in the prompt
}

// fold returns what is the same in markers that look alike: characters of full width and bars of
// words as those of ASCII, in small letters.
func fold(marker string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '▁' || r == '-':
			return '_'
		case '！' <= r && r <= '～':
			r -= '！' - '!'
		}
		return unicode.ToLower(r)
	}, marker)
}

// Twins returns a marker with two spellings that look alike.
func Twins(all []Entry) (Twin, bool) {
	count := map[string]int{}
	spelt := map[string][]string{}
	first := map[string]Twin{}
	for _, e := range all {
		for m := range markup.Each(e.own()) {
			text := e.Seen.String[m.At:m.To]
			if m.Spoken {
				continue
			}
			if count[text]++; count[text] == 1 {
				spelt[fold(text)] = append(spelt[fold(text)], text)
				first[text] = Twin{In: e, Rare: text, Off: m.At}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(spelt)) {
		if alike := spelt[text]; len(alike) > 1 {
			rare, usual := alike[0], alike[1]
			if count[rare] >= count[usual] {
				rare, usual = usual, rare
			}
			found := first[rare]
			found.Usual = usual
			return found, true
		}
	}
	return Twin{}, false
}

// own is the prompt with zeros in place of the values.
func (e Entry) own() string {
	var b strings.Builder
	for _, r := range e.Runs {
		if r.Role == jinja.Literal {
			b.WriteString(r.Text)
		} else {
			b.WriteString(strings.Repeat("\x00", len(r.Text)))
		}
	}
	return b.String()
}

// Indent is the indentation of a line of the template that reaches the prompt between two turns.
type Indent struct {
	In  Entry
	Off int
}

var indented = regexp.MustCompile(`[\n>\]\x00](?: {2,}|\t+)[^\s\x00]`)

// Indented returns the first one, in conversations without tools and documents.
func Indented(all []Entry) (Indent, bool) {
	for _, e := range all {
		if len(e.In.Tools)+len(e.In.Kwargs) > 0 || len(e.In.Messages) < 3 {
			continue
		}
		said := func(back int) int {
			m := e.In.Messages[len(e.In.Messages)-back]
			return strings.Index(e.Seen.String, m.At("content").Text())
		}
		from, to := said(3), said(1)
		if from < 0 || to < from {
			continue
		}
		if at := indented.FindStringIndex(e.own()[from:to]); at != nil {
			return Indent{e, from + at[1] - 1}, true
		}
	}
	return Indent{}, false
}

// unparted matches a comma that follows the bracket before it, and a key, with its value, that no
// comma parts from the object before it, which is the value of such a key. Its group is the place.
var unparted = regexp.MustCompile(`[{\[](),|[\w\x00]:` +
	`\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}()[A-Za-z_]+:\S`)

// Unparted returns where in the tools of a request, as the template describes them, a comma is
// missing or has nothing before it.
func (e Entry) Unparted() (off int, ok bool) {
	from, to := -1, 0
	for _, r := range e.Runs {
		if strings.HasPrefix(r.Path, "tools[") {
			if to = r.From + r.Len; from < 0 {
				from = r.From
			}
		}
	}
	if from < 0 {
		return 0, false
	}
	at := unparted.FindStringSubmatchIndex(e.own()[from:to])
	if at == nil {
		return 0, false
	}
	return from + max(at[2], at[4]), true
}

// isWord reports whether a rune can stand inside a word.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// of is what a run is of: the call, tool, document or message, and its part there.
type of struct{ owner, field string }

// part cuts the path of a run.
func part(r Run) of {
	if r.Role == jinja.Literal || r.Role == jinja.Computed {
		return of{}
	}
	path := r.Path
	for _, list := range []string{".tool_calls[", "tools[", "documents[", "messages["} {
		i := strings.Index(path, list)
		if i < 0 {
			continue
		}
		end := strings.IndexByte(path[i:], ']')
		if end < 0 {
			continue
		}
		field := strings.TrimPrefix(strings.TrimPrefix(path[i+end+1:], ".function"), ".")
		if n := strings.IndexAny(field, ".["); n >= 0 {
			field = field[:n]
		}
		return of{path[:i+end+1], field}
	}
	return of{}
}

// isText reports whether a part is the text of a message.
func (o of) isText() bool {
	return strings.HasSuffix(o.owner, "]") && !strings.Contains(o.owner, ".") &&
		strings.HasPrefix(o.owner, "messages[") &&
		(o.field == "content" || o.field == "reasoning" || o.field == "reasoning_content" ||
			o.field == "thinking")
}

// isTool reports whether a part is a tool as a whole.
func (o of) isTool() bool { return strings.HasPrefix(o.owner, "tools[") && o.field == "" }

// words names a part of an entry.
func (e Entry) words(o of) string {
	name := o.field
	switch name {
	case "arguments":
		name = "argument"
	case "tool_call_id":
		name = "id"
	case "content":
		name = "text"
	}
	owner := "a tool call"
	switch {
	case strings.HasPrefix(o.owner, "tools["):
		owner = "a tool"
	case strings.HasPrefix(o.owner, "documents["):
		owner = "a document"
	case !strings.Contains(o.owner, ".tool_calls["):
		owner = "a message"
		if i, err := strconv.Atoi(strings.Trim(o.owner, "mesag[]")); err == nil {
			owner = probe.Article(conversation.KindOf(e.In.Messages[i]).String())
		}
	}
	if name == "" {
		return owner
	}
	return "the " + name + " of " + owner
}
