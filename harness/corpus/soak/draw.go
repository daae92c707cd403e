package soak

import (
	"fmt"
	legacy "math/rand"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/split"
)

func newRand(seed int64) *legacy.Rand { return legacy.New(legacy.NewSource(seed)) }

// drawer draws one case.
type drawer struct {
	*rand.Rand
	pool     *Pool
	template *pooled
	c        *Case
}

// oneIn is true once in n times.
func (d *drawer) oneIn(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *drawer, list []T) T { return list[d.IntN(len(list))] }

// request draws a request: one of the family's cases or of the battery, with members changed.
func (d *drawer) request() {
	v := pick(d, standard.Battery()).JSON()
	if len(d.template.cases) > 0 && !d.oneIn(4) {
		c := pick(d, d.template.cases)
		d.c.Fallbacks = c.Fallbacks
		if c.Request.Kind() == ordered.Object {
			v = c.Request
		}
	}
	if d.oneIn(3) {
		v = v.With("tools", ordered.ArrayOf(d.tools()...))
		v = v.With("tool_choice", ordered.Value{})
	}
	names := toolNames(v)
	if d.oneIn(3) {
		choice := ordered.Str(pick(d, []string{"auto", "none", "required"}))
		if len(names) > 0 && d.oneIn(4) {
			choice = ordered.Pairs("type", "function", "function",
				ordered.Pairs("name", pick(d, names)))
		}
		v = v.With("tool_choice", choice)
	}
	for _, flag := range []string{"parallel_tool_calls", "enable_thinking"} {
		if d.oneIn(3) {
			v = v.With(flag, ordered.Boolean(d.oneIn(2)))
		}
	}
	if d.oneIn(8) {
		v = v.With("reasoning_format", ordered.Str(pick(d, []string{"none", "auto"})))
	}
	if d.oneIn(16) {
		v = v.With("json_schema", d.schema(2))
	}
	d.c.Request = v
}

func toolNames(request ordered.Value) []string {
	var names []string
	for _, t := range request.At("tools").Items() {
		if name := t.At("function", "name").Text(); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// names that share beginnings, contain one another, or look like the text around them.
var names = []string{"a", "aa", "aaa", "aaaa", "get", "get_", "get_weather", "get_weather2",
	"get-weather", "functions.get", "name",
	"arguments", "tool_call", "x1", "0", "true", "función", "a.b:c", "call"}

// keys of arguments, likewise.
var keys = []string{"a", "aa", "b", "city", "city2", "name", "arguments", "parameter", "x-y",
	"ключ", "type", "query"}

func (d *drawer) tools() []ordered.Value {
	n := pick(d, []int{0, 1, 2, 3, 5, 8})
	if d.oneIn(64) {
		n = 60
	}
	tools := make([]ordered.Value, 0, n)
	used := map[string]bool{}
	for i := range n {
		name := pick(d, names)
		if used[name] {
			name = fmt.Sprint(name, i)
		}
		used[name] = true
		f := ordered.Pairs("name", name, "description", "Does "+name)
		if !d.oneIn(8) {
			f = f.With("parameters", d.object(2))
		}
		tools = append(tools, ordered.Pairs("type", "function", "function", f))
	}
	if d.oneIn(4) {
		tools = append(tools, standard.Tools().JSON().At("tools").Items()...)
	}
	return tools
}

// object draws the schema of an object.
func (d *drawer) object(depth int) ordered.Value {
	var properties []ordered.Member
	var required []ordered.Value
	for range d.IntN(4) {
		key := pick(d, keys)
		if slices.ContainsFunc(properties, func(m ordered.Member) bool { return m.Key == key }) {
			continue
		}
		properties = append(properties, ordered.Member{Key: key, Value: d.schema(depth - 1)})
		if d.oneIn(2) {
			required = append(required, ordered.Str(key))
		}
	}
	v := ordered.Pairs("type", "object", "properties", ordered.ObjectOf(properties...))
	if len(required) > 0 {
		v = v.With("required", ordered.ArrayOf(required...))
	}
	if d.oneIn(6) {
		v = v.With("additionalProperties", ordered.Boolean(d.oneIn(2)))
	}
	return v
}

// plainSchemas are schemas without parts.
var plainSchemas = sync.OnceValue(func() []ordered.Value {
	texts := []string{`{"type": "string"}`, `{"type": "string"}`, `{"type": "integer"}`, `{"type": "number"}`, `{"type": "boolean"}`, `{}`, `true`,
		`{"type": "null"}`, `{"type": ["string", "null"]}`, `{"type": ["integer", "string"]}`, `{"enum": ["a", "ab", "abc", 1, null]}`,
		`{"type": "string", "minLength": 1, "maxLength": 5}`, `{"type": "string", "pattern": "^[a-z]{1,4}(-[0-9]+)?$"}`,
		`{"type": "integer", "minimum": -3, "maximum": 120}`, `{"const": "</a>"}`, `{"type": "string", "format": "date"}`, `{"type": "object"}`, `{"type": "array"}`}
	return lists.Map(texts, ordered.MustParse)
})

func (d *drawer) schema(depth int) ordered.Value {
	if depth > 0 && d.oneIn(3) {
		switch d.IntN(3) {
		case 0:
			return d.object(depth)
		case 1:
			return ordered.Pairs("type", "array", "items", d.schema(depth-1))
		default:
			return ordered.Pairs("anyOf", ordered.ArrayOf(d.schema(depth-1), d.schema(depth-1)))
		}
	}
	return pick(d, plainSchemas())
}

// output draws an output: recorded, of another family, a sentence of the grammar, or several of
// these, mutated or not.
func (d *drawer) output() {
	var pieces []string
	for more := true; more; more = d.oneIn(4) {
		pieces = append(pieces, d.piece(len(pieces) == 0))
	}
	if len(pieces) > 1 {
		d.c.Sentence = false
	}
	text := strings.Join(pieces, "")
	if !d.oneIn(3) {
		d.c.Sentence = false
		scraps := d.scraps()
		for range 1 + d.IntN(6) {
			text = d.mutate(text, scraps)
		}
	}
	d.c.Output, d.c.Reason = text, chat.FinishStop
	if d.oneIn(8) {
		d.c.Reason = chat.FinishLength
	}
}

func (d *drawer) piece(first bool) string {
	switch d.IntN(8) {
	case 0:
		return pick(d, d.pool.outputs)
	case 1, 2, 3:
		if plan, err := d.c.plan(); err == nil {
			if text, ok := sample(plan, d.Int64(), 200+d.IntN(2000)); ok {
				d.c.Sentence = first
				return text
			}
		}
	case 4:
		return pick(d, []string{"", "\n", "Hello.", strings.Repeat("<", d.IntN(300)),
			strings.Repeat("word ", d.IntN(200)), "```json\n{}\n```", `{"name": "get_weather", "arguments": {}}`})
	}
	if c := pick(d, d.template.cases); c.Parsed {
		return c.Output
	}
	return pick(d, d.pool.outputs)
}

// scraps are the texts that matter to the request's parser: its markers, its tools' names, their
// beginnings.
func (d *drawer) scraps() []string {
	scraps := []string{"\"", "'", "\\", "{", "}", "[", "]", "<", ">", "</", "|", "\n", " ", ",",
		":", "=", "(", ")", "0", "null", "\u00e9", "\xc3", "\x00", "\U0001F600", "\\u", "\\ud83d",
		"```", "&quot;"}
	plan, err := d.c.plan()
	if err != nil {
		return scraps
	}
	for range 3 { // they matter more
		scraps = append(scraps, plan.Preserved...)
		for _, f := range plan.Output.Tools {
			scraps = append(scraps, f.Name)
		}
		scraps = append(scraps, plan.Stops...)
	}
	return slices.DeleteFunc(scraps, func(s string) bool { return s == "" })
}

// mutate changes a text at one place: a run of it lost, doubled, moved or cut off after, a scrap or
// its beginning put in, a byte changed.
func (d *drawer) mutate(text string, scraps []string) string {
	if text == "" {
		return pick(d, scraps)
	}
	i := d.IntN(len(text))
	j := min(len(text), i+1+d.IntN(1+d.IntN(40)))
	switch d.IntN(7) {
	case 0:
		return text[:i] + text[j:]
	case 1:
		return text[:j] + text[i:j] + text[j:]
	case 2:
		k := d.IntN(len(text))
		return text[:k] + text[i:j] + text[k:]
	case 3:
		return text[:j]
	case 4:
		return text[:i] + string([]byte{byte(d.Uint32())}) + text[i+1:]
	case 5:
		s := pick(d, scraps)
		return text[:i] + s[:1+d.IntN(len(s))] + text[i:]
	}
	return text[:i] + pick(d, scraps) + text[i:]
}

// cuts draws the ways in which an output of n bytes is cut: every byte alone, in two, and at
// random.
func (d *drawer) cuts(n int) [][]int {
	all := [][]int{split.Every(n)}
	for range 4 {
		if n > 1 {
			all = append(all, []int{1 + d.IntN(n-1)})
		}
		longest := 1 + d.IntN(32)
		var cuts []int
		for at := 1 + d.IntN(longest); at < n; at += 1 + d.IntN(longest) {
			cuts = append(cuts, at)
		}
		all = append(all, cuts)
	}
	return all
}
