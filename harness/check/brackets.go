package check

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/report"
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
	{Rule: rule.Rule{ID: "A151", Name: "call-not-json", Severity: rule.Error,
		Short: "A call begins and ends as JSON does, and is not valid JSON: a comma, a colon, a " +
			"quote or a value is missing.",
		Damage: "The model learns to write JSON that no parser reads.",
		Fix: "Write the text that is missing, and compare with the instructions. The filter " +
			"tojson on the whole call cannot leave anything out."},
		Group: groupLint, Find: checkCallsJSON},
	{Rule: rule.Rule{ID: "A152", Name: "list-not-json", Severity: rule.Warning,
		Short: "A tool's description or a result begins and ends as JSON does, and is not valid JSON.",
		Damage: "The model cannot tell where a value ends, and may write its calls in the same " +
			"broken way.",
		Fix: "Write a text with the filter tojson, which adds the quotes; on the whole value it " +
			"cannot leave anything out."},
		Group: groupLint, Find: checkListsJSON},
}

// notated are the prompt of a request and needles in it, each in a value of its own; the
// text that counts begins after a needle of the messages before.
type notated struct {
	name    string
	request chat.Request
	after   string
	needles []string
}

func checkCallsJSON(s *Subject, find finder) {
	if !s.quiet(checkCallsBalanced) {
		return // the same cause
	}
	for _, turn := range []ordered.Value{callTurn, calling(callValue, callValue2)} {
		if s.notation(find, notated{"a call", chat.Request{Messages: talk(userTurn, turn),
			Tools: called()}, "USERNEEDLE", []string{"CITYNEEDLE", callValue2.At("function").
			At("name").Text()}}) {
			return
		}
	}
}

func checkListsJSON(s *Subject, find finder) {
	if !s.quiet(checkListsBalanced) {
		return // the same cause
	}
	tools := called()
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name
	}
	if s.quiet(checkTools) {
		s.notation(find, notated{"a tool", chat.Request{Messages: talk(userTurn), Tools: tools},
			"", names})
	}
	s.notation(find, notated{"a result", chat.Request{Messages: talk(userTurn, callTurn,
		resultTurn), Tools: tools}, "CITYNEEDLE", []string{"RESULTNEEDLE"}})
}

// notation looks for JSON that is broken: around all needles, then around each. It reports whether
// it found some.
func (s *Subject) notation(find finder, n notated) bool {
	prompt, err := s.ask(n.request)
	if err != nil {
		return false // other rules are about it
	}
	_, rest, ok := strings.Cut(prompt.text, n.after)
	if !ok {
		return false
	}
	from := len(prompt.text) - len(rest)
	for _, needles := range slices.AppendSeq([][]string{n.needles}, slices.Chunk(n.needles, 1)) {
		at, err := brokenAround(prompt.text, from, needles)
		if err == nil {
			continue
		}
		find(prompt.at(at), "%s looks like JSON and is none: %s: %s", n.name, err,
			report.Quote(prompt.text, at))
		return true
	}
	return false
}

// jsonStart is the start of an object of JSON, or of a list of some.
var jsonStart = regexp.MustCompile(`^(?:\[\s*)?\{\s*"[A-Za-z_]+"`)

// brokenAround returns the fault of the largest stretch of a text around needles that begins as
// JSON does and ends with the bracket that belongs to the first one, and where the fault is. The
// error is nil where there is no such stretch, or it is sound.
func brokenAround(text string, from int, needles []string) (int, error) {
	first, last := len(text), -1
	for _, needle := range needles {
		at := strings.Index(text[from:], needle)
		if at < 0 {
			return 0, nil
		}
		first, last = min(first, from+at), max(last, from+at+len(needle))
	}
	for at := from; at < first; at++ {
		if !jsonStart.MatchString(text[at:first]) {
			continue
		}
		end := closed(text[at:])
		if at+end < last {
			continue
		}
		_, err := ordered.ParseString(text[at : at+end])
		var fault *source.Error
		if errors.As(err, &fault) {
			return at + fault.Off, errors.New(fault.Msg)
		}
		return 0, nil
	}
	return 0, nil
}

// closed is how long a text is up to the bracket that closes its first one; 0 where none does.
func closed(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
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
