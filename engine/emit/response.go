package emit

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/bailout"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
)

// ResponseTemplate returns transformers' response_template object, version 1, for a format: the one
// that tokenizer_config.json holds beside chat_template. Patterns are of Python's regex module with
// DOTALL, as transformers compiles them.
//
// The object's anchor is the text before the model's turn: the format's header, or one of anchors,
// with which prompts of the template end that have no header after the last turn, as after the
// result of a tool. transformers reads a prompt on from the last anchor in it, so that without them
// it would read the call before the result once more.
func ResponseTemplate(f format.Format, anchors ...string) (ordered.Value, error) {
	r := response{f: &f}
	if f.Header == "" {
		return ordered.Value{}, r.no("header", "a prompt without a text before the model's "+
			"turn gives no anchor")
	}
	if err := r.write(); err != nil {
		return ordered.Value{}, err
	}
	anchor := ordered.Str(f.Header)
	if len(anchors) > 0 {
		anchor = ordered.ListOf(append([]string{f.Header}, anchors...), ordered.Str)
	}
	return ordered.Pairs("version", 1, "defaults", ordered.Pairs("role", "assistant"),
		"start_anchor", anchor, "fields", ordered.ObjectOf(r.fields...)), nil
}

// response collects the fields of a response_template.
type response struct {
	f      *format.Format
	fields []ordered.Member
}

// write writes the fields. What has no words leaves it by panic.
func (r *response) write() (err error) {
	defer bailout.Catch[*Inexpressible](&err)
	switch {
	case r.f.Undisclosed:
		panic(r.no("calls", "the template describes tools and shows no call"))
	case len(r.f.Routes) > 0:
		r.routes()
	default:
		r.parts()
	}
	return nil
}

// pieces are the members of a field whose text comes in pieces.
var pieces = []any{"content", "text", "repeats", true, "join", ""}

func (r *response) no(part, reason string) *Inexpressible {
	return &Inexpressible{"response_template", part, reason}
}

func (r *response) add(name string, members ...any) {
	r.fields = append(r.fields, ordered.Member{Key: name, Value: ordered.Pairs(members...)})
}

// parts writes the fields of a format whose parts have markers.
func (r *response) parts() {
	f := r.f
	if open, close := f.Reasoning.Open.Text, f.Reasoning.Close.Text; open != "" || close != "" {
		switch {
		case open == "":
			panic(r.no("reasoning", "it has an end marker and no opener, and only content may "+
				"stand outside all markers"))
		case close == "":
			panic(r.no("reasoning", "nothing closes it"))
		}
		r.add("reasoning_content", append([]any{"open_pattern", `\s*` + quote(open), "close_pattern",
			quote(close) + `\s*`}, pieces...)...)
	}
	for i := range f.Calls {
		r.calls(&f.Calls[i])
	}
	r.content()
}

// content writes the field of content: the text outside all others. Its pieces are joined: the
// field is closed wherever another one opens, and white space after the last marker would erase it.
func (r *response) content() {
	c := &r.f.Content
	for _, m := range [...]format.Marker{c.Open, c.Close} {
		if m.Text != "" && !strings.ContainsAny(m.Text, format.OpenBrackets) {
			panic(r.no("content", "its markers are made of words, which text may have"))
		}
	}
	members := pieces
	if closers := r.closers(); len(closers) > 0 {
		close := `\s*(?:` + strings.Join(closers, "|") + `)\s*`
		members = append([]any{"close_pattern", close}, members...)
	}
	r.add("content", members...)
}

// closers returns patterns of the texts that end a piece of content and are no part of it: the
// turn's end, the markers around content, which models leave out, the closer of reasoning, which
// stands alone where the prompt has opened the block (E31), and that of a section of calls, which
// comes after the last call has ended. Any other closer of calls that stands alone is text. Of two
// that begin alike the longer one is tried first.
func (r *response) closers() []string {
	f := r.f
	texts := append(slices.Clone(f.End), f.Reasoning.Close.Text, f.Content.Open.Text,
		f.Content.Close.Text)
	for i := range f.Calls {
		close := f.Calls[i].Section.Close.Text
		if strings.ContainsAny(close, format.OpenBrackets) &&
			strings.ContainsFunc(close, unicode.IsLetter) {
			texts = append(texts, close)
		}
	}
	// A stream may close the piece at the first half of a marker that goes on with the header.
	header := strings.TrimSpace(f.Header)
	if slices.ContainsFunc(texts, func(t string) bool { return strings.HasSuffix(t, header) }) {
		texts = append(texts, header)
	}
	return longestFirst(texts)
}

// ends returns a pattern of the texts that end a turn.
func (r *response) ends() string { return strings.Join(longestFirst(r.f.End), "|") }

// longestFirst returns the patterns of texts, without white space around them.
func longestFirst(texts []string) (patterns []string) {
	texts = slices.SortedStableFunc(slices.Values(texts),
		func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, text := range texts {
		pattern := quote(strings.TrimSpace(text))
		if pattern != "" && !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

const (
	namePattern = `(?P<name>[^\s<>"'{}()\[\]|]+)`
	keyPattern  = `(?P<key>[^\s<>"'=:,|]+)`
)

// calls writes the field of calls.
func (r *response) calls(c *format.Calls) {
	if c.Tentative {
		panic(r.no("calls", "nothing in their spelling is distinctive, so that text may open them"))
	}
	if c.Array {
		r.array(c)
		return
	}
	open := pattern(c.Call.Open)
	head, named := r.head(c.Head)
	open += head
	section := quote(c.Section.Open.Text)
	if section == "" && quote(c.Call.Open.Text) == "" && !startsWithLiteral(c.Head) {
		panic(r.no("calls", "nothing opens them that a pattern could wait for"))
	}
	switch {
	case section == "":
	case strings.TrimSpace(c.Call.Open.Text) != "" || startsWithLiteral(c.Head):
		open = `(?:` + section + `\s*)?` + open
	case c.Sep.Text != "":
		open = `(?:` + section + `|` + quote(c.Sep.Text) + `)\s*` + open
	default:
		open = section + `\s*` + open
	}
	tail, _ := r.head(c.Tail)
	close := tail + pattern(c.Call.Close)
	optional := quote(c.Section.Close.Text)
	switch {
	case strings.ReplaceAll(close, `\s*`, "") != "":
		if optional != "" {
			close += `(?:\s*` + optional + `)?`
		}
	case optional != "":
		// Nothing closes one call: it ends where the section does, or before the next one.
		close = `\s*(?:` + optional + `|(?=` + unnamed(open) + `))`
	default:
		close = r.bareClose(open)
	}
	if c.Object == nil && close == "" {
		panic(r.no("calls", "nothing closes them"))
	}
	members := []any{"open_pattern", `\s*` + open, "close_pattern", close + `\s*`, "repeats", true}
	if c.Object != nil {
		r.object(c, members)
		return
	}
	body, arguments := r.body(&c.Body)
	if !named {
		panic(r.no("calls", "the function's name stands where no opener can capture it"))
	}
	id := ""
	if hasID(c.Head) {
		id = "{id}"
	}
	r.add("tool_calls",
		append(append(members, body...), "transform", call("{name}", id, arguments))...)
}

// bareClose returns the pattern that closes calls without closers: the next call's opener, or the
// turn's end.
func (r *response) bareClose(open string) string {
	next := `(?=` + unnamed(open) + `)`
	if ends := r.ends(); ends != "" {
		next += `|` + ends
	}
	return `\s*(?:` + next + `)`
}

// unnamed turns the named groups of a pattern into plain ones.
func unnamed(p string) string {
	for {
		i := strings.Index(p, "(?P<")
		if i < 0 {
			return p
		}
		j := strings.IndexByte(p[i:], '>')
		p = p[:i] + "(?:" + p[i+j+1:]
	}
}

func startsWithLiteral(parts []format.Part) bool {
	return len(parts) > 0 && parts[0].Kind == format.SlotLit &&
		strings.TrimSpace(parts[0].Text.Text) != ""
}

func hasID(parts []format.Part) bool {
	return slices.ContainsFunc(parts, func(p format.Part) bool { return p.Kind == format.SlotID })
}

// object writes calls that are one JSON object each.
func (r *response) object(c *format.Calls, members []any) {
	r.quoted(c.Object)
	r.add("tool_calls", append(members, "content", "json", "transform",
		r.objectCall(c.Object, "content."))...)
}

func (r *response) quoted(o *format.Object) {
	if o.Quote == '\'' {
		panic(r.no("calls", "they are Python dicts, not JSON"))
	}
	if o.NameIsKey {
		panic(r.no("calls", "the function's name is a key, and placeholders name "+
			"keys that are known"))
	}
}

// objectCall returns the transform of a call's object. prefix is where its members are looked up.
func (r *response) objectCall(o *format.Object, prefix string) ordered.Value {
	var name, arguments, id string
	for _, f := range o.Fields {
		path := "{" + prefix + strings.Join(f.Path, ".") + "}"
		switch f.Slot {
		case format.SlotName:
			name = path
		case format.SlotArgs:
			arguments = path
		case format.SlotID, format.SlotIndex: // a generated number is an id too
			id = path
		}
	}
	if name == "" {
		panic(r.no("calls", "their object has no member with the function's name"))
	}
	if arguments == "" {
		panic(r.no("calls", "their object has no member with the arguments"))
	}
	return call(name, id, ordered.Str(arguments))
}

// call is the transform of a call; the id is "" where it has none.
func call(name, id string, arguments ordered.Value) ordered.Value {
	members := []any{"type", "function"}
	if id != "" {
		members = append(members, "id", id)
	}
	function := ordered.Pairs("name", name, "arguments", arguments)
	return ordered.Pairs(append(members, "function", function)...)
}

// array writes calls that are the items of one JSON array.
func (r *response) array(c *format.Calls) {
	open := quote(c.Section.Open.Text)
	if open == "" || c.Object == nil {
		panic(r.no("calls", "they are an array without a marker before it"))
	}
	if c.Call.Open.Text != "" || c.Call.Close.Text != "" {
		panic(r.no("calls", "the items of their array have markers of their own"))
	}
	r.quoted(c.Object)
	for _, f := range c.Object.Fields {
		if len(f.Path) > 1 {
			panic(r.no("calls", "the items of their array nest, and an item's placeholders "+
				"name its own keys"))
		}
	}
	call := r.objectCall(c.Object, "")
	close := quote(c.Section.Close.Text)
	if close == "" {
		close = r.ends()
	}
	if close == "" {
		panic(r.no("calls", "nothing closes their array"))
	}
	r.add("tool_calls", "open_pattern", `\s*`+open, "close_pattern", `\s*(?:`+close+`)\s*`,
		"content", "json", "transform", call, "transform_each", true)
}

// head returns the pattern of parts, and whether it captures the function's name.
func (r *response) head(parts []format.Part) (text string, named bool) {
	for _, p := range parts {
		one := ""
		switch p.Kind {
		case format.SlotLit:
			one = pattern(p.Text)
			if len(p.Alts) > 0 {
				one = `(?:` + one
				for _, alt := range p.Alts {
					one += `|` + quote(alt)
				}
				one += `)`
			}
		case format.SlotName:
			if one = namePattern; named {
				one = `(?P=name)`
			}
			named = true
		case format.SlotID:
			inner := `[^\s<>\[\]{}|]+`
			if len(p.Parts) > 0 {
				var found bool
				inner, found = r.head(p.Parts)
				named = named || found
			}
			one = `(?P<id>` + inner + `)`
		case format.SlotIndex, format.SlotNumber:
			one = `\d+`
		case format.SlotWord:
			one = `[^\s<|]*`
		default:
			panic(r.no("calls", "a "+p.Kind.String()+" stands beside the arguments"))
		}
		if p.Opt {
			one = `(?:` + one + `)?`
		}
		text += one
	}
	return text, named
}

// nonJSON has a parser take text that is no JSON as a string.
var nonJSON = ordered.Pairs("allow_non_json", true)

// body returns the members that parse arguments, and the placeholder of the result.
func (r *response) body(b *format.Body) (members []any, arguments ordered.Value) {
	arguments = ordered.Str("{content}")
	switch b.Kind {
	case format.BodyNone:
		return []any{"content", "text"}, ordered.ObjectOf()
	case format.BodyJSON:
		if b.Codec.Style == format.StylePython {
			panic(r.no("arguments", "they are a Python dict, not JSON"))
		}
		return []any{"content", "json", "content_args", nonJSON}, arguments
	case format.BodyDict:
		if b.Codec.Quote == "" {
			panic(r.no("arguments", "they are a dict whose values are Python's"))
		}
		pair := ordered.ListOf([]string{b.Codec.Quote, b.Codec.Quote}, ordered.Str)
		return []any{"content", "json", "content_args",
			ordered.Pairs("unquoted_keys", true, "string_delims", ordered.ArrayOf(pair))}, arguments
	case format.BodyTagged:
		parser := ordered.Pairs("name", "json", "args", nonJSON)
		if b.Codec.Style != format.StyleJSON { // the blanks of a string are its own
			parser = ordered.Pairs("name", "text", "args", ordered.Pairs("strip", false))
		}
		args := ordered.Pairs("tag_pattern", r.entry(b), "value_parser", parser)
		return []any{"content", "xml-inline", "content_args", args}, arguments
	}
	panic(r.no("arguments", "they are keyword arguments with Python's literals, "+
		"which no content parser reads"))
}

// entry returns the pattern of one tagged argument, with the groups key and value.
func (r *response) entry(b *format.Body) string {
	switch c := b.Codec; {
	case c.Nested:
		panic(r.no("arguments", "objects and arrays are nested tags"))
	case c.CDATA:
		panic(r.no("arguments", "strings may stand in CDATA sections"))
	case c.Entity || c.Escaped:
		panic(r.no("arguments", "values are HTML-escaped"))
	case c.Style == format.StylePython:
		panic(r.no("arguments", "values are written as Python writes them"))
	}
	text, keyed, valued := "", false, false
	for i, p := range b.Entry {
		switch p.Kind {
		case format.SlotLit:
			before, after := `\s*`, `\s*`
			switch { // white space beside a value is the value's, but for the template's own
			case p.Text.Text == "":
				before, after = own(p.Text.Full()), ""
			case valued:
				before = own(p.Text.Before)
			case i+1 < len(b.Entry) && b.Entry[i+1].Kind == format.SlotValue:
				after = own(p.Text.After)
			}
			text += before + quote(p.Text.Text) + after
		case format.SlotKey:
			if keyed {
				text += `(?P=key)`
			} else {
				text += keyPattern
			}
			keyed = true
		case format.SlotType:
			// The word is not needed: transformers casts values by the schema, and text without one
			// stays text.
			words := lists.Map(p.Types, func(t format.TypeName) string { return quote(t.Word) })
			text += `(?:` + strings.Join(words, "|") + `)`
		case format.SlotValue:
			valued = true
			text += `(?P<value>.*?)`
			if i == len(b.Entry)-1 {
				next := quote(b.Sep.Text)
				if next == "" && startsWithLiteral(b.Entry) {
					next = quote(b.Entry[0].Text.Text)
				}
				if next == "" {
					panic(r.no("arguments", "nothing ends a value"))
				}
				text += `(?=` + next + `|\s*$)`
			}
		default:
			panic(r.no("arguments", "a "+p.Kind.String()+" is written with each"))
		}
	}
	if !keyed || !valued {
		panic(r.no("arguments", "key and value are not both written"))
	}
	return text
}

// routes writes the fields of a format whose parts are addressed.
func (r *response) routes() {
	var done []format.RouteKind
	for _, route := range r.f.Routes {
		if route.Kind == format.RouteDropped {
			continue
		}
		if slices.Contains(done, route.Kind) {
			panic(r.no("routes", "parts of one kind have two heads, and a field has one opener"))
		}
		done = append(done, route.Kind)
		var head []format.Part
		for _, p := range route.Head {
			if p.Kind == format.SlotRecipient {
				p = format.Part{Kind: format.SlotName}
			}
			head = append(head, p)
		}
		open, named := r.head(head)
		open = `(?:` + quote(route.Start.Text) + `)?` + open
		var ends []string
		for _, m := range route.Close {
			if m.Text != "" {
				ends = append(ends, quote(m.Text))
			}
		}
		if end := r.ends(); end != "" {
			ends = append(ends, end)
		}
		close := strings.Join(ends, "|")
		if close == "" {
			panic(r.no("routes", "nothing closes a part"))
		}
		members := []any{"open_pattern", open, "close_pattern", close}
		switch route.Kind {
		case format.RouteReasoning:
			r.add("reasoning_content", append(members, pieces...)...)
		case format.RouteContent:
			r.add("content", append(members, pieces...)...)
		case format.RouteCall:
			if !named {
				panic(r.no("routes", "a call's recipient is not in its head"))
			}
			body, arguments := r.body(&route.Body)
			members = append(append(members, "repeats", true), body...)
			r.add("tool_calls", append(members, "transform", call("{name}", "", arguments))...)
		}
	}
}

// own returns the pattern of a template's white space beside a value, which models leave out.
func own(gap string) string {
	if gap == "" {
		return ""
	}
	return `(?:` + strings.ReplaceAll(gap, "\n", `\n`) + `)?`
}

// pattern returns the pattern of a marker: any white space where it has some at its edges.
func pattern(m format.Marker) string {
	if m.Text == "" {
		if m.Full() == "" {
			return ""
		}
		return `\s*`
	}
	return `\s*` + quote(m.Text) + `\s*`
}

// quote escapes a text for Python's regex module. White space is free where a line breaks in it,
// and where one marker in it ends and another begins (E21 T1).
func quote(text string) string {
	var b strings.Builder
	for i, c := range text {
		switch {
		case unicode.IsSpace(c) && strings.Contains(spaceAround(text, i), "\n"):
			if !strings.HasSuffix(b.String(), `\s*`) {
				b.WriteString(`\s*`)
			}
		case strings.ContainsRune(`\.+*?()|[]{}^$#&~-`, c):
			b.WriteByte('\\')
			b.WriteRune(c)
		default:
			if c == '<' && i > 0 && text[i-1] == '>' {
				b.WriteString(`\s*`)
			}
			b.WriteRune(c)
		}
	}
	return b.String()
}

// spaceAround returns the run of white space that a place is in.
func spaceAround(text string, i int) string {
	from := len(strings.TrimRightFunc(text[:i], unicode.IsSpace))
	return text[from : len(text)-len(strings.TrimLeftFunc(text[i:], unicode.IsSpace))]
}
