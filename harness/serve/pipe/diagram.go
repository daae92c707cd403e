package pipe

import (
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
)

// Node is a part of a railroad diagram.
type Node struct {
	// Kind is "sequence" or "choice" of Items, "optional" or "repeat" of the one item; "marker", a
	// text that the model writes to the byte; or "slot", a place for data.
	Kind  string `json:"kind"`
	Text  string `json:"text,omitempty"` // of a marker or a slot
	Items []Node `json:"items,omitempty"`
	Sep   string `json:"sep,omitempty"` // the text between the rounds of a repeat
}

func slot(text string) Node       { return Node{Kind: "slot", Text: text} }
func sequence(items ...Node) Node { return Node{Kind: "sequence", Items: solid(items)} }
func optional(items ...Node) Node {
	return Node{Kind: "optional", Items: []Node{sequence(items...)}}
}
func marked(m format.Marker) Node { return Node{Kind: "marker", Text: m.Full()} }
func between(p format.Pair, inner ...Node) Node {
	return sequence(append(append([]Node{marked(p.Open)}, inner...), marked(p.Close))...)
}

// solid leaves out empty items: markers without text, sequences without items.
func solid(items []Node) []Node {
	var all []Node
	for _, n := range items {
		if n.Kind == "marker" && n.Text == "" || n.Kind == "sequence" && len(n.Items) == 0 {
			continue
		}
		all = append(all, n)
	}
	return all
}

// Diagram draws a format: the parts of an answer, in order.
func Diagram(f format.Format) Node {
	var items []Node
	if len(f.Routes) > 0 {
		routes := lists.Map(f.Routes, route)
		items = append(items, Node{Kind: "repeat", Items: []Node{{Kind: "choice", Items: routes}}})
		return end(f, items)
	}
	switch r := f.Reasoning; r.Mode {
	case format.ReasoningNone:
	case format.ReasoningDelimiter:
		items = append(items, optional(slot("reasoning"), marked(r.Close)))
	default:
		items = append(items, optional(between(r.Pair, slot("reasoning"))))
	}
	content := slot("content")
	if f.Content.Mode != format.ContentPlain {
		content = between(f.Content.Pair, content)
	}
	items = append(items, Node{Kind: "optional", Items: []Node{content}})
	spellings := lists.Map(f.Calls, calls)
	switch {
	case len(spellings) == 1:
		items = append(items, optional(spellings[0]))
	case len(spellings) > 1:
		items = append(items, optional(Node{Kind: "choice", Items: spellings}))
	case f.Undisclosed:
		items = append(items, optional(slot("calls, in a spelling that the "+
			"template does not show")))
	}
	return end(f, items)
}

// end adds the text that ends a turn.
func end(f format.Format, items []Node) Node {
	if len(f.End) > 0 {
		items = append(items, Node{Kind: "marker", Text: f.End[0]})
	}
	return sequence(items...)
}

func calls(c format.Calls) Node {
	var call Node
	if c.Object != nil {
		call = between(c.Call, object(c.Object))
	} else {
		inner := append(parts(c.Head), body(c.Body))
		call = between(c.Call, append(inner, parts(c.Tail)...)...)
	}
	sep := c.Sep.Full()
	if c.Array {
		sep = ", "
	}
	repeat := Node{Kind: "repeat", Items: []Node{call}, Sep: sep}
	if c.Array {
		repeat = sequence(Node{Kind: "marker", Text: "["}, repeat, Node{Kind: "marker", Text: "]"})
	}
	return between(c.Section, repeat)
}

// object draws a call that is one JSON object: its members in the template's order, though any
// order is read.
func object(o *format.Object) Node {
	items := []Node{{Kind: "marker", Text: "{"}}
	if o.NameIsKey {
		return sequence(items[0], slot("name"), Node{Kind: "marker", Text: ": "}, slot("arguments"),
			Node{Kind: "marker", Text: "}"})
	}
	for i, f := range o.Fields {
		text := ""
		if i > 0 {
			text = ", "
		}
		for j, key := range f.Path {
			if j > 0 {
				text += "{"
			}
			text += `"` + key + `": `
		}
		items = append(items, Node{Kind: "marker", Text: text})
		if f.Slot == format.SlotLit {
			items = append(items, Node{Kind: "marker", Text: f.Const})
		} else {
			items = append(items, slot(f.Slot.String()))
		}
	}
	return sequence(append(items, Node{Kind: "marker", Text: "}"})...)
}

func body(b format.Body) Node {
	switch b.Kind {
	case format.BodyNone:
		return sequence()
	case format.BodyJSON:
		return between(b.Pair, slot("arguments as JSON"))
	case format.BodyTagged:
		return between(b.Pair,
			Node{Kind: "repeat", Items: []Node{sequence(parts(b.Entry)...)}, Sep: b.Sep.Full()})
	case format.BodyKwargs:
		return between(b.Pair,
			Node{Kind: "repeat",
				Items: []Node{sequence(slot("key"), Node{Kind: "marker", Text: "="},
					slot("value in Python"))}, Sep: b.Sep.Full()})
	}
	return between(b.Pair, Node{Kind: "repeat",
		Items: []Node{sequence(slot("key"), Node{Kind: "marker", Text: ":"}, slot("value"))},
		Sep:   b.Sep.Full()})
}

func parts(all []format.Part) []Node {
	var nodes []Node
	for _, p := range all {
		n := slot(p.Kind.String())
		switch {
		case p.Kind == format.SlotLit:
			n = marked(p.Text)
		case len(p.Parts) > 0:
			n = sequence(parts(p.Parts)...)
		}
		if p.Opt {
			n = optional(n)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func route(r format.Route) Node {
	items := append([]Node{marked(r.Start)}, parts(r.Head)...)
	switch r.Kind {
	case format.RouteReasoning:
		items = append(items, slot("reasoning"))
	case format.RouteContent:
		items = append(items, slot("content"))
	case format.RouteCall:
		items = append(items, body(r.Body))
	default:
		items = append(items, slot("text that is dropped"))
	}
	if len(r.Close) > 0 {
		items = append(items, marked(r.Close[0]))
	}
	return sequence(items...)
}
