package round

import (
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/sent"
)

// Framing is own text of a template before or after the last message of a conversation that is
// another one in a conversation which ends in the same kinds of messages.
type Framing struct {
	Difference
	Before string             // what it follows, in words
	Like   chattemplate.Input // the other conversation
}

// stand is where own text of a template stands: what is before it and after it, in words.
type stand struct {
	before, after string
	asked, tools  bool // an answer is asked for; the request has tools
}

// Framings returns the differences, one at most for each end of a conversation.
func Framings(t *chattemplate.Template) []Framing {
	var all []Framing
	first, known := map[stand]Framing{}, map[[2]string]bool{}
	for _, e := range sent.Endings() {
		for _, generate := range []bool{true, false} {
			in, prompt, err := view.Taken(e.Request,
				func(in chattemplate.Input) (string, error) {
					in.Generate = generate
					return t.Render(in)
				})
			if err != nil {
				continue // other rules are about it
			}
			in.Generate = generate
			for i := max(0, len(e.Texts)-2); i < len(e.Texts); i++ {
				g, ok := after(prompt, e.Texts, i)
				if !ok {
					continue
				}
				at := stand{probe.Article(e.Kinds[i].String()), "the end of the prompt", generate,
					len(in.Tools) > 0}
				if i+1 < len(e.Texts) {
					at.after = probe.Article(e.Kinds[i+1].String())
				}
				f := Framing{Difference{Second: g.text, Off: g.at, In: at.after, Input: in},
					at.before, in}
				if one, found := first[at]; !found {
					first[at] = f
				} else if same := [2]string{at.before, at.after}; !known[same] &&
					digits.ReplaceAllString(one.Second, "0") != digits.ReplaceAllString(g.text, "0") {
					known[same] = true
					f.First, f.Like = one.Second, one.Input
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// Unasked looks for instructions at the end of a conversation after which the prompt begins no
// answer, though it does after a question.
func Unasked(t *chattemplate.Template) (m Missing, ok bool) {
	for _, e := range sent.Endings() {
		last := len(e.Texts) - 1
		if last > 0 && e.Kinds[last] != conversation.System {
			continue
		}
		in, not, err1 := view.Taken(e.Request, func(in chattemplate.Input) (string, error) {
			in.Generate = false
			return t.Render(in)
		})
		in.Generate = true
		asked, err2 := t.Render(in)
		header, longer := strings.CutPrefix(asked, not)
		_, written := after(asked, e.Texts, last)
		switch {
		case err1 != nil || err2 != nil || !written:
		case last == 0 && longer && header != "":
			m.Header = header
		case last > 0 && asked == not && m.Header != "":
			m.Input, m.Off = in, len(asked)
			return m, true
		}
	}
	return m, false
}

// after is the own text after the text of a message up to that of the next one, or to the end of
// the prompt; false where a text of another message stands there.
func after(prompt string, texts sent.Round, i int) (g gap, ok bool) {
	from, ok := find(prompt, 0, texts[i])
	if !ok {
		return g, false
	}
	g.at = from + len(texts[i])
	g.text = prompt[g.at:]
	if i+1 < len(texts) {
		to, ok := find(prompt, g.at, texts[i+1])
		if !ok {
			return g, false
		}
		g.text = prompt[g.at:to]
	}
	for _, text := range texts {
		if strings.Contains(g.text, text) {
			return g, false
		}
	}
	return g, true
}
