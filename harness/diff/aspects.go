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
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
)

// file is the new revision as a whole.
func (p *pair) file() rule.Place { return rule.Place{File: p.source.File} }

// blame is the place and the text of an error of the new revision.
func (p *pair) blame(err error) (rule.Place, string) { return probe.Place(p.source, err) }

// change is the place in the new revision that writes text that the old one did not, the first in
// the requests.
func (p *pair) change() rule.Place {
	first, count := p.firstTalk(talk.differs)
	if count == 0 {
		return p.file()
	}
	return p.wroteFor(first.in, report.Parting(first.was, first.is))
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
}

func capsGained(p *pair, find finder) { p.capsThat(false, find, "%s was false and is true") }

// compareFormats compares the formats as text, and once more without the white space beside
// markers. One that only tells more than the old one is no change.
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
	lines := strings.Split(p.formats[1], "\n")
	p.changed = !p.respaced && slices.ContainsFunc(strings.Split(p.formats[0], "\n"),
		func(line string) bool {
			return !slices.Contains(lines, line) && !strings.HasSuffix(line, ": none") &&
				!strings.HasSuffix(line, ": undisclosed")
		})
}

func (p *pair) formatDiff() string {
	return string(diff.Diff("was", []byte(p.formats[0]), "is", []byte(p.formats[1])))
}

func formatChanged(p *pair, find finder) {
	if p.changed && !p.mends() {
		find(p.change(), "the format differs\n%s", p.formatDiff())
	}
}

func spacingChanged(p *pair, find finder) {
	if p.respaced {
		find(p.change(), "the format differs in white space\n%s", p.formatDiff())
	}
}

// firstTalk finds the first of the requests of which something is true, with how many they are.
func (p *pair) firstTalk(is func(talk) bool) (first talk, count int) {
	for _, t := range p.talks() {
		if is(t) {
			if count++; count == 1 {
				first = t
			}
		}
	}
	return first, count
}

func promptRefused(p *pair, find finder) {
	first, count := p.firstTalk(func(t talk) bool {
		return t.wasErr == nil && t.isErr != nil && Serves(p.was, t.in) &&
			!(probe.Worded(t.isErr) && p.mends())
	})
	if count > 0 {
		at, text := p.blame(first.isErr)
		find(at, "%d requests are refused, the first of them %q: %s", count, first.name, text)
	}
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
	first, count := p.firstTalk(func(t talk) bool { return t.wasErr != nil && t.isErr == nil })
	if count > 0 {
		find(p.file(), "%d requests were refused and are rendered, the first of them %q: %w", count,
			first.name, first.wasErr)
	}
}

// promptChanged reports the first request in full and counts the others, since one edit changes
// them all alike.
func promptChanged(p *pair, find finder) {
	if first, count := p.firstTalk(talk.differs); count > 0 {
		find(p.change(),
			"the prompts of %d requests differ, the first of them:\n%s:\n%s", count, first.name,
			excerpt(first.was, first.is))
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
			find(p.change(), "the output of the case %q is refused: %v", c.Name, err2)
		case err1 == nil && split.Diff(was, is) != "":
			find(p.change(), "the output of the case %q: %s", c.Name, split.Diff(was, is))
		}
	}
	if p.mends() { // the turns of the old revision have its fault
		return
	}
	request := chat.Request{Messages: standard.ToolRequest().Messages, Tools: verify.Tools()}
	for _, shape := range p.was.Verify().Shapes {
		if shape.Verdict != verify.Verified {
			continue
		}
		was, err1 := parse(p.was, request, nil, shape.Turn, chat.FinishStop)
		is, err2 := parse(p.is, request, nil, shape.Turn, chat.FinishStop)
		if err1 == nil && (err2 != nil || split.Diff(was, is) != "") {
			find(p.change(), "a turn of the old revision (%s) is read "+
				"differently: %s", shape.Name, split.Diff(was, is))
			return
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
				find(p.change(), "%s\n%s\n%s", c.text, shown, caret)
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
		for _, res := range p.findings()[1] {
			if res.Status != rule.Passed && res.Severity == severity &&
				!broken(p.findings()[0], res.Rule) {
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
	for _, res := range p.findings()[0] {
		if res.Status != rule.Passed && !broken(p.findings()[1], res.Rule) {
			find(p.file(), "%s %s no longer: %s", res.Rule, res.Name, res.Text)
		}
	}
}

func broken(results []rule.Result, id string) bool {
	return slices.ContainsFunc(results,
		func(r rule.Result) bool { return r.Rule == id && r.Status != rule.Passed })
}
