package conversation

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/lists"
)

// A trait sets a request apart from a question that nobody has answered: its name, a pattern of the
// request as [Told] tells it, and one of sentences that say so.
type trait [3]string

// fits reports whether a text has a match of a pattern, which is compiled when it is first asked
// for: few findings ask.
func fits(pattern, text string) bool {
	compiled, _ := patterns.LoadOrStore(pattern, sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(pattern)
	}))
	return compiled.(func() *regexp.Regexp)().MatchString(text)
}

var patterns sync.Map // of texts: func() *regexp.Regexp

// orders are what the order of messages can be; the first one that fits is the request's.
var orders = []trait{
	{"two system messages", `(system|developer)[^,]*, (system|developer)`, `two system|first|second`},
	{"a system message after other messages", `, (system|developer)`, `after|later|second`},
	{"two user messages in a row", `user[^,]*, user`, `in a row|two user|between`},
	{"a user message after a tool message", `tool[^,]*, user`, `tool message, (a|the) user|before a user`},
	{"tool calls in several rounds", `tool[^,]*, assistant[^,]*call`, `second|round|turn|late|before`},
	{"several assistant messages", `assistant.*assistant`, `second|round|turn|late|earlier`},
	{"a developer message", `developer`, `developer`},
	{"a tool message", `, tool`, `tool|call|result`},
	{"a tool call", `call`, `tool|call`},
	{"an assistant message", `assistant`, `assistant|answer|history|earlier|reasoning`},
	{"a system message", `system`, `system|instruct`},
}

// forms are what single messages or the whole request can have.
var forms = []trait{
	{"content beside a tool call", `content and[^,]* call`, `beside|content and|content of`},
	{"reasoning", `reasoning`, `reason|think`},
	{"content in parts", `in parts|parts of text`, `part|list|image|audio|video`},
	{"tools", `; with tools`, `tool|function`},
}

// quoted matches what a sentence quotes.
var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// Unsaid names what sets a request, as [Told] tells it, apart from a question that nobody has
// answered, as far as a sentence about it does not say so: "two system messages".
func Unsaid(told, sentence string) []string {
	sentence = quoted.ReplaceAllString(sentence, "")
	messages, _, _ := strings.Cut(told, ";")
	apart := lists.Filter(forms, func(t trait) bool { return fits(t[1], told) })
	if i := slices.IndexFunc(orders, func(t trait) bool { return fits(t[1], messages) }); i >= 0 {
		apart = slices.Insert(apart, 0, orders[i])
	}
	unsaid := lists.Filter(apart, func(t trait) bool { return !fits(t[2], sentence) })
	return lists.Map(unsaid, func(t trait) string { return t[0] })
}
