package prompts

import (
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
	at := 0
	for _, r := range t.Seen.Runs {
		if r.Role == jinja.FromValue || r.Role == jinja.FromKey {
			if of := (Origin{r.Path, r.Role == jinja.FromKey}); !Has(found, of) {
				found[of] = at
			}
		}
		at += r.Len
	}
	t.from = found
	return found
}

func Has(found map[Origin]int, of Origin) bool {
	_, ok := found[of]
	return ok
}

// Shows reports whether a prompt has a text, as it is or as JSON writes it.
func (t *Prompt) Shows(text string) bool {
	if strings.Contains(t.Text, text) {
		return true
	}
	quoted := ordered.Str(text).String()
	return strings.Contains(t.Text, quoted[1:len(quoted)-1])
}
