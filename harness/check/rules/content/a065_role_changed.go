package content

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
)

// RoleChanged is the rule A065: in some conversations a message stands under the header of another
// role.
var RoleChanged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A065", Name: "role-changed", Severity: rule.Error, Harm: rule.Misread,
		Short:  "In some conversations a message is written under the header of another role.",
		Damage: "The model takes its own words for the user's, or the user's for its own.",
		Fix:    "Choose the header by `message.role` alone.",
	},
	Supersedes: []string{"A162", "A163", "A209"},
	Find:       checkRolesKept,
}

func checkRolesKept(s *probe.Subject, find probe.Finder) {
	gaps := boundary.Gaps.Of(s)
	f, ok := boundary.FrameOf(s)
	if !prompts.Heard(s, find) || !ok {
		return
	}
	var changed boundary.Faults
	other := map[conversation.Kind]conversation.Kind{}
	for _, g := range gaps {
		rest, ok := f.After(g)
		own := f.Headers[g.After]
		if !ok || own == "" || strings.HasPrefix(rest, own) {
			continue
		}
		for _, kind := range []conversation.Kind{conversation.System, conversation.Developer,
			conversation.Question, conversation.Answer, conversation.Result} {
			if header := f.Headers[kind]; header != "" && !strings.HasPrefix(own, header) &&
				!strings.HasPrefix(header, own) && strings.HasPrefix(rest, header) {
				other[g.After] = kind
				changed.Add(g)
				break
			}
		}
	}
	for _, kind := range changed.Kinds {
		g := changed.Gaps[kind][0]
		_, at := g.Of(f.Headers[other[g.After]])
		find(g.In.At(at), "after %s, %s is written under the header of %s\nit should begin with: "+
			"%s", probe.Article(kind.String()), probe.Article(g.After.String()),
			probe.Article(other[g.After].String()), probe.JSON(f.Headers[g.After]))
	}
	if len(changed.Kinds) == 0 {
		checkLaterSystem(s, find)
	}
}

// word matches a role after a marker, or nothing.
var word = regexp.MustCompile(`^\s*\w*:?\s*$`)

// roleBefore returns the marker before a text, with the role after it; false where the template's
// own words or other texts stand between.
func roleBefore(t *prompts.Prompt, text string) (marker, role string, ok bool) {
	at := strings.Index(t.Text, text)
	if at < 0 {
		return "", "", false
	}
	for m := range markup.Each(t.Own()[:at]) {
		marker, role = t.Text[m.At:m.To], t.Text[m.To:at]
	}
	return marker, strings.TrimSpace(role), marker != "" && word.MatchString(role)
}

// checkLaterSystem compares the instructions at the start with those after an answer: these are not
// a question.
func checkLaterSystem(s *probe.Subject, find probe.Finder) {
	t, err := prompts.Observe(s, sample.Talk(sample.System, sample.User, sample.Answer,
		chat.System("LATERNEEDLE"), sample.LaterUser), false, true)
	if err != nil {
		return // other rules are about it
	}
	first, as, _ := roleBefore(t, "SYSTEMNEEDLE") // a preamble may stand before it
	later, is, ok2 := roleBefore(t, "LATERNEEDLE")
	asked, user, ok3 := roleBefore(t, "SECONDNEEDLE")
	model, ok4 := source.Between(t.Text, "USERNEEDLE", "ANSWERNEEDLE")
	told, ok5 := source.Between(t.Text, "ANSWERNEEDLE", "LATERNEEDLE")
	if next, ok := source.Between(t.Text, "LATERNEEDLE", "SECONDNEEDLE"); ok && ok4 && ok5 &&
		told == model && told != next && strings.ContainsFunc(told, unicode.IsLetter) {
		find(t.Near("LATERNEEDLE"), "a system message after an assistant message is written "+
			"under the header of an assistant message\nthe model sees: %s", t.Quote("LATERNEEDLE"))
		return
	}
	if ok2 && ok3 && later == asked && is == user && (first != later && first != "" && is == "" ||
		first == later && as != is && is != "" && word.MatchString(as)) {
		find(t.Near("LATERNEEDLE"), "a system message after an assistant message is written "+
			"under the header of a user message, %q, and one at the start under %q\nthe model "+
			"sees: %s", later+is, first, t.Quote("LATERNEEDLE"))
	}
}
