package turns

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// seam is where the template's own marker and the text of a message meet.
type seam struct {
	before bool   // the marker stands before the text
	shape  string // of the marker: its signs, with an "a" for each word
}

// place is whose text it is, and whether the conversation begins with it: many templates write the
// first instructions in a place of their own.
type place struct {
	who   conversation.Kind
	first bool
}

// sewn tells for a seam of a speaker whether a line feed is between.
type sewn struct {
	fed, bare int
	in        *prompts.Prompt // the first without
	at        int
	after     string // the marker that its marker follows; "" at the start of a prompt
}

// shapeOf returns a marker, or one with a role's name after it, without its words: the headers of
// turns that differ in the role alone have one shape.
func shapeOf(marker string) string {
	var b strings.Builder
	for _, r := range marker {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '▁':
			if !strings.HasSuffix(b.String(), "a") {
				b.WriteByte('a')
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// openingSeam returns the shape of the marker that a text ends with, the marker right before that,
// and whether a line feed stands after it; ok is false where the text ends with none, and where it
// is all BOS.
func openingSeam(text, bos string) (shape, after string, fed, ok bool) {
	bare := strings.TrimRight(text, " \t\n")
	if strings.TrimSpace(bare) == bos {
		return "", "", false, false
	}
	tail := bare[strings.LastIndexByte(bare, 0)+1:]
	found := markup.In(tail[max(0, len(tail)-markup.Longest):])
	if len(found) == 0 || strings.HasSuffix(bare, "\x00") {
		return "", "", false, false
	}
	at := len(bare) - len(tail) + max(0, len(tail)-markup.Longest) + found[len(found)-1].At
	last := bare[at:]
	before := strings.TrimRight(bare[:at], " \t\n")
	after, marked := markup.Last(before)
	if strings.ContainsAny(last, " \n\t") || // words, and no role's name
		!marked && before != "" && before[len(before)-1] != 0 {
		return "", "", false, false
	}
	if after == bos {
		after = ""
	}
	return shapeOf(last), after, strings.Contains(text[len(bare):], "\n"), true
}

// closingSeam returns the shape of the element's end that a text begins with.
func closingSeam(text string) (shape string, fed, ok bool) {
	bare := strings.TrimLeft(text, " \t\n")
	at, to, ok := markup.Next(bare[:min(len(bare), markup.Longest)], 0)
	if !ok || at != 0 || !strings.HasPrefix(bare, "</") {
		return "", false, false
	}
	return shapeOf(bare[:to]), strings.Contains(text[:len(text)-len(bare)], "\n"), true
}

// checkSeams compares the line feeds between markers and texts. Where those of one speaker alone
// lack them, and markers of the same shape have them around the texts of two others, they were
// forgotten. It reports whether some were.
func checkSeams(s *probe.Subject, find probe.Finder) bool {
	all := map[seam]map[place]*sewn{}
	var order []seam
	around := map[seam]map[string]bool{} // the markers that those with a line feed follow
	note := func(of seam, k place, fed bool, t *prompts.Prompt, at int, after string) {
		if all[of] == nil {
			all[of], around[of] = map[place]*sewn{}, map[string]bool{"": true}
			order = append(order, of)
		}
		one := all[of][k]
		if one == nil {
			one = &sewn{}
			all[of][k] = one
		}
		if fed {
			one.fed++
			around[of][after] = true
		} else if one.bare++; one.bare == 1 {
			one.in, one.at, one.after = t, at, after
		}
	}
	for t := range prompts.Rendered(s) {
		text := t.Framed()
		for i, span := range t.Spans {
			content := t.In.Messages[i].At("content")
			if span.To == 0 || t.Kinds[i] == conversation.Call ||
				content.Kind() != ordered.String || content.Text() == "" ||
				strings.TrimSpace(content.Text()) != content.Text() ||
				!strings.HasPrefix(t.Text[span.From:], content.Text()) {
				continue
			}
			k := place{t.Kinds[i], i == 0}
			if shape, after, fed, ok := openingSeam(text[:span.From], t.Program.BOS); ok {
				note(seam{true, shape}, k, fed, t, span.From, after)
			}
			end := span.From + len(content.Text())
			ends := t.Program.EOS != "" && strings.HasPrefix(strings.TrimSpace(text[end:]),
				t.Program.EOS)
			shape, fed, ok := closingSeam(text[end:])
			if ok && end == span.To && !ends {
				note(seam{false, shape}, k, fed, t, end, "")
			}
		}
	}
	forgotten := false
	for _, of := range order {
		var odd *sewn
		var who conversation.Kind
		fed, bare := map[conversation.Kind]bool{}, 0
		for k, one := range all[of] {
			if one.bare == 0 {
				fed[k.who] = true
				continue
			}
			if bare++; one.fed > 0 {
				bare = prompts.Few // it is the same nowhere
			}
			odd, who = one, k.who
		}
		if delete(fed, who); bare != 1 || len(fed) < prompts.Few || !around[of][odd.after] {
			continue
		}
		side := "after"
		if of.before {
			side = "before"
		}
		forgotten = true
		odd.in.Show(s, find, max(odd.at-1, 0), "no line break stands between the text of %s and "+
			"the marker %s it, as it does elsewhere", probe.Article(who.String()), side)
	}
	return forgotten
}

// fedAt tells of the places of a template that write a marker whether a line feed follows it there.
type fedAt struct {
	fed  map[int]bool    // by the place
	in   *prompts.Prompt // the first prompt in which none follows
	at   int
	bare int // places where none follows
}

// checkFeeds looks for a marker that a line feed follows in all places that write it except one.
func checkFeeds(s *probe.Subject, find probe.Finder) {
	all := map[string]*fedAt{}
	for t := range prompts.Rendered(s) {
		own := t.Own()
		for m := range t.Markers() {
			if m.Spoken || m.To == len(own) || strings.IndexByte("`'\").,", own[m.To]) >= 0 {
				continue
			}
			f := all[own[m.At:m.To]]
			if f == nil {
				f = &fedAt{fed: map[int]bool{}}
				all[own[m.At:m.To]] = f
			}
			w, ok := t.Seen.Trace.WriteAt(m.At)
			fed, known := f.fed[w.Off]
			switch now := own[m.To] == '\n'; {
			case !ok:
			case !known:
				f.fed[w.Off] = now
				if !now {
					f.bare++
					f.in, f.at = t, m.To
				}
			case fed && !now:
				f.bare = prompts.Few // it hangs on something else
			}
		}
	}
	for _, marker := range slices.Sorted(maps.Keys(all)) {
		if f := all[marker]; f.bare == 1 && len(f.fed) > 3 {
			f.in.Show(s, find, f.at-1, "a line break follows %s in all places but this one",
				probe.JSON(marker))
		}
	}
}
