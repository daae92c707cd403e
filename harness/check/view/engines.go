package view

import (
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
	llamaMembers = []string{"role", "content", "reasoning_content", "name", "tool_calls",
		"tool_call_id"}
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
	{Engine: "llama.cpp", ParsesArguments: true, steps: []step{
		refusesNull("name", "reasoning_content"), llamaLast,
		each(rebuilt(dropNull), rebuilt(emptyContent), noMedia, llamaContent, rebuilt(dropNoCalls),
			llamaArguments, rebuilt(keeps(llamaMembers...)), llamaDeveloper),
		llamaSystem, llamaVariables}},
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
		return m, refuse("the model takes no pictures")
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
	one := ordered.ObjectOf(ordered.MemberOf("role", ordered.Str("system")),
		ordered.MemberOf("content", ordered.Str(strings.Join(all, "\n\n"))))
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
		return ordered.ObjectOf(ordered.MemberOf("type", tool.At("type")),
			ordered.MemberOf("function", withNull(f, "description", "parameters")))
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
			return refuse("the content of a question is null")
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
	return ordered.ObjectOf(ordered.MemberOf("id", c.At("id")),
		ordered.MemberOf("index", c.At("index")), ordered.MemberOf("type", c.At("type")),
		ordered.MemberOf("function", ordered.ObjectOf(ordered.MemberOf("name", f.At("name")),
			ordered.MemberOf("arguments", f.At("arguments"))))), nil
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
		d.messages[n] = ordered.ObjectOf(ordered.MemberOf("role", ordered.Str("user")),
			ordered.MemberOf("content", m.At("content")))
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
		return ordered.ObjectOf(ordered.MemberOf("type", tool.At("type")),
			ordered.MemberOf("function",
				withNull(tool.At("function"), "description", "parameters")),
			ordered.MemberOf("defer_loading", tool.At("defer_loading")))
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
	return json(text)
}

// mlxVariables passes switches alone, and thinking by what the tokeniser has.
func mlxVariables(d *draft) error {
	d.set("documents", ordered.Value{})
	if !d.has("enable_thinking") {
		d.set("enable_thinking", ordered.Boolean(d.look().thinks))
	}
	return nil
}

// llamaLast takes a last answer out, with whose text the model goes on, without thinking.
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
	if d.continued = last.At("content").Text(); last.At("content").Kind() == ordered.Array {
		d.continued = joined(last.At("content").Items(), "\n").Text()
	}
	d.messages = d.messages[:n]
	d.set("enable_thinking", ordered.Boolean(false))
	return nil
}

// llamaContent makes content in parts a text where the template takes none. Whether the model reads
// pictures is not to be seen in a template: it is taken for one that does not.
func llamaContent(d *draft, m ordered.Value) (ordered.Value, error) {
	content := m.At("content")
	if content.Kind() == ordered.Array && !d.look().readsParts {
		return m.With("content", joined(content.Items(), "\n")), nil
	}
	return m, nil
}

// llamaArguments gives arguments as an object to a template that reads what is in one, and as text
// to others.
func llamaArguments(d *draft, m ordered.Value) (ordered.Value, error) {
	if d.look().readsArguments {
		return parsed(json)(d, m)
	}
	return call(func(c ordered.Value) (ordered.Value, error) {
		f := c.At("function")
		if arguments := f.At("arguments"); arguments.Kind() != ordered.String {
			text := string(arguments.Append(nil, ordered.Compact))
			return c.With("function", f.With("arguments", ordered.Str(text))), nil
		}
		return c, nil
	})(d, m)
}

// llamaDeveloper makes developers systems, but for gpt-oss.
func llamaDeveloper(d *draft, m ordered.Value) (ordered.Value, error) {
	if m.At("role").Text() == "developer" && !d.look().hasChannels {
		return m.With("role", ordered.Str("system")), nil
	}
	return m, nil
}

// llamaSystem puts a first system message before the content of the next one where the template
// does not write it.
func llamaSystem(d *draft) error {
	if len(d.messages) == 0 || d.messages[0].At("role").Text() != "system" ||
		d.look().writesSystem {
		return nil
	}
	system := d.messages[0].At("content").Text()
	if d.messages = d.messages[1:]; len(d.messages) > 0 {
		next := d.messages[0]
		text := system + "\n" + next.At("content").Text()
		d.messages = slices.Clone(d.messages)
		d.messages[0] = next.With("content", ordered.Str(text))
	}
	return nil
}

// llamaVariables passes no empty list of tools, no documents, the day, and thinking unless it is
// switched off.
func llamaVariables(d *draft) error {
	d.unset("documents")
	if len(d.get("tools").Items()) == 0 {
		d.unset("tools")
	}
	day := d.t.Now()
	for _, m := range []ordered.Member{
		ordered.MemberOf("enable_thinking", ordered.Boolean(true)),
		ordered.MemberOf("date_string", ordered.Str(day.Format("02 Jan 2006"))),
		ordered.MemberOf("datetime", ordered.Str(day.Format("Jan 02 2006"))),
	} {
		if !d.has(m.Key) {
			d.set(m.Key, m.Value)
		}
	}
	if effort := d.body.At("reasoning_effort"); !effort.IsNull() {
		d.effort(effort, "reasoning_strength")
	}
	return nil
}
