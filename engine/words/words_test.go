package words_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/words"
)

// draws are all kinds of text, each with the signs that it may have.
var draws = []struct {
	name  string
	draw  func(*words.Source) string
	shape string
}{
	{"Word", (*words.Source).Word, `^[a-z]{6,}$`},
	{"Question", (*words.Source).Question, `^[A-Z][A-Za-z ]{20,}\?$`},
	{"Remark", (*words.Source).Remark, `^[A-Z][A-Za-z ]{20,}\.$`},
	{"Rule", (*words.Source).Rule, `^[A-Z][A-Za-z ,.]{20,}\.$`},
	{"Thought", (*words.Source).Thought, `^[A-Z][A-Za-z ,]{20,}\.$`},
	{"Function", (*words.Source).Function, `^[a-z]+(_[a-z]+){1,2}$`},
	{"Parameter", (*words.Source).Parameter, `^[a-z]+(_[a-z]+){1,2}$`},
	{"ID", (*words.Source).ID, `^[a-z0-9]{9}$`},
}

// draw draws n texts of each kind.
func draw(s *words.Source, n int) (all []string) {
	for range n {
		for _, d := range draws {
			all = append(all, d.draw(s))
		}
	}
	return all
}

func TestDraw(t *testing.T) {
	for _, d := range draws {
		shape := regexp.MustCompile(d.shape)
		s := words.New(1)
		for range 500 {
			if text := d.draw(s); !shape.MatchString(text) {
				t.Errorf("%s draws %q", d.name, text)
			}
		}
	}
}

// TestSeed: a seed draws the same texts, another seed others.
func TestSeed(t *testing.T) {
	one, two := draw(words.New(7), 3), draw(words.New(8), 3)
	if again := draw(words.New(7), 3); !slices.Equal(one, again) {
		t.Errorf("%q and then %q", one, again)
	}
	for _, text := range one {
		if slices.Contains(two, text) {
			t.Errorf("both seeds draw %q", text)
		}
	}
}

// TestOwn checks that no text occurs in another or in one to be avoided.
func TestOwn(t *testing.T) {
	// the texts that the seed would draw were they not to be avoided
	source := strings.Join(draw(words.New(3), 20), " ")
	all := draw(words.New(3, source, "", "user assistant system"), 50)
	for i, text := range all {
		if strings.Contains(strings.ToLower(source), strings.ToLower(text)) {
			t.Errorf("%q is in a text to be avoided", text)
		}
		for j, other := range all {
			if i != j && strings.Contains(strings.ToLower(other), strings.ToLower(text)) {
				t.Errorf("%q is in %q", text, other)
			}
		}
	}
}
