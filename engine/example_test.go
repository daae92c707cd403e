package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/source"
)

// A model comes with a chat template such as this one. It shows how turns begin and end, how
// reasoning is marked, and how a call is spelled; nothing else is known of the model.
const chatTemplate = `
{%- if tools %}<|tools|>{{ tools | tojson }}<|end|>{% endif %}
{%- for m in messages %}
{{- '<|' + m.role + '|>' }}
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{- m.content or '' }}
{%- for c in m.tool_calls or [] %}<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</call>{% endfor %}
{{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% if enable_thinking %}<think>{% endif %}{% endif %}`

// clientRequest is a client's request.
const clientRequest = `{
	"messages": [{"role": "user", "content": "Is it raining in Bern?"}],
	"tools": [{"type": "function", "function": {
		"name": "weather",
		"parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
}`

// mustCompile compiles the template of the examples.
func mustCompile() *engine.Template {
	t, err := engine.Compile(context.Background(), engine.Source{Name: "chat_template.jinja",
		Text: chatTemplate},
		engine.Options{})
	if err != nil {
		panic(err)
	}
	return t
}

// mustRead reads a request of the examples.
func mustRead(text string) chat.Request {
	var r chat.Request
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		panic(err)
	}
	return r
}

// A template is compiled once, when its model is loaded. Each request is prepared, the model goes
// on with the prompt, and the parser turns its output into deltas as it comes, and into a message
// at the end.
func Example() {
	t, err := engine.Compile(context.Background(),
		engine.Source{Name: "chat_template.jinja", Text: chatTemplate}, engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var request chat.Request
	if err := json.Unmarshal([]byte(clientRequest), &request); err != nil {
		fmt.Println(err)
		return
	}
	plan, err := t.Prepare(request, engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here a model goes on with plan.Prompt.Text, until one of plan.Stops.
	output := []string{"I lo", "ok.<call>{\"name\": \"weath", "er\", \"arguments\": {\"ci",
		"ty\": \"Bern\"}}</call>", "<|end|>"}

	parser := plan.NewParser()
	send := func(deltas []chat.Delta) { // which the next Write overwrites
		for _, d := range deltas {
			if d.Content != "" {
				fmt.Printf("content: %q\n", d.Content)
			}
			for _, call := range d.ToolCalls {
				fmt.Printf("call %d: %q %q\n", call.Index, call.Name, call.Arguments)
			}
		}
	}
	for _, piece := range output {
		send(parser.Write([]byte(piece)))
	}
	send(parser.Close(chat.FinishStop))
	fmt.Println(parser.Message().ToolCalls[0].Arguments)
	fmt.Println(parser.Finish())
	// Output:
	// content: "I lo"
	// content: "ok."
	// call 0: "weather" "{\"ci"
	// call 0: "" "ty\": \"Bern\"}"
	// {"city": "Bern"}
	// tool_calls
}

// Compile reads a template once. Its errors have places in the source.
func ExampleCompile() {
	t, err := engine.Compile(context.Background(), engine.Source{Name: "chat_template.jinja",
		Text: chatTemplate},
		engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("may call tools:", t.Gate().Pass())

	_, err = engine.Compile(context.Background(), engine.Source{Name: "broken.jinja",
		Text: "{% for m in messages %}{{ m.content }}"}, engine.Options{})
	fmt.Println(err)
	var at *source.Error
	fmt.Println("has a place:", errors.As(err, &at))
	// Output:
	// may call tools: true
	// broken.jinja:1:39: Unexpected end of template. Jinja was looking for the following tags: 'endfor' or 'else'. The innermost block that needs to be closed is 'for'.
	// has a place: true
}

// Render fits a request to the template, and renders it. Here the client sends arguments as text,
// as OpenAI's protocol has it, and the template wants an object.
func ExampleTemplate_Render() {
	prompt, err := mustCompile().Render(mustRead(`{"messages": [
		{"role": "user", "content": "Rain?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Bern\"}"}}]},
		{"role": "tool", "tool_call_id": "1", "content": "yes"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ReplaceAll(prompt.Text, "<|end|>", "<|end|>\n"))
	fmt.Println("fitted:", prompt.Fits)
	// Output:
	// <|user|>Rain?<|end|>
	// <|assistant|><call>{"name": "weather", "arguments": {"city": "Bern"}}</call><|end|>
	// <|tool|>yes<|end|>
	// <|assistant|>
	// fitted: [arguments-as-object]
}

// Prepare gives all that a request needs: the prompt, where to stop, which literals a tokeniser
// must keep whole, a parser and a grammar. The template's spelling of calls is proven before tools
// are prepared; without a proof there is an error.
func ExampleTemplate_Prepare() {
	plan, err := mustCompile().Prepare(mustRead(clientRequest), engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("stops: %q\n", plan.Stops)
	fmt.Printf("preserved: %q\n", plan.Preserved)

	silent, err := engine.Compile(context.Background(), engine.Source{Name: "silent.jinja", Text: `{% for m in messages %}{{ m.content }}{% endfor %}`},
		engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = silent.Prepare(mustRead(clientRequest), engine.PrepareOptions{})
	fmt.Println("unverified:", errors.Is(err, engine.ErrUnverified))
	// Output:
	// stops: ["<|end|>"]
	// preserved: ["<think>" "</think>" "<call>" "</call>" "<|end|>"]
	// unverified: true
}

// A parser takes the output as it comes, however it is cut into pieces, and returns the deltas that
// are certain. Deltas marshal to OpenAI's JSON.
func ExamplePlan_NewParser() {
	plan, err := mustCompile().Prepare(mustRead(clientRequest), engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	parser := plan.NewParser()
	show := func(deltas []chat.Delta) {
		for _, d := range deltas {
			text, _ := json.Marshal(d)
			fmt.Printf("%s\n", text)
		}
	}
	for _, piece := range []string{"Let me", " see. <ca", `ll>{"name": "weather", "argum`, `ents": {"city": "Be`, `rn"}}</call>`, "<|end|>"} {
		show(parser.Write([]byte(piece)))
	}
	show(parser.Close(chat.FinishStop))
	fmt.Println(parser.Finish())
	// Output:
	// {"content":"Let me"}
	// {"content":" see."}
	// {"tool_calls":[{"index":0,"type":"function","function":{"name":"weather","arguments":""}}]}
	// {"tool_calls":[{"index":0,"function":{"arguments":"{\"city\": \"Be"}}]}
	// {"tool_calls":[{"index":0,"function":{"arguments":"rn\"}"}}]}
	// tool_calls
}

// Where a model's output is an iterator, its deltas are one, too.
func ExampleParser_Deltas() {
	model := func() iter.Seq2[[]byte, chat.FinishReason] {
		return func(yield func([]byte, chat.FinishReason) bool) {
			// a limit ends it
			_ = yield([]byte("It rains"), "") && yield([]byte(" in B"), chat.FinishLength)
		}
	}
	plan, err := mustCompile().Prepare(mustRead(`{"messages": [{"role": "user", "content": "Rain?"}]}`), engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	parser := plan.NewParser()
	for d := range parser.Deltas(model()) {
		fmt.Printf("%q\n", d.Content)
	}
	fmt.Println(parser.Finish())
	// Output:
	// "It rains"
	// " in B"
	// length
}

// A grammar keeps a model to calls that the parser reads and the schemas allow. It is lazy where
// the model may answer without a call: then it sets in with a trigger.
func ExamplePlan_Grammar() {
	request := mustRead(clientRequest)
	t := mustCompile()
	plan, err := t.Prepare(request, engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("lazy:", plan.Lazy)
	for _, trigger := range plan.Triggers {
		fmt.Printf("trigger: %q, a call: %v\n", trigger.Text, trigger.Call)
	}

	request.ToolChoice = chat.ToolChoice{Mode: chat.ChoiceRequired}
	request.OneCall = true
	if plan, err = t.Prepare(request, engine.PrepareOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	grammar, err := plan.Grammar()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("lazy:", plan.Lazy)
	root, _, _ := strings.Cut(grammar, " ")
	fmt.Println("the rule where it begins:", root)
	// Output:
	// lazy: true
	// trigger: "<call>", a call: true
	// trigger: "<think>", a call: false
	// lazy: false
	// the rule where it begins: root
}

// After a call its result goes into the conversation, and the model is asked again.
func Example_tools() {
	t := mustCompile()
	request := mustRead(clientRequest)
	request.Messages = []chat.Value{chat.User("Is it raining in Bern?")} // as above, made by hand
	plan, err := t.Prepare(request, engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result := plan.Parse(`<call>{"name": "weather", "arguments": {"city": "Bern"}}</call>`, chat.FinishStop)

	call := result.Message.ToolCalls[0]
	request.Messages = append(request.Messages, result.Message.Value(),
		chat.Result(call.ID, call.Name, "heavy rain"))
	if plan, err = t.Prepare(request, engine.PrepareOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	_, turns, _ := strings.Cut(plan.Prompt.Text, "<|user|>")
	fmt.Println(strings.ReplaceAll(turns, "<|end|>", "<|end|>\n"))
	// Output:
	// Is it raining in Bern?<|end|>
	// <|assistant|><call>{"name": "weather", "arguments": {"city": "Bern"}}</call><|end|>
	// <|tool|>heavy rain<|end|>
	// <|assistant|>
}

// Where the prompt opens reasoning already, the output begins inside it. The parser knows.
func Example_reasoning() {
	request := mustRead(`{"messages": [{"role": "user", "content": "Rain?"}], "enable_thinking": true}`)
	plan, err := mustCompile().Prepare(request, engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("the prompt ends with %q\n", plan.Prefill)
	m := plan.Parse("Clouds, wet streets.</think>It rains.<|end|>", chat.FinishStop).Message
	fmt.Println("reasoning:", m.Reasoning)
	fmt.Println("content:", m.Content)
	// Output:
	// the prompt ends with "<think>"
	// reasoning: Clouds, wet streets.
	// content: It rains.
}

// A format is plain data. It can be written by hand where a template does not show how its model
// calls.
func Example_format() {
	spelling := format.Format{
		Header: "<|assistant|>",
		End:    []string{"<|end|>"},
		Calls: []format.Calls{{
			Head: []format.Part{format.Lit("[CALL]"), {Kind: format.SlotName}, format.Lit(" ")},
			Body: format.Body{Kind: format.BodyJSON},
			Tail: []format.Part{format.Lit("[/CALL]")},
		}},
	}
	fmt.Print(spelling)
	const silent = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`
	t, err := engine.Compile(context.Background(), engine.Source{Name: "silent.jinja",
		Text: silent},
		engine.Options{Format: &spelling})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The template writes no call by which the format could be proven, so the caller has to insist.
	plan, err := t.Prepare(mustRead(clientRequest), engine.PrepareOptions{Insist: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := plan.Parse(`[CALL]weather {"city": "Bern"}[/CALL]`, chat.FinishStop).Message.ToolCalls[0]
	fmt.Println(call.Name, call.Arguments)
	// Output:
	// header: "<|assistant|>"
	// end: "<|end|>"
	// reasoning.mode: none
	// content.mode: plain
	// calls: tag_with_json
	// head: "[CALL]" {name} " "
	// args: json
	// codec: json
	// tail: "[/CALL]"
	// weather {"city": "Bern"}
}

// An envelope makes the objects that a server sends. Ids and times come from the caller, so that
// the same answer gives the same bytes.
func Example_wire() {
	plan, err := mustCompile().Prepare(mustRead(clientRequest), engine.PrepareOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	envelope := chat.Envelope{ID: "chatcmpl-1", Created: 1767322800, Model: "weather-7b"}
	result := plan.Parse(`<call>{"name": "weather", "arguments": {"city": "Bern"}}</call>`, chat.FinishStop)
	whole, err := json.MarshalIndent(envelope.Completion(result.Message, result.Finish), "", "  ")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", whole)
	chunk, err := json.Marshal(envelope.Chunk(chat.Delta{Content: "It rains."}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", chunk)
	// Output:
	// {
	//   "id": "chatcmpl-1",
	//   "object": "chat.completion",
	//   "created": 1767322800,
	//   "model": "weather-7b",
	//   "choices": [
	//     {
	//       "index": 0,
	//       "message": {
	//         "role": "assistant",
	//         "content": null,
	//         "tool_calls": [
	//           {
	//             "id": "nKO0oT6Rq",
	//             "type": "function",
	//             "function": {
	//               "name": "weather",
	//               "arguments": "{\"city\": \"Bern\"}"
	//             }
	//           }
	//         ]
	//       },
	//       "finish_reason": "tool_calls"
	//     }
	//   ]
	// }
	// {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767322800,"model":"weather-7b","choices":[{"index":0,"delta":{"content":"It rains."},"finish_reason":null}]}
}
