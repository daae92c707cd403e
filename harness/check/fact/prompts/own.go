package prompts

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// Enough is how often a field must be read before it is said that it is never written: in some
// conversations there is a reason.
const Enough = 5

// Spoken is the path of the text of a message.
var Spoken = regexp.MustCompile(`^messages\[(\d+)\]\.content(\[\d+\]\.text)?$`)

// Few is the number of good prompts for each bad one, before the rule reports a missing marker that
// opens turns: the rules of turns look at those first.
const Few = 2

// Own returns a prompt with holes for the texts that the template did not write itself.
func (t *Prompt) Own() string {
	if t.holed != "" || t.Text == "" {
		return t.holed
	}
	b := []byte(t.Text)
	for at, r := range t.Seen.All() {
		if r.Role != jinja.Literal {
			clear(b[at : at+r.Len])
		}
	}
	t.holed = string(b)
	return t.holed
}

// MaxKept bounds how many markers of a prompt are kept; more are searched again when they are asked
// for.
const MaxKept = 1_000

// Markers returns the markers of a prompt.
func (t *Prompt) Markers() iter.Seq[markup.Marker] {
	if t.found == nil {
		t.found = []markup.Marker{} // kept, and none
		for m := range markup.Each(t.Own()) {
			if t.found = append(t.found, m); len(t.found) > MaxKept {
				t.many = true
				break
			}
		}
	}
	if t.many {
		return markup.Each(t.Own())
	}
	return slices.Values(t.found)
}

// Tail is where the last message ends: all after it frames the model's next text.
func (t *Prompt) Tail() int {
	tail := 0
	for _, s := range t.Spans {
		tail = max(tail, s.To)
	}
	return tail
}

// preamble is the template's own text before the first message.
type preamble struct {
	In  *Prompt
	Own string
}

// Preambles returns the distinct ones of all conversations, the plainest conversation first.
func Preambles(s *probe.Subject) []preamble {
	var all []preamble
	seen := map[string]bool{}
	for t := range Rendered(s) {
		if len(t.Spans) == 0 {
			continue
		}
		if own := t.Own()[:t.Spans[0].From]; own != "" && !seen[own] {
			seen[own] = true
			all = append(all, preamble{t, own})
		}
	}
	return all
}

// FindOwn finds the first match of a pattern in the preambles: of one that matches in a line, with
// the ends of that and of the line before. Most preambles have the same lines; each is searched
// once.
func FindOwn(s *probe.Subject, pattern *regexp.Regexp) (p preamble, at []int) {
	seen := map[string]bool{}
	for _, p := range Preambles(s) {
		for from := 0; from < len(p.Own); {
			to := len(p.Own)
			if n := strings.IndexByte(p.Own[from:], '\n'); n >= 0 {
				to = from + n + 1
			}
			begin := max(0, from-1)
			if line := p.Own[begin:to]; !seen[line] {
				seen[line] = true
				if at := pattern.FindStringIndex(line); at != nil {
					return p, []int{begin + at[0], begin + at[1]}
				}
			}
			from = to
		}
	}
	return preamble{}, nil
}

// Instructs reports whether messages of a kind are instructions, which share a turn with blocks of
// the template's own. Calls are blocks, too, and follow the text beside them in many ways.
func Instructs(k conversation.Kind) bool {
	return k == conversation.System || k == conversation.Developer
}

// Shortest is the length from which on a text that stands there twice is no chance, in bytes.
const Shortest = 8

// Framed returns a prompt with holes for the texts of messages and tools; the names of roles and
// the special tokens stay.
func (t *Prompt) Framed() string {
	if t.frames != "" || t.Text == "" {
		return t.frames
	}
	b := []byte(t.Text)
	for at, r := range t.Seen.All() {
		given := r.Role != jinja.Literal && r.Role != jinja.Computed &&
			(strings.HasPrefix(r.Path, "messages") || strings.HasPrefix(r.Path, "tools"))
		if given && !strings.HasSuffix(r.Path, ".role") {
			clear(b[at : at+r.Len])
		}
	}
	t.frames = string(b)
	return t.frames
}

// KindBefore is the kind of the last message that has text before an offset of the prompt.
func (t *Prompt) KindBefore(off int) conversation.Kind {
	kind := conversation.None
	for i, s := range t.Spans {
		if s.To > 0 && s.To <= off {
			kind = t.Kinds[i]
		}
	}
	return kind
}
