package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// endRules compare the turns of the model with each other, and its text with reasoning in it with
// the text alone.
var endRules = []lookout{
	{Rule: rule.Rule{ID: "A142", Name: "end-missing", Severity: rule.Warning,
		Short: "An answer and a message with calls end differently: one of them lacks the end of " +
			"a turn.",
		Damage: "The model has seen turns of this kind that nothing ends, and goes on past its " +
			"answer or its call.",
		Fix: "Write the end of a turn after answers and after calls."},
		Group: groupLint, Find: checkEnds},
	{Rule: rule.Rule{ID: "A143", Name: "answer-lost-with-reasoning", Severity: rule.Error,
		Short: "An answer that comes with its reasoning in the content loses its text.",
		Damage: "Clients that keep what a server sent hand the reasoning back so; the model does " +
			"not see what it answered.",
		Fix: "Keep the text after the end of the reasoning: content.split('</think>')[-1]."},
		Group: groupLint, Find: checkInlineReasoning},
	{Rule: rule.Rule{ID: "A144", Name: "state-never-changes", Severity: rule.Warning,
		Short: "A field of a namespace is read and never set, and a variable of its name is set " +
			"instead.",
		Damage: "A counter stays at its first value, a flag is never raised: what depends on it " +
			"never happens, or always does.",
		Fix: "Set the field: {% set ns.field = ... %}."},
		Group: groupLint, Find: checkState},
	{Rule: rule.Rule{ID: "A145", Name: "prompt-forbids-calls", Severity: rule.Error,
		Short: "The generation prompt begins an answer in a way in which no call begins, though " +
			"the request has tools.",
		Damage: "The model writes an answer where it would have called a tool.",
		Fix:    "End the generation prompt before the text that only answers begin with."},
		Group: groupLint, Find: checkCallsBegin},
	{Rule: rule.Rule{ID: "A146", Name: "brackets-unbalanced", Severity: rule.Error,
		Short:  "A call opens brackets and does not close them, or closes more than it opens.",
		Damage: "The model learns to write JSON that no parser reads.",
		Fix:    "Close each bracket; tojson of the whole call never forgets one."},
		Group: groupLint, Find: checkCallsBalanced},
	{Rule: rule.Rule{ID: "A147", Name: "list-brackets-unbalanced", Severity: rule.Warning,
		Short: "A tool's description or a result opens brackets and does not close them, or " +
			"closes more than it opens.",
		Damage: "The model reads one tool, or one result, as a part of the one before.",
		Fix:    "Close each bracket; tojson of the whole value never forgets one."},
		Group: groupLint, Find: checkListsBalanced},
}

// checkEnds looks for the end of a turn after all answers and after all calls. Results may stand
// within the model's turn, which then ends after a later answer; the answer to them has a header
// where they do not.
func checkEnds(s *Subject, find finder) {
	f := s.Template.Analysis().Format
	header := strings.TrimSpace(f.Header)
	var ends []string
	for _, end := range f.End {
		if end = strings.TrimSpace(end); end != "" {
			ends = append(ends, end)
		}
	}
	if header == "" || len(ends) == 0 {
		return
	}
	var answers, calls []turnEnd
	leaves := false // the results of calls stand outside of the model's turn
	for _, t := range s.talks() {
		for i := range t.spans[:max(0, len(t.spans)-1)] {
			if t.err != nil || t.spans[i].to == 0 || t.spans[i+1].to == 0 ||
				t.spans[i].from > t.spans[i+1].from {
				continue
			}
			e := turnEnd{t, i, t.framed()[t.spans[i].from:t.spans[i+1].from]}
			switch before, after := t.kinds[i], t.kinds[i+1]; {
			case before == conversation.Answer && after == conversation.Question:
				answers = append(answers, e)
			case before == conversation.Call && after == conversation.Result:
				calls = append(calls, e)
			case before == conversation.Result && after == conversation.Answer:
				leaves = leaves || strings.Contains(e.text, header)
			}
		}
	}
	if len(answers) == 0 || len(calls) == 0 || !leaves {
		return
	}
	lacks := func(turns []turnEnd) bool {
		return !slices.ContainsFunc(turns, func(e turnEnd) bool {
			return slices.ContainsFunc(ends, func(end string) bool {
				return strings.Contains(e.text, end)
			})
		})
	}
	tell := func(e turnEnd, of, other string) {
		at := e.in.spans[e.message+1].from - 1
		find(e.in.at(at), "%s before %s does not end with %s, as %s does: %s\nconversation: %s",
			of, article(e.in.kinds[e.message+1].String()), jsonString(ends[0]), other,
			report.Quote(e.in.text, at), e.in.Name)
	}
	switch noAnswer, noCall := lacks(answers), lacks(calls); {
	case noAnswer && !noCall:
		tell(answers[0], "an answer", "a call")
	case noCall && !noAnswer && !stops(f.Calls):
		tell(calls[0], "a call", "an answer")
	}
}

// turnEnd is a message of the model that another one follows.
type turnEnd struct {
	in      *talked
	message int
	text    string // the template's own, from the message's beginning to the beginning of the next
}

// stops reports whether calls end with a marker that closes nothing: a model stops there.
func stops(spellings []format.Calls) bool {
	for _, c := range spellings {
		last := cmp.Or(strings.TrimSpace(c.Section.Close.Text),
			strings.TrimSpace(c.Call.Close.Text))
		if last == "" {
			for _, p := range c.Tail {
				last += p.Text.Text
			}
		}
		if end, ok := lastMarker(last); ok && markersOf(end)[0].side == alone {
			return true
		}
	}
	return false
}

// checkInlineReasoning hands an answer back as a server without a parser sent it.
func checkInlineReasoning(s *Subject, find finder) {
	r := s.Template.Analysis().Format.Reasoning
	if strings.TrimSpace(r.Open.Text) == "" || strings.TrimSpace(r.Close.Text) == "" {
		return
	}
	inline := answering(r.Open.Text + "REASONNEEDLE" + r.Close.Text + "ANSWERNEEDLE")
	for _, after := range [][]ordered.Value{{userTurn2}, {}} {
		plain, err := s.raw(talk(append([]ordered.Value{userTurn, answerTurn}, after...)...), false)
		if err != nil || !plain.has("ANSWERNEEDLE") {
			continue // A014 is about it
		}
		both, err := s.raw(talk(append([]ordered.Value{userTurn, inline}, after...)...), false)
		if err == nil && !both.has("ANSWERNEEDLE") {
			find(both.of("USERNEEDLE"), "the content %s loses its answer: %s",
				jsonString(inline.At("content").Text()), both.quote("USERNEEDLE"))
			return
		}
	}
}

// checkState goes through the fields of namespaces that nothing sets after the namespace is made.
func checkState(s *Subject, find finder) {
	tree, err := syntax.Parse(s.Template.ChatTemplate().Source)
	if err != nil {
		return // A001
	}
	f := &follower{in: &region{}, asked: map[string]bool{}}
	f.body(tree.Body)
	sets, reads := map[string]*touch{}, map[string]*touch{}
	made := map[string]bool{} // fields with which a namespace is made
	for _, t := range f.touches {
		if assign, ok := t.by.(*syntax.Assign); t.sets && ok && isNamespace(assign.Value) {
			for _, field := range assign.Value.(*syntax.Call).Keywords {
				made[t.name+"."+field.Name] = true
			}
			continue
		}
		of := reads
		if t.sets {
			of = sets
		}
		if of[t.name] == nil {
			of[t.name] = t
		}
	}
	for _, t := range f.touches {
		ns := base(t.name)
		if t.sets || !made[t.name] || reads[t.name] != t || sets[t.name] != nil {
			continue
		}
		for _, name := range []string{strings.TrimPrefix(t.name, ns+"."), ns} {
			if set := sets[name]; set != nil && (name == ns && set.by == t.by ||
				name != ns && reads[name] == nil) {
				find(where(set.off), "%s is set and %s is read, at %s, which nothing sets",
					name, t.name, s.line(t.off))
				return
			}
		}
	}
}

// isNamespace reports whether an expression makes a namespace.
func isNamespace(x syntax.Expr) bool {
	call, ok := x.(*syntax.Call)
	if !ok {
		return false
	}
	name, ok := call.Func.(*syntax.Name)
	return ok && name.Name == "namespace"
}

// checkCallsBegin asks whether calls begin with the generation prompt where answers do. Reasoning
// that the prompt opens or closes need not be in the history.
func checkCallsBegin(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) || !s.supports(find, describesTools) {
		return
	}
	prompt, err := s.fitted(talk(userTurn), true, true)
	if err != nil {
		return // A066 is about it
	}
	begin := func(turns ...ordered.Value) (some rendering, ok bool) {
		for _, turn := range turns {
			r, err := s.fitted(talk(userTurn, turn), true, false)
			if err != nil {
				return r, true // nobody knows
			}
			if strings.HasPrefix(r.text, prompt.text) {
				return r, true
			}
			some = r
		}
		return some, false
	}
	if _, ok := begin(answerTurn, thinkingTurn); !ok {
		return // A019 is about it
	}
	call, ok := begin(callTurn, fullTurn(callValue), callTurn.With("reasoning_content",
		ordered.Str("REASONNEEDLE")), callTurn.With("content", ordered.Str("ANSWERNEEDLE")))
	if ok {
		return
	}
	at := report.Parting(call.text, prompt.text)
	rest := prompt.text[at:]
	r := s.Template.Analysis().Format.Reasoning
	for _, marker := range []string{r.Open.Text, r.Close.Text} {
		if marker = strings.TrimSpace(marker); marker != "" && strings.Contains(rest, marker) {
			return
		}
	}
	if strings.TrimSpace(rest) == "" || at < strings.Index(prompt.text, "USERNEEDLE") {
		return
	}
	find(prompt.at(at), "the generation prompt ends in text with which no call begins\n%s",
		report.Sides("call", call.text, "prompt", prompt.text))
}

// weighed are two requests, of which one has more of something with a needle in it.
type weighed struct {
	name          string
	with, without chat.Request
	needle        string
}

func checkCallsBalanced(s *Subject, find finder) {
	s.weigh(find, weighed{"a call",
		chat.Request{Messages: talk(userTurn, callTurn), Tools: called()},
		chat.Request{Messages: talk(userTurn, answerTurn), Tools: called()}, "CITYNEEDLE"})
}

func checkListsBalanced(s *Subject, find finder) {
	tools := called()
	last := len(tools) - 1
	s.weigh(find, weighed{"a tool", chat.Request{Messages: talk(userTurn), Tools: tools},
		chat.Request{Messages: talk(userTurn), Tools: tools[:last]}, tools[last].Name})
	s.weigh(find, weighed{"a result",
		chat.Request{Messages: talk(userTurn, callTurn, resultTurn), Tools: tools},
		chat.Request{Messages: talk(userTurn, callTurn), Tools: tools}, "RESULTNEEDLE"})
}

// weigh compares the brackets of two prompts. The values in them are balanced themselves.
func (s *Subject) weigh(find finder, w weighed) {
	with, err1 := s.ask(w.with)
	without, err2 := s.ask(w.without)
	if err1 != nil || err2 != nil || !with.has(w.needle) {
		return // other rules are about it
	}
	for _, pair := range [][2]string{{"{", "}"}, {"[", "]"}} {
		open := strings.Count(with.text, pair[0]) - strings.Count(without.text, pair[0])
		shut := strings.Count(with.text, pair[1]) - strings.Count(without.text, pair[1])
		if open != shut {
			find(with.near(w.needle), "%s opens %d %q and closes %d: %s", w.name, open,
				pair[0], shut, with.quote(w.needle))
			return
		}
	}
}
