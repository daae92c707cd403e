package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/lists"
)

var (
	reasoningModes = [...]string{"none", "tagged", "delimiter", "forced_open", "forced_closed",
		"tools_only"}
	contentModes = [...]string{"plain", "wrapped", "wrapped_with_reasoning", "wrapped_with_calls",
		"wrapped_without_calls"}
	slotKinds = [...]string{"lit", "name", "id", "index", "recipient", "key", "type", "args",
		"value", "word", "number"}
	bases       = [...]string{"observed", "traced", "mirrored", "assumed"}
	bodyKinds   = [...]string{"none", "json", "tagged", "kwargs", "dict"}
	valueStyles = [...]string{"json", "raw", "python", "str"}
	routeKinds  = [...]string{"content", "reasoning", "call", "dropped"}
)

func (m ReasoningMode) String() string { return reasoningModes[m] }
func (m ContentMode) String() string   { return contentModes[m] }
func (b Basis) String() string         { return bases[b] }

// MarshalText implements [encoding.TextMarshaler]: a basis is its word in JSON as well.
func (b Basis) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

func (k SlotKind) String() string   { return slotKinds[k] }
func (k BodyKind) String() string   { return bodyKinds[k] }
func (s ValueStyle) String() string { return valueStyles[s] }
func (k RouteKind) String() string  { return routeKinds[k] }

// String returns the marker as the template writes it, quoted.
func (m Marker) String() string { return strconv.Quote(m.Full()) }

// String returns both markers, quoted, with dots between them.
func (p Pair) String() string { return p.Open.String() + " ... " + p.Close.String() }

// String returns the codec in a few words.
func (c Codec) String() string {
	words := []string{c.Style.String()}
	for _, flag := range []struct {
		on   bool
		word string
	}{{c.CDATA, "cdata"}, {c.Entity && !c.Escaped, "entities"}, {c.Escaped, "entities everywhere"},
		{c.Quote != "", "quote " + strconv.Quote(c.Quote)}, {c.Nested, "nested"}} {
		if flag.on {
			words = append(words, flag.word)
		}
	}
	return strings.Join(words, ", ")
}

// String returns the part: a quoted literal, or a slot's name in braces with its parts; "?" after a
// part that may be missing.
func (p Part) String() string {
	var s string
	switch {
	case p.Kind == SlotLit:
		s = p.Text.String()
		for _, alt := range p.Alts {
			s += "|" + strconv.Quote(alt)
		}
	case len(p.Parts) > 0:
		s = "{" + p.Kind.String() + ": " + partsString(p.Parts) + "}"
	case len(p.Types) > 0:
		words := make([]string, len(p.Types))
		for i, t := range p.Types {
			words[i] = t.Word
			if t.Raw {
				words[i] += "=raw"
			}
		}
		s = "{" + p.Kind.String() + ": " + strings.Join(words, " ") + "}"
	case p.Kind == SlotIndex:
		s = "{index from " + strconv.Itoa(p.Base) + "}"
	case !p.IDs.IsZero():
		s = "{" + p.Kind.String() + ": " + p.IDs.String() + "}"
	case p.Escapes != "":
		s = "{" + p.Kind.String() + " with " + p.Escapes + "}"
	default:
		s = "{" + p.Kind.String() + "}"
	}
	if p.Opt {
		s += "?"
	}
	return s
}

func partsString(parts []Part) string {
	words := lists.Map(parts, Part.String)
	return strings.Join(words, " ")
}

// String returns the object's members in order: path=slot.
func (o *Object) String() string {
	if o == nil {
		return ""
	}
	var words []string
	if o.NameIsKey {
		words = append(words, "name is key")
	}
	for _, f := range o.Fields {
		word := strings.Join(f.Path, ".") + "="
		if f.Slot == SlotLit {
			word += f.Const
		} else {
			word += f.Slot.String()
		}
		if !f.IDs.IsZero() {
			word += " (" + f.IDs.String() + ")"
		}
		if f.Text {
			word += " (text)"
		}
		words = append(words, word)
	}
	if o.Quote == '\'' {
		words = append(words, "single quotes")
	}
	return strings.Join(words, ", ")
}

// String returns the format as lines "field: value", in a fixed order, fields that were not found
// left out. The names are those of the golden markers.
func (f Format) String() string {
	var b strings.Builder
	f.each(func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, value) })
	return b.String()
}

// Fields returns the names of the fields that String prints, each once, in its order.
func (f Format) Fields() []string {
	var names []string
	f.each(func(name, _ string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}

// each calls print for every field that was found.
func (f Format) each(print func(name, value string)) {
	line := func(name, value string) {
		if value != "" && value != `""` {
			print(name, value)
		}
	}
	marker := func(name string, m Marker) { line(name, m.String()) }
	line("name", f.Name)
	line("header", strconv.Quote(f.Header))
	for _, end := range f.End {
		line("end", strconv.Quote(end))
	}
	line("reasoning.mode", f.Reasoning.Mode.String())
	marker("reasoning.open", f.Reasoning.Open)
	marker("reasoning.close", f.Reasoning.Close)
	if f.Reasoning.Trim {
		line("reasoning.trim", "true")
	}
	line("reasoning.empty", strconv.Quote(f.Reasoning.Empty))
	line("content.mode", f.Content.Mode.String())
	marker("content.open", f.Content.Open)
	marker("content.close", f.Content.Close)
	if f.Content.Trim {
		line("content.trim", "true")
	}
	if f.Undisclosed {
		line("calls", "undisclosed")
	}
	for _, c := range f.Calls {
		c.lines(line, marker)
	}
	for _, r := range f.Routes {
		line("route", r.String())
	}
}

func (c Calls) lines(line func(name, value string), marker func(name string, m Marker)) {
	line("calls", c.shape())
	line("calls.name", c.Name)
	marker("section_start", c.Section.Open)
	marker("section_end", c.Section.Close)
	if c.Unclosed {
		line("section_end.after", "several calls")
	}
	marker("per_call_start", c.Call.Open)
	marker("per_call_end", c.Call.Close)
	marker("separator", c.Sep)
	line("object", c.Object.String())
	line("head", partsString(c.Head))
	if c.Body.Kind != BodyNone {
		line("args", c.Body.Kind.String())
		marker("args_start", c.Body.Open)
		marker("args_end", c.Body.Close)
		line("arg", partsString(c.Body.Entry))
		marker("arg_separator", c.Body.Sep)
		line("item", partsString(c.Body.Item))
		line("codec", c.Body.Codec.String())
	}
	if c.Body.Sorted {
		line("keys", "sorted")
	}
	line("tail", partsString(c.Tail))
}

// Shape says in a word or two how the format spells tool calls, for people: "none" where it does
// not, "routes" where every part is addressed, "undisclosed" where the template does not say.
func (f Format) Shape() string {
	switch {
	case len(f.Calls) > 0:
		return f.Calls[0].shape()
	case f.Undisclosed:
		return "undisclosed"
	}
	for _, r := range f.Routes {
		if r.Kind == RouteCall {
			return "routes"
		}
	}
	return "none"
}

func (c Calls) shape() string {
	var words []string
	if c.Array {
		words = append(words, "array of")
	}
	switch {
	case c.Object != nil:
		words = append(words, "json_native")
	case c.Body.Kind == BodyTagged || c.Body.Kind == BodyKwargs || c.Body.Kind == BodyDict:
		words = append(words, "tag_with_tagged")
	default:
		words = append(words, "tag_with_json")
	}
	if c.Tentative {
		words = append(words, "tentative")
	}
	return strings.Join(words, " ")
}

// String returns the route in one line.
func (r Route) String() string {
	s := r.Kind.String() + " " + partsString(r.Head)
	if !r.Start.IsZero() {
		s = r.Kind.String() + " start " + r.Start.String() + " head " + partsString(r.Head)
	}
	for _, c := range r.Close {
		s += " close " + c.String()
	}
	return s
}
