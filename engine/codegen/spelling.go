package codegen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// spelling is one way to spell calls. It decides by which of its literals a call is recognised, in
// which order its parts stand and which of them may be missing. The parser and the grammar are made
// from it.
type spelling struct {
	*format.Calls
	t      *turn
	number int    // from 1; 0 for a route's
	id     string // the number
	entry  *entry // how arguments are spelled that come one by one
	// the part of the head that is or contains the function's name; -1 where the call is an object
	name     int
	envelope *format.Object // the object around the arguments, after the head; nil without one
	openings []opening
	also     []format.Marker // further separators of calls
}

// opening is a way in which the first call of a section can begin: with the outermost marker that
// is there.
type opening struct {
	first format.Marker // the literal that is looked for
	from  place
}

// place says where in a call something stands.
type place uint8

const (
	atSection place = iota
	atCall
	atHead
	atArray  // the bracket of an array without a section
	atObject // the brace of an object without markers
)

// bare reports whether nothing precedes the call itself.
func (o opening) bare() bool { return o.from >= atHead }

func newSpelling(t *turn, number int, c *format.Calls) (*spelling, error) {
	c, envelope := withoutEnvelope(c)
	s := &spelling{Calls: c, t: t, number: number, id: strconv.Itoa(number), name: nameAt(c.Head),
		envelope: envelope}
	e, ok := takeApart(c.Body.Entry)
	if ok {
		s.entry = &e
	}
	switch {
	case !ok && (c.Body.Kind == format.BodyTagged || c.Body.Kind == format.BodyKwargs):
		return nil, fmt.Errorf("the arguments of tool calls are spelled without a key and a value")
	case c.Object == nil && s.name < 0:
		return nil, fmt.Errorf("spelling %d of tool calls has no slot for the "+
			"function's name", number)
	case c.Object != nil && !c.Object.NameIsKey && len(namePath(c.Object)) == 0:
		return nil, fmt.Errorf("a tool call that is an object has no field for the function's name")
	}
	if s.openings = s.findOpenings(); len(s.openings) == 0 {
		return nil, fmt.Errorf("spelling %d of tool calls (%q) has no literal before a "+
			"function's name by which it could be recognised", number, c.Name)
	}
	return s, nil
}

// findOpenings returns the ways in which the first call of a section can begin, the template's own
// first. A wrapper may be missing where the text after it is distinctive (E21 T4).
func (s *spelling) findOpenings() (out []opening) {
	section, call, head := s.Section.Open, s.Call.Open, headLiteral(s.Calls)
	if section.Text != "" {
		out = append(out, opening{section, atSection})
	}
	if call.Text != "" &&
		(section.Text == "" || s.t.on(OptionalWrapper) && distinctive(call.Text)) {
		out = append(out, opening{call, atCall})
	}
	switch {
	case len(out) > 0 && !(s.t.on(OptionalWrapper) && distinctive(head.Text)):
	case head.Text != "":
		out = append(out, opening{head, atHead})
	case s.Array:
		out = append(out, opening{format.Marker{Text: "["}, atArray})
	case s.Object != nil && len(out) == 0:
		out = append(out, opening{format.Marker{Text: "{"}, atObject})
	}
	return out
}

// headLiteral returns the literal with which a call's head begins, if it does.
func headLiteral(c *format.Calls) format.Marker {
	parts := c.Head
	if len(parts) > 0 && parts[0].Kind == format.SlotID && len(parts[0].Parts) > 0 {
		parts = parts[0].Parts
	}
	if len(parts) > 0 && parts[0].Kind == format.SlotLit {
		return parts[0].Text
	}
	return format.Marker{}
}

// nameAt returns the number of the part that is or contains the name, -1 without one.
func nameAt(parts []format.Part) int {
	return slices.IndexFunc(parts, func(p format.Part) bool {
		return p.Kind == format.SlotName || p.Kind == format.SlotID && nameAt(p.Parts) >= 0
	})
}

// tentative reports whether calls are held until they are complete, since nothing in front of them
// is distinctive (E14): a brace, or a word that a text may have before a function's name.
func (s *spelling) tentative(o opening) bool {
	return s.Tentative || o.bare() && (s.Object != nil || wordsOnly(o.first.Text))
}

// bracketsAlone reports whether nothing but a brace or a bracket begins a call, as it does an
// example: such a call stands at the start or the end of an answer (E31).
func (s *spelling) bracketsAlone(o opening) bool { return o.from == atObject || o.from == atArray }

// bareObject reports whether a call is an object without anything before it.
func (s *spelling) bareObject() bool {
	return s.Object != nil && !s.Array && s.openings[0].from == atObject
}

// further is the opening of a call after another one.
func (s *spelling) further() opening {
	o := opening{headLiteral(s.Calls), atHead}
	if s.Call.Open.Text != "" || s.Section.Open.Text != "" {
		o.from = atCall
	}
	return o
}

// wordsOnly reports whether a literal is made of letters and blanks.
func wordsOnly(text string) bool {
	return text != "" &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' })
}

// optionalCall reports whether the marker before a call may be missing, within a section or after a
// separator (T4).
func (s *spelling) optionalCall() bool {
	return s.t.on(OptionalWrapper) && (s.Object != nil || distinctive(headLiteral(s.Calls).Text))
}

// listed reports whether calls may be the items of an array: where the template writes one, and
// where they are objects between markers (T4).
func (s *spelling) listed() bool {
	return s.Array || s.Object != nil && s.t.on(OptionalWrapper)
}

// sections reports whether there is anything between calls, or after them, that belongs to them
// together.
func (s *spelling) sections() bool {
	return s.Section.Close.Text != "" || s.Sep.Text != "" || len(s.also) > 0 ||
		s.Section.Open.Text != "" || s.listed()
}

// fenced reports whether the JSON of a call may stand in a fence (T7): between markers that are no
// fences themselves.
func (s *spelling) fenced() bool {
	markers := s.Section.Open.Text + s.Call.Open.Text
	return s.Object != nil && s.t.on(Fences) && markers != "" &&
		!strings.Contains(markers, fenceMark)
}

// repeatsName reports whether a call has its name once more after the first time.
func (s *spelling) repeatsName() bool {
	isName := func(p format.Part) bool { return p.Kind == format.SlotName }
	return s.envelope != nil || slices.ContainsFunc(s.Tail, isName) ||
		s.name >= 0 && slices.ContainsFunc(s.Head[s.name+1:], isName)
}

// perTool reports whether the text after a name is read in another way for each tool.
func (s *spelling) perTool() bool {
	return s.Object == nil &&
		(s.Body.Kind == format.BodyTagged || s.Body.Kind == format.BodyKwargs) || s.repeatsName()
}

// selfDelimiting reports whether the arguments show themselves where they end.
func (s *spelling) selfDelimiting() bool {
	return s.t.on(OptionalWrapper) &&
		(s.Object != nil || s.Body.Kind == format.BodyJSON || s.Body.Kind == format.BodyDict ||
			s.Body.Close.Text != "")
}

// jsonToo reports whether another spelling begins as this one does and has arguments in JSON: the
// first one to be recognised reads both.
func (s *spelling) jsonToo() bool {
	head := headLiteral(s.Calls).Text
	return slices.ContainsFunc(s.t.calls, func(o *spelling) bool {
		return o.Object == nil && o.Body.Kind == format.BodyJSON && head != "" &&
			headLiteral(o.Calls).Text == head
	})
}

// optionalID reports whether a part of the head after the name is the marker of an id, which models
// leave out together with it (T4): the marker tells whether there is one.
func (s *spelling) optionalID(n int) bool {
	return s.t.on(OptionalWrapper) && s.name < n && n+1 < len(s.Head) &&
		s.Head[n].Kind == format.SlotLit && distinctive(s.Head[n].Text.Text) &&
		s.Head[n+1].Kind == format.SlotID && len(s.Head[n+1].Parts) == 0
}

// idPlace returns where a call has its id.
func (s *spelling) idPlace() IDPlace {
	isID := func(p format.Part) bool { return p.Kind == format.SlotID }
	place := IDNone
	if slices.ContainsFunc(s.Head, isID) {
		place = IDFirst
	}
	if slices.ContainsFunc(s.Tail, isID) {
		place = IDLast
	}
	if s.Object == nil {
		return place
	}
	arguments := s.Object.NameIsKey
	for _, f := range s.Object.Fields {
		switch f.Slot {
		case format.SlotArgs:
			arguments = true
		case format.SlotID, format.SlotIndex:
			if place = IDFirst; arguments {
				place = IDLast
			}
		}
	}
	return place
}

// ids returns the ids that the template takes.
func (s *spelling) ids() (taken format.IDs) {
	for _, parts := range [][]format.Part{s.Head, s.Tail} {
		for _, p := range parts {
			if p.Kind == format.SlotID {
				taken = p.IDs
			}
		}
	}
	if s.Object != nil {
		for _, f := range s.Object.Fields {
			if f.Slot == format.SlotID {
				taken = f.IDs
			}
		}
	}
	return taken
}

// namesInAttributes reports whether the name stands in an attribute, name="...".
func (s *spelling) namesInAttributes() bool {
	return s.t.on(AnyLiteral) && s.name > 0 && strings.HasSuffix(s.Head[s.name-1].Text.Text, `="`)
}

// addressed reports whether calls and content begin alike, with a marker and a name that says to
// whom they go: a part that goes to somebody else is dropped (E20).
func (s *spelling) addressed(o opening) bool {
	content := s.t.f.Content.Open.Text
	return s.t.f.Content.Mode == format.ContentWrapped && o.first.Text != "" &&
		content != o.first.Text && strings.HasPrefix(content, o.first.Text)
}

// The shapes of a call's parts.

func markerText(m format.Marker) string { return m.Text }

func partShape(p format.Part) shape {
	switch {
	case p.Kind == format.SlotLit && p.Opt:
		return maybe(literal(p.Text.Text))
	case p.Kind == format.SlotLit:
		return literal(p.Text.Text)
	case p.Kind == format.SlotID && len(p.Parts) > 0:
		return row(lists.Map(p.Parts, partShape)...)
	case p.Opt:
		return maybe(slot())
	}
	return slot()
}

// shape is that of a section of calls.
func (s *spelling) shape() shape {
	return s.around(row(literal(s.Body.Open.Text), row(lists.Map(s.Body.Entry, partShape)...),
		row(lists.Map(s.Body.Item, partShape)...), literal(s.Body.Close.Text)))
}

// around is the shape of a section of calls with these arguments.
func (s *spelling) around(arguments shape) shape {
	inner := row(append(append(lists.Map(s.Head, partShape), arguments, slot()),
		lists.Map(s.Tail, partShape)...)...)
	call := row(literal(s.Call.Open.Text), inner, literal(s.Call.Close.Text))
	return row(literal(s.Section.Open.Text), call, literal(s.Sep.Text), call,
		literal(s.Section.Close.Text))
}

// afterHead is the shape of the text after the first n parts of the head, to the end of the
// section. All that a call has after its name may be missing, except for the parts of its head.
func (s *spelling) afterHead(n int) shape {
	var args shape
	switch s.Body.Kind {
	case format.BodyJSON, format.BodyDict:
		args = literal("{")
	case format.BodyTagged, format.BodyKwargs:
		args = row(lists.Map(s.Body.Entry, partShape)...)
	}
	open := literal(s.Body.Open.Text)
	if s.t.on(OptionalWrapper) {
		open = maybe(open)
	}
	var head []shape
	for ; n < len(s.Head); n++ {
		if s.optionalID(n) {
			head = append(head, maybe(row(partShape(s.Head[n]), partShape(s.Head[n+1]))))
			n++
			continue
		}
		head = append(head, partShape(s.Head[n]))
	}
	return row(append(head, open, maybe(args), s.afterArguments())...)
}

// afterArguments is the shape of the text after the arguments.
func (s *spelling) afterArguments() shape {
	return row(maybe(literal(s.Body.Close.Text)), maybe(row(lists.Map(s.Tail, partShape)...)),
		s.afterTail(len(s.Tail)))
}

// afterTail is the shape of the text after the first n parts of the tail.
func (s *spelling) afterTail(n int) shape {
	return row(append(lists.Map(s.Tail[n:], partShape),
		maybe(literal(s.Call.Close.Text)), maybe(literal(s.Sep.Text)),
		maybe(literal(s.Section.Close.Text)))...)
}

// inWordAfter returns the literals that end a word in the tail's part n.
func (s *spelling) inWordAfter(n int) []string {
	return append([]string{" "},
		row(s.afterTail(n), either(s.t.anyCall(), literals(s.t.endTexts()))).firsts()...)
}

// another is the shape of the text that can begin after a call of a section, in any way that is
// read: a further call, its separator, or the end of one of the two. names are those of the tools.
func (s *spelling) another(names []string) shape {
	head := literal(headLiteral(s.Calls).Text)
	if s.Object == nil && head.text == "" {
		head = slot(names...)
	}
	parts := []shape{literals([]string{s.Section.Close.Text, s.Call.Close.Text, s.Sep.Text,
		s.Call.Open.Text})}
	if s.Object != nil || s.Array {
		parts = append(parts, literals([]string{",", "]", "[", "{"}))
	}
	return either(append(parts, head)...)
}

// Arguments that come one by one.

// entry is how one argument is spelled: literals and slots by their place.
type entry struct {
	open   format.Part  // before the key; may be empty
	mid    format.Part  // after the key
	typ    *format.Part // the type, after mid
	typEnd format.Part  // after the type
	// white space after the last literal before the value, which is not the value's
	valueGap string
	close    []format.Part // after the value: literals, and the key once more
	key      format.Part
}

// takeApart finds the slots of an entry.
func takeApart(parts []format.Part) (e entry, ok bool) {
	at := func(kind format.SlotKind) int {
		return slices.IndexFunc(parts, func(p format.Part) bool { return p.Kind == kind })
	}
	key, typ, value := at(format.SlotKey), at(format.SlotType), at(format.SlotValue)
	if key < 0 || value < key {
		return e, false
	}
	e.open, e.key, e.mid = joined(parts[:key]), parts[key], joined(parts[key+1:value])
	if key < typ && typ < value {
		e.mid, e.typ, e.typEnd = joined(parts[key+1:typ]), &parts[typ], joined(parts[typ+1:value])
	}
	e.valueGap = e.mid.Text.After
	if e.typ != nil {
		e.valueGap = e.typEnd.Text.After
	}
	e.close = parts[value+1:]
	return e, true
}

// joined makes one literal of several.
func joined(parts []format.Part) format.Part {
	text := ""
	for _, p := range parts {
		if p.Kind == format.SlotLit {
			text += p.Text.Full()
		}
	}
	return format.Lit(text)
}

// closesWithKey reports whether an entry has its key once more after the value.
func (e *entry) closesWithKey() bool {
	return slices.ContainsFunc(e.close,
		func(p format.Part) bool { return p.Kind == format.SlotKey })
}

// closeText returns the literal that closes a value with this key.
func (e *entry) closeText(key string) string {
	text := ""
	for _, p := range e.close {
		switch {
		case p.Kind == format.SlotLit:
			text += p.Text.Full()
		case key == "":
			return format.Mark(text).Text
		default:
			text += key
		}
	}
	return format.Mark(text).Text
}

// closeGap returns the white space that the template writes before the close of a value.
func (e *entry) closeGap() string {
	if len(e.close) == 0 {
		return ""
	}
	return e.close[0].Text.Before
}

// byLines reports whether nothing but the end of the line ends a value.
func (s *spelling) byLines() bool {
	e := s.entry
	gap := s.Body.Sep.Before + e.open.Text.Before + e.closeGap()
	return e.closeText("") == "" && s.Body.Sep.Text == "" && strings.Contains(gap, "\n")
}

// openEnds returns the literals that end values which nothing closes: the separator of entries, a
// line break perhaps, and the text of the call after the last one.
func (s *spelling) openEnds() []string {
	e := s.entry
	if s.byLines() {
		return []string{"\n"}
	}
	texts := []string{s.Body.Sep.Text}
	if open := e.open.Text.Text; distinctive(open) {
		texts = append(texts, open)
	}
	for _, text := range s.afterArguments().firsts() {
		if text != s.Body.Sep.Text {
			texts = append(texts, text)
			break
		}
	}
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// afterValue returns the literals that end a value whose own closing marker is missing: the next
// key's opener, and the closing text of the call. Only those count that do not occur by chance.
func (s *spelling) afterValue() (key string, closers []string) {
	if s.Body.Kind == format.BodyKwargs {
		return "", nil
	}
	for _, text := range s.afterArguments().firsts() {
		if distinctive(text) && !strings.HasPrefix(s.entry.closeText(""), text) &&
			!strings.HasPrefix(s.entry.open.Text.Text, text) {
			closers = append(closers, text)
		}
	}
	// else an entry in the value begins alike
	if text := s.entry.open.Text.Text; distinctive(text) && !s.entry.closesWithKey() {
		key = text
	}
	return key, closers
}

// selfClosing returns the text before the "/>" that closes a call at once, without arguments, in
// place of the ">" that ends the tag with its name (T4), and reports whether there is such a tag.
func (s *spelling) selfClosing() (tag string, ok bool) {
	if s.name < 0 || s.name+2 != len(s.Head) || len(s.Tail) == 0 || !s.t.on(OptionalWrapper) ||
		!strings.HasPrefix(headLiteral(s.Calls).Text, "<") {
		return "", false
	}
	tag, ok = strings.CutSuffix(s.Head[s.name+1].Text.Text, ">")
	return tag, ok && !strings.HasSuffix(tag, "/")
}

// attributes reports whether keys are the values of attributes, key="...", in which a template
// escapes the characters that XML does, and a model does so too (T6).
func (s *spelling) attributes() bool {
	return s.t.on(AnyLiteral) && strings.HasSuffix(s.entry.open.Text.Text, `="`) && strings.HasPrefix(s.entry.mid.Text.Text, `"`)
}

// keyEscapes is the argument of KeyEnd.
func (s *spelling) keyEscapes() int {
	if s.attributes() {
		return 1
	}
	return 0
}

// keyGap is the text that must stand before the next key's opener where that ends a value: a line
// break, where the template writes one.
func (s *spelling) keyGap() string {
	if strings.Contains(s.Body.Sep.Before+s.Body.Sep.After+s.entry.open.Text.Before+
		s.entry.closeGap(), "\n") {
		return "\n"
	}
	return ""
}

// resuming is the shape of the places at which the reader leaves an incomplete call: its closing
// markers, a further call and the end of the turn (E30). Only those count that do not occur by
// chance.
func (s *spelling) resuming() []string {
	tail := either(lists.Map(s.Tail, partShape)...)
	texts := either(tail, literal(s.Call.Close.Text), literal(s.Section.Close.Text), s.t.anyCall()).
		firsts()
	return slices.DeleteFunc(texts, func(text string) bool { return !distinctive(text) })
}

// valueMode tells apart the rules for values.
type valueMode uint8

const (
	valueString  valueMode = iota // a string, raw
	valueJSON                     // JSON
	valueUnknown                  // either: held until its end (E18)
	valueNested                   // entries and items
	valueLiteral                  // a literal of its own syntax, whatever the schema
)

func valueModeOf(body *format.Body, types schema.TypeSet) valueMode {
	codec := body.Codec
	switch {
	case body.Kind == format.BodyDict, codec.Style == format.StyleJSON ||
		codec.Style == format.StylePython:
		return valueLiteral
	case codec.Nested && (types == schema.AnyType || types&schema.String == 0):
		return valueNested
	case types == schema.String:
		return valueString
	case types&schema.String == 0:
		return valueJSON
	}
	return valueUnknown
}

// python reports whether a body writes values as Python does.
func python(p *format.Body) bool {
	return p.Kind == format.BodyDict || p.Codec.Style == format.StylePython ||
		p.Codec.Style == format.StyleStr
}

// nestedTags reads the tags of entries and items off a body.
func nestedTags(parts, item []format.Part) (t codec.Tags, ok bool) {
	if len(parts) != 7 || parts[1].Kind != format.SlotKey || parts[3].Kind != format.SlotValue ||
		parts[5].Kind != format.SlotKey {
		return t, false
	}
	t = codec.Tags{Open: parts[0].Text.Text, Mid: parts[2].Text.Text, Close: parts[4].Text.Text,
		CloseMid: parts[6].Text.Text}
	if len(item) == 3 && item[1].Kind == format.SlotValue {
		t.ItemOpen, t.ItemClose = item[0].Text.Text, item[2].Text.Text
	}
	return t, t.Open != "" && t.Mid != "" && t.Close != ""
}

// Calls that are JSON objects.

func quoteOf(o *format.Object) byte {
	if o.Quote == '\'' {
		return '\''
	}
	return '"'
}

// quoted returns a key as an object writes it.
func quoted(quote byte, key string) string {
	return string(quote) + string(ordered.AppendEscaped(nil, key, false)) + string(quote)
}

// namePath returns the keys from the call's object down to the name.
func namePath(o *format.Object) []string {
	for _, f := range o.Fields {
		if f.Slot == format.SlotName {
			return f.Path
		}
	}
	return nil
}

// argsFirst reports whether the arguments precede the name.
func argsFirst(o *format.Object) bool {
	for _, f := range o.Fields {
		if f.Slot == format.SlotName || f.Slot == format.SlotArgs {
			return f.Slot == format.SlotArgs && !o.NameIsKey
		}
	}
	return false
}

// under returns the fields of an object below a path, in order, one for each key at that level.
func under(o *format.Object, path []string) []format.Field {
	var out []format.Field
	for _, f := range o.Fields {
		if len(f.Path) <= len(path) || !slices.Equal(f.Path[:len(path)], path) {
			continue
		}
		if slices.ContainsFunc(out,
			func(g format.Field) bool { return g.Path[len(path)] == f.Path[len(path)] }) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// around returns the fields at a level of the name's path that precede and follow the key on the
// path.
func around(o *format.Object, level int) (before, after []format.Field) {
	path := namePath(o)
	fields := under(o, path[:level])
	at := slices.IndexFunc(fields,
		func(f format.Field) bool { return f.Path[level] == path[level] })
	return fields[:at], fields[at+1:]
}
