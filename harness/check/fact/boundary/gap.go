package boundary

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// Asked is the text that stands between a question and its answer.
func Asked(s *probe.Subject) string {
	for _, g := range Gaps.Of(s) {
		if g.Asked && g.Before == conversation.Question {
			return g.Text
		}
	}
	return ""
}

// Headers are the keys of the markers that open turns: those with which generation prompts begin.
// A058 to A060 are about those.
func Headers(s *probe.Subject) map[string]bool {
	keys := map[string]bool{}
	for t := range prompts.Rendered(s) {
		if !t.In.Generate || len(t.Spans) == 0 || t.Spans[len(t.Spans)-1].To == 0 {
			continue // an empty message's own header would be taken for the model's
		}
		tail := t.Tail()
		for m := range t.Markers() {
			if m.At >= tail && m.Side != markup.Closing {
				keys[m.Key] = true
				break
			}
		}
	}
	return keys
}

// Gap is the text between two messages that follow each other, or between one and an end of the
// prompt.
type Gap struct {
	Before, After conversation.Kind // None at an end of the prompt
	Asked         bool              // at the end: with a generation prompt
	Text          string            // without the texts of messages
	In            *prompts.Prompt
	At, To        int // where in the prompt it is
}

// Hole stands in a gap for text from a message.
const Hole = "\x00"

// counter stands in a gap for text that the template computed, such as the number of a call.
const counter = "\x01"

// GapsIn returns the texts between the messages of a conversation; messages that leave nothing in
// the prompt have none.
func GapsIn(t *prompts.Prompt) []Gap {
	if t.Err != nil || len(t.Spans) == 0 {
		return nil
	}
	var all []Gap
	add := func(before, after conversation.Kind, from, to int) {
		if from <= to {
			all = append(all, Gap{before, after, after == conversation.None &&
				t.In.Generate, between(t, from, to), t, from, to})
		}
	}
	for i, s := range t.Spans {
		switch {
		case s.To == 0:
		case i == 0:
			add(conversation.None, t.Kinds[0], 0, s.From)
		case t.Spans[i-1].To > 0:
			add(t.Kinds[i-1], t.Kinds[i], t.Spans[i-1].To, s.From)
		}
	}
	if last := len(t.Spans) - 1; t.Spans[last].To > 0 {
		add(t.Kinds[last], conversation.None, t.Spans[last].To, len(t.Text))
	}
	return all
}

// between returns a stretch of the prompt with holes where it came from messages.
func between(t *prompts.Prompt, from, to int) string {
	var b strings.Builder
	for at, r := range t.Seen.All() {
		lo, hi := max(at, from), min(at+r.Len, to)
		switch {
		case lo >= hi:
		case prompts.MessageOf(r) >= 0:
			if !strings.HasSuffix(b.String(), Hole) {
				b.WriteString(Hole)
			}
		case r.Role == jinja.Computed:
			b.WriteString(counter)
		default:
			b.WriteString(t.Text[lo:hi])
		}
	}
	return b.String()
}

// UsualEnd is the text that most prompts end with after a kind of message, where no generation
// prompt is asked for.
func UsualEnd(gaps []Gap, kind conversation.Kind) string {
	count := map[string]int{}
	best := ""
	for _, g := range gaps {
		if g.Before == kind && g.After == conversation.None && !g.Asked {
			end := strings.TrimSpace(g.Text)
			if count[end]++; count[end] > count[best] {
				best = end
			}
		}
	}
	return best
}

// Faults are the gaps with one fault, for each kind of message before them.
type Faults struct {
	Kinds []conversation.Kind // before
	Gaps  map[conversation.Kind][]Gap
}

func (f *Faults) Add(g Gap) {
	if f.Gaps == nil {
		f.Gaps = map[conversation.Kind][]Gap{}
	}
	if f.Gaps[g.Before] == nil {
		f.Kinds = append(f.Kinds, g.Before)
	}
	f.Gaps[g.Before] = append(f.Gaps[g.Before], g)
}

// Followers names the kinds of message that stand after the gaps.
func Followers(gaps []Gap) string {
	var names []string
	for _, g := range gaps {
		name := g.After.String()
		if g.After == conversation.None {
			name = "generation prompt"
		}
		if name = probe.Article(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 2 {
		return "another message"
	}
	return strings.Join(names, " or ")
}

// goesOn reports whether a kind's message ends with a text somewhere where its turn goes on: the
// next message's text, or the model's, follows at once.
func goesOn(gaps []Gap, kind conversation.Kind, end string) bool {
	for _, g := range gaps {
		if g.Before == kind && strings.TrimSpace(g.Text) == strings.TrimSpace(end) &&
			(g.After != conversation.None || g.Asked) {
			return true
		}
	}
	return false
}

// ownEnd reports whether a text after a message only ends a part that the message itself opened:
// brackets, quotes, and markers whose other half stands before.
func (g Gap) ownEnd(end string) bool {
	opened := map[string]bool{}
	for _, m := range markup.In(g.In.Own()[:g.At]) {
		opened[m.Key] = true
	}
	rest := end
	for _, m := range slices.Backward(markup.In(end)) {
		if m.Side == markup.Closing && opened[m.Key] {
			rest = rest[:m.At] + rest[m.To:]
		}
	}
	return strings.Trim(rest, " \n\t]}\"'`)") == ""
}

// Of returns where in the prompt a gap has a text first, and where last; -1 where it has it
// nowhere.
func (g Gap) Of(text string) (first, last int) {
	own := g.In.Text[g.At:g.To]
	if !strings.Contains(own, text) {
		return -1, -1
	}
	return g.At + strings.Index(own, text), g.At + strings.LastIndex(own, text)
}

// Gaps are the gaps of all conversations.
var Gaps = probe.NewFact(findGaps)

// findGaps returns the gaps of all conversations of the protocol, without a text that the template
// writes after the last message of each: it is a turn of its own, and ends nobody's.
func findGaps(s *probe.Subject) []Gap {
	var all []Gap
	for _, t := range prompts.All.Of(s) {
		all = append(all, GapsIn(t)...)
	}
	if text := postscript(all); text != "" {
		for i, g := range all {
			if g.After == conversation.None {
				all[i].Text = strings.Replace(g.Text, text, "", 1)
			}
		}
	}
	return all
}

// postscript returns the text that stands between the end of a last question and the model's
// header, and not between other questions and the header of their answers; "" where there is none.
func postscript(gaps []Gap) string {
	most := func(chosen func(Gap) bool) string {
		count, best := map[string]int{}, ""
		for _, g := range gaps {
			if g.Before == conversation.Question && chosen(g) {
				if count[g.Text]++; count[g.Text] > count[best] {
					best = g.Text
				}
			}
		}
		return best
	}
	end := most(func(g Gap) bool { return g.After == conversation.None && !g.Asked })
	asked := most(func(g Gap) bool { return g.After == conversation.None && g.Asked })
	inner := most(func(g Gap) bool { return g.After == conversation.Answer })
	header, both := strings.CutPrefix(asked, end)
	own, answered := strings.CutSuffix(inner, header)
	text, ends := strings.CutPrefix(end, own)
	if !both || !answered || !ends || header == "" || own == "" {
		return ""
	}
	return text
}
