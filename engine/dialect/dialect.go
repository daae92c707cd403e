// Package dialect holds the formats that no analysis can find in a template: formats written by
// hand, and the spellings of tool calls that a caller may allow by name.
//
// # Dialects
//
// [Formats] are whole output formats in which every part of a turn is addressed to somebody by a
// head of its own. The analysis takes one of them where all slots of its probes stand where the
// dialect puts them; the name and the source of a template play no role (E10).
//
// # Fallback spellings
//
// [Spellings] are further ways in which calls may come, beside or instead of the template's own.
// They are off unless a caller names them (E25), and all on where a template describes tools and
// prints no call, since the call must then come in one of them (E21 T8). Their names are the only
// model names in the engine.
//
// Everything returned is a fresh copy.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package dialect

import "github.com/goassay/assay/engine/format"

// Spelling is a fallback spelling: the forms that a call may take, tried in this order at each
// position.
type Spelling struct {
	Name  string
	Doc   string // one line for people
	Calls []format.Calls
	// of a spelling that brings its own; used where the template has none
	Reasoning format.Reasoning
	// InMarkers reports whether calls are JSON objects between the markers that the template has
	// around its own, which are spelled otherwise.
	InMarkers bool
	// Qualified reports whether a function's name may stand after words that qualify it, each with
	// a dot: ns.f for a declared f.
	Qualified bool
	// Tokens reports whether no form is likely to occur by chance, so that the spelling can be
	// allowed without being asked for where calls are undisclosed.
	Tokens bool
}

// For returns the forms of a spelling beside those of a format.
func (s Spelling) For(f format.Format) []format.Calls {
	calls := s.Calls
	for _, c := range f.Calls {
		if s.InMarkers && c.Object == nil && c.Section.Open.Text+c.Call.Open.Text != "" {
			calls = append(calls, format.Calls{Section: c.Section, Call: c.Call, Sep: c.Sep,
				Unclosed: c.Unclosed, Object: object("name", "arguments")})
		}
	}
	return calls
}

// Lookup returns the spelling of a name.
func Lookup(name string) (Spelling, bool) {
	for _, s := range Spellings() {
		if s.Name == name {
			return s, true
		}
	}
	return Spelling{}, false
}

// Names returns the names of all spellings.
func Names() []string {
	var names []string
	for _, s := range Spellings() {
		names = append(names, s.Name)
	}
	return names
}

// Undisclosed returns the forms in which calls may come that a template describes and does not
// print, in the order in which they are tried.
func Undisclosed() []format.Calls {
	var calls []format.Calls
	for _, s := range Spellings() {
		if s.Tokens {
			calls = append(calls, s.Calls...)
		}
	}
	return calls
}

// Formats returns the hand-written formats.
func Formats() []format.Format {
	return []format.Format{channels()}
}

func pair(open, close string) format.Pair {
	return format.Pair{Open: format.Mark(open), Close: format.Mark(close)}
}

func slot(kind format.SlotKind) format.Part { return format.Part{Kind: kind} }

func optional(p format.Part) format.Part {
	p.Opt = true
	return p
}

// channels: a part is a message with a channel; a call is a message to a function.
func channels() format.Format {
	channel, message, to := format.Lit("<|channel|>"), format.Lit("<|message|>"), format.Lit(" to=")
	function := format.Lit(" to=functions.")
	word, name, recipient := slot(format.SlotWord), slot(format.SlotName),
		slot(format.SlotRecipient)
	start := format.Mark("<|start|>assistant")
	// Reasoning quotes the marker that ends calls.
	thought := []format.Marker{format.Mark("<|end|>"), format.Mark("<|return|>")}
	close := append(thought[:2:2], format.Mark("<|call|>"))
	in := func(kind format.RouteKind, channel string) format.Route {
		r := format.Route{Kind: kind, Start: start, Close: close,
			Head: []format.Part{format.Lit("<|channel|>" + channel), optional(word), message}}
		if kind == format.RouteReasoning {
			r.Close = thought
		}
		return r
	}
	route := func(kind format.RouteKind, head ...format.Part) format.Route {
		r := format.Route{Kind: kind, Start: start, Close: close, Head: head}
		if kind == format.RouteCall {
			r.Body = format.Body{Kind: format.BodyJSON}
		}
		return r
	}
	return format.Format{Name: "channels", Routes: []format.Route{
		route(format.RouteCall, function, name, optional(word), channel, word, message),
		route(format.RouteCall, channel, word, function, name, optional(word), message),
		route(format.RouteDropped, to, recipient, channel, word, message),
		route(format.RouteDropped, channel, word, to, recipient, message),
		in(format.RouteReasoning, "analysis"),
		in(format.RouteContent, "final"),
		in(format.RouteContent, "commentary"),
		route(format.RouteContent, channel, word, message),
		route(format.RouteContent, message),
	}}
}

// Spellings returns all fallback spellings, in the order in which they are tried where all are
// allowed.
func Spellings() []Spelling {
	return []Spelling{
		{Name: "kimi-k2", Doc: "functions.NAME:INDEX and JSON, in token markers or bare", Tokens: true, Calls: indexed()},
		{Name: "hermes", Doc: "a JSON object in <tool_call>", Tokens: true, Calls: []format.Calls{
			{Call: pair("<tool_call>\n", "\n</tool_call>"), Object: object("name", "arguments")},
		}},
		{Name: "xml", Doc: "<invoke> with <parameter> elements in <tool_call>", Tokens: true, Calls: []format.Calls{{
			Call: pair("<tool_call>\n", "\n</tool_call>"),
			Head: []format.Part{format.Lit(`<invoke name="`), slot(format.SlotName), format.Lit("\">\n")},
			Body: elements(`<parameter name="`, `">`, "</parameter>"),
			Tail: []format.Part{format.Lit("\n</invoke>")},
		}}},
		{Name: "deepseek-r1", Doc: "four forms around a fenced JSON block", Calls: fenced(),
			Reasoning: format.Reasoning{Mode: format.ReasoningTagged,
				Pair: pair("<think>", "</think>")}},
		{Name: "pythonic", Doc: "a list of Python calls, in token markers or bare", Tokens: true, Calls: []format.Calls{
			pythonic(pair("<|tool_call_start|>", "<|tool_call_end|>"), false),
			pythonic(format.Pair{}, true),
		}},
		{Name: "function-tags", Doc: "<function=NAME> with <parameter=KEY> elements, or JSON", Tokens: true, Calls: []format.Calls{
			{
				Call: pair("<tool_call>\n", "\n</tool_call>"),
				Head: []format.Part{format.Lit("<function="), slot(format.SlotName),
					format.Lit(">\n")},
				Body: elements("<parameter=", ">\n", "\n</parameter>"),
				Tail: []format.Part{format.Lit("\n</function>")},
			},
			{
				Head: []format.Part{format.Lit("<function="), slot(format.SlotName),
					format.Lit(">")},
				Body: format.Body{Kind: format.BodyJSON},
				Tail: []format.Part{format.Lit("</function>")},
			},
		}},
		{Name: "json-list", Doc: "a JSON array of calls after a token", Tokens: true,
			Calls: []format.Calls{
				list("<|tool_call|>", ""), list("[TOOL_CALLS]", ""),
				list("<tool_calls>", "</tool_calls>"), list("<TOOLCALL>", "</TOOLCALL>"),
			}},
		{Name: "bracket", Doc: "[TOOL_CALLS]NAME[ARGS] and JSON", Tokens: true,
			Calls: []format.Calls{{
				Call: pair("[TOOL_CALLS]", ""),
				Head: []format.Part{slot(format.SlotName), format.Lit("[ARGS]")},
				Body: format.Body{Kind: format.BodyJSON},
			}}},
		{Name: "bracket-name", Doc: "[TOOL_CALLS]NAME and JSON", Calls: []format.Calls{{
			Call: pair("[TOOL_CALLS]", ""),
			Head: []format.Part{slot(format.SlotName)},
			Body: format.Body{Kind: format.BodyJSON},
		}}},
		{Name: "python-tag", Doc: "JSON objects with ; between them, after <|python_tag|> or bare",
			Calls: []format.Calls{objects("<|python_tag|>"), objects("")}},
		{Name: "python-start", Doc: "a list of Python calls in <|python_start|>",
			Calls: []format.Calls{pythonic(pair("<|python_start|>", "<|python_end|>"), false)}},
		{Name: "functools", Doc: "functools and a JSON array of calls",
			Calls: []format.Calls{functools()}},
		{Name: "json-in-markers", Doc: "JSON objects between the template's own markers of calls",
			InMarkers: true},
		{Name: "qualified-names", Doc: "words and dots before a function's name, as in ns.NAME",
			Qualified: true},
	}
}

// objects spells calls as objects with semicolons between them.
func objects(open string) format.Calls {
	return format.Calls{Section: pair(open, ""), Sep: format.Mark("; "),
		Object: object("name", "parameters"), Tentative: open == ""}
}

func functools() format.Calls {
	c := list("functools", "")
	c.Tentative = true
	return c
}

func object(name, args string) *format.Object {
	return &format.Object{Fields: []format.Field{
		{Path: []string{name}, Slot: format.SlotName},
		{Path: []string{args}, Slot: format.SlotArgs},
	}}
}

func list(open, close string) format.Calls {
	return format.Calls{Section: pair(open, close), Array: true, Sep: format.Mark(", "),
		Object: object("name", "arguments")}
}

func pythonic(section format.Pair, tentative bool) format.Calls {
	return format.Calls{
		Section: section, Array: true, Sep: format.Mark(", "), Tentative: tentative,
		Head: []format.Part{slot(format.SlotName)},
		Body: format.Body{Kind: format.BodyKwargs, Pair: pair("(", ")"), Sep: format.Mark(", "),
			Entry: []format.Part{slot(format.SlotKey), format.Lit("="), slot(format.SlotValue)},
			Codec: format.Codec{Style: format.StylePython}},
	}
}

// elements spells arguments as open KEY mid VALUE close.
func elements(open, mid, close string) format.Body {
	return format.Body{Kind: format.BodyTagged, Sep: format.Mark("\n"),
		Entry: []format.Part{format.Lit(open), slot(format.SlotKey), format.Lit(mid),
			slot(format.SlotValue), format.Lit(close)},
		Codec: format.Codec{Style: format.StyleRaw}}
}

func indexed() []format.Calls {
	id := format.Part{Kind: format.SlotID, Parts: []format.Part{
		format.Lit("functions."), slot(format.SlotName), format.Lit(":"), slot(format.SlotIndex),
	}}
	return []format.Calls{
		{
			Section: pair("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
			Call:    pair("<|tool_call_begin|>", "<|tool_call_end|>"),
			Head:    []format.Part{id, format.Lit("<|tool_call_argument_begin|>")},
			Body:    format.Body{Kind: format.BodyJSON},
		},
		{Head: []format.Part{id}, Body: format.Body{Kind: format.BodyJSON}, Tentative: true},
	}
}

// fenced returns the four forms of deepseek-r1 in the order in which they are tried: 3, 4, 1, 2.
func fenced() []format.Calls {
	name, json := slot(format.SlotName), format.Body{Kind: format.BodyJSON}
	fence, end := format.Lit("\n```json\n"), format.Lit("\n```")
	return []format.Calls{
		{
			Section: pair("function\n```json\n{\n\"tools\"\n:\n", "\n}\n```"), Array: true,
			Sep:    format.Mark(", "),
			Object: object("name", "arguments"),
		},
		{
			Call: pair("<tool_call>\nfunction</think>", "\n</tool_call>"),
			Head: []format.Part{name, fence}, Body: json, Tail: []format.Part{end},
		},
		{
			Section: pair("<｜tool▁calls▁begin｜>\n", "\n<｜tool▁calls▁end｜>"),
			Call:    pair("<｜tool▁call▁begin｜>\n", "\n<｜tool▁call▁end｜>"),
			Head:    []format.Part{format.Lit("function<｜tool▁sep｜>"), name, fence}, Body: json,
			Tail: []format.Part{end},
		},
		{
			Head: []format.Part{format.Lit("function<"), name, format.Lit(">\n```json\n")},
			Body: json, Tail: []format.Part{end},
		},
	}
}
