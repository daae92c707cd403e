package check

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/reach"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// grownRules compare short requests with long ones, and days with others: more messages bring more
// of the same text, not another text.
var grownRules = []lookout{
	{Rule: rule.Rule{ID: plants, Name: "text-at-a-count", Severity: rule.Error,
		Short: "The template writes words of its own that other requests of the kind do not have: " +
			"a count, a length, the day or the look of a text, a name or an id brings them about.",
		Damage: "Whoever reads the prompts of tests, or of the first minutes, does not see what " +
			"the model is told later; a stranger's template can plant a turn so.",
		Fix: "Write the same text whatever the number of messages, calls and tools, the texts " +
			"and the day."}, Group: groupLint, Find: checkGrown},
	{Rule: rule.Rule{ID: repeats, Name: "text-at-a-repetition", Severity: rule.Warning,
		Short: "The template adds words of its own once equal messages or calls have come a number " +
			"of times, and does not where as many differ.",
		Damage: "A model that repeats a call for a good reason, such as to see whether a job has " +
			"ended, is told to stop by words that nobody sent. Short tests do not show them.",
		Fix: "Let the client stop a model that repeats itself, or write the words only where a " +
			"variable of the request asks for them."}, Group: groupLint, Find: checkRepetition},
	{Rule: rule.Rule{ID: "A141", Name: "threshold-not-exercised", Severity: rule.Warning,
		Short: "A condition on a number had the same outcome in all requests that were tried, " +
			"long ones too, or none of these wrote a sentence that the template chooses as a value.",
		Damage: "Nobody has seen the prompt beyond the threshold, or with the sentence.",
		Fix: "Read the lines that it guards, and try a request of that size; `assay coverage` " +
			"shows what reaches them."}, Group: groupLint, Find: checkThresholds},
}

// plants is the rule for a template that plants text at a count, and repeats the one for text at a
// count of equal messages. No template may suppress them.
const (
	plants  = "A140"
	repeats = "A154"
)

const (
	leastNumber = 4       // from here on a number in a template may be a threshold that others miss
	manyOf      = 72      // so many messages, calls, tools, parts and arguments are tried
	longText    = 1 << 15 // so many bytes has a long text
	mostNumbers = 48      // so many numbers of a template are tried for their own sake
	mostOf      = 512     // as long as they ask for no more messages than this,
	mostText    = 1 << 17 // and for no longer texts

	mostSwitches = 8      // so many variables of a template are set,
	mostSettings = 9      // in so many ways,
	mostAt       = 128    // at so many of a thing at most,
	mostSet      = 80_000 // and so many messages, calls, tools and parts are rendered under them

	mostSteps = 400_000 // so many steps take the requests that grow under no setting
)

// dimension is a way in which requests grow. It is tried at the sizes from 1 to small, at large,
// and at the numbers of a template up to most.
type dimension struct {
	name               string
	small, large, most int
	make               func(n int) chat.Request
}

var dimensions = []dimension{
	{"messages", 4, manyOf, mostOf, func(n int) chat.Request { return chatting(nil, n) }},
	{"messages under instructions", 4, manyOf, mostOf, func(n int) chat.Request {
		return chatting(talk(systemTurn), n)
	}},
	{"rounds of calls", 2, manyOf / 2, mostOf / 2, func(n int) chat.Request {
		messages := talk(userTurn)
		for range n {
			messages = append(messages, says(callTurn, "ANSWERNEEDLE"), resultTurn)
		}
		return chat.Request{Messages: messages, Tools: called()}
	}},
	{"calls", 3, manyOf, mostOf, func(n int) chat.Request {
		var calls, results []ordered.Value
		for i := range n {
			id := fmt.Sprintf("callid%03d", i)
			calls = append(calls, chat.CallOf(id, "get_weather", objectArguments))
			results = append(results, resulting(id, "RESULTNEEDLE"))
		}
		messages := append(talk(userTurn, calling(calls...)), results...)
		return chat.Request{Messages: messages, Tools: called()}
	}},
	{"tools", 3, manyOf, mostOf, func(n int) chat.Request {
		var tools []chat.Tool
		for i := range n {
			tools = append(tools, toolOf(fmt.Sprintf("find_boat_%d", i), 1))
		}
		return chat.Request{Messages: talk(userTurn), Tools: tools}
	}},
	{"arguments", 3, manyOf, mostOf, func(n int) chat.Request {
		var members []ordered.Member
		for i := range n {
			members = append(members, ordered.MemberOf(fmt.Sprintf("key_%d", i),
				ordered.Str("CITYNEEDLE")))
		}
		call := chat.CallOf("callid001", "find_boat", ordered.ObjectOf(members...))
		return chat.Request{Messages: talk(userTurn, calling(call),
			chat.Result("callid001", "find_boat", "RESULTNEEDLE")),
			Tools: []chat.Tool{toolOf("find_boat", n)}}
	}},
	{"parts", 3, manyOf, mostOf, func(n int) chat.Request {
		parts := make([]ordered.Value, n)
		for i := range parts {
			parts[i] = chat.TextPart(ordered.Str("USERNEEDLE"))
		}
		return chat.Request{Messages: talk(chat.MessageOf("user", ordered.ArrayOf(parts...)))}
	}},
	{"bytes of a text", 2, longText, mostText, func(n int) chat.Request {
		text := strings.Repeat("so it is, and ", n/14+1)[:n]
		return chat.Request{Messages: talk(says(systemTurn, text), says(userTurn, text),
			says(answerTurn, text).With("reasoning_content", ordered.Str(text)),
			says(userTurn2, text), callTurn, resulting("callid001", text)),
			Tools: called()}
	}},
}

// chatting is a chat of n messages after others.
func chatting(messages []ordered.Value, n int) chat.Request {
	for i := range n {
		if i%2 == 0 {
			messages = append(messages, userTurn)
		} else {
			messages = append(messages, answerTurn)
		}
	}
	return chat.Request{Messages: messages, NoGeneration: n%2 == 0}
}

// toolOf is a tool with n parameters.
func toolOf(name string, n int) chat.Tool {
	var members []ordered.Member
	for i := range n {
		members = append(members, ordered.MemberOf(fmt.Sprintf("key_%d", i),
			ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("string")),
				ordered.MemberOf("description", ordered.Str("A place")))))
	}
	parameters := ordered.ObjectOf(ordered.MemberOf("type", ordered.Str("object")),
		ordered.MemberOf("properties", ordered.ObjectOf(members...)))
	return chat.Tool{Name: name, Parameters: parameters,
		Value: chat.ToolOf(name, "Does it", parameters)}
}

// grown are the texts of the template's own in short requests, and the first one that only a long
// one brings about.
type grown struct {
	coverage jinja.Coverage  // of all of them
	known    map[string]bool // the words that follow each other in short ones
	set      int             // how much was rendered under the settings
	least    int64           // of the budget must be left
	cut      bool            // not all numbers were tried under all settings
	planted  news            // with messages that differ, too
	repeated news            // with equal messages alone
}

// news is a finding; the zero one is none.
type news struct {
	text string
	at   where
}

// grow renders short requests and long ones, under each setting of the template's switches.
func (s *Subject) grow() *grown {
	g := &grown{known: map[string]bool{}}
	budget := s.Template.ChatTemplate().Budget
	if budget != nil {
		g.least = max(1, budget.Left()-mostSteps)
	}
	for _, t := range s.talks() {
		if t.err == nil {
			g.coverage.Add(&t.o.Coverage)
		}
	}
	var counts, exact []int
	for _, n := range s.numbers() {
		if n < leastNumber {
			continue
		}
		counts = append(counts, n-1, n, n+1)
		if n <= mostAt {
			exact = append(exact, n)
		}
		if n >= manyOf && n <= mostAt { // else the large requests have more
			exact = append(exact, n+1)
		}
	}
	settings := s.settings()
	s.growAll(g, nil, counts)
	if g.cut {
		return g
	}
	if budget != nil {
		g.least = budget.Left() / 4 * 3 // the other rules need most of it
	}
	for _, set := range settings {
		s.growAll(g, set, exact)
	}
	return g
}

// growAll renders requests that grow along each dimension under a setting: large ones, and those of
// some counts.
func (s *Subject) growAll(g *grown, set setting, counts []int) {
	for _, d := range dimensions {
		if g.planted.text != "" {
			return
		}
		sizes := []int{d.large}
		if len(set) > 0 { // many settings are tried, and the numbers beside them
			sizes[0] /= 2
		}
		for _, n := range counts {
			if n <= d.most+1 {
				sizes = append(sizes, n)
			}
		}
		slices.Sort(sizes)
		s.growAlong(g, d, set, slices.Compact(sizes))
	}
}

// growAlong renders requests of growing sizes under a setting, until one of them has text that the
// short ones have not, and that one of the size whose messages differ has, too.
func (s *Subject) growAlong(g *grown, d dimension, set setting, sizes []int) {
	clear(g.known)
	varied := g.repeated.text != "" // equal messages have shown what they bring about
	render := func(n int) (chattemplate.Observation, bool) {
		r := d.make(n)
		if varied {
			r = unlike(r)
		}
		return s.size(g, d, r, n, set)
	}
	learn := func() {
		for n := 1; n <= d.small; n++ {
			if o, ok := render(n); ok {
				g.learn(o)
			}
		}
	}
	learn()
	for _, n := range sizes {
		o, ok := render(n)
		if !ok {
			continue
		}
		off, some := g.news(o)
		if !some {
			continue
		}
		if !varied {
			varied = true
			learn()
			other, ok := render(n)
			at, differ := g.news(other)
			if g.cut {
				return
			}
			if ok && !differ {
				g.repeated = told(o, off, d, fmt.Sprintf("%d equal %s%s", n, d.name, set))
				continue
			}
			if differ {
				o, off = other, at
			}
		}
		g.planted = told(o, off, d, fmt.Sprintf("%d %s%s", n, d.name, set))
		return
	}
}

// told is the finding of text at an offset of a prompt.
func told(o chattemplate.Observation, off int, d dimension, size string) news {
	return news{fmt.Sprintf("with %s the template writes text of its own that it does not "+
		"write with up to %d: %s", size, d.small, report.Quote(o.String, off)), writtenAt(o, off)}
}

// unlike gives each message of a request, and each argument of a call, another text.
func unlike(r chat.Request) chat.Request {
	n := 0
	next := func(v ordered.Value) ordered.Value {
		if v.Kind() != ordered.String || v.Text() == "" {
			return v
		}
		n++
		word := ""
		for i := n; i > 0; i /= 26 {
			word += string(rune('a' + i%26))
		}
		return ordered.Str(v.Text() + " " + word)
	}
	messages := make([]ordered.Value, len(r.Messages))
	for i, m := range r.Messages {
		m = m.With("content", next(m.At("content")))
		calls := slices.Clone(m.At("tool_calls").Items())
		for j, call := range calls {
			f := call.At("function")
			arguments := f.At("arguments")
			for _, member := range arguments.Members() {
				arguments = arguments.With(member.Key, next(member.Value))
			}
			calls[j] = call.With("function", f.With("arguments", arguments))
		}
		if len(calls) > 0 {
			m = m.With("tool_calls", ordered.ArrayOf(calls...))
		}
		messages[i] = m
	}
	r.Messages = messages
	return r
}

// size renders a request of a size under a setting; false where the template refuses it.
func (s *Subject) size(g *grown, d dimension, r chat.Request, n int,
	set setting) (chattemplate.Observation, bool) {
	if len(set) > 0 {
		g.set += max(n*manyOf/d.large, 1)
		r.Kwargs = ordered.ObjectOf(set...)
	}
	budget := s.Template.ChatTemplate().Budget
	if g.set > mostSet || budget != nil && budget.Left() < g.least {
		g.cut = true
		return chattemplate.Observation{}, false
	}
	o, err := s.seen(r)
	g.coverage.Add(&o.Coverage)
	return o, err == nil
}

// setting is values of variables that a template reads. The empty one leaves all of them out.
type setting []ordered.Member

func (s setting) String() string {
	text := ""
	for i, m := range s {
		between := ", "
		if i == 0 {
			between = " and "
		}
		text += between + m.Key + " = " + m.Value.String()
	}
	return text
}

// settings are ways to set the switches of a template: all combinations of their values where these
// are few, else one switch at a time, and all of them. A switch is any variable
// that the template reads beside those that each request has. Its values are true, false and the
// texts that it is compared with. A template that names no number that is large has nothing to
// compare a size with, and none of its switches is set.
func (s *Subject) settings() []setting {
	if !slices.ContainsFunc(s.numbers(), func(n int) bool { return n >= leastNumber }) {
		return nil
	}
	values := s.switches()
	all := []setting{nil}
	combined := 1
	for _, v := range values {
		combined *= len(v) + 1 // or it is not there
		if combined > mostSettings {
			break
		}
	}
	if combined <= mostSettings {
		for _, v := range values {
			for _, set := range slices.Clone(all) {
				for _, m := range v {
					all = append(all, append(slices.Clip(set), m))
				}
			}
		}
		return all[1:]
	}
	all = nil
	longest := 0
	for _, v := range values {
		longest = max(longest, len(v))
	}
	for i := range longest { // all switches at once, and each of them
		var set setting
		for _, v := range values {
			set = append(set, v[min(i, len(v)-1)])
		}
		all = append(all, set)
	}
	for i := range longest {
		for _, v := range values {
			if i < len(v) {
				all = append(all, setting{v[i]})
			}
		}
	}
	return all[:min(len(all), mostSettings)]
}

// defaults reports whether a statement does no more to a variable than to give it a value where a
// request has none.
func defaults(n syntax.Node, name string) bool {
	a, ok := n.(*syntax.Assign)
	if !ok {
		return false
	}
	for part := range syntax.All(a.Value) {
		switch part := part.(type) {
		case *syntax.Const:
		case *syntax.Name:
			ok = ok && part.Name == name
		case *syntax.Filter:
			ok = ok && (part.Name == "default" || part.Name == "int")
		case *syntax.Unary:
		default:
			return false
		}
	}
	return ok
}

// ofSwitches reports whether a comparison is one of nothing but constants and variables that a
// request alone sets: no size of a request comes into it.
func ofSwitches(c *syntax.Compare, bound map[string]bool) bool {
	some := false
	for n := range syntax.All(c) {
		switch n := n.(type) {
		case *syntax.Compare, *syntax.Const:
		case *syntax.Name:
			if slices.Contains(given, n.Name) || bound[n.Name] {
				return false
			}
			some = true
		default:
			return false
		}
	}
	return some
}

// switches returns the values of each switch of a template.
func (s *Subject) switches() [][]ordered.Member {
	tree, _ := s.parsed()
	texts := map[string][]ordered.Value{} // that a variable is compared with
	for n := range tree.All() {
		c, ok := n.(*syntax.Compare)
		if !ok {
			continue
		}
		var names []string
		var literals []ordered.Value
		for n := range syntax.All(c) {
			switch n := n.(type) {
			case *syntax.Name:
				names = append(names, n.Name)
			case *syntax.Const:
				switch i, err := strconv.Atoi(n.Text); {
				case n.Kind == syntax.String:
					literals = append(literals, ordered.Str(n.Text))
				case n.Kind == syntax.Int && err == nil:
					literals = append(literals, ordered.Int(i))
				}
			}
		}
		for _, name := range names {
			all := append(texts[name], literals...)
			texts[name] = all[:min(len(all), mostTexts)]
		}
	}
	var all [][]ordered.Member
	for _, name := range s.Template.ChatTemplate().Names() {
		if slices.Contains(given, name) || len(all) == mostSwitches {
			continue
		}
		var values []ordered.Member
		for _, v := range append([]ordered.Value{ordered.Boolean(true), ordered.Boolean(false)},
			texts[name]...) {
			values = append(values, ordered.MemberOf(name, v))
		}
		all = append(all, values)
	}
	return all
}

// mostTexts is how many texts that a switch is compared with are tried.
const mostTexts = 3

// given are the variables that each request has, or the dimensions set.
var given = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token",
	"pad_token", "unk_token"}

// learn notes the words of the template's own in a prompt.
func (g *grown) learn(o chattemplate.Observation) {
	for words := range ownWords(o) {
		g.known[string(appendKey(nil, words))] = true
		for _, w := range words {
			g.known[w.text] = true
		}
	}
}

// news returns where a prompt has words of the template's own that follow each other nowhere else:
// the first that is new itself, if one is.
func (g *grown) news(o chattemplate.Observation) (int, bool) {
	var buf []byte // for the keys, most of which are known
	for words := range ownWords(o) {
		if buf = appendKey(buf[:0], words); g.known[string(buf)] {
			continue
		}
		for _, w := range words {
			if !g.known[w.text] {
				return w.off, true
			}
		}
		return words[0].off, true
	}
	return 0, false
}

// ownWord is a word of a prompt that is the template's own. All numbers are one word.
type ownWord struct {
	text string
	off  int
}

// appendKey appends the key of words that follow each other.
func appendKey(key []byte, words []ownWord) []byte {
	for _, w := range words {
		key = append(append(key, w.text...), ' ')
	}
	return key
}

// ownWords yields three words after each other of each stretch of a prompt that is the template's
// own; all words of a stretch that has fewer.
func ownWords(o chattemplate.Observation) iter.Seq[[]ownWord] {
	return func(yield func([]ownWord) bool) {
		var words []ownWord
		stretch := func(from, to int) bool {
			words = words[:0]
			text := o.String[from:to]
			for i := 0; i < len(text); {
				r, n := utf8.DecodeRuneInString(text[i:])
				w := ownWord{text[i : i+n], from + i}
				switch {
				case isDigit(r):
					n = spanOf(text[i:], isDigit)
					w.text = "0"
				case isLetter(r):
					n = spanOf(text[i:], isLetter)
					w.text = text[i : i+n]
				}
				if i += n; isDigit(r) || unicode.IsLetter(r) {
					words = append(words, w)
				}
			}
			for i := range max(len(words)-2, min(len(words), 1)) {
				if !yield(words[i:min(i+3, len(words))]) {
					return false
				}
			}
			return true
		}
		from, at := 0, 0
		for _, r := range o.Runs {
			if !chattemplate.IsOwn(r.Origin) {
				if !stretch(from, at) {
					return
				}
				from = at + r.Len
			}
			at += r.Len
		}
		stretch(from, at)
	}
}

// A word is one of ASCII letters, a number, or a letter of any other script: some of them have no
// spaces.

func isDigit(r rune) bool  { return '0' <= r && r <= '9' }
func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// spanOf is the length of the beginning of a text all of which is of a kind.
func spanOf(text string, kind func(rune) bool) int {
	if i := strings.IndexFunc(text, func(r rune) bool { return !kind(r) }); i >= 0 {
		return i
	}
	return len(text)
}

// numbers returns the whole numbers that a template names, without those that indent JSON and those
// that it compares with switches alone.
func (s *Subject) numbers() []int {
	tree, _ := s.parsed()
	var all []int
	others, bound := map[syntax.Node]bool{}, map[string]bool{}
	for n := range tree.All() {
		for _, name := range syntax.Assigned(n) {
			bound[name] = bound[name] || !defaults(n, name)
		}
		var params []*syntax.Name
		switch n := n.(type) {
		case *syntax.Macro:
			params = n.Params.Params
		case *syntax.CallBlock:
			params = n.Params.Params
		}
		for _, p := range params {
			bound[p.Name] = true
		}
	}
	for n := range tree.All() {
		if f, ok := n.(*syntax.Filter); ok && f.Name == "tojson" {
			for _, arg := range f.Args.Args {
				others[arg] = true
			}
			for _, arg := range f.Keywords {
				others[arg.Value] = true
			}
		}
		if c, ok := n.(*syntax.Compare); ok && ofSwitches(c, bound) {
			for part := range syntax.All(c) {
				others[part] = true
			}
		}
		if c, ok := n.(*syntax.Const); ok && c.Kind == syntax.Int && !others[n] {
			if i, err := strconv.Atoi(c.Text); err == nil && !slices.Contains(all, i) {
				all = append(all, i)
			}
		}
	}
	return all[:min(len(all), mostNumbers)]
}

func checkGrown(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	if found := s.grown().planted; found.text != "" {
		find(found.at, "%s", found.text)
		return
	}
	if !s.findLooks(find) {
		s.findDays(find)
	}
}

func checkRepetition(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	if found := s.grown().repeated; found.text != "" {
		find(found.at, "%s", found.text)
	}
}

var numeral = regexp.MustCompile(`[0-9]+`)

// calendar matches the names of months and days of the week, and the halves of a day, in English,
// and numbers.
var calendar = regexp.MustCompile(`(?i)\b(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|` +
	`january|february|march|april|august|september|october|november|december|` +
	`mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|` +
	`am|pm)\b|[0-9]+`)

// findDays renders a conversation on manyOf days. The prompts may differ in dates alone.
func (s *Subject) findDays(find finder) {
	ct := *s.Template.ChatTemplate()
	asked, now := false, subject.Now()
	ct.Now = func() time.Time { asked = true; return now }
	in := s.Template.Caps().Fit(chat.Request{Messages: talk(systemTurn, userTurn, answerTurn,
		userTurn2), Tools: called()}).Input
	dateless := func() (string, string, bool) {
		text, err := ct.Render(in)
		return text, calendar.ReplaceAllString(text, "0"), err == nil
	}
	was, base, ok := dateless()
	if !asked || !ok {
		return
	}
	for _, day := range s.days() {
		now = day
		if is, other, ok := dateless(); ok && other != base {
			find(nowhere, "on %s the template writes another text than on %s, dates apart:\n%s",
				day.Format(time.DateTime), subject.Now().Format(time.DateTime),
				report.Sides("then", is, "usually", was))
			return
		}
	}
}

// days are times that have every month, day of the month and of the week, hour and minute, and
// those that the numbers and dates in a template make.
func (s *Subject) days() []time.Time {
	var all []time.Time
	for i := range 60 {
		all = append(all, time.Date(2026+i*i, time.Month(i%12+1), i%31+1, i%24, i, 59-i, 0,
			time.UTC))
	}
	var years, months, dates []int
	add := func(n int) {
		switch {
		case n >= 1970 && n <= 9999:
			years = append(years, n, n+1)
		case n >= 1 && n <= 31:
			dates = append(dates, n)
			if n <= 12 {
				months = append(months, n)
			}
		}
	}
	for _, n := range s.numbers() {
		add(n)
	}
	tree, _ := s.parsed()
	for n := range tree.All() {
		c, ok := n.(*syntax.Const)
		if !ok || c.Kind != syntax.String {
			continue
		}
		for _, word := range numeral.FindAllString(c.Text, 8) {
			if n, err := strconv.Atoi(word); err == nil {
				add(n)
			}
			if t, err := time.Parse("20060102", word); err == nil {
				all = append(all, t, t.AddDate(0, 0, 1))
			}
		}
		for _, name := range calendar.FindAllString(c.Text, 8) {
			for month := time.January; month <= time.December; month++ {
				if len(name) >= 3 && strings.EqualFold(month.String()[:3], name[:3]) {
					months = append(months, int(month))
				}
			}
		}
	}
	years, months = append(years, subject.Now().Year()), append(months, 12)
	for _, year := range years[:min(len(years), 6)] {
		for _, month := range months[:min(len(months), 8)] {
			for _, date := range append(dates[:min(len(dates), 8)], 31) {
				all = append(all, time.Date(year, time.Month(month), date, 12, 0, 0, 0, time.UTC))
			}
		}
	}
	return all
}

// checkThresholds looks for conditions on numbers that no request decided both ways: those of the
// grammar, long ones, and where these miss one those of the search. A comparison in no condition
// tells nobody how it went.
func checkThresholds(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	thresholds := s.thresholds()
	coverage := &s.grown().coverage
	missed := func() (all []threshold) {
		for _, t := range thresholds {
			if t.site >= 0 && s.onlyWay(coverage, t) != "" {
				all = append(all, t)
			}
		}
		return all
	}
	if len(missed()) > 0 {
		coverage.Add(&s.explored().Coverage)
	}
	for _, t := range missed() {
		find(t.at, "not exercised: %s, with up to %d messages, calls and tools and texts of %d "+
			"bytes", s.onlyWay(coverage, t), manyOf, longText)
	}
	if texts := s.unwritten(); len(texts) > 0 {
		var places []where
		for _, c := range texts {
			places = append(places, where(c.Offset()))
		}
		find(where(texts[0].Offset()), "not exercised: no request wrote this text, which is chosen "+
			"as a value: %s%s", report.Quote(texts[0].Text, lead), s.others(places))
	}
	if s.grown().cut {
		find(nowhere, "not exercised: the template takes many steps, or names many numbers and "+
			"reads many switches, and not every number was tried under every setting of them")
	}
	for _, t := range thresholds {
		if t.site < 0 {
			find(t.at, "not exercised: this comparison with a number stands in no condition, so "+
				"that nobody can tell which requests it was true for")
		}
	}
}

// unwritten returns the sentences that the template chooses as values, and that neither the
// conversations of the grammar nor those of the search make it write.
func (s *Subject) unwritten() (all []*syntax.Const) {
	t := s.Template.ChatTemplate()
	tree, _ := s.parsed()
	sites := map[int]int{}
	for i, site := range t.Sites() {
		if site.Kind == jinja.SiteText {
			sites[site.Off] = i
		}
	}
	if len(sites) == 0 {
		return nil
	}
	var wanted []*syntax.Const
	for n := range tree.All() {
		if c, ok := n.(*syntax.Const); ok && c.Kind >= syntax.String && isSentence(c.Text) {
			if _, ok := sites[c.Offset()]; ok {
				wanted = append(wanted, c)
			}
		}
	}
	var written jinja.Coverage
	missed := func(c *syntax.Const) bool {
		return !written.Reached(sites[c.Offset()], jinja.Written)
	}
	for _, talk := range s.talks() {
		if !slices.ContainsFunc(wanted, missed) {
			return nil
		}
		var one jinja.Coverage
		_, _ = t.Cover(talk.in, &one, &written)
		written.Add(&one)
	}
	written.Add(&s.explored().Coverage)
	proofs := s.Source.Unreachable()
	for _, c := range wanted {
		_, proven := proofs[reach.Outcome{Kind: jinja.SiteText, Off: c.Offset(),
			Outcome: jinja.Written}]
		if missed(c) && !proven {
			all = append(all, c)
		}
	}
	return all
}

// isSentence reports whether a text has a phrase in one of its lines.
func isSentence(text string) bool {
	for line := range strings.Lines(text) {
		if len(phrasesOf(line)) > 0 {
			return true
		}
	}
	return false
}

// onlyWay describes how a decision went for all requests; "" where it went both ways.
func (s *Subject) onlyWay(coverage *jinja.Coverage, t threshold) string {
	yes, no := coverage.Reached(t.site, jinja.True), coverage.Reached(t.site, jinja.False)
	if s.Template.ChatTemplate().Sites()[t.site].Kind == jinja.SiteFor {
		if coverage.Reached(t.site, jinja.Entered) {
			return ""
		}
		return "no request came into this loop over a part that a number names"
	}
	switch {
	case yes && no:
		return ""
	case yes:
		return "this condition on a number was true for all requests"
	case no:
		return "this condition on a number was false for all requests"
	}
	return "no request came to this condition on a number"
}

// threshold is a comparison with a number.
type threshold struct {
	site int // the decision that it is in the condition of; -1: none
	at   where
}

// thresholds returns the decisions whose condition names a number that short requests may not come
// to, and the comparisons with such a number that are in no condition.
func (s *Subject) thresholds() []threshold {
	tree, _ := s.parsed()
	limits := map[string]bool{} // variables that the template sets to a number
	for n := range tree.All() {
		if a, ok := n.(*syntax.Assign); ok && isLarge(a.Value) {
			for _, name := range syntax.Assigned(a) {
				limits[name] = true
			}
		}
	}
	large := func(x syntax.Expr) bool {
		for n := range syntax.All(x) {
			if name, ok := n.(*syntax.Name); isLarge(n) || ok && limits[name.Name] {
				return true
			}
		}
		return false
	}
	conditions := map[int]bool{}
	inside := map[syntax.Node]bool{} // what is in one
	condition := func(x syntax.Expr) {
		if large(x) {
			conditions[x.Offset()] = true
			for n := range syntax.All(x) {
				inside[n] = true
			}
		}
	}
	var all []threshold
	for n := range tree.All() {
		switch n := n.(type) {
		case *syntax.If:
			condition(n.Test)
		case *syntax.Cond:
			condition(n.Test)
		case *syntax.For:
			condition(n.Iter)
		case *syntax.Compare:
			if !inside[n] && large(n) {
				all = append(all, threshold{-1, where(n.Offset())})
			}
		}
	}
	for i, site := range s.Template.ChatTemplate().Sites() {
		if conditions[site.Test] {
			all = append(all, threshold{i, where(site.Off)})
		}
	}
	return all
}

// isLarge reports whether an expression is a number that is no small one, or makes one of such.
func isLarge(x syntax.Node) bool {
	switch x := x.(type) {
	case *syntax.Const:
		n, err := strconv.Atoi(x.Text)
		return x.Kind == syntax.Int && (err != nil || n >= leastNumber)
	case *syntax.Binary:
		return isLarge(x.X) || isLarge(x.Y)
	}
	return false
}
