package view

import (
	"regexp"
	"slices"
	"strings"

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
	has, lacks            []string
	opens, thinks, closes string
	unthinking            bool   // such a model does not think
	generates             bool   // opens is what the template writes to ask for an answer
	skips                 bool   // thinks is not written where there is no reasoning
	ends                  string // opens is only written behind this text, and then always
	changes               func([]ordered.Value) []ordered.Value
}

// handlers are in llama.cpp's order.
var handlers = []handler{
	{has: []string{"[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"}, lacks: []string{"[CALL_ID]"},
		thinks: "[THINK]", closes: "[/THINK]", changes: thoughtsInParts},
	{has: []string{"<|channel|>"}, opens: "<|start|>assistant",
		thinks: "<|channel|>analysis<|message|>",
		closes: "<|end|><|start|>assistant<|channel|>final<|message|>", changes: thoughtsOrContent},
	{has: []string{"<atem:function_calls>", "<|eom|>"}, opens: "<|start|>assistant",
		thinks: " to=self<|message|>", closes: "<|eom|><|start|>assistant to=user<|message|>"},
	{has: []string{">>>all", ">>>${recipient}"}, unthinking: true,
		opens: "<|start_header_id|>assistant<|end_header_id|>\n\n>>>all\n"},
	{has: []string{"<|tool_calls_section_begin|>", "<|tool_call_begin|>"},
		opens: "<|im_assistant|>assistant<|im_middle|>", thinks: "<think>", closes: "</think>"},
	{has: []string{"<|open|>", "<|close|>", "<|end_of_msg|>"},
		opens: `<|open|>message role="assistant"<|sep|>`, thinks: "<|open|>think<|sep|>",
		closes: "<|close|>think<|sep|><|open|>response<|sep|>"},
	{has: []string{"<role>ASSISTANT</role>", "<arg_key>"}, opens: "<role>ASSISTANT</role>\n",
		thinks: "<think>", closes: "</think>"},
	{has: []string{"<|START_TEXT|>", "<|START_ACTION|>"},
		opens:  "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
		thinks: "<|START_THINKING|>", closes: "<|END_THINKING|><|START_TEXT|>"},
	{has: []string{"<|tool_list_start|>", "<|tool_list_end|>"}, opens: "<|im_start|>assistant\n",
		thinks: "<think>", closes: "</think>", changes: thoughtsTwice},
	{has: []string{"List of tools: ["}, lacks: []string{"<|tool_list_start|>"},
		opens: "<|im_start|>assistant\n", thinks: "<think>", closes: "</think>",
		changes: thoughtsTwice},
	{has: []string{"<|role_sep|>", "<|message_sep|>"}, lacks: []string{"<|function_call|>"},
		opens: "assistant<|role_sep|>\n", unthinking: true},
	{has: []string{"]<]minimax[>[", "<tool_call>", "<invoke name="}, generates: true,
		thinks: "<mm:think>", closes: "</mm:think>"},
	{has: []string{"dsml_token", "DSML", "function_calls"}, opens: "<｜Assistant｜>",
		thinks: "<think>", closes: "</think>"},
	{has: []string{"dsml_token", "DSML", "tool_calls"}, opens: "<｜Assistant｜>",
		thinks: "<think>", closes: "</think>", skips: true, changes: resultsByCall},
	{has: []string{"'<|tool_call>call:'"}, lacks: []string{"{#- OpenAI Chat Completions:"},
		opens: "<|turn>model\n", ends: "<turn|>\n", thinks: "<|channel>thought\n",
		closes: "<channel|>", changes: resultsInCalls},
	{has: []string{"'<|tool_call>call:'"}, opens: "<|turn>model\n", ends: "<turn|>\n",
		thinks: "<|channel>thought\n", closes: "<channel|>"},
	{has: []string{"Tool usage guidelines:", `<function name="`, `<param name="`},
		opens: "<|im_start|>assistant\n", thinks: "<think>\n", closes: "\n</think>\n\n"},
	{has: []string{"<tool_call>", "<function=", "<parameter=", "<think>"},
		lacks: []string{"'<tool_call><function=' ~ tool_call.name ~ '>'"},
		opens: "<|im_start|>assistant\n", thinks: "<think>\n", closes: "\n</think>\n\n"},
	{has: []string{"<tool_call>", "<function=", "<parameter="},
		lacks: []string{"'<tool_call><function=' ~ tool_call.name ~ '>'"},
		opens: "<|im_start|>assistant\n", unthinking: true},
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

// lookAsLlama looks at a template as llama.cpp does. What it has seen so far is what its own
// requests are changed by.
func lookAsLlama(s Server) *llamaLooks {
	l := &llamaLooks{}
	s.llama = func() *llamaLooks { return l }
	try := func(messages ordered.Value, tools ...ordered.Value) (*jinja.Trace, string, bool) {
		in := chattemplate.Input{Messages: messages.Items(), Generate: true, Kwargs: []ordered.Member{
			ordered.MemberOf("tools", ordered.ArrayOf(tools...))}}
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
	i := slices.IndexFunc(handlers, func(h handler) bool {
		missing := func(part string) bool { return !strings.Contains(s.t.Source.Text, part) }
		return !slices.ContainsFunc(h.has, missing) && !slices.ContainsFunc(h.lacks,
			func(part string) bool { return !missing(part) })
	})
	if i >= 0 {
		l.handler = handlers[i]
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
	h := handler{generates: true, unthinking: true}
	text := ordered.MemberOf("content", ordered.Str(answer))
	none := ordered.MemberOf("content", ordered.Str(""))
	reasoning := ordered.MemberOf("reasoning_content", ordered.Str(thought))
	calls := ordered.MemberOf("tool_calls", argumentsProbe.Items()[1].At("tool_calls"))
	plain := s.answered(true, nil, text)
	with := s.answered(true, nil, text, reasoning)
	if plain != "" && strings.Contains(with, thought) {
		if m := wrapped.FindStringSubmatch(with); m != nil {
			h.thinks, h.closes = m[1], m[2]
		} else {
			h.closes = followed.FindStringSubmatch(with)[1]
		}
		h.unthinking = h.closes == ""
	}
	if off, on := s.answered(false, nil), s.answered(true, nil); off != "" && on != "" {
		h.compare(off, on)
	}
	tools := toolsProbe.Items()
	with = s.answered(true, tools, none, reasoning, calls)
	shown := s.answered(true, tools, text, reasoning)
	if shown != "" && !strings.Contains(shown, thought) && strings.Contains(with, thought) {
		if m := wrapped.FindStringSubmatch(with); m != nil {
			h.thinks, h.closes, h.unthinking = m[1], strings.TrimLeft(m[2], " \n\t"), false
		} else if m := followed.FindStringSubmatch(with); m[1] != "" {
			h.closes, h.unthinking = m[1], false
		}
	}
	for _, of := range published {
		if strings.Contains(s.t.Source.Text, of.has) && (of.lacks == "" || h.unthinking &&
			!strings.Contains(s.t.Source.Text, of.lacks)) {
			h.thinks, h.closes, h.unthinking = of.thinks, of.closes, false
		}
	}
	if strings.Contains(s.t.Source.Text, "laguna_glm_thinking") {
		h.thinks, h.closes = strings.TrimSpace(h.thinks), strings.TrimSpace(h.closes)
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
	switch {
	case left == "" && right != "":
		if strings.HasSuffix(on, right) && h.thinks == "" {
			h.thinks, h.unthinking = with, false
		}
	case right == "" && left != "":
		if !strings.HasSuffix(off, left) || h.closes != "" {
			break
		}
		all := solid(off)
		if n := len(all); n >= 2 && all[n-1] == left && isMarker(all[n-2]) {
			h.thinks = all[n-2]
		}
		h.closes, h.unthinking = without, false
	case left != "":
		for _, of := range [][2]string{{on, off}, {off, on}} {
			anchor := of[0][max(0, len(of[0])-64):]
			at := strings.LastIndex(of[1], anchor)
			if at < 0 {
				continue
			}
			extra := solid(strings.TrimSpace(of[1][at+len(anchor):]))
			if len(extra) != 2 || !isMarker(extra[0]) || !isMarker(extra[1]) {
				continue
			}
			if h.thinks == "" {
				h.thinks = extra[0]
			}
			if h.closes == "" {
				h.closes = extra[1]
			}
			h.unthinking = false
			break
		}
	}
}

// pieces are markers in angles or brackets, and texts between them.
var pieces = regexp.MustCompile(`(?s)<[^>]*>|\[[^\]]*\]|[^<\[]+|[<\[].*`)

func isMarker(piece string) bool {
	return strings.HasPrefix(piece, "<") && strings.HasSuffix(piece, ">") ||
		strings.HasPrefix(piece, "[") && strings.HasSuffix(piece, "]")
}

// solid are the pieces of a text that are not blank.
func solid(text string) []string {
	return slices.DeleteFunc(pieces.FindAllString(text, -1),
		func(piece string) bool { return strings.TrimSpace(piece) == "" })
}

// difference is what two texts have each alone, in pieces that llama.cpp takes off from both ends
// at once, and in texts at the ends of those.
func difference(left, right string) (string, string) {
	a, b := pieces.FindAllString(left, -1), pieces.FindAllString(right, -1)
	last := func(s []string) string { return s[len(s)-1] }
	for len(a) > 1 && len(b) > 1 {
		n := len(a)
		if a[0] == b[0] {
			a, b = a[1:], b[1:]
		}
		if last(a) == last(b) {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		if len(a) == n {
			break
		}
	}
	switch {
	case len(a) == 0 || len(b) == 0:
	case len(a) == 1 || len(b) == 1:
		if a[0] == b[0] && (len(a) != len(b) || isMarker(a[0])) {
			a, b = a[1:], b[1:]
		} else if len(a) != len(b) && last(a) == last(b) {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
	}
	x, y := strings.Join(a, ""), strings.Join(b, "")
	if len(a) > 0 && len(b) > 0 {
		if !isMarker(last(a)) && !isMarker(last(b)) {
			n := 0
			for n < min(len(x), len(y)) && x[len(x)-1-n] == y[len(y)-1-n] {
				n++
			}
			x, y = x[:len(x)-n], y[:len(y)-n]
		}
		if !isMarker(a[0]) && !isMarker(b[0]) {
			n := common(x, y)
			x, y = x[n:], y[n:]
		}
	}
	if x == "" && strings.HasPrefix(right, left) {
		y = right[len(left):]
	}
	return x, y
}

// common is how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
