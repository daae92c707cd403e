// Package conditional finds the lines of the template's own text that some prompts have and others
// have not, and what explains them: a feature of the conversation, such as tools or a switch.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package conditional

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

const (
	phrase       = 5       // so many words after each other are a phrase
	mostOwn      = 1 << 14 // so many different lines of own text are looked at,
	mostOwnBytes = 1 << 22 // and so many bytes of them
)

// ownLine is a line of the template's own text.
type ownLine struct {
	phrases []uint64
	in      set // the conversations whose prompts have it
	first   *prompts.Prompt
	off     int // in the prompt of the first one
}

// set is a set of conversations.
type set []uint64

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

func (s set) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s set) addAll(other set) {
	for i, w := range other {
		s[i] |= w
	}
}

// Line is a line that stands in some prompts.
type Line struct {
	*ownLine
	in     set
	reason []string // the features that tell in which; nil: none do
}

// Table are the lines that stand in some prompts and not in others.
type Table struct {
	lines    []Line
	talks    []*prompts.Prompt // without those that the template refuses
	features []feature         // of these; nil: no line hangs on anything
	cut      bool              // there are too many lines
}

// seed is drawn for each run, so that nobody can write phrases with one hash.
var seed = maphash.MakeSeed()

// PhrasesOf returns the hash of each five words after each other in a line of the template's own
// text, between which nothing stands but spaces and the signs of prose. A marker ends a row of
// words, and all numbers are one word.
func PhrasesOf(text string) (all []uint64) {
	var row [phrase]uint64
	n := 0
	for i := 0; i < len(text); {
		if text[i] == '<' || text[i] == '[' {
			if size := markup.Bracketed(text[i:]); size > 0 {
				i, n = i+size, 0
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		from := i
		switch {
		case isASCIILetter(r):
			for i < len(text) && isASCIILetter(rune(text[i])) {
				i++
			}
		case '0' <= r && r <= '9':
			for i < len(text) && '0' <= text[i] && text[i] <= '9' {
				i++
			}
		case r >= utf8.RuneSelf && unicode.IsLetter(r):
			i += size
		default:
			if i += size; strings.ContainsRune(`{}[]<>|=_"\/#~@$`, r) {
				n = 0
			}
			continue
		}
		w := uint64(0)
		if r < '0' || r > '9' {
			w = maphash.String(seed, text[from:i])
		}
		copy(row[:], row[1:])
		row[phrase-1] = w
		if n++; n >= phrase {
			all = append(all, maphash.Comparable(seed, row))
		}
	}
	return all
}

func isASCIILetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// ownLines yields the lines of a prompt that are the template's own, and the pieces of lines that
// are.
func ownLines(o chattemplate.Observation, yield func(text string, off int)) {
	stretch := func(from, to int) {
		for from < to {
			end := to
			if n := strings.IndexByte(o.String[from:to], '\n'); n >= 0 {
				end = from + n
			}
			if end-from >= 2*phrase-1 {
				yield(o.String[from:end], from)
			}
			from = end + 1
		}
	}
	from := 0
	for at, r := range o.All() {
		if !chattemplate.IsOwn(r.Origin) {
			stretch(from, at)
			from = at + r.Len
		}
	}
	stretch(from, len(o.String))
}

// All are the lines that some prompts have and others have not.
var All = probe.NewFact(find)

// find compares the template's own lines in the prompts of all conversations.
func find(s *probe.Subject) *Table {
	h := &Table{}
	for t := range prompts.Rendered(s) {
		if len(t.Kinds) > 0 {
			h.talks = append(h.talks, t)
		}
	}
	empty := func() set { return make(set, (len(h.talks)+63)/64) }
	lines := map[string]*ownLine{}
	var order []*ownLine
	size := 0
	for i, t := range h.talks {
		ownLines(t.Seen, func(text string, off int) {
			l := lines[text]
			if l == nil {
				if size += len(text); len(lines) >= mostOwn || size > mostOwnBytes {
					h.cut = true
					return
				}
				l = &ownLine{PhrasesOf(text), empty(), t, off}
				lines[text] = l
				order = append(order, l)
			}
			l.in.add(i)
		})
	}
	s.Template.ChatTemplate().Charge(size)
	in := map[uint64]set{} // which prompts have a phrase
	for _, l := range order {
		for _, p := range l.phrases {
			if in[p] == nil {
				in[p] = empty()
			}
			in[p].addAll(l.in)
		}
	}
	known := map[string][]string{}
	for _, l := range order {
		for _, p := range l.phrases {
			if in[p].len() == len(h.talks) {
				continue
			}
			if h.features == nil {
				h.features = featuresOf(h.talks)
			}
			key := fmt.Sprint(in[p])
			reason, ok := known[key]
			if !ok {
				reason = explained(h.features, in[p], len(h.talks))
				known[key] = reason
			}
			if reason == nil || slices.ContainsFunc(reason, isSwitch) {
				h.lines = append(h.lines, Line{l, in[p], reason})
				break
			}
		}
	}
	return h
}

// feature is something that conversations have, and that may be a reason for other words: its value
// for each of them.
type feature struct {
	name   string
	values []string
}

// ofSwitch begins the name of a feature that is a variable.
const ofSwitch = "variable "

func isSwitch(name string) bool { return strings.HasPrefix(name, ofSwitch) }

// featuresOf returns the features of conversations: tools, instructions, a first and a last
// message, images and the like, and variables.
func featuresOf(talks []*prompts.Prompt) []feature {
	var all []feature
	add := func(name string, of func(t *prompts.Prompt) string) {
		f := feature{name: name}
		for _, t := range talks {
			f.values = append(f.values, of(t))
		}
		if slices.ContainsFunc(f.values, func(v string) bool { return v != f.values[0] }) {
			all = append(all, f)
		}
	}
	has := func(name string, of func(t *prompts.Prompt) bool) {
		add(name, func(t *prompts.Prompt) string { return fmt.Sprint(of(t)) })
	}
	has("tools", func(t *prompts.Prompt) bool { return len(t.In.Tools) > 0 })
	for _, k := range []conversation.Kind{conversation.System, conversation.Developer} {
		has(k.String(), func(t *prompts.Prompt) bool { return slices.Contains(t.Kinds, k) })
	}
	add("first", func(t *prompts.Prompt) string { return t.Kinds[0].String() })
	add("last", func(t *prompts.Prompt) string { return t.Kinds[len(t.Kinds)-1].String() })
	media := map[string]bool{}
	switches := map[string]bool{}
	for _, t := range talks {
		for kind := range t.Media() {
			media[kind] = true
		}
		for _, m := range t.In.Kwargs {
			switches[m.Key] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(media)) {
		has(kind, func(t *prompts.Prompt) bool { return t.Media()[kind] })
	}
	has(ofSwitch+"add_generation_prompt", func(t *prompts.Prompt) bool { return t.In.Generate })
	for _, name := range slices.Sorted(maps.Keys(switches)) {
		add(ofSwitch+name, func(t *prompts.Prompt) string {
			for _, m := range t.In.Kwargs {
				if m.Key == name {
					return m.Value.String()
				}
			}
			return ""
		})
	}
	return all
}

// explained returns the features, one or two, that tell of each conversation whether it is in a
// set; nil where none do. Where hardly more conversations are in it than two tell apart, that is
// chance, unless one of them is a variable, which few conversations set.
func explained(features []feature, in set, n int) []string {
	tells := func(by ...feature) bool {
		is := map[string]bool{}
		groups := 0 // that are in the set
		for i := range n {
			key := ""
			for _, f := range by {
				key += f.values[i] + "\x00"
			}
			was, ok := is[key]
			switch {
			case ok && was != in.has(i):
				return false
			case !ok && in.has(i):
				groups++
			}
			is[key] = in.has(i)
		}
		return len(by) == 1 || in.len() >= 2*groups ||
			slices.ContainsFunc(by, func(f feature) bool { return isSwitch(f.name) })
	}
	for _, f := range features {
		if tells(f) {
			return []string{f.name}
		}
	}
	for i, f := range features {
		for _, g := range features[i+1:] {
			if tells(f, g) {
				return []string{f.name, g.name}
			}
		}
	}
	return nil
}

// CheckHangs reports the lines that stand in some prompts for no reason.
func CheckHangs(s *probe.Subject, find probe.Finder) {
	h := All.Of(s)
	found := lists.Filter(h.lines, func(l Line) bool { return l.reason == nil })
	if len(found) > 0 {
		l := found[0]
		with, without := h.twins(l)
		other := ""
		if with.Name != without.Name {
			other = "\nnot with: " + without.Name
		}
		find(l.cause(), "the template writes a text of its own in the request below, and not "+
			"in others like it\nthe model sees: %s\nrequest: %s%s%s",
			report.Quote(l.first.Text, l.off+Lead), with.Name, other, Others(s, placesOf(found)))
	} else if h.cut {
		probe.Unjudged(find, probe.ErrCut)
	}
}

// cause is the condition without which a line is not written.
func (l Line) cause() probe.Where {
	text, _, _ := strings.Cut(strings.TrimLeft(l.first.Text[l.off:], "\n"), "\n")
	return l.first.Cause(l.first.At(l.off), func(prompt string) bool {
		return !strings.Contains(prompt, text)
	})
}

// Lead is how far after its start a line is quoted, to show more of it than of the text before.
const Lead = 32

// placesOf returns the places in the template that wrote lines.
func placesOf(lines []Line) (all []probe.Where) {
	for _, l := range lines {
		all = append(all, l.first.At(l.off))
	}
	return all
}

// Others names the lines of the template, other than that of the first place, in which further
// ones stand.
func Others(s *probe.Subject, places []probe.Where) string {
	var lines []int
	for _, at := range places {
		if !at.Known() {
			continue
		}
		if line := s.Source.Places().Position(at.Off()).Line; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) < 2 {
		return ""
	}
	lines = lines[1:]
	slices.Sort(lines)
	text := "\nthe same: line "
	for i, line := range lines[:min(len(lines), mostNamed)] {
		if i > 0 {
			text += ", "
		}
		text += strconv.Itoa(line)
	}
	if rest := len(lines) - mostNamed; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// mostNamed bounds the places that a finding names.
const mostNamed = 8

// twins returns two conversations that are as alike as any two of which one has a line and the
// other has not.
func (h *Table) twins(l Line) (with, without *prompts.Prompt) {
	most := -1
	for i, t := range h.talks {
		for j, other := range h.talks {
			if !l.in.has(i) || l.in.has(j) {
				continue
			}
			alike := 0
			for _, f := range h.features {
				if f.values[i] == f.values[j] {
					alike++
				}
			}
			if alike > most {
				most, with, without = alike, t, other
			}
		}
	}
	return with, without
}

// CheckSwitched reports the lines that hang on variables.
func CheckSwitched(s *probe.Subject, find probe.Finder) {
	h := All.Of(s)
	by := map[string][]Line{}
	for _, l := range h.lines {
		for _, name := range l.reason {
			if isSwitch(name) {
				by[name] = append(by[name], l)
				break
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Compare(by[a][0].first.At(by[a][0].off).Off(),
			by[b][0].first.At(by[b][0].off).Off())
	})
	for _, name := range names {
		l := by[name][0]
		find(l.cause(), "the variable %s decides whether this text is written\nthe "+
			"model sees: %s%s",
			strings.TrimPrefix(name, ofSwitch), report.Quote(l.first.Text, l.off+Lead),
			Others(s, placesOf(by[name])))
	}
}
