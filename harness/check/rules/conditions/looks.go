package conditions

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/growth"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
)

// spot is a place of a conversation where a client may write any text.
type spot struct {
	name, plain string
	most        int // so many bytes has a text there; 0: as many as it likes
}

// The spots of the conversation whose texts are varied.
const (
	ofSystem = iota
	ofQuestion
	ofAnswer
	ofSecond
	ofReasoning
	ofArgument
	ofResult
	ofLast
	ofTool
	ofKey
	ofID
	spots
)

var spotOf = [spots]spot{
	ofSystem:    {name: "a system message", plain: "Please SYSTEMNEEDLE and so on"},
	ofQuestion:  {name: "a user message", plain: "Please USERNEEDLE and so on"},
	ofAnswer:    {name: "an assistant message", plain: "Please ANSWERNEEDLE and so on"},
	ofSecond:    {name: "a second user message", plain: "Please SECONDNEEDLE and so on"},
	ofReasoning: {name: "reasoning", plain: "Please REASONNEEDLE and so on"},
	ofArgument:  {name: "an argument", plain: "Please CITYNEEDLE and so on"},
	ofResult:    {name: "a tool message", plain: "Please RESULTNEEDLE and so on"},
	ofLast:      {name: "the last user message", plain: "Please THIRDNEEDLE and so on"},
	ofTool:      {name: "a tool's name", plain: "find_boat", most: 24},
	ofKey:       {name: "an argument's name", plain: "harbour", most: 24},
	ofID:        {name: "a tool call's id", plain: "callid001", most: 9},
}

// talkOf is the conversation with texts in its spots.
func talkOf(texts [spots]string) chat.Request {
	schema := ordered.Pairs("type", "object", "properties", ordered.Pairs(
		texts[ofKey], ordered.Pairs("type", "string")))
	call := chat.CallOf(texts[ofID], texts[ofTool], ordered.Pairs(texts[ofKey], texts[ofArgument]))
	return chat.Request{
		Messages: sample.Talk(chat.System(texts[ofSystem]), chat.User(texts[ofQuestion]),
			sample.AnswerOf(texts[ofAnswer]).With("reasoning_content",
				ordered.Str(texts[ofReasoning])),
			chat.User(texts[ofSecond]), sample.CallTurnOf(call),
			chat.Result(texts[ofID], texts[ofTool], texts[ofResult]), sample.Answer,
			chat.User(texts[ofLast])),
		Tools: []chat.Tool{{Name: texts[ofTool], Parameters: schema,
			Value: chat.ToolOf(texts[ofTool], "Does it", schema)}},
	}
}

// plainTexts are the texts of the conversation that the others are compared with.
func plainTexts() (all [spots]string) {
	for i, p := range spotOf {
		all[i] = p.plain
	}
	return all
}

const signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?-_/" +
	"'\"()*+=&%$@~^\\#"

const letters = 52 // of the signs

const unquoted = letters + len("0123456789.,;:!?-_/")

// ends is the sign that text n ends with.
func ends(n int) int { return (n*37 + 11) % len(signs) }

// lookOf returns text n of a place: each begins and ends with another sign, and is of another
// length.
func lookOf(p spot, n int) string {
	begin, end := signs[n%len(signs)], signs[ends(n)]
	if p.most > 0 {
		begin, end = signs[n%letters], signs[(n*5+3)%(letters+10)]
		middle := "elabofutipenoduwasirak"
		return fmt.Sprintf("%c%s%c", begin, middle[:min(p.most-2, 3+n%(p.most-5))], end)
	}
	needle := p.plain[len("Please "):strings.Index(p.plain, " and")]
	return fmt.Sprintf("%cem %s %s%c", begin, needle, strings.Repeat("so it is ", 8)[:n%61], end)
}

// forms are texts that look like no sentence of English.
var forms = []string{
	"привет, как дела", "你好，请告诉我天气", "こんにちは、天気は", "안녕하세요 날씨", "مرحبا كيف الحال", "γειά σου",
	"שלום מה שלומך", "नमस्ते आप", "สวัสดีครับ", "é à ü ñ ø",
	"👍 🎉👩‍🚀", "e\u0301 o\u0308", "a\u00a0b",
	" begins with a space", "ends with a space ", "\nbegins with a line", "ends with a line\n",
	"two\n\nlines", "a\ttab", "a\r\nreturn", "42", "-3.5", "0x1f", "ALL IN CAPITALS",
	"Title Case Words",
	"https://example.com/a?b=c", "me@example.com", "/usr/share/dict", "2026-01-02T03:04:05Z",
	"- one\n- two", "1. one\n2. two", "aaaaaaaaaaaa", "level", "x", "true", "null", "yes",
	"der die das und ist nicht", "le la les et est pas", "el la los y no es",
	"i am you are the of and to",
	"what why how who", "import os\nx = 1\n", "SELECT * FROM t;", "$ ls -l", "**bold** and `code`",
}

// look is a conversation whose texts look otherwise.
type look struct {
	chat.Request
	texts [spots]string
	among map[string]bool // the words of its texts and of the plain ones
}

// looks are those that every template is tried on.
var looks = sync.OnceValue(func() (all []look) {
	for n := range len(signs) + len(forms) {
		l := look{among: map[string]bool{}}
		for i, p := range spotOf {
			switch at := (n + i*17) % (len(signs) + len(forms)); {
			case at < len(signs) && (i != ofArgument || at < unquoted && ends(at) < unquoted):
				l.texts[i] = lookOf(p, at)
			case p.most > 0 || i == ofArgument: // a format may quote some values of these
				l.texts[i] = p.plain
			default:
				l.texts[i] = forms[at-len(signs)]
			}
			for _, text := range []string{l.texts[i], p.plain} {
				for w := range strings.FieldsFuncSeq(text, noLetter) {
					l.among[w] = true
				}
			}
		}
		l.Request = talkOf(l.texts)
		all = append(all, l)
	}
	return all
})

// findLooks compares conversations that differ in nothing but the look of their texts, names and
// ids, and in members that mean nothing, and reports whether one has more of the template's own
// words than another.
func findLooks(s *probe.Subject, find probe.Finder) bool {
	usual := map[string]int{} // how often a prompt has words of the template's own in a row
	base, err := growth.Seen(s, talkOf(plainTexts()))
	if err != nil {
		return false
	}
	for words := range growth.OwnWords(base) {
		usual[string(growth.AppendKey(nil, words))]++
	}
	more := func(o chattemplate.Observation) (int, bool) {
		there := map[string]int{}
		for words := range growth.OwnWords(o) {
			k := string(growth.AppendKey(nil, words))
			if there[k]++; there[k] > usual[k] {
				return words[0].Off, true
			}
		}
		return 0, false
	}
	tell := func(o chattemplate.Observation, off int, with string) {
		find(probe.WrittenAt(o, off), "with %s, the template adds text that it does not add "+
			"otherwise", with)
	}
	for _, l := range looks() {
		r, texts := l.Request, l.texts
		if text, err := s.Template.ChatTemplate().Render(s.Template.Caps().Fit(r).Input); err !=
			nil || sameWords(text, base.String, l.among) {
			continue
		}
		o, err := growth.Seen(s, r)
		if err != nil {
			continue
		}
		off, some := more(o)
		if !some {
			continue
		}
		for i, p := range spotOf { // the one that brings it about
			one := plainTexts()
			one[i] = texts[i]
			if o, err := growth.Seen(s, talkOf(one)); err == nil {
				if off, some := more(o); some {
					tell(o, off, fmt.Sprintf("%s such as %s", p.name, probe.JSON(one[i])))
					return true
				}
			}
		}
		tell(o, off, fmt.Sprintf("texts such as %s", probe.JSON(texts[ofQuestion])))
		return true
	}
	for _, f := range idle {
		r := talkOf(plainTexts())
		for i, m := range r.Messages {
			r.Messages[i] = f.change(m)
		}
		if o, err := growth.Seen(s, r); err == nil {
			if off, some := more(o); some {
				tell(o, off, f.name)
				return true
			}
		}
	}
	return false
}

// sameWords reports whether two prompts have the same words after each other, those of texts apart.
// It costs less than a look at the origins.
func sameWords(a, b string, among map[string]bool) bool {
	for {
		same := source.CommonPrefix(a, b)
		if len(same) == len(a) && len(same) == len(b) {
			return true
		}
		n := len(strings.TrimRightFunc(same, unicode.IsLetter)) // the last word may go on
		a, b = a[n:], b[n:]
		v, afterV := nextWord(a)
		w, afterW := nextWord(b)
		switch {
		case v == "" && w == "":
			return true
		case v == w: // of texts or not, both are
			a, b = afterV, afterW
		case among[v]:
			a = afterV
		case among[w]:
			b = afterW
		default:
			return false
		}
	}
}

// nextWord cuts the first word off a text; "" where there is none.
func nextWord(text string) (word, rest string) {
	from := strings.IndexFunc(text, unicode.IsLetter)
	if from < 0 {
		return "", ""
	}
	text = text[from:]
	to := strings.IndexFunc(text, noLetter)
	if to < 0 {
		return text, ""
	}
	return text[:to], text[to:]
}

func noLetter(r rune) bool { return !unicode.IsLetter(r) }

// idle are changes of messages that mean nothing to a model, and that clients make.
var idle = []struct {
	name   string
	change func(m ordered.Value) ordered.Value
}{
	{"members of messages in another order", func(m ordered.Value) ordered.Value {
		var members []ordered.Member
		for _, member := range m.Members() {
			members = append([]ordered.Member{member}, members...)
		}
		return ordered.ObjectOf(members...)
	}},
	{"the empty members that a client library adds to messages", func(
		m ordered.Value) ordered.Value {
		for _, name := range []string{"refusal", "audio", "function_call", "metadata", "weight",
			"cache_control"} {
			m = m.With(name, ordered.Value{})
		}
		return m.With("annotations", ordered.ArrayOf())
	}},
	{"ids of messages", func(m ordered.Value) ordered.Value {
		return m.With("id", ordered.Str("msg_0a1b2c3d"))
	}},
}
