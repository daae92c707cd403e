package check

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"

	"github.com/goassay/assay/engine/source"
)

// turnRules compare the text between two messages with the text between others: a turn ends as it
// ends elsewhere, and the next one opens as it opens elsewhere.
var turnRules = []lookout{
	{Rule: rule.Rule{ID: "A058", Name: "turn-not-closed", Severity: rule.Error,
		Short: "A turn is opened while the one before it is still open.",
		Damage: "The model reads two turns as one: it answers its own tool's result, or believes " +
			"that it cannot call tools.",
		Fix: "Write the end of a turn in this place, too; the finding " +
			"names both places."}, Group: groupLint, Find: checkClosed},
	{Rule: rule.Rule{ID: "A059", Name: "turn-not-opened", Severity: rule.Error,
		Short:  "A turn is closed, and the next message follows without a header.",
		Damage: "The message belongs to nobody: the model has never seen text between two turns.",
		Fix: "Write the header of the turn in this place, too, or do not close " +
			"the one before."}, Group: groupLint, Find: checkOpened},
	{Rule: rule.Rule{ID: "A060", Name: "turn-closed-twice", Severity: rule.Error,
		Short:  "Two markers that end a turn stand right after each other.",
		Damage: "The model sees the end of a turn where none was open, and learns to write it.",
		Fix:    "Let one place end the turn."}, Group: groupLint, Find: checkClosedOnce},
	{Rule: rule.Rule{ID: "A120", Name: "header-without-role", Severity: rule.Warning,
		Short: "The header of a turn does not say who speaks, though the headers of others do.",
		Damage: "The model has never seen such a turn: it takes a question for its own words, or " +
			"a result for a question.",
		Fix: "Write the role in every header."}, Group: groupLint, Find: checkNamed},
}

// frame is how a template frames turns, learnt from its questions and answers.
type frame struct {
	closer  string                       // the end of a question's and an answer's turn
	headers map[conversation.Kind]string // the opener of the turn of a kind, after a closer
}

// plainest is how many gaps a header is learnt from; the plainest conversations come first, and the
// others are compared with them.
const plainest = 8

// learnFrame finds the frame; false where questions and answers end differently, or with nothing at
// all.
func learnFrame(gaps []gap) (frame, bool) {
	f := frame{headers: map[conversation.Kind]string{}}
	// Without a generation prompt the end of a prompt is the end of a turn; after an answer that is
	// all reasoning it may be more.
	f.closer = sameEnd(gaps, usualEnd(gaps, conversation.Question),
		usualEnd(gaps, conversation.Answer))
	if f.closer == "" || strings.Contains(f.closer, hole) {
		return f, false
	}
	seen := map[conversation.Kind]int{}
	for _, g := range gaps { // a result has no other place than after calls and results
		header, ok := f.after(g)
		if ok && (plain(g.before) || g.after == conversation.Result) && seen[g.after] < plainest {
			seen[g.after]++
			meet(f.headers, g.after, header)
		}
	}
	if call, ok := f.headers[conversation.Call]; ok { // the speaker is the same
		f.headers[conversation.Call] = source.CommonPrefix(call, f.headers[conversation.Answer])
	}
	for kind, header := range f.headers {
		if strings.TrimSpace(header) == "" || strings.HasPrefix(header, hole) {
			delete(f.headers, kind)
		}
	}
	return f, true
}

// sameEnd is the end of a question as well as of an answer: one of the two ends where the other
// only repeats it, or where the last answer of all ends otherwise than those before a question.
func sameEnd(gaps []gap, question, answer string) string {
	repeats := func(long, short string) bool {
		return short != "" && strings.Contains(long, short) &&
			strings.TrimSpace(strings.ReplaceAll(long, short, "")) == ""
	}
	switch {
	case question == answer || repeats(answer, question):
		return question
	case repeats(question, answer):
		return answer
	}
	if question == "" {
		return ""
	}
	before := 0
	for _, g := range gaps {
		if g.before != conversation.Answer || g.after != conversation.Question {
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(g.text), question) {
			return ""
		}
		before++
	}
	if before == 0 {
		return ""
	}
	return question
}

// usualEnd is the text that most prompts end with after a kind of message, where no generation
// prompt is asked for.
func usualEnd(gaps []gap, kind conversation.Kind) string {
	count := map[string]int{}
	best := ""
	for _, g := range gaps {
		if g.before == kind && g.after == conversation.None && !g.asked {
			end := strings.TrimSpace(g.text)
			if count[end]++; count[end] > count[best] {
				best = end
			}
		}
	}
	return best
}

// plain reports whether the turn of a kind ends in the same way in every template that frames
// turns.
func plain(k conversation.Kind) bool {
	return k == conversation.System || k == conversation.Developer || k == conversation.Question ||
		k == conversation.Answer
}

// meet keeps the common beginning of all texts of a kind.
func meet(texts map[conversation.Kind]string, k conversation.Kind, text string) {
	if known, ok := texts[k]; ok {
		text = source.CommonPrefix(known, text)
	}
	texts[k] = text
}

// after returns the text of a gap between two messages after the last closer.
func (f frame) after(g gap) (string, bool) {
	at := strings.LastIndex(g.text, f.closer)
	if at < 0 || g.before == conversation.None || g.after == conversation.None {
		return "", false
	}
	return strings.TrimLeft(g.text[at+len(f.closer):], " \t\n"), true
}

// open reports whether the turn that a gap follows has been opened by a header.
func (f frame) open(g gap) bool {
	text := g.in.text[:g.at]
	text = text[strings.LastIndex(text, f.closer)+1:]
	for _, header := range f.headers {
		if strings.Contains(text, header) {
			return true
		}
	}
	return false
}

// header returns the opener of the turn after a gap; the model's where the prompt ends.
func (f frame) header(g gap) string {
	if g.after == conversation.None {
		return f.headers[conversation.Answer]
	}
	return f.headers[g.after]
}

// faults are the gaps with one fault, for each kind of message before them.
type faults struct {
	kinds []conversation.Kind // before
	gaps  map[conversation.Kind][]gap
}

func (f *faults) add(g gap) {
	if f.gaps == nil {
		f.gaps = map[conversation.Kind][]gap{}
	}
	if f.gaps[g.before] == nil {
		f.kinds = append(f.kinds, g.before)
	}
	f.gaps[g.before] = append(f.gaps[g.before], g)
}

// followers names the kinds of message that stand after the gaps.
func followers(gaps []gap) string {
	var names []string
	for _, g := range gaps {
		name := g.after.String()
		if g.after == conversation.None {
			name = "generation prompt"
		}
		if name = article(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func article(name string) string {
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

func checkClosed(s *Subject, find finder) {
	if !s.heard(find) || s.findUnclosed(find) {
		return
	}
	if q, ok := s.sequence(); ok {
		var unclosed turnFaults
		for _, t := range q.unclosed() {
			unclosed.add(t)
		}
		unclosed.report(func(t turn, times string) {
			find(t.in.at(t.to-1), "%s is left open where the next one begins with %s: %s\n"+
				"elsewhere %s ends it; %s", t.name(), jsonString(q.opener), t.show(t.to),
				jsonString(q.closer), times)
		})
	}
}

// findUnclosed reports whether a turn of the frame is left open.
func (s *Subject) findUnclosed(find finder) bool {
	gaps := s.gaps()
	f, ok := s.frame()
	if !ok {
		return false
	}
	var unclosed faults
	for _, g := range gaps {
		if f.leftOpen(gaps, g) {
			unclosed.add(g)
		}
	}
	for _, kind := range unclosed.kinds {
		g := unclosed.gaps[kind][0]
		_, at := g.of(f.header(g))
		find(s.closing(gaps, f, g), "the turn of %s is left open where %s follows: %s\nelsewhere "+
			"%s ends it; conversation: %s",
			article(kind.String()), followers(unclosed.gaps[kind]), report.Quote(g.in.text, at),
			jsonString(f.closer), g.in.Name)
	}
	return len(unclosed.kinds) > 0
}

// leftOpen reports whether the header after a gap stands where the turn before it is open.
func (f frame) leftOpen(gaps []gap, g gap) bool {
	return f.open(g) && f.lacksEnd(gaps, g)
}

// lacksEnd reports whether the end of a turn is missing before the header after a gap.
func (f frame) lacksEnd(gaps []gap, g gap) bool {
	header := f.header(g)
	at := strings.LastIndex(g.text, header)
	if header == "" || at < 0 || g.before == conversation.None ||
		strings.Contains(g.text, f.closer) {
		return false
	}
	before := g.text[:at]
	return strings.TrimSpace(before) == "" || goesOn(gaps, g.before, before) ||
		f.closes(gaps, g.before, before) || g.ownEnd(before)
}

func checkOpened(s *Subject, find finder) {
	if !s.heard(find) || s.findUnopened(find) || s.findEndedEarly(find) {
		return
	}
	if q, ok := s.sequence(); ok && s.quiet(checkClosed) {
		var unopened turnFaults
		for _, t := range q.unopened() {
			unopened.add(t)
		}
		unopened.report(func(t turn, times string) {
			find(t.in.at(t.from), "%s begins without a header: %s\nelsewhere %s opens it; %s",
				t.name(), t.show(t.from), jsonString(q.opener), times)
		})
	}
}

// findEndedEarly reports whether the marker that ends answers stands between the text of a message
// and its calls, with no header after it.
func (s *Subject) findEndedEarly(find finder) bool {
	end, ok := lastMarker(usualEnd(s.gaps(), conversation.Answer))
	if !ok {
		return false
	}
	headers := map[string]bool{} // keys of the markers between a question and its answer
	for m := range eachMarker(s.asked()) {
		headers[m.key] = true
	}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		text, at := -1, 0 // where the text of a message ends
		of := -1          // whose it is
		for _, r := range t.o.Runs {
			from := at
			at += r.Len
			i := messageOf(r)
			if i < 0 || i >= len(t.kinds) || t.kinds[i] != conversation.Call {
				continue
			}
			if spoken.MatchString(r.Path) {
				text, of = at, i
				continue
			}
			if of != i || !strings.Contains(r.Path, ".tool_calls[") {
				continue
			}
			if i := strings.Index(t.own()[text:from], end); i >= 0 {
				rest := t.own()[text+i+len(end) : from]
				if !slices.ContainsFunc(markersOf(rest), func(m marker) bool {
					return headers[m.key]
				}) {
					find(t.at(text+i), "the turn of a call ends before the call: %s\n"+
						"conversation: %s", report.Quote(t.text, text+i), t.Name)
					return true
				}
			}
			of = -1
		}
	}
	return false
}

// start is the text that the headers of questions, answers and instructions begin with, "" where
// they have none in common, or a part of a marker.
func (f frame) start() string {
	start, n := "", 0
	for _, kind := range []conversation.Kind{conversation.System, conversation.Question,
		conversation.Answer} {
		header := f.headers[kind]
		if header == "" {
			continue
		}
		if n++; n == 1 {
			start = header
		}
		start = source.CommonPrefix(start, header)
	}
	start = strings.TrimSpace(start)
	open := strings.LastIndexAny(start, "<[")
	if n < 2 || len(start) < 2 || open >= 0 && !strings.ContainsAny(start[open:], ">]") {
		return ""
	}
	return start
}

// findUnopened reports whether a turn of the frame lacks its header.
func (s *Subject) findUnopened(find finder) bool {
	gaps := s.gaps()
	f, ok := s.frame()
	if !ok {
		return false
	}
	var unopened, strayed faults
	// kinds that stand somewhere without a closer before them
	known := map[conversation.Kind]bool{}
	for _, g := range gaps {
		if g.before != conversation.None && g.after == conversation.Result &&
			!strings.Contains(g.text, f.closer) {
			known[g.after] = true
		}
	}
	start := f.start()
	for _, g := range gaps {
		if g.before == conversation.None && plain(g.after) && f.bare(s, g) {
			unopened.add(g)
			continue
		}
		if g.before == conversation.None && f.strays(g) {
			strayed.add(g)
			continue
		}
		rest, ok := f.after(g)
		others := f.headers[conversation.Question] != "" && f.headers[conversation.Answer] != ""
		named := f.headers[g.after] != "" ||
			others && g.after == conversation.Result && !known[g.after]
		bare := strings.TrimSpace(strings.ReplaceAll(rest, hole, ""))
		if ok && (bare == "" && named || g.after == conversation.Result && start != "" &&
			bare != "" && !strings.HasPrefix(bare, start)) {
			unopened.add(g)
		}
	}
	for _, kind := range strayed.kinds {
		g := strayed.gaps[kind][0]
		at := strings.LastIndex(g.in.text[g.at:g.to], f.headers[g.after]) + g.at
		find(g.in.at(max(at-1, 0)), "text stands after the end of a turn and before the header "+
			"of the next: %s\nconversation: %s",
			report.Quote(g.in.text, at), g.in.Name)
	}
	for _, kind := range unopened.kinds {
		g := unopened.gaps[kind][0]
		if kind == conversation.None {
			find(g.in.at(g.to), "%s stands without a header at the start of the prompt, and its "+
				"turn is closed: %s\nconversation: %s",
				followers(unopened.gaps[kind]), report.Quote(g.in.text, g.to), g.in.Name)
			continue
		}
		_, at := g.of(f.closer)
		header := "questions and answers have one"
		if own := f.headers[g.after]; own != "" {
			header = "elsewhere " + jsonString(own) + " opens it"
		}
		find(g.in.at(at), "after the turn of %s, %s follows without a header: %s\n%s; "+
			"conversation: %s",
			article(kind.String()), followers(unopened.gaps[kind]), report.Quote(g.in.text, at),
			header, g.in.Name)
	}
	return len(strayed.kinds)+len(unopened.kinds) > 0
}

func checkClosedOnce(s *Subject, find finder) {
	gaps := s.gaps()
	f, ok := s.frame()
	if !s.heard(find) || !ok {
		return
	}
	var twice faults
	for _, g := range gaps {
		_, rest, _ := strings.Cut(g.text, f.closer)
		if strings.HasPrefix(strings.TrimSpace(rest), f.closer) && g.before != conversation.None {
			twice.add(g)
		}
	}
	for _, kind := range twice.kinds {
		g := twice.gaps[kind][0]
		_, at := g.of(f.closer)
		find(g.in.at(at), "the turn of %s is closed twice where %s follows: %s\nconversation: %s",
			article(kind.String()), followers(twice.gaps[kind]), report.Quote(g.in.text, at),
			g.in.Name)
	}
}

// goesOn reports whether a kind's message ends with a text somewhere where its turn goes on: the
// next message's text, or the model's, follows at once.
func goesOn(gaps []gap, kind conversation.Kind, end string) bool {
	for _, g := range gaps {
		if g.before == kind && strings.TrimSpace(g.text) == strings.TrimSpace(end) &&
			(g.after != conversation.None || g.asked) {
			return true
		}
	}
	return false
}

// closes reports whether the closer follows a kind's message and this text elsewhere.
func (f frame) closes(gaps []gap, kind conversation.Kind, end string) bool {
	end = strings.TrimSpace(end)
	return slices.ContainsFunc(gaps, func(g gap) bool {
		rest, ok := strings.CutPrefix(strings.TrimSpace(g.text), end)
		return ok && g.before == kind && strings.HasPrefix(strings.TrimSpace(rest), f.closer)
	})
}

// strays reports whether the template writes words between the end of its own first turn and the
// header of the first message.
func (f frame) strays(g gap) bool {
	at := strings.LastIndex(g.text, f.closer)
	header := strings.TrimSpace(f.headers[g.after])
	if at < 0 || header == "" {
		return false
	}
	rest := g.text[at+len(f.closer):]
	end := strings.LastIndex(rest, header)
	return end > 0 && strings.ContainsFunc(rest[:end], unicode.IsLetter)
}

// bare reports whether nothing but BOS stands before the first message of a prompt, though the
// closer follows it and others have headers.
func (f frame) bare(s *Subject, g gap) bool {
	before := strings.TrimPrefix(strings.TrimSpace(g.text), s.Template.ChatTemplate().BOS)
	if strings.TrimSpace(before) != "" || len(f.headers) == 0 || strings.Contains(g.text, hole) {
		return false
	}
	end := g.in.spans[0].to
	return strings.HasPrefix(strings.TrimSpace(g.in.text[end:]), f.closer)
}

// ownEnd reports whether a text after a message only ends a part that the message itself opened:
// brackets, quotes, and markers whose other half stands before.
func (g gap) ownEnd(end string) bool {
	opened := map[string]bool{}
	for _, m := range markersOf(g.in.own()[:g.at]) {
		opened[m.key] = true
	}
	rest := end
	for _, m := range slices.Backward(markersOf(end)) {
		if m.side == closing && opened[m.key] {
			rest = rest[:m.at] + rest[m.to:]
		}
	}
	return strings.Trim(rest, " \n\t]}\"'`)") == ""
}

// closing is the place that ends the turn of the same kind of message elsewhere; where there is
// none, that of the same speaker.
func (s *Subject) closing(gaps []gap, f frame, bad gap) where {
	speaker := func(k conversation.Kind) bool {
		return k == bad.before ||
			bad.before == conversation.Result &&
				(k == conversation.Answer || k == conversation.Call) ||
			bad.before == conversation.Call && k == conversation.Answer
	}
	before := func(k conversation.Kind) bool { return k == bad.before }
	for _, same := range []func(conversation.Kind) bool{before, speaker, plain} {
		for _, g := range gaps {
			if at, _ := g.of(f.closer); at >= 0 && same(g.before) {
				return g.in.at(at)
			}
		}
	}
	return bad.in.at(bad.at)
}

// of returns where in the prompt a gap has a text first, and where last; -1 where it has it
// nowhere.
func (g gap) of(text string) (first, last int) {
	own := g.in.text[g.at:g.to]
	if !strings.Contains(own, text) {
		return -1, -1
	}
	return g.at + strings.Index(own, text), g.at + strings.LastIndex(own, text)
}

// findGaps returns the gaps of all conversations of the protocol, without a text that the template
// writes after the last message of each: it is a turn of its own, and ends nobody's.
func (s *Subject) findGaps() []gap {
	var all []gap
	for _, t := range s.talks() {
		all = append(all, t.gaps()...)
	}
	if text := postscript(all); text != "" {
		for i, g := range all {
			if g.after == conversation.None {
				all[i].text = strings.Replace(g.text, text, "", 1)
			}
		}
	}
	return all
}

// postscript returns the text that stands between the end of a last question and the model's
// header, and not between other questions and the header of their answers; "" where there is none.
func postscript(gaps []gap) string {
	most := func(chosen func(gap) bool) string {
		count, best := map[string]int{}, ""
		for _, g := range gaps {
			if g.before == conversation.Question && chosen(g) {
				if count[g.text]++; count[g.text] > count[best] {
					best = g.text
				}
			}
		}
		return best
	}
	end := most(func(g gap) bool { return g.after == conversation.None && !g.asked })
	asked := most(func(g gap) bool { return g.after == conversation.None && g.asked })
	inner := most(func(g gap) bool { return g.after == conversation.Answer })
	header, both := strings.CutPrefix(asked, end)
	own, answered := strings.CutSuffix(inner, header)
	text, ends := strings.CutPrefix(end, own)
	if !both || !answered || !ends || header == "" || own == "" {
		return ""
	}
	return text
}
