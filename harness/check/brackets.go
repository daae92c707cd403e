package check

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/rule"
)

// bracketRules count the brackets that a template writes around values.
var bracketRules = []lookout{
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
