package dataset

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/families"
)

// settings are those in which the corpus tells its kinds.
var settings = [...]string{"ferry", "garden", "kitchen", "library", "museum", "tickets", "trains",
	"weather"}

// Generator draws requests from the kinds of a corpus. The same seed gives the same bytes.
type Generator struct {
	rng       *rand.Rand
	stories   []story
	functions []ordered.Value
	n         int
}

// story is a kind of request in a setting, with the message that the corpus expects.
type story struct {
	kind     string
	body     ordered.Value
	question ordered.Value // the user's message
	message  ordered.Value
}

// NewGenerator returns a generator for a seed.
func NewGenerator(corpus fs.FS, seed uint64) (*Generator, error) {
	kinds, err := families.ReadKinds(corpus)
	if err != nil {
		return nil, err
	}
	g := &Generator{rng: rand.New(rand.NewPCG(seed, seed))}
	seen := map[string]bool{}
	for _, kind := range kinds.Names() {
		if strings.HasPrefix(kind, "continue") || kind == "reasoning_kept_in_content" {
			continue // not every server has these extensions
		}
		for _, setting := range settings {
			body, err := kinds.Request(kind, setting)
			if err != nil {
				continue // the kind is not told there
			}
			text, _ := kinds.Message(kind, setting)
			message, err := ordered.ParseString(text)
			messages := body.At("messages").Items()
			if err != nil || len(messages) == 0 {
				continue
			}
			last := messages[len(messages)-1]
			if last.At("role").Text() == "assistant" {
				continue // it is to be gone on with
			}
			g.stories = append(g.stories, story{kind: kind, body: body, question: last,
				message: message})
			for _, tool := range body.At("tools").Items() {
				if name := tool.At("function", "name").Text(); !seen[name] {
					seen[name] = true
					g.functions = append(g.functions, tool)
				}
			}
		}
	}
	if len(g.stories) == 0 {
		return nil, fmt.Errorf("the corpus has no kinds to make requests of")
	}
	return g, nil
}

// Next returns the next request. Half of the requests have thinking switched on or off; a third go
// on after earlier turns; every tool's schema has constraints, drawn anew.
func (g *Generator) Next() Request {
	s := g.stories[g.rng.IntN(len(g.stories))]
	r := Request{N: g.n, ID: fmt.Sprintf("%s-%d", s.kind, g.n)}
	g.n++
	messages := slices.Clone(s.body.At("messages").Items())
	if messages[0].At("role").Text() != "system" && g.rng.IntN(2) == 0 {
		messages = slices.Insert(messages, 0, chat.System(g.pick("Answer briefly.",
			"You help people at their work. Use the functions where they help.",
			"Dates are given as 2026-03-14. Prices are in euros.", "Never guess an argument.")))
	}
	tools := slices.Clone(s.body.At("tools").Items())
	if g.rng.IntN(3) == 0 && len(tools) > 0 {
		at := 0
		if messages[0].At("role").Text() == "system" {
			at = 1
		}
		messages = slices.Insert(messages, at, g.earlier(&tools)...)
	}
	for range g.rng.IntN(4) { // functions that have nothing to do with the question
		if len(tools) > 0 {
			tools = with(tools, g.functions[g.rng.IntN(len(g.functions))])
		}
	}
	for i, tool := range tools {
		tools[i] = g.constrained(tool)
	}
	g.rng.Shuffle(len(tools), func(i, k int) { tools[i], tools[k] = tools[k], tools[i] })
	r.Body = s.body.With("messages", ordered.ArrayOf(messages...))
	if len(tools) > 0 {
		r.Body = r.Body.With("tools", ordered.ArrayOf(tools...))
	}
	for _, extension := range [...]string{"reasoning_format", "enable_thinking"} {
		r.Body = r.Body.Without(extension)
	}
	if g.rng.IntN(2) == 0 {
		r.Body = r.Body.With("chat_template_kwargs", ordered.Pairs(
			"enable_thinking", g.rng.IntN(2) == 0))
	}
	r.Body = r.Body.With("temperature", ordered.Num("0.6")).With("max_tokens", ordered.Int(4096))
	// only where the request leaves no doubt: models answer the others in either way
	switch choice := s.body.At("tool_choice").Text(); {
	case choice == "none" || len(tools) == 0:
		r.Expect = new(bool)
	case choice == "required" || s.kind == "tools_one_call" || s.kind == "tools_typed" ||
		s.kind == "tools_parallel":
		yes := true
		r.Expect = &yes
	}
	return r
}

func (g *Generator) pick(of ...string) string { return of[g.rng.IntN(len(of))] }

// with returns tools with one more, unless a tool of that name is there.
func with(tools []ordered.Value, tool ordered.Value) []ordered.Value {
	name := tool.At("function", "name").Text()
	if slices.ContainsFunc(tools, func(t ordered.Value) bool {
		return t.At("function", "name").Text() == name
	}) {
		return tools
	}
	return append(tools, tool)
}

// earlier returns a question of another story with its calls, their results and an answer, and adds
// the functions that it calls to tools.
func (g *Generator) earlier(tools *[]ordered.Value) []ordered.Value {
	s := g.stories[g.rng.IntN(len(g.stories))]
	for len(s.message.At("tool_calls").Items()) == 0 || len(s.body.At("messages").Items()) != 1 {
		s = g.stories[g.rng.IntN(len(g.stories))]
	}
	for _, tool := range s.body.At("tools").Items() {
		*tools = with(*tools, tool)
	}
	var calls, results []ordered.Value
	for i, call := range s.message.At("tool_calls").Items() {
		name := call.At("name").Text()
		id := chat.NamedID(name, i)
		arguments := call.At("arguments")
		if arguments.Kind() != ordered.String {
			arguments = ordered.Str(arguments.String())
		}
		calls = append(calls, chat.CallOf(id, name, arguments))
		results = append(results, chat.Result(id, name, g.pick(`{"ok": true}`,
			"Nothing was found.", `{"error": "try again later"}`, `{"count": 3}`)))
	}
	turns := []ordered.Value{s.question, chat.MessageOf("assistant", ordered.Str(""),
		ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))}
	turns = append(turns, results...)
	return append(turns, chat.MessageOf("assistant", ordered.Str(g.pick("Done.",
		"That is done. Is there anything else?", "Here is the result."))))
}

// constrained returns a tool whose schema says more of the arguments: closed objects, bounds and
// lengths that every honest value keeps.
func (g *Generator) constrained(tool ordered.Value) ordered.Value {
	f := tool.At("function")
	schema := f.At("parameters")
	if schema.Kind() != ordered.Object {
		return tool
	}
	return tool.With("function", f.With("parameters", g.constrain(schema)))
}

func (g *Generator) constrain(schema ordered.Value) ordered.Value {
	yes := func() bool { return g.rng.IntN(2) == 0 }
	add := func(key string, v ordered.Value) {
		if _, there := schema.Get(key); !there {
			schema = schema.With(key, v)
		}
	}
	switch schema.At("type").Text() {
	case "object":
		if properties := schema.At("properties"); properties.Kind() == ordered.Object {
			for _, m := range properties.Members() {
				properties = properties.With(m.Key, g.constrain(m.Value))
			}
			schema = schema.With("properties", properties)
			if yes() {
				add("additionalProperties", ordered.Boolean(false))
			}
		}
	case "array":
		if items := schema.At("items"); items.Kind() == ordered.Object {
			schema = schema.With("items", g.constrain(items))
		}
		if yes() {
			add("maxItems", ordered.Int(20+g.rng.IntN(30)))
		}
	case "string":
		if _, closed := schema.Get("enum"); !closed && yes() {
			add("minLength", ordered.Int(1))
			add("maxLength", ordered.Int(500+g.rng.IntN(500)))
		}
	case "integer":
		if yes() {
			add("minimum", ordered.Int(-1000-g.rng.IntN(1000)))
			add("maximum", ordered.Int(100_000+g.rng.IntN(1000)))
		}
	}
	return schema
}

// Line returns a request as a line of a data set, without a line feed.
func (r Request) Line() []byte {
	v := r.Body.With("id", ordered.Str(r.ID))
	if r.Expect != nil {
		v = v.With("expected_tool_call", ordered.Boolean(*r.Expect))
	}
	if r.Tokens > 0 {
		v = v.With("expected_prompt_tokens", ordered.Int(r.Tokens))
	}
	return v.Append(nil, ordered.Compact)
}
