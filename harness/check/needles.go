package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// lost is a leaf that a conversation's prompt lacks.
type lost struct {
	conversation.Leaf
	in *talked
}

// kind is the kind of message that the leaf is of.
func (l lost) kind() conversation.Kind {
	if l.Message < 0 {
		return conversation.None
	}
	return l.in.kinds[l.Message]
}

// sort is a sort of leaf: its container, and its part in it.
type sort struct {
	kind conversation.Kind
	part conversation.Part
}

// census counts the leaves of each sort that reached the prompt, and keeps those that did not, the
// plainest conversation first.
type census struct {
	written map[sort]int
	lost    map[sort][]lost
}

// takeCensus looks for every leaf of every conversation.
func (s *Subject) takeCensus() *census {
	c := &census{map[sort]int{}, map[sort][]lost{}}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		found := t.origins()
		for _, l := range t.leaves() {
			leaf := lost{l, t}
			of := sort{leaf.kind(), l.Part}
			_, there := found[originOf(l)]
			if there && !l.Coded || t.shows(l.Text) {
				c.written[of]++
			} else {
				c.lost[of] = append(c.lost[of], leaf)
			}
		}
	}
	return c
}

// origin is where text in a prompt came from: a path, and whether it is the key there.
type origin struct {
	path string
	key  bool
}

// originOf is where the text of a leaf comes from.
func originOf(l conversation.Leaf) origin {
	return origin{l.Path, l.Part == conversation.Key && !l.Coded ||
		l.Part == conversation.Parameter}
}

// origins are all origins of a prompt's text, and where in the prompt each has its first byte;
// several rules ask for them.
func (t *talked) origins() map[origin]int {
	if t.from != nil {
		return t.from
	}
	found := map[origin]int{}
	at := 0
	for _, r := range t.o.Runs {
		if r.Role == jinja.FromValue || r.Role == jinja.FromKey {
			if of := (origin{r.Path, r.Role == jinja.FromKey}); !has(found, of) {
				found[of] = at
			}
		}
		at += r.Len
	}
	t.from = found
	return found
}

func has(found map[origin]int, of origin) bool {
	_, ok := found[of]
	return ok
}

// shows reports whether a prompt has a text, as it is or as JSON writes it.
func (t *talked) shows(text string) bool {
	if strings.Contains(t.text, text) {
		return true
	}
	quoted := ordered.Str(text).String()
	return strings.Contains(t.text, quoted[1:len(quoted)-1])
}

// of returns the leaves of a kind of message that are lost, of any of the parts.
func (c *census) of(kind conversation.Kind, parts ...conversation.Part) []lost {
	var all []lost
	for _, p := range parts {
		all = append(all, c.lost[sort{kind, p}]...)
	}
	return all
}

// findLost reports leaves that are lost, once, with the first of them and how many there are.
func (c *census) findLost(find finder, all []lost) {
	if len(all) == 0 {
		return
	}
	first := all[0]
	in := map[*talked]bool{}
	for _, l := range all {
		in[l.in] = true
	}
	at := nowhere
	if pos, ok := first.in.o.Trace.Nearest(first.Path); ok {
		at = where(pos)
	}
	find(at, "%s is missing: %s, %s\nlost "+
		"in %s; first: %s", subjectOf(first), first.Path, report.Quote(first.Text, 0),
		plural(len(in), "conversation"), first.in.Name)
}

func subjectOf(l lost) string {
	if l.Message < 0 {
		return "of a tool the " + l.Part.String()
	}
	return fmt.Sprintf("of %s the %s", article(l.kind().String()), l.Part)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

var needleRules = []lookout{
	{Rule: rule.Rule{ID: "A061", Name: "later-instructions-dropped", Severity: rule.Warning,
		Short: "Instructions after the first message, or a second message of instructions, do " +
			"not reach the prompt.",
		Damage: "Agents add instructions while they work, and beside a system message a " +
			"developer's; the model never sees them, and nobody is told.",
		Fix: "Write every system message where it stands, or " +
			"raise an exception."}, Group: groupLint, Find: checkLaterInstructions},
	{Rule: rule.Rule{ID: "A137", Name: "developer-unheard", Severity: rule.Note,
		Short: "A developer's message, unless the server renames its role, fails, vanishes or has " +
			"no header as others have.",
		Damage: "Clients of newer models send their instructions so; the model never sees them, " +
			"or takes them for somebody's text.",
		Fix: "Write a developer's message as a system message."}, Group: groupLint,
		Find: checkDeveloper},
	{Rule: rule.Rule{ID: "A062", Name: "call-lost", Severity: rule.Error,
		Short: "A call, its name or an argument does not reach the prompt in some form of " +
			"message that clients send.",
		Damage: "The model sees the result of a call that it has not made, and makes it again.",
		Fix: "Write the calls of a message whatever its content is: null, absent, an empty " +
			"string, a text."}, Group: groupLint, Find: checkCallsWritten},
	{Rule: rule.Rule{ID: "A132", Name: "text-beside-call-dropped", Severity: rule.Note,
		Short: "The text of a message that has calls as well never reaches the prompt.",
		Damage: "The model told the user something before it called a tool, and does not see it: it " +
			"says so again, or loses its plan.",
		Fix: "Write the content of a message before its calls, if the model was trained to " +
			"write text there."}, Group: groupLint,
		Find: func(s *Subject, find finder) { s.checkBesideCalls(find, false) }},
	{Rule: rule.Rule{ID: "A135", Name: "text-beside-call-lost", Severity: rule.Warning,
		Short: "The text of a message that has calls as well reaches the prompt in some " +
			"conversations and not in others.",
		Damage: "The model told the user something before it called a tool, and sees it in some " +
			"turns and not in others.",
		Fix: "Write the content of a message before its calls, whatever else it has and wherever " +
			"it stands."}, Group: groupLint,
		Find: func(s *Subject, find finder) { s.checkBesideCalls(find, true) }},
	{Rule: rule.Rule{ID: "A063", Name: "text-doubled", Severity: rule.Warning,
		Short:  "The text of a message, or a tool, is in the prompt twice.",
		Damage: "The model reads a question twice, and long contexts fill up twice as fast.",
		Fix: "Write each message and each " +
			"tool in one place."}, Group: groupLint, Find: checkDoubled},
	{Rule: rule.Rule{ID: "A064", Name: "order-changed", Severity: rule.Error,
		Short: "Messages do not stand in the prompt in the order in which they were said.",
		Damage: "The model reads an answer before its question, or a text after the result " +
			"that came later.",
		Fix: "Go through the messages once, from the first to the last, and write everything " +
			"of a message before the next one."}, Group: groupLint, Find: checkOrderOfMessages},
	{Rule: rule.Rule{ID: "A065", Name: "role-changed", Severity: rule.Error,
		Short:  "In some conversations a message stands under the header of another role.",
		Damage: "The model takes its own words for the user's, or a user's for its own.",
		Fix: "Choose the header by the role of " +
			"the message alone."}, Group: groupLint, Find: checkRolesKept},
}

func checkLaterInstructions(s *Subject, find finder) {
	if c := s.Template.Caps(); c.SystemRole && s.heard(find, conversation.System) {
		told := !s.quiet(checkSystem) // of the first message
		later := slices.DeleteFunc(s.census().of(conversation.System, conversation.Content),
			func(l lost) bool { return l.alone() || told && l.Message == 0 })
		s.census().findLost(find,
			append(later, s.census().of(conversation.Developer, conversation.Content)...))
	}
}

// checkDeveloper renders unfitted: the engine renames the role where a template does not know it,
// and others do not.
func checkDeveloper(s *Subject, find finder) {
	if !s.Template.Caps().SystemRole {
		return
	}
	told := s.systemTurn()
	if _, err := s.raw(talk(told, userTurn), false); err != nil {
		return // A043 is about it
	}
	p, err := s.raw(talk(told.With("role", ordered.Str("developer")), userTurn), false)
	switch {
	case err != nil && worded(err):
		return // a constraint that the template documents
	case err != nil:
		find(nowhere, "a developer's message ends in an error: %w", err)
		return
	}
	before, _, there := strings.Cut(p.text, "SYSTEMNEEDLE")
	if !there {
		find(p.near("SYSTEMNEEDLE"), "a developer's message is dropped without an error")
		return
	}
	q, ok := s.sequence()
	if !ok {
		return
	}
	switch at := strings.LastIndex(before, q.opener); {
	case at < 0 || strings.Contains(before[at:], q.closer):
		find(p.of("SYSTEMNEEDLE"), "a developer's message has no header, elsewhere %s opens turns: "+
			"%s", jsonString(q.opener), p.quote("SYSTEMNEEDLE"))
	case len(q.nameless()) == 0 &&
		!strings.ContainsFunc(before[at+len(q.opener):], unicode.IsLetter):
		find(p.of("SYSTEMNEEDLE"), "the header of a developer's message names no role: %s",
			p.quote("SYSTEMNEEDLE"))
	}
}

// alone reports whether a leaf is of the only instructions of a conversation, in first place.
func (l lost) alone() bool {
	for i, k := range l.in.kinds {
		if i > 0 && (k == conversation.System || k == conversation.Developer) {
			return false
		}
	}
	return l.Message == 0
}

// checkBesideCalls looks for the texts of messages that have calls: those of a template that writes
// some of them, or those of one that writes none.
func (s *Subject) checkBesideCalls(find finder, some bool) {
	if !s.supports(find, replaysCalls) || !s.heard(find, conversation.Call) {
		return
	}
	if written := s.census().written[sort{conversation.Call, conversation.Content}]; some ==
		(written > 0) {
		s.census().findLost(find, s.census().of(conversation.Call, conversation.Content))
	}
}

func checkCallsWritten(s *Subject, find finder) {
	if !s.supports(find, replaysCalls) || !s.heard(find, conversation.Call) {
		return
	}
	all := s.census().of(conversation.Call, conversation.CallName, conversation.Key,
		conversation.Argument)
	// A026 is about those
	if all = slices.DeleteFunc(all, func(l lost) bool { return l.Index > 0 }); len(all) > 0 {
		s.census().findLost(find, all)
		return
	}
	// OpenAI's API permits letters, digits, underscores and dashes in the names of functions.
	writes := func(name, key string) (r rendering, changed string, err error) {
		r, err = s.fitted(talk(userTurn, calling(chat.CallOf("callid001", name,
			ordered.ObjectOf(ordered.MemberOf(key, ordered.Str("CITYNEEDLE")))))), true, false)
		return r, strings.Join(r.lacks(name, key), " and "), err
	}
	if _, changed, err := writes("get_rain", "town"); err != nil || changed != "" {
		return // A003 is about it, or A066
	}
	if r, changed, err := writes("Get-Rain_V2", "Town-Name"); err == nil && changed != "" {
		find(r.near("CITYNEEDLE"), "of a call %s is changed: %s", changed, r.quote("CITYNEEDLE"))
	}
}

// checkDoubled counts the texts of messages, and the descriptions of tools.
func checkDoubled(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		for _, l := range t.leaves() {
			if from, to, ok := t.named(l); ok && strings.Count(t.text[from:to], l.Text) > 1 {
				at := from + strings.LastIndex(t.text[from:to], l.Text)
				find(t.at(at), "the id of a result is written twice: %s\nconversation: %s",
					report.Quote(t.text, at), t.Name)
				return
			}
			// the whole tool
			described := l.Part == conversation.Description &&
				strings.Contains(l.Path, ".properties")
			if l.Part != conversation.Content && !described || strings.Count(t.text, l.Text) < 2 {
				continue
			}
			at := strings.LastIndex(t.text, l.Text)
			find(t.at(at), "%s stands in the prompt %d times: "+
				"%s\nconversation: %s", subjectOf(lost{l, t}), strings.Count(t.text, l.Text),
				report.Quote(t.text, at), t.Name)
			return
		}
	}
}

// named returns where in the prompt the result is whose id a leaf is.
func (t *talked) named(l conversation.Leaf) (from, to int, ok bool) {
	if l.Part != conversation.CallID || l.Message < 0 ||
		t.kinds[l.Message] != conversation.Result || l.Text == "" {
		return 0, 0, false
	}
	span := t.spans[l.Message]
	return span.from, span.to, span.to > 0
}

// checkOrderOfMessages compares where the texts of messages begin. Instructions may stand anywhere,
// and a result with its call.
func checkOrderOfMessages(s *Subject, find finder) {
	if _, ok := s.forgets(); ok || !s.heard(find) {
		return // A153 is about it
	}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		last, before, found := -1, conversation.Leaf{Message: -1}, t.origins()
		for _, l := range t.leaves() {
			if l.Message < 0 || l.Part != conversation.Content && l.Part != conversation.Argument {
				continue
			}
			if k := t.kinds[l.Message]; k == conversation.System || k == conversation.Developer {
				continue
			}
			at, there := found[originOf(l)]
			if !there || l.Message == before.Message {
				continue
			}
			if at < last && !(t.kinds[l.Message] == conversation.Result &&
				t.kinds[before.Message] == conversation.Result) {
				find(t.at(at), "%s of %s stands before %s of the %s before it: "+
					"%s\nconversation: %s", l.Part, article(t.kinds[l.Message].String()),
					before.Part, t.kinds[before.Message], report.Quote(t.text, at), t.Name)
				return
			}
			last, before = at, l
		}
	}
}

func checkRolesKept(s *Subject, find finder) {
	gaps := s.gaps()
	f, ok := s.frame()
	if !s.heard(find) || !ok {
		return
	}
	var changed faults
	other := map[conversation.Kind]conversation.Kind{}
	for _, g := range gaps {
		rest, ok := f.after(g)
		own := f.headers[g.after]
		if !ok || own == "" || strings.HasPrefix(rest, own) {
			continue
		}
		for _, kind := range []conversation.Kind{conversation.System, conversation.Developer,
			conversation.Question, conversation.Answer, conversation.Result} {
			if header := f.headers[kind]; header != "" && !strings.HasPrefix(own, header) &&
				!strings.HasPrefix(header, own) && strings.HasPrefix(rest, header) {
				other[g.after] = kind
				changed.add(g)
				break
			}
		}
	}
	for _, kind := range changed.kinds {
		g := changed.gaps[kind][0]
		_, at := g.of(f.headers[other[g.after]])
		find(g.in.at(at), "after %s, %s stands under the header of %s: %s\nelsewhere %s opens "+
			"it; conversation: %s", article(kind.String()), article(g.after.String()),
			article(other[g.after].String()), report.Quote(g.in.text, at),
			jsonString(f.headers[g.after]), g.in.Name)
	}
}
