package sent

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

// base is a conversation in its plainest form.
type base struct{ name, request string }

// bases are the conversations that the spellings change.
var bases = map[string]base{
	"talk": {"a system, a user, an assistant and a user message", `{"messages": [
		{"role": "system", "content": "Answer in one short sentence."},
		{"role": "user", "content": "Who painted the harbour at dawn?"},
		{"role": "assistant", "content": "Monet painted it at Le Havre."},
		{"role": "user", "content": "And in which museum does it hang?"}]}`},
	"unprompted": {"a user, an assistant and a user message", `{"messages": [
		{"role": "user", "content": "Who painted the harbour at dawn?"},
		{"role": "assistant", "content": "Monet painted it at Le Havre."},
		{"role": "user", "content": "And in which museum does it hang?"}]}`},
	"question": {"one user message", `{"messages": [
		{"role": "user", "content": "Who painted the harbour at dawn?"}]}`},
	"call": {"a system and a user message, a tool call and a tool message", `{"messages": [
		{"role": "system", "content": "Answer in one short sentence."},
		{"role": "user", "content": "Will it rain on the lakes?"},
		{"role": "assistant", "content": "", "tool_calls": [` + callRain + `]},
		{"role": "tool", "tool_call_id": "call00001", "name": "find_forecast",
			"content": "heavy showers until noon"}],
		"tools": [` + toolForecast + `, ` + toolFerry + `]}`},
	"called": {"a tool call, a tool message, an assistant and a user message", `{"messages": [
		{"role": "user", "content": "Will it rain on the lakes?"},
		{"role": "assistant", "content": "", "tool_calls": [` + callRain + `]},
		{"role": "tool", "tool_call_id": "call00001", "name": "find_forecast",
			"content": "heavy showers until noon"},
		{"role": "assistant", "content": "Yes, take an umbrella along."},
		{"role": "user", "content": "Which ferry leaves after lunch?"}],
		"tools": [` + toolForecast + `, ` + toolFerry + `]}`},
	"calls": {"two tool_calls in one message and their tool messages", `{"messages": [
		{"role": "user", "content": "Will it rain on the lakes, and is there a ferry?"},
		{"role": "assistant", "content": "", "tool_calls": [` + callRain + `, ` + callFerry + `]},
		{"role": "tool", "tool_call_id": "call00001", "name": "find_forecast",
			"content": "heavy showers until noon"},
		{"role": "tool", "tool_call_id": "call00002", "name": "list_ferries",
			"content": "one boat at half past two"}],
		"tools": [` + toolForecast + `, ` + toolFerry + `]}`},
	"thought": {"an assistant message with reasoning_content, and a user message", `{"messages": [
		{"role": "user", "content": "Who painted the harbour at dawn?"},
		{"role": "assistant", "content": "Monet painted it at Le Havre.",
			"reasoning_content": "The title names the movement."},
		{"role": "user", "content": "And in which museum does it hang?"}]}`},
	"thoughts": {"two assistant messages, the first with reasoning_content, and a user message",
		`{"messages": [
		{"role": "user", "content": "Who painted the harbour at dawn?"},
		{"role": "assistant", "content": "Monet painted it at Le Havre.",
			"reasoning_content": "The title names the movement."},
		{"role": "user", "content": "And in which museum does it hang?"},
		{"role": "assistant", "content": "The Marmottan in Paris has it."},
		{"role": "user", "content": "Was it ever stolen?"}]}`},
	"thoughtful call": {"a tool call beside content and reasoning_content, and a tool message",
		`{"messages": [
		{"role": "user", "content": "Will it rain on the lakes?"},
		{"role": "assistant", "content": "Let me look at the radar.",
			"reasoning_content": "A forecast is wanted first.", "tool_calls": [` + callRain + `]},
		{"role": "tool", "tool_call_id": "call00001", "name": "find_forecast",
			"content": "heavy showers until noon"}],
		"tools": [` + toolForecast + `, ` + toolFerry + `]}`},
	"picture": {"an image and a text", `{"messages": [
		{"role": "user", "content": [{"type": "image"},
			{"type": "text", "text": "Who painted the harbour at dawn?"}]}]}`},
}

// The calls and the tools of the bases. Ids of nine letters and digits are taken by the templates
// that take any.
const (
	callRain = `{"id": "call00001", "type": "function", "function":
		{"name": "find_forecast", "arguments": {"place": "Windermere", "hours": 12}}}`
	callFerry = `{"id": "call00002", "type": "function", "function":
		{"name": "list_ferries", "arguments": {"harbour": "Bowness"}}}`
	toolForecast = `{"type": "function", "function": {"name": "find_forecast",
		"description": "Looks a forecast up.", "parameters": {"type": "object",
		"properties": {"place": {"type": "string", "description": "A lake or a town."},
			"hours": {"type": "integer", "description": "How far ahead to look."}},
		"required": ["place"]}}}`
	toolFerry = `{"type": "function", "function": {"name": "list_ferries",
		"description": "Names the boats of today.", "parameters": {"type": "object",
		"properties": {"harbour": {"type": "string", "description": "Where the boat leaves."}},
		"required": ["harbour"]}}}`
)

// toolBrief is a tool whose parameters have types alone.
const toolBrief = `{"type": "function", "function": {"name": "find_forecast",
	"description": "Looks a forecast up.", "parameters": {"type": "object", "properties": {
		"place": {"type": "object", "properties": {"lake": {"type": "string"}}},
		"days": {"type": "array", "items": {"type": "integer"}},
		"unit": {"type": "string", "enum": ["miles", "knots"]},
		"hours": {"type": "integer"}}}}}`

// The documents of the spellings. Templates read their text under one of two names.
const (
	bridge = `{"doc_id": "1", "title": "The bridge", "text": "The bridge was built of stone."}`
	mill   = `{"doc_id": "2", "title": "The mill", "text": "The mill has two wheels."}`
)

// The clients that several spellings are from.
const (
	dumpers  = "clients that send back what an SDK gave them (openai-python's model_dump())"
	thinkers = "clients of Ollama that send back its answers (ollama-python's model_dump())"
	agents   = "agents that go on with another model's conversation"
	servers  = "clients of servers that do not take the reasoning apart"
	partists = "clients that send all content in parts (Anthropic's and OpenAI's newer SDKs)"
)

// dumped are the members that an SDK's dump adds to an answer.
func dumped(message string) []edit {
	return []edit{{message + ".refusal", "null"}, {message + ".annotations", "[]"},
		{message + ".audio", "null"}, {message + ".function_call", "null"},
		{message + ".tool_calls", "null"}}
}

// inTags is an answer with its reasoning between tags in the content.
var inTags = edit{"messages[1].content",
	`"<think>\nThe title names the movement.\n</think>\n\nMonet painted it at Le Havre."`}

// parts is a text as a list with one part.
func parts(text string) string { return `[{"type": "text", "text": "` + text + `"}]` }

// two is a text as a list with two parts.
func two(text, more string) string {
	return `[{"type": "text", "text": "` + text + `"}, {"type": "text", "text": "` + more + `"}]`
}

var table = []spelled{
	// members that are null or empty
	{name: `an assistant message with "tool_calls": null`, by: dumpers, base: "talk",
		sent: []edit{{"messages[2].tool_calls", "null"}}},
	{name: `an assistant message with "tool_calls": []`, by: "LangChain, LiteLLM", base: "talk",
		sent: []edit{{"messages[2].tool_calls", "[]"}}},
	{name: `an assistant message after a tool message, with "tool_calls": null`, by: dumpers,
		base: "called", sent: []edit{{"messages[3].tool_calls", "null"}}},
	{name: `an assistant message after a tool message, with "tool_calls": []`,
		by: "LangChain, LiteLLM", base: "called", sent: []edit{{"messages[3].tool_calls", "[]"}}},
	{name: "an assistant message with all members that an SDK dumps", by: dumpers,
		base: "unprompted", sent: dumped("messages[1]")},
	{name: `a user message with "name": null`, by: dumpers, base: "talk",
		sent: []edit{{"messages[1].name", "null"}}},
	{name: `an assistant message with "name": null`, by: dumpers, base: "talk",
		sent: []edit{{"messages[2].name", "null"}}},
	{name: `an assistant message with "reasoning_content": null`, by: "clients of DeepSeek's API",
		base: "unprompted", sent: []edit{{"messages[1].reasoning_content", "null"}}},
	{name: `an assistant message with "reasoning_content": null, thinking on`,
		by: "clients of DeepSeek's API", base: "unprompted",
		plain: []edit{{"chat_template_kwargs", `{"enable_thinking": true}`}},
		sent: []edit{{"chat_template_kwargs", `{"enable_thinking": true}`},
			{"messages[1].reasoning_content", "null"}}},
	{name: `a tool call with "reasoning_content": null`, by: "clients of DeepSeek's API",
		base: "call", sent: []edit{{"messages[2].reasoning_content", "null"}}},
	{name: `an assistant message with "thinking": null`, by: thinkers, base: "unprompted",
		sent: []edit{{"messages[1].thinking", "null"}}},
	{name: `a tool call with "thinking": null`, by: thinkers, base: "call",
		sent: []edit{{"messages[2].thinking", "null"}}},
	{name: `"tools": []`, by: "agents whose tools are switched off", base: "talk",
		sent: []edit{{"tools", "[]"}}},

	// content in parts
	{name: "a system message in two parts", by: partists, base: "talk", relation: Whole,
		plain: []edit{{"messages[0].content", parts("Answer in one short sentence.")}},
		sent: []edit{{"messages[0].content",
			two("Answer in one short sentence.", "Never use a foreign word.")}}},
	{name: "a user message in two parts", by: partists, base: "talk", relation: Whole,
		plain: []edit{{"messages[1].content", parts("Who painted the harbour at dawn?")}},
		sent: []edit{{"messages[1].content",
			two("Who painted the harbour at dawn?", "The catalogue gives no name.")}}},
	{name: "an assistant message in two parts", by: partists, base: "talk", relation: Whole,
		plain: []edit{{"messages[2].content", parts("Monet painted it at Le Havre.")}},
		sent: []edit{{"messages[2].content",
			two("Monet painted it at Le Havre.", "The year was 1872.")}}},
	{name: "a user message in one part", by: partists, base: "talk", relation: Alike,
		sent:   []edit{{"messages[1].content", parts("Who painted the harbour at dawn?")}},
		unlike: []edit{{"messages[1].content", parts("The catalogue gives no name.")}}},
	{name: "an assistant message in one part", by: partists, base: "talk", relation: Alike,
		sent:   []edit{{"messages[2].content", parts("Monet painted it at Le Havre.")}},
		unlike: []edit{{"messages[2].content", parts("The year was 1872.")}}},
	{name: "a tool message in two parts", by: partists, base: "call", relation: Whole,
		plain: []edit{{"messages[3].content", parts("heavy showers until noon")}},
		sent: []edit{{"messages[3].content",
			two("heavy showers until noon", "then sun from the west")}}},

	// pictures and sounds
	{name: `an image as "image_url"`, by: "OpenAI's SDKs", base: "picture",
		sent: []edit{{"messages[0].content[0]",
			`{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}`}},
		unlike: []edit{{"messages[0].content[0]", "-"}}},

	{name: `an image as "image"`, by: "vLLM's and transformers' request code", base: "picture",
		plain: []edit{{"messages[0].content[0]",
			`{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}`}},
		unlike: []edit{{"messages[0].content[0]", "-"}}},
	{name: "a sound that has a type and no address", by: "vLLM's request code", base: "picture",
		plain: []edit{{"messages[0].content[0]",
			`{"type": "audio", "audio": "rain.wav", "audio_url": "rain.wav"}`}},
		sent:   []edit{{"messages[0].content[0]", `{"type": "audio"}`}},
		unlike: []edit{{"messages[0].content[0]", "-"}}},

	// reasoning within the content
	{name: "an assistant message with its reasoning between <think> tags in the content",
		by: servers, base: "thought", relation: Inline,
		sent: []edit{{"messages[1].reasoning_content", "-"}, inTags}},
	{name: `an assistant message with its reasoning in the content, and "reasoning_content": null`,
		by: servers, base: "thought",
		plain: []edit{{"messages[1].reasoning_content", "-"}, inTags},
		sent:  []edit{{"messages[1].reasoning_content", "null"}, inTags}},
	{name: "an assistant message whose reasoning in the content is closed and not opened",
		by: servers, base: "thought", relation: Inline,
		sent: []edit{{"messages[1].reasoning_content", "-"}, {"messages[1].content",
			`"The title names the movement.\n</think>\n\nMonet painted it at Le Havre."`}}},
	{name: "a tool call with its reasoning between <think> tags in the content", by: servers,
		base: "thoughtful call", relation: Inline,
		sent: []edit{{"messages[1].reasoning_content", "-"}, {"messages[1].content",
			`"<think>\nA forecast is wanted first.\n</think>\n\nLet me look at the radar."`}}},

	{name: "the first of two assistant messages with its reasoning between <think> tags in the " +
		"content", by: servers, base: "thoughts", relation: Inline,
		sent: []edit{{"messages[1].reasoning_content", "-"}, {"messages[1].content",
			`"<think>\nThe title names the movement.\n</think>\n\nMonet painted it at Le Havre."`}}},
	{name: "an assistant message with its reasoning both as a member and between <think> tags",
		by: "proxies that add the member and keep the content", base: "thought",
		relation: Inline, sent: []edit{inTags}},

	// ids
	{name: "ids as OpenAI makes them", by: agents, base: "calls", relation: Renamed,
		sent: []edit{{"messages[1].tool_calls[0].id", `"call_9f8e7d6c5b4a39281706f5e4"`},
			{"messages[2].tool_call_id", `"call_9f8e7d6c5b4a39281706f5e4"`},
			{"messages[1].tool_calls[1].id", `"call_0a1b2c3d4e5f60718293a4b5"`},
			{"messages[3].tool_call_id", `"call_0a1b2c3d4e5f60718293a4b5"`}},
		names: [][2]string{{"call_9f8e7d6c5b4a39281706f5e4", "call00001"},
			{"call_0a1b2c3d4e5f60718293a4b5", "call00002"}}},
	{name: "UUIDs as ids", by: "vLLM's and SGLang's clients", base: "calls", relation: Renamed,
		sent: []edit{{"messages[1].tool_calls[0].id", `"3b6a27bc-ceb6-4a2d-92a3-a8d02a6f8e2e"`},
			{"messages[2].tool_call_id", `"3b6a27bc-ceb6-4a2d-92a3-a8d02a6f8e2e"`},
			{"messages[1].tool_calls[1].id", `"c9bf9e57-1685-4c89-bafb-ff5af830be8a"`},
			{"messages[3].tool_call_id", `"c9bf9e57-1685-4c89-bafb-ff5af830be8a"`}},
		names: [][2]string{{"3b6a27bc-ceb6-4a2d-92a3-a8d02a6f8e2e", "call00001"},
			{"c9bf9e57-1685-4c89-bafb-ff5af830be8a", "call00002"}}},

	// names of parameters that are also methods of Python's dict
	{name: `a parameter that is named "items"`, by: "tools of shops and lists", base: "called",
		relation: Renamed, sent: renamed("items"), names: [][2]string{{"items", "place"}}},
	{name: `a parameter that is named "keys"`, by: "tools of stores", base: "called",
		relation: Renamed, sent: renamed("keys"), names: [][2]string{{"keys", "place"}}},
	{name: `a parameter that is named "values"`, by: "tools of spreadsheets", base: "called",
		relation: Renamed, sent: renamed("values"), names: [][2]string{{"values", "place"}}},

	// context that does not concern the turns
	{name: "tools that nobody calls", by: "agents", base: "talk", relation: Later,
		sent: []edit{{"tools", "[" + toolForecast + ", " + toolFerry + "]"}}},
	{name: "tools that nobody calls, without a system message", by: "agents", base: "unprompted",
		relation: Later, sent: []edit{{"tools", "[" + toolForecast + ", " + toolFerry + "]"}}},
	{name: "a system message before a user message", by: "every client", base: "unprompted",
		relation: Later, sent: told("unprompted")},
	{name: "a system message before a tool call", by: "every client", base: "called",
		relation: Later, sent: told("called")},

	{name: "a system message before reasoning", by: "every client", base: "thought",
		relation: Later, sent: told("thought")},
	{name: "a system message before a tool call with reasoning", by: "every client",
		base: "thoughtful call", relation: Later, sent: told("thoughtful call")},
	{name: "a system message before two tool_calls in one message", by: "every client",
		base: "calls", relation: Later, sent: told("calls")},

	// instructions that come late or twice
	{name: "a second system message after the first", by: "frameworks that add instructions",
		base: "unprompted", relation: Whole, sent: []edit{{"messages", `[
			{"role": "system", "content": "Answer in one short sentence."},
			{"role": "system", "content": "Never use a foreign word."},
			{"role": "user", "content": "Who painted the harbour at dawn?"}]`}}},
	{name: "a system message between the turns", by: "agents that add instructions",
		base: "unprompted", relation: Whole, sent: []edit{{"messages", `[
			{"role": "user", "content": "Who painted the harbour at dawn?"},
			{"role": "assistant", "content": "Monet painted it at Le Havre."},
			{"role": "system", "content": "Never use a foreign word."},
			{"role": "user", "content": "And in which museum does it hang?"}]`}}},

	// results without a text
	{name: `a tool message with "content": ""`, by: "tools that return nothing", base: "call",
		relation: Whole, sent: []edit{{"messages[3].content", `""`}}},

	// documents
	{name: "two documents", by: "retrieval with Cohere's and Granite's templates", base: "question",
		relation: Whole, plain: []edit{{"documents", "[" + bridge + "]"}},
		sent: []edit{{"documents", "[" + bridge + ", " + mill + "]"}}},
	{name: "a document whose number is no text", by: "retrieval with Granite's templates",
		base: "question", relation: Whole, plain: []edit{{"documents", `[{"doc_id": "7", "title": "The bridge",
			"text": "The bridge was built of stone.", "contents": "The bridge was built of stone."}]`}},
		sent: []edit{{"documents", `[{"doc_id": 7, "title": "The bridge",
			"text": "The bridge was built of stone.", "contents": "The bridge was built of stone."}]`}}},

	{name: "a document beside a system message",
		by: "retrieval with Cohere's and Granite's templates", base: "unprompted",
		relation: Whole, plain: []edit{{"documents", "[" + bridge + "]"}},
		sent: append(told("unprompted"), edit{"documents", "[" + bridge + "]"})},
	{name: "a document beside tools", by: "agents that retrieve", base: "question",
		relation: Whole, plain: []edit{{"documents", "[" + bridge + "]"}},
		sent: []edit{{"documents", "[" + bridge + "]"}, {"tools", "[" + toolForecast + "]"}}},

	{name: "a document beside a system message and tools", by: "agents that retrieve",
		base: "unprompted", relation: Whole, plain: []edit{{"documents", "[" + bridge + "]"}},
		sent: append(told("unprompted"), edit{"documents", "[" + bridge + "]"},
			edit{"tools", "[" + toolForecast + "]"})},

	// tools that a message brings
	{name: "tools of a system message between the turns", by: "agents that load tools later (Kimi K3)",
		base: "talk", relation: Whole,
		plain:  []edit{{"messages[0].tools", "[" + toolForecast + "]"}},
		unlike: []edit{{"messages[0].tools", "[" + toolFerry + "]"}},
		sent: []edit{{"messages", `[
			{"role": "system", "content": "Answer in one short sentence.", "tools": [` +
			toolForecast + `]},
			{"role": "user", "content": "Who painted the harbour at dawn?"},
			{"role": "assistant", "content": "Monet painted it at Le Havre."},
			{"role": "system", "content": "", "tools": [` + toolFerry + `]},
			{"role": "user", "content": "And in which museum does it hang?"}]`}}},

	// parts of a tool's description that a prompt must show
	keyword("type"),
	keyword("description"),
	{name: "the list of required parameters", by: "every client", base: "call", relation: Shown,
		sent:  []edit{{"tools[0].function.parameters.required", `["hours"]`}},
		shows: described},
	{name: "the type of a parameter", by: "every client", base: "call", relation: Shown,
		sent:  []edit{{"tools[0].function.parameters.properties.hours.type", `"boolean"`}},
		shows: described},
	nested("the list of required members of an object", "required", `["hours"]`, `["mooring"]`),
	nested("the type of a member of an object", "properties.hours.type", `"boolean"`,
		`"integer"`),
	nested("the values that a member of an object can have", "properties.hours.enum", "[6, 12]",
		`["miles", "knots"]`),
}

// keyword is a parameter whose name is a word of JSON Schema.
func keyword(name string) spelled {
	const properties = "tools[0].function.parameters.properties."
	value := `{"type": "string", "description": "Of which sort."}`
	return spelled{name: fmt.Sprintf("a parameter that is named %q", name),
		by: "tools of trackers, calendars and shops", base: "call", relation: Shown,
		sent: []edit{{properties + name, value}}, unlike: []edit{{properties + "sort", value}},
		shows: described}
}

// described describes a parameter of the forecast.
const described = "How far ahead to look."

// nested is a change of the schema of an object that a tool takes, at the same path as a change of
// the schema of all parameters, which the prompt shows.
func nested(name, path, value, inner string) spelled {
	const parameters = "tools[0].function.parameters."
	object := edit{parameters + "properties.place", `{"type": "object", "description": "A place.",
		"properties": {"mooring": {"type": "string", "description": "Which pier."},
		"unit": {"type": "string", "description": "Of the wind."}}, "required": ["unit"]}`}
	return spelled{name: name, by: "tools whose parameters are objects", base: "call",
		relation: Shown, plain: []edit{object},
		sent: []edit{object, {parameters + "properties.place." +
			strings.Replace(path, "hours", "mooring", 1), inner}},
		unlike: []edit{object, {parameters + path, value}}, shows: "mooring"}
}

// told puts instructions before the messages of a base.
func told(base string) []edit {
	messages := ordered.MustParse(bases[base].request).At("messages").Items()
	return []edit{{"messages", ordered.ArrayOf(append([]ordered.Value{instructions},
		messages...)...).String()}}
}

// renamed gives the first parameter of the forecast another name.
func renamed(name string) []edit {
	return []edit{
		{"messages[1].tool_calls[0].function.arguments",
			`{"` + name + `": "Windermere", "hours": 12}`},
		{"tools[0].function.parameters", `{"type": "object", "properties": {"` + name +
			`": {"type": "string", "description": "A lake or a town."},
			"hours": {"type": "integer", "description": "How far ahead to look."}},
			"required": ["` + name + `"]}`}}
}
