package prompts

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
)

// Origin is where text in a prompt came from: a path, and whether it is the key there.
type Origin struct {
	path string
	key  bool
}

// OriginOf is where the text of a leaf comes from.
func OriginOf(l conversation.Leaf) Origin {
	return Origin{l.Path, l.Part == conversation.Key && !l.Coded ||
		l.Part == conversation.Parameter}
}

// Origins are all origins of a prompt's text, and where in the prompt each has its first byte;
// several rules ask for them.
func (t *Prompt) Origins() map[Origin]int {
	if t.from != nil {
		return t.from
	}
	found := map[Origin]int{}
	for at, r := range t.Seen.All() {
		if r.Role == jinja.FromValue || r.Role == jinja.FromKey {
			if of := (Origin{r.Path, r.Role == jinja.FromKey}); !Has(found, of) {
				found[of] = at
			}
		}
	}
	t.from = found
	return found
}

func Has(found map[Origin]int, of Origin) bool {
	_, ok := found[of]
	return ok
}

// LeafAt names the leaf that a run of the prompt's text came from, "" where it came from none: "the
// content of message 2 (result)". Messages count from 1.
func (t *Prompt) LeafAt(r jinja.Run) string {
	if r.Role == jinja.Literal || r.Role == jinja.Computed || r.Path == "" {
		return ""
	}
	part := "a part"
	for _, l := range t.Leaves() {
		if l.Path == r.Path && (l.Part == conversation.Key) == (r.Role == jinja.FromKey) {
			part = "the " + l.Part.String()
			break
		}
	}
	if i := MessageOf(r); i >= 0 && i < len(t.Kinds) {
		return fmt.Sprintf("%s of message %d (%s)", part, i+1, t.Kinds[i])
	}
	if digits, ok := strings.CutPrefix(r.Path, "tools["); ok {
		digits, _, _ = strings.Cut(digits, "]")
		if i, err := strconv.Atoi(digits); err == nil {
			return fmt.Sprintf("%s of tool %d", part, i+1)
		}
	}
	return ""
}

// Codecs returns the ways in which a value of the request is written: as JSON, say.
func (t *Prompt) Codecs(path string) map[jinja.Codec]bool {
	all := map[jinja.Codec]bool{}
	for _, r := range t.Seen.Runs {
		if r.Path == path && r.Role == jinja.FromValue {
			all[r.Codec] = true
		}
	}
	return all
}

// Shows reports whether a prompt has a text, as it is or as JSON writes it.
func (t *Prompt) Shows(text string) bool {
	if strings.Contains(t.Text, text) {
		return true
	}
	quoted := ordered.Str(text).String()
	return strings.Contains(t.Text, quoted[1:len(quoted)-1])
}
