package check

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
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
	in        *talked // the first without
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
	found := markersOf(tail[max(0, len(tail)-longest):])
	if len(found) == 0 || strings.HasSuffix(bare, "\x00") {
		return "", "", false, false
	}
	at := len(bare) - len(tail) + max(0, len(tail)-longest) + found[len(found)-1].at
	last := bare[at:]
	before := strings.TrimRight(bare[:at], " \t\n")
	after, marked := lastMarker(before)
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
	at, to, ok := nextMarker(bare[:min(len(bare), longest)], 0)
	if !ok || at != 0 || !strings.HasPrefix(bare, "</") {
		return "", false, false
	}
	return shapeOf(bare[:to]), strings.Contains(text[:len(text)-len(bare)], "\n"), true
}

// checkSeams compares the line feeds between markers and texts. Where those of one speaker alone
// lack them, and markers of the same shape have them around the texts of two others, they were
// forgotten.
func (s *Subject) checkSeams(find finder) {
	all := map[seam]map[place]*sewn{}
	var order []seam
	around := map[seam]map[string]bool{} // the markers that those with a line feed follow
	note := func(of seam, k place, fed bool, t *talked, at int, after string) {
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
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		text := t.framed()
		for i, span := range t.spans {
			content := t.in.Messages[i].At("content")
			if span.to == 0 || t.kinds[i] == conversation.Call ||
				content.Kind() != ordered.String || content.Text() == "" ||
				strings.TrimSpace(content.Text()) != content.Text() ||
				!strings.HasPrefix(t.text[span.from:], content.Text()) {
				continue
			}
			k := place{t.kinds[i], i == 0}
			if shape, after, fed, ok := openingSeam(text[:span.from], t.t.BOS); ok {
				note(seam{true, shape}, k, fed, t, span.from, after)
			}
			end := span.from + len(content.Text())
			ends := t.t.EOS != "" && strings.HasPrefix(strings.TrimSpace(text[end:]), t.t.EOS)
			shape, fed, ok := closingSeam(text[end:])
			if ok && end == span.to && !ends {
				note(seam{false, shape}, k, fed, t, end, "")
			}
		}
	}
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
				bare = few // it is the same nowhere
			}
			odd, who = one, k.who
		}
		if delete(fed, who); bare != 1 || len(fed) < few || !around[of][odd.after] {
			continue
		}
		side := "after"
		if of.before {
			side = "before"
		}
		find(odd.in.at(max(odd.at-1, 0)), "no line feed stands between the text of %s and the "+
			"marker %s it, though the texts of others have one there: %s\nconversation: %s",
			article(who.String()), side, report.Quote(odd.in.text, odd.at), odd.in.Name)
	}
}

// fedAt tells of the places of a template that write a marker whether a line feed follows it there.
type fedAt struct {
	fed  map[int]bool // by the place
	in   *talked      // the first prompt in which none follows
	at   int
	bare int // places where none follows
}

// checkFeeds looks for a marker that a line feed follows in all places that write it except one.
func (s *Subject) checkFeeds(find finder) {
	all := map[string]*fedAt{}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		own := t.own()
		for m := range t.markers() {
			if m.spoken || m.to == len(own) || strings.IndexByte("`'\").,", own[m.to]) >= 0 {
				continue
			}
			f := all[own[m.at:m.to]]
			if f == nil {
				f = &fedAt{fed: map[int]bool{}}
				all[own[m.at:m.to]] = f
			}
			w, ok := t.o.Trace.WriteAt(m.at)
			fed, known := f.fed[w.Off]
			switch now := own[m.to] == '\n'; {
			case !ok:
			case !known:
				f.fed[w.Off] = now
				if !now {
					f.bare++
					f.in, f.at = t, m.to
				}
			case fed && !now:
				f.bare = few // it hangs on something else
			}
		}
	}
	for _, marker := range slices.Sorted(maps.Keys(all)) {
		if f := all[marker]; f.bare == 1 && len(f.fed) > 3 {
			find(f.in.at(f.at-1), "a line feed follows %s in all places that write it "+
				"except this one: %s\nconversation: %s", jsonString(marker), report.Quote(f.in.text, f.at), f.in.Name)
		}
	}
}
