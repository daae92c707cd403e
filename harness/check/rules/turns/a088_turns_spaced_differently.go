package turns

import (
	"cmp"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// TurnsSpacedDifferently is the rule A088: the white space between two turns, or between a text and
// the markers of its turn, is not the same everywhere.
var TurnsSpacedDifferently = &probe.Rule{
	Rule: rule.Rule{
		ID: "A088", Name: "turns-spaced-differently", Severity: rule.Warning, Harm: rule.Style,
		Short: "White space between turns, or between content and the markers around it, is not " +
			"the same everywhere.",
		Damage: "The model sees turns that are tokenised differently from those of its training.",
		Fix:    "Begin and end every turn with the same text; only the role may differ.",
	},
	Requires: []string{"A058", "A059"},
	Find:     checkSpacing,
}

// checkSpacing compares the white space between the closer and the opener of a kind's turn, for
// each kind alone; where each is the same everywhere, that of all kinds.
func checkSpacing(s *probe.Subject, find probe.Finder) {
	forgotten := checkSeams(s, find)
	checkFeedTwice(s, find)
	if !s.Fires("A059") {
		checkFeeds(s, find)
	}
	if s.Fires("A058") || findSpacing(s, find) {
		return
	}
	for _, o := range boundary.Outliers.Of(s) {
		if left, right, elsewhere := o.Words(); o.Fed() {
			find(o.At(s), "a line feed stands between %s and %s; %s there is none\n"+
				"elsewhere: %s", left, right, elsewhere, o.Like.Quote())
			return
		}
	}
	q, ok := boundary.SequenceOf(s)
	if !ok {
		return
	}
	if t, ok := q.Unfed(); ok && !forgotten {
		at := t.From + len(q.Opener)
		t.In.Show(s, find, at, "no line break follows the name in the header of %s, as it does in "+
			"other headers", t.Name())
	}
	count, total := map[string]int{}, 0
	usual := ""
	spaces := q.Spaces()
	for _, t := range spaces {
		total++
		if count[t.Space]++; count[t.Space] > count[usual] {
			usual = t.Space
		}
	}
	if 4*count[usual] < 3*total {
		return
	}
	for _, t := range spaces {
		if t.Space != usual {
			t.In.Show(s, find, t.To-1, "after %s stands %s in place of the usual %s", t.Name(),
				probe.JSON(q.Closer+t.Space), probe.JSON(q.Closer+usual))
			return
		}
	}
}

// findSpacing compares the spaces of each kind, and reports whether two differ.
func findSpacing(s *probe.Subject, find probe.Finder) bool {
	f, ok := boundary.FrameOf(s)
	if !ok {
		return false
	}
	type seen struct {
		count map[string]int
		gap   map[string]boundary.Gap
	}
	all := map[conversation.Kind]*seen{}
	ends := map[string]map[conversation.Kind]bool{} // the turns that a space follows
	for _, g := range boundary.Gaps.Of(s) {
		at := strings.LastIndex(g.Text, f.Closer)
		if at < 0 || g.Before == conversation.None || g.After == conversation.None ||
			!boundary.Plain(g.After) {
			continue
		}
		rest := g.Text[at+len(f.Closer):]
		bare := strings.TrimLeft(rest, " \n\t")
		if f.Headers[g.After] == "" || !strings.HasPrefix(bare,
			strings.TrimLeft(f.Headers[g.After], " \n\t")) {
			continue
		}
		if all[g.After] == nil {
			all[g.After] = &seen{map[string]int{}, map[string]boundary.Gap{}}
		}
		space := rest[:len(rest)-len(bare)]
		if ends[space] == nil {
			ends[space] = map[conversation.Kind]bool{}
		}
		ends[space][g.Before] = true
		if all[g.After].count[space]++; all[g.After].count[space] == 1 {
			all[g.After].gap[space] = g
		}
	}
	for kind := conversation.System; kind <= conversation.Result; kind++ {
		if all[kind] == nil || len(all[kind].count) < 2 {
			continue
		}
		usual, odd := "", ""
		for space, n := range all[kind].count {
			if c := cmp.Or(cmp.Compare(len(ends[space]), len(ends[usual])),
				cmp.Compare(n, all[kind].count[usual]), cmp.Compare(space, usual)); c > 0 {
				usual = space
			}
		}
		for space := range all[kind].count {
			if space != usual && (all[kind].gap[odd].In == nil || odd == usual || space < odd) {
				odd = space
			}
		}
		g := all[kind].gap[odd]
		_, at := g.Of(f.Closer)
		// few clients give instructions later
		find = probe.NoteIf(kind == conversation.System || kind == conversation.Developer, find)
		g.In.Show(s, find, at, "between %s and %s stands %s in place of the usual %s",
			probe.Article(g.Before.String()), probe.Article(kind.String()),
			probe.JSON(f.Closer+odd+f.Headers[kind]), probe.JSON(f.Closer+usual+f.Headers[kind]))
		return true
	}
	return false
}

// checkFeedTwice compares the white space before the marker of a first result with that before a
// second one, and with what follows the same header in a user message.
func checkFeedTwice(s *probe.Subject, find probe.Finder) {
	t, err := prompts.Observe(s, sample.Talk(sample.User, sample.CallTurnOf(sample.Call,
		sample.LaterCall), sample.Result, sample.LaterResult, sample.LaterUser), true, true)
	if err != nil {
		return
	}
	first, second := strings.Index(t.Text, "RESULTNEEDLE"), strings.Index(t.Text, "RESULT2NEEDLE")
	user := strings.Index(t.Text, "USERNEEDLE")
	if user < 0 || first < user || second < first {
		return
	}
	own := t.Own()
	before := own[:first]
	before = before[strings.LastIndexByte(before, 0)+1:]
	opener := source.CommonSuffix(before, own[first+len("RESULTNEEDLE"):second])
	header := source.CommonSuffix(before[:len(before)-len(opener)], t.Text[:user])
	if strings.HasPrefix(opener, "\n") && strings.TrimSpace(opener) != "" &&
		strings.HasSuffix(header, "\n") && len(markup.In(header)) > 0 {
		find(t.At(first-len(opener)), "an empty line stands before the first of two tool messages, "+
			"and none before the second\nthe model sees: %s",
			report.Quote(t.Text, first-len(opener)))
	}
}
