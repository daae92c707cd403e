package words_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/words"
)

func TestMask(t *testing.T) {
	const text = "USERNEEDLE, then ANSWERNEEDLE and Vqcontent1; vq_first(vqcall001): Hello " +
		"there, Weather in CITYNEEDLE"
	one := words.NewMask(1, text)
	hidden := one.Hide(text)
	for _, needle := range []string{"NEEDLE", "Vq", "vq", "Hello there", "Weather"} {
		if strings.Contains(hidden, needle) {
			t.Errorf("%q is in %q", needle, hidden)
		}
	}
	if len(hidden) != len(text) || one.Show(hidden) != text || one.Hide(text) != hidden {
		t.Errorf("%q is hidden as %q and shown as %q", text, hidden, one.Show(hidden))
	}
	if again := words.NewMask(1, text).Hide(text); again != hidden {
		t.Errorf("the same seed draws %q and %q", hidden, again)
	}
	if other := words.NewMask(2, text).Hide(text); other == hidden {
		t.Errorf("another seed draws %q, too", other)
	}
	if upper := one.Show(strings.ToUpper(hidden)); !strings.Contains(upper, "VQCONTENT1") ||
		!strings.Contains(upper, "USERNEEDLE") {
		t.Errorf("in capital letters it is shown as %q", upper)
	}
	if one.Hide("plain text") != "plain text" || one.Show("plain text") != "plain text" {
		t.Error("a text without needles is changed")
	}
	// A source that has the words that the seed would draw gets others.
	if strings.Contains(words.NewMask(1, hidden).Hide("ANSWERNEEDLE"), one.Hide("ANSWERNEEDLE")) {
		t.Error("a text to be avoided is drawn")
	}
}

// TestMaskOfConversations shows the texts of conversations through masks: none is taken for a
// drawn word, under any seed.
func TestMaskOfConversations(t *testing.T) {
	var said strings.Builder
	for seed := range uint64(8) {
		s := words.New(seed)
		for range 50 {
			for _, text := range []string{s.Word(), s.Question(), s.Remark(), s.Rule(),
				s.Thought(), s.Function(), s.Parameter()} {
				said.WriteString(text + "\n")
			}
		}
	}
	const needles = "USERNEEDLE SECONDCITY Vqusera Vqreason Vqcontent1 vq_first vqcall001 " +
		"Hello there Weather CITYNEEDLE vq_second Vqa Vqb Vqc Vqd Vqe Vqf Vqx"
	text := said.String() + "Bratislava Goslar Tremblay the she smart play close plea think"
	text += strings.ToLower(text) + strings.ToUpper(text)
	for seed := range uint64(300) {
		m := words.NewMask(seed, "")
		hidden := m.Hide(needles)
		if shown := m.Show(text); shown != text {
			t.Fatalf("seed %d draws %q, and a part of it is said", seed, hidden)
		}
	}
}
