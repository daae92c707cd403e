package diff

import (
	"math/rand"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
)

// file is the new revision as a whole.
func (p *pair) file() rule.Place { return rule.Place{File: p.source.File} }

// blame is the place and the text of an error of the new revision.
func (p *pair) blame(err error) (rule.Place, string) { return probe.Place(p.source, err) }

// wrote is the place in the new revision that wrote a byte of a conversation's prompt.
func (p *pair) wrote(r chat.Request, off int) rule.Place {
	return p.wroteFor(p.is.Caps().Fit(r).Input, off)
}

// change is the place in the new revision that writes text that the old one did not, the first in
// the battery.
func (p *pair) change() rule.Place {
	return p.changeBehind(func(chat.Request) string { return "" })
}

// turnChange is the same after the first question, where turns are.
func (p *pair) turnChange() rule.Place {
	place := p.changeBehind(func(r chat.Request) string {
		for _, m := range r.Messages {
			if m.At("role").Text() == "user" {
				return m.At("content").Text()
			}
		}
		return ""
	})
	if place == p.file() {
		return p.change()
	}
	return place
}

// changeBehind is the place that writes the first change after a text of each conversation.
func (p *pair) changeBehind(text func(chat.Request) string) rule.Place {
	place, found := p.file(), false
	p.prompts(func(c standard.Conversation, was, is engine.Prompt, wasErr, isErr error) {
		if found || wasErr != nil || isErr != nil {
			return
		}
		from, to := strings.Index(was.Text, text(c.Request)),
			strings.Index(is.Text, text(c.Request))
		if from >= 0 && to >= 0 && was.Text[from:] != is.Text[to:] {
			place, found = p.wrote(c.Request, to+report.Parting(was.Text[from:], is.Text[to:])),
				true
		}
	})
	return place
}

func compiles(p *pair, find finder) {
	if p.err != nil {
		at, text := p.blame(p.err)
		find(at, "%s", text)
	}
}

// capsThat finds capabilities that are as given in one revision and not in the other.
func (p *pair) capsThat(was bool, find finder, text string) {
	for _, m := range p.was.Caps().Value().Members() {
		if is, _ := p.is.Caps().Supports(m.Key); m.Value.Bool() == was && is == !was {
			find(p.change(), text, m.Key)
		}
	}
}

func capsLost(p *pair, find finder) {
	p.capsThat(true, find, "%s was true and is false")
	// A capability under a new condition is lost to those who do not meet it.
	was, is := p.was.Caps().Needs, p.is.Caps().Needs
	for _, c := range []struct {
		was, is bool
		text    string
	}{
		{was.ToolsSystem, is.ToolsSystem, "tools are described only beside a system message"},
		{was.Followed, is.Followed, "calls are written only where a message follows"},
		{was.NameInID, is.NameInID, "a call's name is written only inside its id"},
		{was.Tool.Flat, is.Tool.Flat,
			"a tool's name is read from the tool itself, and not from its function"},
		{was.TextValues, is.TextValues, "an argument that is no string is refused"},
		{was.FlatCalls, is.FlatCalls, "a call's name is read from the call itself, and not from its function"},
	} {
		if c.is && !c.was {
			find(p.change(), "%s", c.text)
		}
	}
	if was, is := p.was.Caps().IDs.Taken, p.is.Caps().IDs.Taken; is != was && !is.IsZero() {
		find(p.change(), "ids of calls are refused but those of %s", is)
	}
}

func capsGained(p *pair, find finder) { p.capsThat(false, find, "%s was false and is true") }

// compareFormats compares the formats as text, and once more without the white space beside
// markers.
func (p *pair) compareFormats() {
	was, is := p.was.Analysis().Format, p.is.Analysis().Format
	p.formats = [2]string{was.String(), is.String()}
	if p.formats[0] == p.formats[1] {
		return
	}
	bare := func(f format.Format) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(f.String(), `\n`, "")), "")
	}
	p.respaced = bare(was) == bare(is)
	p.changed = !p.respaced
}

func (p *pair) formatDiff() string {
	return string(diff.Diff("was", []byte(p.formats[0]), "is", []byte(p.formats[1])))
}

func formatChanged(p *pair, find finder) {
	if p.changed {
		find(p.turnChange(), "the format differs\n%s", p.formatDiff())
	}
}

func spacingChanged(p *pair, find finder) {
	if p.respaced {
		find(p.turnChange(), "the format differs in white space\n%s", p.formatDiff())
	}
}

// prompts renders every conversation of the battery with both revisions.
func (p *pair) prompts(yield func(c standard.Conversation, was, is engine.Prompt, wasErr,
	isErr error)) {
	for _, c := range standard.Battery() {
		was, wasErr := p.was.Render(c.Request)
		is, isErr := p.is.Render(c.Request)
		yield(c, was, is, wasErr, isErr)
	}
}

// tail is the end of a prompt: the header and the prefill.
func tail(t *engine.Template, p engine.Prompt) string {
	prefill, err := p.Prefill()
	if err != nil {
		return ""
	}
	header := t.Analysis().Format.Header
	if before, ok := strings.CutSuffix(p.Text, prefill); ok && strings.HasSuffix(before, header) {
		return header + prefill
	}
	return prefill
}

func generationChanged(p *pair, find finder) {
	seen := false
	p.prompts(func(c standard.Conversation, was, is engine.Prompt, wasErr, isErr error) {
		if wasErr != nil || isErr != nil || seen {
			return
		}
		if old, now := tail(p.was, was), tail(p.is, is); old != now &&
			!strings.HasSuffix(is.Text, old) {
			seen = true
			find(p.wrote(c.Request, len(is.Text)-len(now)+report.Parting(old, now)), "the prompt of %q ended with %q and ends with %q", c.Name,
				old, now)
		}
	})
}

func promptRefused(p *pair, find finder) {
	found := false
	p.prompts(func(c standard.Conversation, _, _ engine.Prompt, wasErr, isErr error) {
		if wasErr == nil && isErr != nil {
			at, text := p.blame(isErr)
			find(at, "the conversation %q is refused: %s", c.Name, text)
			found = true
		}
	})
	if found {
		return
	}
	first, names := talk{}, 0
	for _, t := range p.talks() {
		if t.wasErr == nil && t.isErr != nil {
			if names++; names == 1 {
				first = t
			}
		}
	}
	if names > 0 {
		at, text := p.blame(first.isErr)
		find(at, "%d conversations are refused, the first of them %q: %s", names, first.name, text)
	}
}

// talk is a conversation of the grammar, as clients send it, rendered by both revisions. Nothing is
// fitted to a revision: the changes of an edit that only some forms of messages meet would be
// fitted away.
type talk struct {
	name          string
	in            chattemplate.Input
	was, is       string
	wasErr, isErr error
}

// renderTalks renders the conversations of the grammar.
func (p *pair) renderTalks() []talk {
	conversations := conversation.Usual().Conversations
	all := make([]talk, len(conversations))
	for i, c := range conversations {
		t := talk{name: c.Name, in: c.Input(p.was.Caps().Needs.Bound)}
		t.was, t.wasErr = p.was.ChatTemplate().Render(t.in)
		t.is, t.isErr = p.is.ChatTemplate().Render(t.in)
		all[i] = t
	}
	return all
}

// wroteFor is the place in the new revision that wrote a byte for an input.
func (p *pair) wroteFor(in chattemplate.Input, off int) rule.Place {
	o, err := p.is.ChatTemplate().Observe(in)
	if err == nil && len(o.String) > 0 {
		if at, ok := o.WrittenAt(min(off, len(o.String)-1)); ok {
			return probe.PlaceAt(p.source, at)
		}
	}
	return p.file()
}

func promptAccepted(p *pair, find finder) {
	p.prompts(func(c standard.Conversation, _, _ engine.Prompt, wasErr, isErr error) {
		if wasErr != nil && isErr == nil {
			find(p.file(), "the conversation %q was refused (%v) and is rendered", c.Name, wasErr)
		}
	})
}

// promptChanged reports the first conversation in full and counts the others, since one edit
// changes them all alike.
func promptChanged(p *pair, find finder) {
	var names []string
	evidence, at := "", p.file()
	p.prompts(func(c standard.Conversation, was, is engine.Prompt, wasErr, isErr error) {
		if wasErr == nil && isErr == nil && was.Text != is.Text {
			if names = append(names, c.Name); len(names) == 1 {
				evidence, at = excerpt(was.Text, is.Text),
					p.wrote(c.Request, report.Parting(was.Text, is.Text))
			}
		}
	})
	if names != nil {
		find(at, "the prompts of %s differ\nof %s:\n%s", strings.Join(names, ", "), names[0],
			evidence)
		return
	}
	first, count := talk{}, 0
	for _, t := range p.talks() {
		if t.wasErr == nil && t.isErr == nil && t.was != t.is {
			if count++; count == 1 {
				first = t
			}
		}
	}
	if count > 0 {
		find(p.wroteFor(first.in, report.Parting(first.was, first.is)), "the prompts of %d conversations differ, the first of them:\n%s:\n%s",
			count, first.name, excerpt(first.was, first.is))
	}
}

// parseChanged reads recorded outputs, and the turns that each revision writes, with both.
func parseChanged(p *pair, find finder) {
	for _, c := range p.cases {
		r, err := chat.ParseRequest(c.Request)
		if err != nil || !c.Parsed {
			continue
		}
		was, err1 := parse(p.was, r, c.Fallbacks, c.Output, c.Reason)
		is, err2 := parse(p.is, r, c.Fallbacks, c.Output, c.Reason)
		switch {
		case err1 == nil && err2 != nil:
			find(p.turnChange(), "the output of the case %q is refused: %v", c.Name, err2)
		case err1 == nil && split.Diff(was, is) != "":
			find(p.turnChange(), "the output of the case %q: %s", c.Name, split.Diff(was, is))
		}
	}
	request := chat.Request{Messages: standard.ToolRequest().Messages, Tools: verify.Tools()}
	for _, shape := range p.was.Verify().Shapes {
		if shape.Verdict != verify.Verified {
			continue
		}
		was, err1 := parse(p.was, request, nil, shape.Turn, chat.FinishStop)
		is, err2 := parse(p.is, request, nil, shape.Turn, chat.FinishStop)
		if err1 == nil && (err2 != nil || split.Diff(was, is) != "") {
			find(p.turnChange(), "a turn of the old revision (%s) is read "+
				"differently: %s", shape.Name, split.Diff(was, is))
			return
		}
	}
}

// partLost compares the two revisions' texts of messages of every shape.
func partLost(p *pair, find finder) {
	is := p.is.Verify().Shapes
	for i, was := range p.was.Verify().Shapes {
		if was.Verdict == verify.Verified && was.Note == "" && is[i].Note != "" &&
			is[i].Verdict != verify.Failed {
			find(p.turnChange(), "%s: was verified and is %s (%s)", was.Name, is[i].Verdict,
				is[i].Note)
		}
	}
}

func parse(t *engine.Template, r chat.Request, fallbacks []string, output string,
	reason chat.FinishReason) (chat.Message, error) {
	plan, err := t.Prepare(r, engine.PrepareOptions{Insist: true, Fallbacks: fallbacks})
	if err != nil {
		return chat.Message{}, err
	}
	return plan.Parse(output, reason).Message, nil
}

// samples is the number of sentences that each grammar is asked for.
const samples = 16

// sampleWidth bounds the part of a sentence that is shown, in cells. Grammars allow white space of
// any length nearly everywhere.
const sampleWidth = 80

// grammarChanged tries sentences of each grammar on the other.
func grammarChanged(p *pair, find finder) {
	was, is := grammarOf(p.was), grammarOf(p.is)
	if was == nil || is == nil || gbnf.Equal(was, is) {
		return
	}
	for seed := range int64(samples) {
		for _, c := range [...]struct {
			from, to *gbnf.Grammar
			text     string
		}{{was, is, "the old grammar allows an answer that the new one refuses"},
			{is, was, "the new grammar allows an answer that the old one refused"}} {
			sampler, err := gbnf.NewSampler(c.from, rand.New(rand.NewSource(seed)))
			if err != nil {
				return
			}
			sentence, err := sampler.Sample()
			if err != nil {
				return
			}
			m, err := gbnf.NewMatcher(c.to)
			if err != nil {
				return
			}
			m.AcceptString(sentence)
			if m.Err() == nil && !m.Done() {
				shown, caret := visible.Mark(sentence, m.Offset(), m.Offset()+1, sampleWidth)
				find(p.turnChange(), "%s\n%s\n%s", c.text, shown, caret)
				return
			}
		}
	}
}

func grammarOf(t *engine.Template) *gbnf.Grammar {
	plan, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
	if err != nil {
		return nil
	}
	grammar, err := plan.Output.Grammar()
	if err != nil {
		return nil
	}
	return grammar
}

// introduced returns the findings of the automatic checks in the new revision only. A rule counts
// once.
func introduced(severity rule.Severity) func(*pair, finder) {
	return func(p *pair, find finder) {
		for _, res := range p.findings[1] {
			if res.Status != rule.Passed && res.Severity == severity &&
				!broken(p.findings[0], res.Rule) {
				place := res.Place
				if place.Line == 0 {
					// a part that the template lacks has no place, the change that took it away has
					place = p.change()
				}
				find(place, "%s %s: %s", res.Rule, res.Name, res.Text)
			}
		}
	}
}

func mended(p *pair, find finder) {
	for _, res := range p.findings[0] {
		if res.Status != rule.Passed && !broken(p.findings[1], res.Rule) {
			find(p.file(), "%s %s no longer: %s", res.Rule, res.Name, res.Text)
		}
	}
}

func broken(results []rule.Result, id string) bool {
	return slices.ContainsFunc(results,
		func(r rule.Result) bool { return r.Rule == id && r.Status != rule.Passed })
}
