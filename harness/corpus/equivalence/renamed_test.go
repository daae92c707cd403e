package equivalence_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
)

// marker is a marker that a template writes, taken apart: <|, /, name, |>. The name of a tag with
// attributes is closed by "=" or " ".
type marker struct{ text, open, slash, name, shut string }

var (
	markers     = regexp.MustCompile(`<[|｜]?/?[^<>\s"'=|｜]+[|｜]?>|\[/?[^\[\]{}\s"',:]+\]|<\pL[\pL_]*[= ]`)
	markerParts = regexp.MustCompile(`^(<[|｜]?|\[)(/?)(.*?)([|｜]?>|\]|[= ])$`)
)

// renamings are other spellings of a template's markers. They keep different markers apart, and an
// opener looks like its closer as much as before, except for the last group.
var renamings = []struct {
	name   string
	rename func(m marker, n int) string // n is the number of the marker's name
	spaced bool                         // adds white space
}{
	{"other words", named(func(_ string, n int) string { return fmt.Sprintf("zorb%c", 'a'+n) }), false},
	{"capitals", named(func(name string, _ int) string { return strings.ToUpper(name) + "_X" }), false},
	{"letters beyond ASCII", named(func(_ string, n int) string { return string(rune('α'+n)) + "工具" }), false},
	{"many words", named(func(name string, n int) string { return fmt.Sprintf("the part %c of it", 'a'+n) }), false},
	{"names that begin alike", named(func(_ string, n int) string { return "x" + strings.Repeat("x", n) }), false},
	{"punctuation", named(func(name string, n int) string { return fmt.Sprintf("%c.q:r-%c", 'a'+n, 'a'+n) }), false},
	{"a letter", named(func(_ string, n int) string { return string(rune('a' + n)) }), false},
	{"long names", named(func(name string, _ int) string { return name + "_and_a_tail_of_many_words" }), false},

	{"square brackets", between("[", "]"), false},
	{"angles", between("<", ">"), false},
	{"bars", between("<|", "|>"), false},
	{"typographic bars", between("<｜", "｜>"), false},
	{"double square brackets", between("[[", "]]"), false},
	{"double angles", between("<<", ">>"), false},
	{"quotation marks", between("«", "»"), false},
	{"triangles", between("◁", "▷"), false},
	{"brackets of books", between("【", "】"), false},

	{"words for a slash", closed("<|%s_start|>", "<|%s_end|>"), false},
	{"capital words for a slash", closed("[%s START]", "[%s END]"), false},
	{"words before a name", closed("<|begin_of_%s|>", "<|end_of_%s|>"), false},
	{"words after a colon", closed("<%s:open>", "<%s:close>"), false},

	{"a space after", func(m marker, _ int) string { return m.text + " " }, true},
	{"a space before", func(m marker, _ int) string { return " " + m.text }, true},
}

// named gives markers another name between the same brackets. Words that make an opening or a
// closing marker stay.
func named(name func(old string, n int) string) func(marker, int) string {
	return func(m marker, n int) string {
		core := coreOf(m.name)
		return m.open + m.slash + strings.Replace(m.name, core, name(core, n), 1) + m.shut
	}
}

// between gives markers other brackets.
func between(open, shut string) func(marker, int) string {
	return func(m marker, _ int) string {
		if m.attributed() {
			return m.text
		}
		return open + m.slash + m.name + shut
	}
}

// closed tells markers that close with a slash by a word instead.
func closed(open, shut string) func(marker, int) string {
	return func(m marker, _ int) string {
		switch {
		case m.attributed() || coreOf(m.name) != m.name:
			return m.text
		case m.slash != "":
			return fmt.Sprintf(shut, m.name)
		}
		return fmt.Sprintf(open, m.name)
	}
}

func (m marker) attributed() bool { return m.shut == "=" || m.shut == " " }

var ends = regexp.MustCompile(`(?i)^(start|end|begin)[_▁](of[_▁])?|[_▁](start|end|begin)$`)

// coreOf is a marker's name without the words that report whether it opens or closes.
func coreOf(name string) string {
	if core := ends.ReplaceAllString(name, ""); core != "" && strings.Contains(name, core) {
		return core
	}
	return name
}

// differ has the renamings after which the engine learns something else, by family, and why.
var differ = map[string]string{
	"minimax-m3 square brackets":           "its namespace token holds brackets itself",
	"minimax-m3 double square brackets":    "its namespace token holds brackets itself",
	"minimax-m3 bars":                      closesByName,
	"minimax-m3 typographic bars":          closesByName,
	"minimax-m3 words for a slash":         closesByName,
	"minimax-m3 capital words for a slash": closesByName,
	"minimax-m3 words before a name":       closesByName,
	"minimax-m3 words after a colon":       closesByName,
	"minimax-m3 a space after": "white space inside the tags of nested items is " +
		"read as the item's",
	"lfm2.5-instruct words before a name": "its prompts show the close of reasoning alone, so " +
		"that the open may begin or start",
}

const closesByName = "its arguments are tags with their names, told from the call's closing " +
	"tag by the slash"

// TestRenamed spells the markers of every template otherwise. The engine must learn the same up to
// the spelling: nothing may hang on the words of a marker or on the shape of its brackets. Own
// templates get every third renaming, vendors' templates every sixth, so that each renaming meets
// dozens of formats.
func TestRenamed(t *testing.T) {
	c, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	vendors := os.Getenv("ASSAY_VENDOR")
	for f, family := range c.Families {
		if family.Own {
			text, err := c.Text(family.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(family.Name, func(t *testing.T) { renamed(t, family.Name, text, f%3, 3) })
		}
		for i, v := range family.Vendors {
			if vendors == "" {
				break
			}
			text, err := families.ReadVendor(os.DirFS(vendors), v)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(v.Name, func(t *testing.T) { renamed(t, family.Name, text, (f+i+1)%6, 6) })
		}
	}
}

// renamed checks a template under every step-th renaming from one on.
func renamed(t *testing.T, family, text string, from, step int) {
	t.Parallel()
	own := compile(t, "own", text)
	if own.Analysis().Format.Name != "" {
		t.Skip("a hand-written format is known by its markers")
	}
	learnt, bare := learntOf(own, false), learntOf(own, true)
	found := markersOf(own, text)
	names := map[string]int{}
	for _, m := range found {
		if core := coreOf(m.name); names[core] == 0 {
			names[core] = len(names) + 1
		}
	}
	for i := from; i < len(renamings); i += step {
		r := renamings[i]
		var pairs []string
		var to []string
		for _, m := range found {
			pairs = append(pairs, m.text, r.rename(m, names[coreOf(m.name)]-1))
			to = append(to, pairs[len(pairs)-1])
		}
		slices.Sort(to)
		if differ[family+" "+r.name] != "" || len(slices.Compact(to)) < len(found) {
			continue // two markers would be one
		}
		respell := strings.NewReplacer(pairs...)
		spelled := compile(t, r.name, respell.Replace(text))
		if !respelled(own, spelled, respell) {
			// white space of the template's own syntax, or another part of the source, has changed
			// the rendering
			continue
		}
		want, got := respell.Replace(learnt), learntOf(spelled, false)
		if r.spaced {
			want, got = squeeze.Replace(respell.Replace(bare)),
				squeeze.Replace(learntOf(spelled, true))
		}
		if want != got {
			t.Errorf("%s %q\n%s", r.name, pairs,
				diff.Diff("respelled", []byte(want), "learnt", []byte(got)))
		}
	}
}

// squeeze takes white space out of a text with quoted literals.
var squeeze = strings.NewReplacer(" ", "", `\n`, "")

// learntOf is the engine's knowledge of a template, as text; spelling leaves out parts that are
// only white space.
func learntOf(t *engine.Template, spelling bool) string {
	f := t.Analysis().Format
	f.End = t.Analysis().OwnEnds() // the others are known as tokens, by their spelling
	if spelling {
		f = f.Spelling()
	}
	var b strings.Builder
	b.WriteString(t.Caps().String() + f.String())
	for _, s := range t.Verify().Shapes {
		if s.Verdict == verify.Refused || s.Verdict == verify.Unjudged {
			s.Note = "" // the template's text may hold markers cut short
		}
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// markersOf returns the markers of a template's format that it writes as they stand in its source,
// the longest first.
func markersOf(own *engine.Template, text string) []marker {
	var found []marker
	seen := map[string]bool{subject.BOS: true, subject.EOS: true}
	for _, s := range markers.FindAllString(own.Analysis().Format.String(), -1) {
		if seen[s] {
			continue
		}
		seen[s] = true
		p := markerParts.FindStringSubmatch(s)
		m := marker{s, p[1], p[2], p[3], p[4]}
		respell := strings.NewReplacer(s, m.open+m.slash+"zzyzx"+m.shut)
		if spelled, err := subject.New("alone", respell.Replace(text)).Compile(); err == nil &&
			respelled(own, spelled, respell) {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(x, y marker) int { return len(y.text) - len(x.text) })
	return found
}

// respelled reports whether two templates write the same prompts except for the spelling.
func respelled(own, spelled *engine.Template, respell *strings.Replacer) bool {
	for _, c := range standard.Battery() {
		want, errWant := own.Render(c.Request)
		got, err := spelled.Render(c.Request)
		if (errWant == nil) != (err == nil) || respell.Replace(want.Text) != got.Text {
			return false
		}
	}
	return true
}
