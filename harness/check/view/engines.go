package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// The members of messages that reach a template.
var (
	vllmMembers = []string{"role", "content", "tool_calls", "reasoning", "reasoning_content",
		"tool_call_id", "name"}
	sglangMembers = []string{"role", "content", "tool_call_id", "name", "phase",
		"reasoning_content", "tool_calls", "tools", "prefix"}
	llamaMembers = []string{"role", "content", "reasoning_content", "name", "tool_call_id",
		"tool_calls"}
)

var neutral = View{steps: []step{each(parsed(jsonOrText),
	rebuilt(aliases("reasoning_content", "reasoning", "thinking")))}}

var views = []View{
	{Engine: "transformers", Immutable: true, steps: []step{noMessages,
		each(rebuilt(dropNull), rebuilt(aliases("reasoning_content", "thinking"))),
		nullVariables("tools", "documents")}},
	{Engine: "transformers", Releases: "before 5.23", Immutable: true,
		steps: []step{noMessages, nullVariables("tools", "documents")}},
	{Engine: "vLLM", Immutable: true, ParsesArguments: true, steps: []step{
		refusesNull("name"), vllmRefuses, each(openAIParts),
		each(vllmReasoning, vllmContent, call(vllmCall), parsed(objectOrEmpty),
			rebuilt(dropNoCalls), vllmKept),
		vllmDevelopers, vllmVariables, nullVariables("tools", "documents")}},
	{Engine: "SGLang", Immutable: true, ParsesArguments: true, steps: []step{
		noMessages, sglangRefuses, each(openAIParts),
		each(sglangKept, rebuilt(emptyContent), call(sglangCall), parsed(object),
			rebuilt(dropNull), sglangContent),
		sglangLast, sglangVariables, nullVariables("tools", "documents"), asksAlways}},
	{Engine: "mlx-lm", Immutable: true, ParsesArguments: true, steps: []step{
		each(noMedia, mlxContent, parsed(jsonUnlessEmpty), rebuilt(dropNull),
			rebuilt(aliases("reasoning_content", "thinking"))),
		noEmptyTools, mlxVariables, asksAlways}},
	{Engine: "llama.cpp", ParsesArguments: true, dialect: llamaJinja, steps: []step{
		refusesNull("name", "reasoning_content", "tool_call_id"),
		each(noMedia, call(llamaCall), rebuilt(dropNoCalls), rebuilt(emptyContent),
			rebuilt(keeps(llamaMembers...))), llamaForm, llamaLast,
		each(llamaDeveloper), llamaSystem, each(llamaArguments), llamaHandled, llamaVariables}},
}

// noMessages refuses a conversation without a message.
func noMessages(d *draft) error {
	if len(d.messages) == 0 {
		return refuse("it has no message")
	}
	return nil
}

// vllmRefuses refuses what OpenAI's types do not have.
func vllmRefuses(d *draft) error {
	if tools := d.get("tools"); tools.Kind() == ordered.Array && len(tools.Items()) == 0 {
		return refuse("tools are an empty list")
	}
	for _, m := range d.messages {
		role := m.At("role").Text()
		if m.At("content").IsNull() && role != "assistant" {
			return refuse("the content of a message of %s is null", role)
		}
	}
	return nil
}

// openAIParts refuses parts of types that OpenAI does not have.
func openAIParts(_ *draft, m ordered.Value) (ordered.Value, error) {
	for _, part := range m.At("content").Items() {
		switch kind := part.At("type").Text(); kind {
		case "", "image", "audio", "video":
			return m, refuse("a part has the type %q", kind)
		}
	}
	return m, nil
}

// noMedia refuses parts that are no text, as a model does that reads nothing else.
func noMedia(_ *draft, m ordered.Value) (ordered.Value, error) {
	if slices.ContainsFunc(m.At("content").Items(), isMedia) {
		return m, refuse("the model takes no images")
	}
	return m, nil
}

// vllmReasoning gives the reasoning the names that templates read.
func vllmReasoning(_ *draft, m ordered.Value) (ordered.Value, error) {
	text := m.At("reasoning")
	if text.IsNull() {
		text = m.At("reasoning_content")
	}
	m = m.Without("reasoning").Without("reasoning_content")
	if text.IsNull() || m.At("role").Text() != "assistant" {
		return m, nil
	}
	return m.With("reasoning", text).With("reasoning_content", text), nil
}

// vllmContent makes content a list of parts where the template goes through one, else a text.
func vllmContent(d *draft, m ordered.Value) (ordered.Value, error) {
	content := m.At("content")
	parts := content.Items()
	onlyText := !slices.ContainsFunc(parts, isMedia)
	switch {
	case m.At("role").Text() == "tool" && content.Kind() == ordered.Array && onlyText:
		return m.With("content", joined(parts, "\n")), nil
	case m.At("role").Text() == "tool" && content.Kind() == ordered.String:
		return m, nil
	case !d.look().loopsContent && !onlyText:
		return noMedia(d, m)
	case !d.look().loopsContent:
		all := slices.DeleteFunc(texts(parts), func(s string) bool { return s == "" })
		if content.Kind() == ordered.String {
			all = []string{content.Text()}
		}
		return m.With("content", ordered.Str(strings.Join(all, "\n"))), nil
	case content.Kind() == ordered.String:
		parts = []ordered.Value{chat.TextPart(content)}
	default:
		parts = slices.Clone(parts)
		for i, part := range parts {
			if isMedia(part) {
				parts[i] = placeholder(part)
			}
		}
	}
	return m.With("content", ordered.ArrayOf(parts...)), nil
}

// vllmCall puts the members of a call in the order of the package openai.
func vllmCall(c ordered.Value) (ordered.Value, error) {
	f := c.At("function")
	for _, name := range []string{"id", "type"} {
		if c.At(name).IsNull() {
			return c, refuse("a call has no %s", name)
		}
	}
	if f.At("arguments").Kind() != ordered.String {
		return c, refuse("the arguments of a call are no text")
	}
	return first(c.With("function", first(f, "arguments", "name")), "id", "function", "type"), nil
}

// first puts members before the others.
func first(v ordered.Value, names ...string) ordered.Value {
	members := keeps(names...)(v).Members()
	for _, m := range v.Members() {
		if !slices.Contains(names, m.Key) {
			members = append(members, m)
		}
	}
	return ordered.ObjectOf(members...)
}

// vllmKept makes a message anew.
func vllmKept(_ *draft, m ordered.Value) (ordered.Value, error) {
	role := m.At("role").Text()
	if role != "tool" {
		m = m.Without("tool_call_id")
	}
	if role != "assistant" {
		m = m.Without("tool_calls")
	}
	return keeps(vllmMembers...)(m), nil
}

// vllmDevelopers makes developers systems where the template does not know them, and then joins
// all systems unless the only one stands first.
func vllmDevelopers(d *draft) error {
	isDeveloper := func(m ordered.Value) bool { return m.At("role").Text() == "developer" }
	if d.look().knowsDeveloper || !slices.ContainsFunc(d.messages, isDeveloper) {
		return nil
	}
	var systems, others []ordered.Value
	late := false
	for i, m := range d.messages {
		if isDeveloper(m) {
			m = m.With("role", ordered.Str("system"))
			d.messages[i] = m
		}
		if m.At("role").Text() == "system" {
			systems = append(systems, m)
			late = late || i > 0
		} else {
			others = append(others, m)
		}
	}
	if !late {
		return nil
	}
	var all []string
	for _, m := range systems {
		if content := m.At("content"); content.Kind() == ordered.String {
			all = append(all, content.Text())
		} else {
			all = append(all, joined(content.Items(), "\n").Text())
		}
	}
	one := ordered.Pairs("role", "system", "content", strings.Join(all, "\n\n"))
	d.messages = append([]ordered.Value{one}, others...)
	return nil
}

// vllmVariables drops switches that say nothing, and passes an effort.
func vllmVariables(d *draft) error {
	for _, m := range d.body.At("chat_template_kwargs").Members() {
		if m.Value.IsNull() || m.Value.Text() == "auto" {
			d.unset(m.Key)
		}
	}
	if effort := d.body.At("reasoning_effort"); !effort.IsNull() {
		d.effort(effort, "enable_thinking")
	}
	return d.tools(func(tool ordered.Value) ordered.Value {
		f := keeps("name", "description", "parameters", "strict")(tool.At("function"))
		return ordered.Pairs("type", tool.At("type"), "function", withNull(f, "description",
			"parameters"))
	})
}

// effort passes the effort of a request, and whether there is any under other names.
func (d *draft) effort(effort ordered.Value, names ...string) {
	for _, name := range names {
		if !d.has(name) {
			d.set(name, ordered.Boolean(effort.Text() != "none"))
		}
	}
	if !d.has("reasoning_effort") {
		d.set("reasoning_effort", effort)
	}
}

// tools changes each tool.
func (d *draft) tools(change func(ordered.Value) ordered.Value) error {
	tools := slices.Clone(d.get("tools").Items())
	for i := range tools {
		tools[i] = change(tools[i])
	}
	if len(tools) > 0 {
		d.set("tools", ordered.ArrayOf(tools...))
	}
	return nil
}

// withNull adds members that are absent as null.
func withNull(v ordered.Value, names ...string) ordered.Value {
	for _, name := range names {
		if _, ok := v.Get(name); !ok {
			v = v.With(name, ordered.Value{})
		}
	}
	return v
}

// sglangRefuses refuses what the server's types do not have.
func sglangRefuses(d *draft) error {
	for _, m := range d.messages {
		role := m.At("role").Text()
		if content, ok := m.Get("content"); role == "user" && (!ok || content.IsNull()) {
			return refuse("the content of a user message is null")
		}
	}
	return nil
}

// sglangKept makes a message anew.
func sglangKept(_ *draft, m ordered.Value) (ordered.Value, error) {
	if m.At("role").Text() == "user" {
		return keeps("role", "content")(m), nil
	}
	return keeps(sglangMembers...)(m), nil
}

// sglangCall makes a call anew, with null for what it does not have.
func sglangCall(c ordered.Value) (ordered.Value, error) {
	f := c.At("function")
	return ordered.Pairs("id", c.At("id"), "index", c.At("index"), "type", c.At("type"),
		"function", ordered.Pairs("name", f.At("name"), "arguments", f.At("arguments"))), nil
}

// sglangContent makes content in parts a list of texts and places where the template goes through
// one, else a text.
func sglangContent(d *draft, m ordered.Value) (ordered.Value, error) {
	content := m.At("content")
	if content.Kind() != ordered.Array {
		return m, nil
	}
	parts := slices.Clone(content.Items())
	onlyText := !slices.ContainsFunc(parts, isMedia)
	if !d.look().loopsPlainly && !onlyText {
		return noMedia(d, m)
	}
	if !d.look().loopsPlainly || m.At("role").Text() == "tool" && onlyText {
		return m.With("content", joined(parts, " ")), nil
	}
	for i, part := range parts {
		if isMedia(part) {
			parts[i] = placeholder(part)
		} else {
			parts[i] = keeps("type", "text")(part)
		}
	}
	return m.Without("content").With("content", ordered.ArrayOf(parts...)), nil
}

// sglangLast makes a last message that is the model's own the user's.
func sglangLast(d *draft) error {
	n := len(d.messages) - 1
	m := d.messages[n]
	if m.At("role").Text() == "assistant" && m.At("content").Kind() == ordered.String {
		d.messages[n] = ordered.Pairs("role", "user", "content", m.At("content"))
	}
	return nil
}

// sglangVariables passes an effort, no documents, and tools with null for what they do not have.
func sglangVariables(d *draft) error {
	d.unset("documents")
	if effort := d.body.At("reasoning_effort"); !effort.IsNull() {
		d.effort(effort, "thinking", "enable_thinking")
	}
	if err := noEmptyTools(d); err != nil {
		return err
	}
	return d.tools(func(tool ordered.Value) ordered.Value {
		return ordered.Pairs("type", tool.At("type"), "function", withNull(tool.At("function"),
			"description", "parameters"), "defer_loading", tool.At("defer_loading"))
	})
}

// mlxContent makes content a text.
func mlxContent(_ *draft, m ordered.Value) (ordered.Value, error) {
	content := m.At("content")
	if content.Kind() == ordered.Array {
		return m.With("content", joined(content.Items(), "")), nil
	}
	return emptyContent(m), nil
}

// jsonUnlessEmpty reads arguments as JSON, but for the empty text.
func jsonUnlessEmpty(text string) (ordered.Value, error) {
	if text == "" {
		return ordered.Str(""), nil
	}
	return asJSON(text)
}

// mlxVariables passes switches alone, and thinking by what the tokeniser has.
func mlxVariables(d *draft) error {
	d.set("documents", ordered.Value{})
	if !d.has("enable_thinking") {
		d.set("enable_thinking", ordered.Boolean(d.look().thinks))
	}
	return nil
}

// llamaCall makes arguments that are no text one.
func llamaCall(c ordered.Value) (ordered.Value, error) {
	f := c.At("function")
	if arguments := f.At("arguments"); arguments.Kind() != ordered.String {
		text := string(arguments.Append(nil, ordered.Compact))
		return c.With("function", f.With("arguments", ordered.Str(text))), nil
	}
	return c, nil
}

// inForm gives content the form that the template takes, if it takes one alone.
func (s *Server) inForm(messages []ordered.Value) []ordered.Value {
	messages = slices.Clone(messages)
	for i, m := range messages {
		content := m.At("content")
		switch l := s.llama(); {
		case content.Kind() == ordered.Array && l.texts && !l.parts:
			messages[i] = m.With("content", joined(content.Items(), "\n"))
		case content.Kind() == ordered.String && l.parts && !l.texts:
			messages[i] = m.With("content", ordered.ArrayOf(chat.TextPart(content)))
		}
	}
	return messages
}

// llamaForm is inForm as a step.
func llamaForm(d *draft) error {
	d.messages = d.inForm(d.messages)
	return nil
}

// llamaLast takes a last answer out: the model goes on with its text, behind what it would have
// thought.
func llamaLast(d *draft) error {
	n := len(d.messages) - 1
	if n < 0 || d.messages[n].At("role").Text() != "assistant" {
		return nil
	}
	last := d.messages[n]
	if len(last.At("tool_calls").Items()) > 0 || n > 0 &&
		d.messages[n-1].At("role").Text() == "assistant" {
		return refuse("the last message cannot be continued")
	}
	content := last.At("content")
	if content.Kind() == ordered.Array {
		content = joined(content.Items(), "\n\n")
	}
	d.messages = d.messages[:n]
	d.unset("add_generation_prompt")
	d.continued = &continuation{last.At("reasoning_content").Text(), content.Text()}
	return nil
}

// continuation is an answer that the model goes on with.
type continuation struct{ reasoning, content string }

// finish is the prompt that llama.cpp makes of the one that the template writes.
func (s *Server) finish(d *draft, text string) (string, error) {
	if s.Engine != "llama.cpp" {
		return text, nil
	}
	h := s.llama().handler
	if err := s.llama().fails; err != nil {
		return "", fmt.Errorf("llama-server ends when it starts: %w", err)
	}
	if h.Ends != "" && !strings.HasSuffix(text, h.Ends) {
		h.Opens = ""
	}
	c := d.continued
	if c == nil && h.Ends != "" {
		return text + h.Opens, nil
	} else if c == nil || *c == (continuation{}) {
		return text, nil
	}
	if h.Generates {
		in := d.input
		in.Generate = true
		asking, err := s.Render(in)
		if err != nil {
			return "", err
		}
		h.Opens = asking[common(text, asking):]
		if h.Thinks != "" {
			h.Opens, _, _ = strings.Cut(h.Opens, h.Thinks)
		} else {
			h.Closes = ""
		}
	}
	if h.Skips && c.reasoning == "" {
		h.Thinks = ""
	}
	if text += h.Opens + h.Thinks + c.reasoning; c.reasoning == "" || c.content != "" {
		text += h.Closes + c.content
	}
	return text, nil
}

// llamaDeveloper makes developers systems, but for gpt-oss.
func llamaDeveloper(d *draft, m ordered.Value) (ordered.Value, error) {
	if m.At("role").Text() == "developer" && !strings.Contains(d.t.Source.Text, "<|channel|>") {
		return m.With("role", ordered.Str("system")), nil
	}
	return m, nil
}

// llamaSystem puts a first system message before the content of the next one where the template
// does not look at it.
func llamaSystem(d *draft) error {
	if len(d.messages) == 0 || d.messages[0].At("role").Text() != "system" ||
		d.llama().writesSystem {
		return nil
	}
	system := d.messages[0].At("content")
	if d.messages = d.messages[1:]; len(d.messages) > 0 {
		content := d.messages[0].At("content")
		if system.Kind() != ordered.String || content.Kind() != ordered.String {
			return refuse("a system message in parts cannot be put into the next one")
		}
		text := system.Text() + "\n" + content.Text()
		d.messages = slices.Clone(d.messages)
		d.messages[0] = d.messages[0].With("content", ordered.Str(text))
	}
	return nil
}

// llamaArguments gives arguments as what they spell to a template that goes into them.
func llamaArguments(d *draft, m ordered.Value) (ordered.Value, error) {
	if d.llama().readsArguments {
		return parsed(asJSON)(d, m)
	}
	return m, nil
}

// llamaHandled is what llama.cpp changes for templates that it finds by their texts.
func llamaHandled(d *draft) error {
	if change := changes[d.llama().Change]; change != nil {
		d.messages = change(d.messages)
	}
	return nil
}

// llamaVariables passes no empty list of tools, no documents, the day, and thinking for a model
// that thinks, unless it is switched off.
func llamaVariables(d *draft) error {
	d.unset("documents")
	if len(d.get("tools").Items()) == 0 {
		d.unset("tools")
	}
	effort := d.body.At("reasoning_effort").Text()
	day := d.t.Now()
	for _, m := range []ordered.Member{
		ordered.MemberOf("enable_thinking",
			ordered.Boolean(!d.llama().Unthinking && effort != "none")),
		ordered.MemberOf("date_string", ordered.Str(day.Format("02 Jan 2006"))),
		ordered.MemberOf("datetime", ordered.Str(day.Format("Jan 02 2006"))),
	} {
		if !d.has(m.Key) {
			d.set(m.Key, m.Value)
		}
	}
	if effort != "" && effort != "none" {
		d.set("reasoning_effort", ordered.Str(effort))
		d.set("reasoning_strength", ordered.Str(effort))
	}
	return nil
}

// thoughtsInParts makes a list of parts of the content of systems and assistants, with the
// reasoning as its first part.
func thoughtsInParts(messages []ordered.Value) []ordered.Value {
	for i, m := range messages {
		if role := m.At("role").Text(); role != "system" && role != "assistant" {
			continue
		}
		parts := m.At("content").Items()
		if content := m.At("content"); content.Kind() == ordered.String {
			parts = []ordered.Value{chat.TextPart(content)}
		}
		if reasoning := m.At("reasoning_content"); !reasoning.IsNull() {
			parts = append([]ordered.Value{ordered.Pairs("type", "thinking",
				"thinking", reasoning)}, parts...)
		}
		messages[i] = m.With("content", ordered.ArrayOf(parts...)).Without("reasoning_content")
	}
	return messages
}

// thoughtsTwice gives reasoning another name as well.
func thoughtsTwice(messages []ordered.Value) []ordered.Value {
	for i, m := range messages {
		if reasoning := m.At("reasoning_content"); !reasoning.IsNull() {
			messages[i] = m.With("thinking", reasoning)
		}
	}
	return messages
}

// resultsInCalls puts the results of calls, and the answer behind them, into the message that
// calls; its own content is lost.
func resultsInCalls(messages []ordered.Value) []ordered.Value {
	var all []ordered.Value
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		calls := m.At("tool_calls").Items()
		if m.At("role").Text() != "assistant" || len(calls) == 0 {
			all = append(all, m)
			continue
		}
		made := keeps("role", "tool_calls")(m)
		var results []ordered.Value
		for ; i+1 < len(messages) && messages[i+1].At("role").Text() == "tool"; i++ {
			name, content := messages[i+1].At("tool_call_id"), messages[i+1].At("content")
			if n := len(results); n < len(calls) {
				name = calls[n].At("function").At("name")
			}
			if content.Kind() == ordered.String {
				content, _ = jsonOrText(content.Text())
			}
			results = append(results, ordered.Pairs("name", name, "response", content))
		}
		if len(results) > 0 {
			made = made.With("tool_responses", ordered.ArrayOf(results...))
		}
		if i+1 < len(messages) {
			next := messages[i+1]
			if content := next.At("content"); next.At("role").Text() == "assistant" &&
				len(next.At("tool_calls").Items()) == 0 &&
				content.Text()+string(content.Append(nil, ordered.Compact)) != `""` {
				made = made.With("content", content)
				i++
			}
		}
		if reasoning := m.At("reasoning_content"); !reasoning.IsNull() {
			made = made.With("reasoning_content", reasoning)
		}
		all = append(all, made)
	}
	return all
}
