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

// framed is own text of a template in a prompt.
type framed struct {
	gap
	in chattemplate.Input
}

// Framings returns the differences, one at most for each end of a conversation.
func Framings(t *chattemplate.Template) []Framing {
	var all []Framing
	first, known := map[string]framed{}, map[string]bool{}
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
				f := Framing{Before: probe.Article(e.Kinds[i].String())}
				f.In = "the end of the prompt"
				if i+1 < len(e.Texts) {
					f.In = probe.Article(e.Kinds[i+1].String())
				}
				key := f.Before + f.In
				if generate {
					key += ", where an answer is asked for"
				}
				if len(in.Tools) > 0 {
					key += ", with tools"
				}
				one, found := first[key]
				if !found {
					first[key] = framed{g, in}
				} else if same := f.Before + f.In; !known[same] &&
					digits.ReplaceAllString(one.text, "0") != digits.ReplaceAllString(g.text, "0") {
					known[same] = true
					f.First, f.Second, f.Off = one.text, g.text, g.at
					f.Input, f.Like = in, one.in
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
