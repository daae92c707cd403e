package sent

import (
	"fmt"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation"
)

// Round is a part of a request that comes again with other words: of a conversation, or an item of
// a list. The texts are in the order in which they are said.
type Round []string

// Rounds is a request with several rounds of one form, and a last text.
type Rounds struct {
	Name    string
	Request ordered.Value
	Rounds  []Round
	// Thoughts are the reasoning of the answers, which a template may write or not.
	Thoughts []string
	Last     string // a text that the prompt has besides, such as the question at the end
	Asks     bool   // each round begins with a question, and nothing stands before the first
}

// The words of the rounds, a row each.
var words = [...]struct{ question, place, result, answer, thought string }{
	{"Is it raining over Lisbon?", "Lisbon", "a clear sky all day", "No, Lisbon stays dry.",
		"The first place is in Portugal."},
	{"And over Trondheim?", "Trondheim", "sleet in the evening", "Yes, towards supper.",
		"The second one lies in Norway."},
	{"What about Marrakesh?", "Marrakesh", "hot wind from the south", "Not a drop of it.",
		"The third borders a desert."},
}

// Repeated returns conversations of rounds, with and without calls, instructions and reasoning; and
// requests with lists of three like items.
func Repeated() []Rounds {
	return []Rounds{
		rounds("user and assistant messages", false, false, false),
		rounds("user and assistant messages after a system message", true, false, false),
		rounds("user and assistant messages with reasoning_content", false, false, true),
		rounds("user messages, tool calls, tool and assistant messages", false, true, false),
		rounds("user messages, tool calls, tool and assistant messages after a system message",
			true, true, false),
		rounds("user messages, tool calls with reasoning_content, tool and assistant messages",
			false, true, true),
		chain("tool calls and tool messages in turn", false, false),
		chain("tool calls and tool messages in turn after a system message", true, false),
		chain("tool calls with reasoning_content and tool messages in turn", false, true),
		chain("tool calls with reasoning_content and tool messages in turn, after a system message",
			true, true),
		together("tool messages after the tool_calls of one message"), documents("documents"),
		arguments("arguments of a tool call"),
	}
}

// instructions are a system message.
var instructions = chat.MessageOf("system", ordered.Str("Answer in one short sentence."))

// step is a call and its result.
func step(i int, thought bool) (call, result ordered.Value) {
	w := words[i]
	id := fmt.Sprintf("call0000%d", i+1)
	call = chat.MessageOf("assistant", ordered.Str(""), ordered.MemberOf("tool_calls",
		ordered.ArrayOf(forecast(id, w.place))))
	if thought {
		call = call.With("reasoning_content", ordered.Str(w.thought))
	}
	return call, chat.ResultOf(id, "find_forecast", ordered.Str(w.result))
}

// forecast is a call with one argument.
func forecast(id, place string) ordered.Value {
	return chat.CallOf(id, "find_forecast", ordered.Pairs("spot", place+" harbour"))
}

// chain is a conversation of one question and three calls, each after the result of the last one.
func chain(name string, told, thoughts bool) Rounds {
	r := Rounds{Name: name, Last: words[2].result}
	var messages []ordered.Value
	if told {
		messages = append(messages, instructions)
	}
	messages = append(messages, chat.MessageOf("user", ordered.Str("Which harbour stays dry?")))
	for i, w := range words {
		call, result := step(i, thoughts)
		messages = append(messages, call, result)
		r.Rounds = append(r.Rounds, Round{w.place + " harbour", w.result})
		if thoughts {
			r.Thoughts = append(r.Thoughts, w.thought)
		}
	}
	r.Request = request(messages, true)
	return r
}

// request is a request with messages and, where a tool is called, the forecast.
func request(messages []ordered.Value, calls bool) ordered.Value {
	v := ordered.Pairs("messages", messages)
	if !calls {
		return v
	}
	return v.With("tools", ordered.ArrayOf(ordered.MustParse(toolForecast)))
}

// together is a message with three calls, and their results.
func together(name string) Rounds {
	r := Rounds{Name: name, Last: "Which harbour stays dry?"}
	var calls, results []ordered.Value
	for i, w := range words {
		id := fmt.Sprintf("call0000%d", i+1)
		calls = append(calls, forecast(id, w.place))
		results = append(results, chat.ResultOf(id, "find_forecast", ordered.Str(w.result)))
		r.Rounds = append(r.Rounds, Round{w.result})
	}
	r.Request = request(append([]ordered.Value{
		chat.MessageOf("user", ordered.Str(r.Last)),
		chat.MessageOf("assistant", ordered.Str(""), ordered.MemberOf("tool_calls",
			ordered.ArrayOf(calls...)))}, results...), true)
	return r
}

// documents are three documents of one form.
func documents(name string) Rounds {
	r := Rounds{Name: name, Last: "Which harbour stays dry?"}
	var documents []ordered.Value
	for i, w := range words {
		documents = append(documents, ordered.Pairs("doc_id", fmt.Sprint(i+1),
			"title", w.place+" harbour", "text", w.thought))
		r.Rounds = append(r.Rounds, Round{w.place + " harbour", w.thought})
	}
	r.Request = request([]ordered.Value{chat.MessageOf("user", ordered.Str(r.Last))},
		false).With("documents", ordered.ArrayOf(documents...))
	return r
}

// arguments are three arguments of one call.
func arguments(name string) Rounds {
	r := Rounds{Name: name, Last: words[0].result}
	var all, described []ordered.Member
	for i, w := range words {
		key := fmt.Sprintf("spot_%d", i+1)
		all = append(all, ordered.MemberOf(key, ordered.Str(w.place+" harbour")))
		described = append(described, ordered.MemberOf(key, ordered.MustParse(`{"type": "string"}`)))
		r.Rounds = append(r.Rounds, Round{w.place + " harbour"})
	}
	id := "call00001"
	r.Request = request([]ordered.Value{
		chat.MessageOf("user", ordered.Str("Which harbour stays dry?")),
		chat.MessageOf("assistant", ordered.Str(""), ordered.MemberOf("tool_calls",
			ordered.ArrayOf(chat.CallOf(id, "find_forecast", ordered.ObjectOf(all...))))),
		chat.ResultOf(id, "find_forecast", ordered.Str(r.Last))}, false).With("tools",
		ordered.ArrayOf(chat.ToolOf("find_forecast", "Looks a forecast up.", ordered.Pairs(
			"type", "object", "properties", ordered.ObjectOf(described...)))))
	return r
}

func rounds(name string, told, calls, thoughts bool) Rounds {
	r := Rounds{Name: name, Last: "Where should we go instead?", Asks: !told}
	var messages []ordered.Value
	if told {
		messages = append(messages, instructions)
	}
	for i, w := range words {
		messages = append(messages, chat.MessageOf("user", ordered.Str(w.question)))
		round := Round{w.question}
		if calls {
			call, result := step(i, thoughts)
			messages = append(messages, call, result)
			round = append(round, w.place+" harbour", w.result)
		}
		answer := chat.MessageOf("assistant", ordered.Str(w.answer))
		if thoughts && !calls {
			answer = answer.With("reasoning_content", ordered.Str(w.thought))
		}
		if thoughts {
			r.Thoughts = append(r.Thoughts, w.thought)
		}
		messages = append(messages, answer)
		r.Rounds = append(r.Rounds, append(round, w.answer))
	}
	r.Request = request(append(messages, chat.MessageOf("user", ordered.Str(r.Last))), calls)
	return r
}

// Ending is a conversation with the last two messages of which others end, too.
type Ending struct {
	Request ordered.Value
	Kinds   []conversation.Kind // of its messages
	Texts   Round               // what each of them says
}

// Endings returns conversations that end alike after different ones, the shortest first: a letter
// is a question, a call, its result, an answer or instructions.
func Endings() []Ending {
	var all []Ending
	for _, turns := range []string{"q", "qa", "qaq", "qas", "qcr", "qcrq", "qcra", "qaqa", "qcraq",
		"qcrqa", "qaqcr", "qcrcr", "qaqcra", "qcrcra", "qcraqa", "qcraqcr", "qcraqaq"} {
		e := Ending{}
		var messages []ordered.Value
		said := map[rune]int{}
		for _, turn := range turns {
			w := words[said[turn]]
			call, result := step(said[turn], false)
			m, text, kind := chat.User(w.question), w.question, conversation.Question
			switch turn {
			case 'c':
				m, text, kind = call, w.place+" harbour", conversation.Call
			case 'r':
				m, text, kind = result, w.result, conversation.Result
			case 's':
				m, kind = instructions, conversation.System
				text = instructions.At("content").Text()
			case 'a':
				m, kind = chat.MessageOf("assistant", ordered.Str(w.answer)), conversation.Answer
				text = w.answer
			}
			said[turn]++
			messages, e.Texts, e.Kinds = append(messages, m), append(e.Texts, text), append(e.Kinds,
				kind)
		}
		e.Request = request(messages, true)
		if all = append(all, e); said['c'] == 0 { // else the tools are called
			e.Request = request(messages, false)
			all = append(all, e)
		}
	}
	return all
}

// Request is a request with its description.
type Request struct {
	Name    string
	Request ordered.Value
}

// Requests returns the plain requests of this package, those with lists of like items, one whose
// tool is described as briefly as the protocol permits, and one whose call has an argument with
// members and items.
func Requests() []Request {
	all := lists.Map(Plain(), func(s Spelling) Request { return Request{s.Name, s.Plain} })
	for _, r := range Repeated() {
		all = append(all, Request{r.Name, r.Request})
	}
	return append(all, Request{"a tool whose parameters have no description",
		ordered.MustParse(bases["question"].request).With("tools",
			ordered.ArrayOf(ordered.MustParse(toolBrief)))},
		Request{"a tool call with an object, a list and a boolean",
			put(ordered.MustParse(bases["calls"].request), []string{"messages", "1", "tool_calls",
				"0", "function", "arguments"}, `{"place": {"lake": "Windermere", "depth": 64,
			"open": true, "shores": ["Bowness", "Ambleside"], "piers": [17, 29]}, "hours": 12,
			"days": [3, 8], "names": ["dawn", "dusk"]}`)})
}

// Swapped returns a request with two calls in one message whose results come in the other order,
// and the base in which they come in the order of the calls.
func Swapped() (base, swapped ordered.Value) {
	base = ordered.MustParse(bases["calls"].request)
	m := base.At("messages").Items()
	return base, base.With("messages", ordered.ArrayOf(m[0], m[1], m[3], m[2]))
}

// Asked are two requests for an answer, one after a question and one after a result, with the texts
// at which their prompts are cut.
type Asked struct {
	Question, Result ordered.Value
	Asked, Told      string // the question, and the result
	Answer, Later    string // the answers to both, in the conversation in which they follow
}

// Prompted returns two requests for an answer, and a conversation in which both were answered.
func Prompted() (a Asked, told ordered.Value) {
	one := rounds("", false, true, false).Request
	m := one.At("messages").Items()
	answer := chat.MessageOf("assistant", ordered.Str("Let me look."))
	later := m[3]
	cut := func(messages ...ordered.Value) ordered.Value {
		return one.With("messages", ordered.ArrayOf(messages...))
	}
	return Asked{Question: cut(m[0]), Result: cut(m[0], m[1], m[2]), Asked: words[0].question,
			Told: words[0].result, Answer: answer.At("content").Text(),
			Later: later.At("content").Text()},
		cut(m[0], answer, m[4], m[1], m[2], later)
}
