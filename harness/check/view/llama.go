package view

import (
	"cmp"
	_ "embed" // the handlers
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// llamaJinja is the Jinja of llama.cpp 0.5.0.
var llamaJinja = &jinja.Dialect{Builtins: map[jinja.Kind][]string{
	jinja.None: strings.Fields("default tojson string safe items map reject rejectattr select " +
		"selectattr unique"),
	jinja.Undefined: strings.Fields("default capitalize first items join last length list lower " +
		"map max min reject rejectattr replace reverse safe select selectattr sort string strip " +
		"sum title truncate unique upper wordcount"),
	jinja.Bool:  strings.Fields("default int float safe string tojson"),
	jinja.Int:   strings.Fields("default abs int float safe string tojson"),
	jinja.Float: strings.Fields("default abs int float safe string tojson"),
	jinja.String: strings.Fields("default upper lower strip rstrip lstrip title capitalize length " +
		"startswith endswith split rsplit replace format int float string slice safe tojson indent"),
	jinja.List: strings.Fields("default list first last length slice selectattr select rejectattr " +
		"reject join string tojson map append pop sort reverse min max"),
	jinja.Dict: strings.Fields("get keys values items tojson string length dictsort"),
}, Functions: []string{"raise_exception", "namespace", "strftime_now", "range"}}

// handler is what llama.cpp does with the templates in whose source it finds some texts: where it
// continues an answer it writes opens, thinks, the reasoning, closes and the content.
type handler struct {
	Has, Lacks            []string
	Opens, Thinks, Closes string
	Unthinking            bool   // such a model does not think
	Generates             bool   // opens is what the template writes to ask for an answer
	Skips                 bool   // thinks is not written where there is no reasoning
	Ends                  string // opens is only written behind this text, and then always
	Change                string // the name of one of changes
}

// handlers are in llama.cpp's order.
//
//go:embed handlers.json
var handlersFile []byte

var handlers = sync.OnceValue(func() (all []handler) {
	if err := json.Unmarshal(handlersFile, &all); err != nil {
		panic(err) // the file is a part of the program
	}
	return all
})

// changes are what llama.cpp does to the messages of some templates.
var changes = map[string]func([]ordered.Value) []ordered.Value{
	"parts": thoughtsInParts, "thinking": thoughtsTwice, "results": resultsInCalls,
}

// llamaLooks are what llama.cpp sees in a template.
type llamaLooks struct {
	handler
	texts, parts   bool  // forms of content that the template takes
	writesSystem   bool  // it looks at the content of a system message
	readsArguments bool  // it goes into the arguments of a call
	fails          error // why the server does not start; nil: it does
}

// The conversations by which llama.cpp finds out what a template does with a request.
var (
	textProbe   = ordered.MustParse(`[{"role": "user", "content": "quay, by way of asking"}]`)
	emptyProbe  = ordered.MustParse(`[{"role": "user", "content": []}]`)
	systemProbe = ordered.MustParse(`[{"role": "system", "content": "quay"},
		{"role": "user", "content": "a"}]`)
	argumentsProbe = ordered.MustParse(`[{"role": "user", "content": "a"},
		{"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function",
		"function": {"name": "f", "arguments": {"arg": "quay"}}}]},
		{"role": "tool", "content": "b", "tool_call_id": "call00001"},
		{"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}]`)
	toolsProbe = ordered.MustParse(`[{"name": "f", "type": "function", "function": {"name": "f",
		"description": "e", "parameters": {"type": "object", "properties": {"arg": {
		"type": "string", "description": "g"}}, "required": ["arg"]}}}]`)
)

// lookAsLlama looks at a template as llama.cpp does. What it has seen so far already changes the
// requests by which it looks further.
func lookAsLlama(s Server) *llamaLooks {
	l := &llamaLooks{}
	s.llama = func() *llamaLooks { return l }
	try := func(messages ordered.Value, tools ...ordered.Value) (*jinja.Trace, string, bool) {
		given := ordered.MemberOf("tools", ordered.ArrayOf(tools...))
		in := chattemplate.Input{Messages: messages.Items(), Generate: true,
			Kwargs: []ordered.Member{given}}
		seen, err := s.t.Observe(in)
		return seen.Trace, seen.String, err == nil
	}
	const content = "messages[0].content"
	trace, text, ok := try(textProbe)
	l.parts = len(trace.Literals(content, jinja.AsList)) > 0
	l.texts = ok && (!l.parts || strings.Contains(text, "quay"))
	if len(trace.Literals(content, jinja.AsText)) > 0 {
		trace, _, ok = try(emptyProbe)
		l.parts = l.parts || ok && len(trace.Literals(content, jinja.AsList)) > 0
	}
	trace, _, _ = try(systemProbe)
	l.writesSystem = trace.Read(content)
	trace, text, ok = try(argumentsProbe, toolsProbe.Items()...)
	l.readsArguments = ok && (trace.Read("messages[1].tool_calls[0].function.arguments.arg") ||
		strings.Contains(text, "quay") && !strings.Contains(text, "'arg': 'quay'"))
	i := slices.IndexFunc(handlers(), func(h handler) bool {
		missing := func(part string) bool { return !strings.Contains(s.t.Source.Text, part) }
		return !slices.ContainsFunc(h.Has, missing) && !slices.ContainsFunc(h.Lacks,
			func(part string) bool { return !missing(part) })
	})
	if i >= 0 {
		l.handler = handlers()[i]
	} else {
		l.handler, l.fails = s.learnt()
	}
	if l.fails == nil {
		_, l.fails = s.t.Render(chattemplate.Input{Messages: s.inForm(textProbe.Items()),
			Generate: true, Kwargs: []ordered.Member{
				ordered.MemberOf("enable_thinking", ordered.Boolean(true))}})
	}
	return l
}

// The texts by which llama.cpp learns how a template writes a thought.
const thought, answer = "REASON_PART I am thinking END_R", "A_ASST_MSG I can help END_A"

var (
	wrapped = regexp.MustCompile(`(?s)((?:<[^>]*>|\[[^\]]*\])\s*)` + thought +
		`(\s*(?:<[^>]*>|\[[^\]]*\])\s*)`)
	followed = regexp.MustCompile(`(?s)` + thought + `\s*((?:<[^>]*>|\[[^\]]*\])\s*)?`)
)

// learnt is the handler of a template that none is for: llama.cpp compares prompts with and without
// a thought, with thinking on and off, and with a call in the answer's place. The error is of calls
// that it takes for JSON and cannot read.
func (s *Server) learnt() (handler, error) {
	h := handler{Generates: true, Unthinking: true}
	text := ordered.MemberOf("content", ordered.Str(answer))
	none := ordered.MemberOf("content", ordered.Str(""))
	reasoning := ordered.MemberOf("reasoning_content", ordered.Str(thought))
	calls := ordered.MemberOf("tool_calls", argumentsProbe.Items()[1].At("tool_calls"))
	plain := s.answered(true, nil, text)
	with := s.answered(true, nil, text, reasoning)
	if plain != "" && strings.Contains(with, thought) {
		if m := wrapped.FindStringSubmatch(with); m != nil {
			h.Thinks, h.Closes = m[1], m[2]
		} else {
			h.Closes = followed.FindStringSubmatch(with)[1]
		}
		h.Unthinking = h.Closes == ""
	}
	if off, on := s.answered(false, nil), s.answered(true, nil); off != "" && on != "" {
		h.compare(off, on)
	}
	tools := toolsProbe.Items()
	for _, of := range published {
		if strings.Contains(s.t.Source.Text, of.has) && (of.lacks == "" || h.Unthinking &&
			!strings.Contains(s.t.Source.Text, of.lacks)) {
			h.Thinks, h.Closes, h.Unthinking = of.thinks, of.closes, false
		}
	}
	_, section := difference(s.answered(true, tools, text), s.answered(true, tools, none, calls))
	from, to := strings.IndexByte(section, '{'), strings.LastIndexByte(section, '}')
	if from < 0 || to < from || !namesInJSON.MatchString(section) {
		return h, nil
	}
	_, err := ordered.ParseString(section[from : to+1])
	return h, err
}

// namesInJSON matches the name of the call of argumentsProbe in JSON.
var namesInJSON = regexp.MustCompile(`[{:]\s*"f"`)

// answered is the prompt of a question and an answer with some members, or one that asks for an
// answer where there are none; "" where the template fails.
func (s *Server) answered(thinks bool, tools []ordered.Value, of ...ordered.Member) string {
	messages := slices.Clone(textProbe.Items())
	if of != nil {
		role := ordered.MemberOf("role", ordered.Str("assistant"))
		messages = append(messages, ordered.ObjectOf(append([]ordered.Member{role}, of...)...))
	}
	text, _ := s.t.Render(chattemplate.Input{Messages: s.inForm(messages), Tools: tools,
		Generate: of == nil, Kwargs: []ordered.Member{
			ordered.MemberOf("enable_thinking", ordered.Boolean(thinks))}})
	return text
}

// published are published templates whose thoughts llama.cpp does not learn, and knows.
var published = []struct{ has, lacks, thinks, closes string }{
	{"content.split('</think>')", "reasoning_content", "<think>", "</think>"},
	{"Write your thoughts between <think></think> and write your response between", "", "<think>",
		"</think>"},
	{"<SPECIAL_12>", "", "<think>\n", "</think>"},
}

// compare learns from two prompts that ask for an answer, with thinking off and on.
func (h *handler) compare(off, on string) {
	without, with := difference(off, on)
	left, right := strings.TrimSpace(without), strings.TrimSpace(with)
	last := twoLast.FindStringSubmatchIndex(off)
	switch {
	case left == "" && right != "":
		if strings.HasSuffix(on, right) && h.Thinks == "" {
			h.Thinks, h.Unthinking = with, false
		}
	case right == "" && left != "":
		if h.Closes != "" || !strings.HasSuffix(off, left) {
			break
		}
		if last != nil && off[last[4]:last[5]] == left {
			h.Thinks = off[last[2]:last[3]]
		}
		h.Closes, h.Unthinking = without, false
	case left != "" && last != nil && strings.HasSuffix(on, off[max(0, last[0]-64):last[0]]):
		h.Thinks = cmp.Or(h.Thinks, off[last[2]:last[3]])
		h.Closes = cmp.Or(h.Closes, off[last[4]:last[5]])
		h.Unthinking = false
	}
}

// twoLast matches two markers at the end of a prompt.
var twoLast = regexp.MustCompile(`(<[^>]*>|\[[^\]]*\])\s*(<[^>]*>|\[[^\]]*\])\s*$`)

// difference is what two texts have each alone, between what both begin and end with.
func difference(left, right string) (string, string) {
	n := common(left, right)
	left, right = left[n:], right[n:]
	n = 0
	for n < min(len(left), len(right)) && left[len(left)-1-n] == right[len(right)-1-n] {
		n++
	}
	return left[:len(left)-n], right[:len(right)-n]
}

// common is how many bytes two texts begin with alike. As in llama.cpp the last of them may be in
// the middle of a character.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
