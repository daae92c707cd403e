package codegen

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/dialect"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/schema"
)

// turn is a request's demand on a format: the parts that may stand in an answer, before the tools
// are known. It does not change once it is made.
type turn struct {
	f     format.Format
	o     Options // except for the tools, the choice of them and the schema of the answer
	tools bool    // there are some that may be called
	calls []*spelling
	// qualified reports whether words with dots may stand before a function's name.
	qualified bool
}

func newTurn(f format.Format, o Options) (*turn, error) {
	f = o.spelled(f)
	t := &turn{f: f, tools: len(o.Tools) > 0 && o.Choice.Mode != chat.ChoiceNone} // E22
	o.Tools, o.Choice, o.JSONSchema = nil, chat.ToolChoice{}, schemaless
	t.o = o
	if t.tools {
		if err := t.spell(f.Calls); err != nil {
			return nil, err
		}
	}
	t.o.Prefill = t.primed(o.Prefill)
	return t, nil
}

// spell finds out in which spellings calls may come: the template's own, the fallbacks, and any
// where calls are undisclosed (E21 T8).
func (t *turn) spell(calls []format.Calls) error {
	for _, name := range t.o.Fallbacks {
		s, ok := dialect.Lookup(name)
		if !ok {
			return fmt.Errorf("fallback %q: expected one of %q", name, dialect.Names())
		}
		t.qualified = t.qualified || s.Qualified
		f := t.o.spelled(format.Format{Calls: s.For(t.f), Reasoning: s.Reasoning})
		for _, c := range f.Calls {
			c.Name = name
			calls = append(slices.Clip(calls), c)
		}
		if t.f.Reasoning.IsZero() {
			t.f.Reasoning = f.Reasoning
		}
	}
	if t.f.Undisclosed && len(t.f.Calls) == 0 && t.on(AnySpelling) {
		f := t.o.spelled(format.Format{Calls: dialect.Undisclosed()})
		calls = append(slices.Clip(calls), f.Calls...)
	}
	for i := range calls {
		s, err := newSpelling(t, i+1, &calls[i])
		if err != nil {
			return err
		}
		t.calls = append(t.calls, s)
	}
	for _, s := range t.calls { // bare objects are read as those of the first spelling of them
		for _, o := range t.calls {
			if s != o && s.bareObject() && o.bareObject() && o.Sep.Text != "" {
				s.also = append(s.also, o.Sep)
			}
		}
	}
	return nil
}

// on reports whether a tolerance is on.
func (t *turn) on(tolerance Tolerances) bool { return t.o.Tolerances&tolerance != 0 }

// keepsReasoning reports whether reasoning stays in the content.
func (t *turn) keepsReasoning() bool { return t.o.Reasoning == chat.ReasoningKeep }

// calling reports whether there may be calls.
func (t *turn) calling() bool {
	return len(t.calls) > 0 ||
		t.tools && slices.ContainsFunc(t.f.Routes,
			func(r format.Route) bool { return r.Kind == format.RouteCall })
}

// bracketsAlone reports whether there are calls before which nothing but a bracket stands.
func (t *turn) bracketsAlone() bool {
	return slices.ContainsFunc(t.calls, func(s *spelling) bool {
		return slices.ContainsFunc(s.openings, s.bracketsAlone)
	})
}

// foreignTokens reports whether tokens beside calls that are no markers of the format are dropped
// (T5): where calls have no markers of their own.
func (t *turn) foreignTokens(begun bool) bool {
	return t.bracketsAlone() && t.on(StrayClosers) && (!begun || t.on(ContentAround))
}

// The shapes of the parts of a turn.

// anyCall is the shape of a call's beginning, as its opener is found in text.
func (t *turn) anyCall() shape {
	return either(lists.Map(t.calls, func(s *spelling) shape {
		return literals(lists.Map(s.openings, func(o opening) string { return o.first.Text }))
	})...)
}

// thinking and answering are the shapes of reasoning and of content.
func (t *turn) thinking() shape {
	return row(literal(t.f.Reasoning.Open.Text), slot(), literal(t.f.Reasoning.Close.Text))
}

func (t *turn) answering() shape {
	return row(literal(t.f.Content.Open.Text), slot(), literal(t.f.Content.Close.Text))
}

// openers returns the literals with which calls begin.
func (t *turn) openers() []string { return t.anyCall().firsts() }

// parts is the shape of all parts of a turn.
func (t *turn) parts() shape {
	calls := lists.Map(t.calls, (*spelling).shape)
	routes := lists.Map(t.f.Routes, routeShape)
	return either(append(append([]shape{t.thinking(), t.answering()}, calls...), routes...)...)
}

// endTexts returns the texts that end a turn, without white space. A text of white space alone ends
// nothing.
func (t *turn) endTexts() []string {
	return literals(lists.Map(t.f.End,
		func(end string) string { return strings.Trim(end, format.Space) })).firsts()
}

// stopTexts returns those of the texts that end nothing but a turn: one with which a part of the
// turn begins or ends is no reason to stop.
func (t *turn) stopTexts() []string {
	markers := lists.Map(t.f.Calls, func(c format.Calls) shape {
		return literals([]string{c.Section.Open.Text, c.Section.Close.Text, c.Call.Open.Text,
			c.Call.Close.Text, headLiteral(&c).Text})
	})
	for _, r := range t.f.Routes {
		markers = append(markers, literal(r.Start.Text))
	}
	texts := either(append(markers, t.thinking(), t.answering())...).all(nil)
	return slices.DeleteFunc(t.endTexts(), func(end string) bool {
		return slices.ContainsFunc(texts, func(m string) bool { return strings.HasPrefix(m, end) })
	})
}

// opensToo reports whether a marker that opens calls begins with the given closing marker.
func (t *turn) opensToo(text string) bool {
	return slices.ContainsFunc(t.openers(),
		func(opener string) bool { return strings.HasPrefix(opener, text) })
}

// closesCall reports whether a marker closes calls, and nothing else.
func (t *turn) closesCall(text string) bool {
	ends := func(m string) bool { return strings.HasSuffix(m, text) }
	closes := func(s *spelling) bool {
		return slices.ContainsFunc(s.around(slot()).closing(), ends)
	}
	return !slices.Contains(t.thinking().closing(), text) && slices.ContainsFunc(t.calls, closes)
}

// strays returns the closing markers that are dropped where they close nothing (E21 T5); the close
// of content closes the text. Where the text has begun, and calls count no more after text (T2
// switched off), theirs are text.
func (t *turn) strays(begun bool) []string {
	if !t.on(StrayClosers) {
		return nil
	}
	var out []string
	var add func(text string)
	add = func(text string) {
		i := tokenAt(text, max(0, strings.IndexAny(text, format.OpenBrackets)))
		if i > 0 { // the token of a marker such as "]</calls>" alone
			add(text[i:])
		}
		if distinctive(text) && text != t.f.Content.Close.Text && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if !t.keepsReasoning() {
		for _, text := range t.thinking().closing() {
			add(text)
		}
	}
	if begun && !t.on(ContentAround) {
		return out
	}
	for _, s := range t.calls {
		for _, text := range s.around(slot()).closing() {
			add(text)
		}
	}
	return out
}

// Where the prefill has arrived.

// answersOpenly reports whether the answer has an opener of its own, which ends reasoning whose end
// is missing (E21 T3).
func (t *turn) answersOpenly() bool {
	open, thought := t.f.Content.Open.Text, &t.f.Reasoning
	return t.on(LooseReasoning) && distinctive(open) && t.f.Content.Mode != format.ContentPlain &&
		!strings.HasPrefix(thought.Open.Text, open) && !strings.HasPrefix(thought.Close.Text, open)
}

// justOpened reports whether the prompt has opened a block of reasoning and put nothing into it.
func (t *turn) justOpened() bool {
	open := t.f.Reasoning.Open.Text
	return open != "" && slices.Contains(variants(open), strings.Trim(t.o.Prefill, format.Space))
}

// callsBlock reports whether the prompt has just opened a block of reasoning that a call can begin
// and so close (E16).
func (t *turn) callsBlock() bool {
	return t.justOpened() && t.calling() && t.on(LooseReasoning)
}

// mayDelimit reports whether text may turn out to have been reasoning, by the marker that ends it
// (E17).
func (t *turn) mayDelimit() bool {
	r := &t.f.Reasoning
	return r.Open.Text == "" && r.Close.Text != "" &&
		strings.Trim(t.o.Prefill, format.Space) == "" && t.on(LooseReasoning)
}

// insideReasoning reports whether the prefill leaves reasoning open.
func (t *turn) insideReasoning() bool { return t.leavesOpen(t.o.Prefill) }

// leavesOpen reports whether a text at the beginning of the turn leaves reasoning open.
func (t *turn) leavesOpen(text string) bool {
	r := &t.f.Reasoning
	if r.Close.Text == "" {
		return false
	}
	closed := lastOf(text, variants(r.Close.Text))
	if r.Open.Text != "" {
		return lastOf(text, variants(r.Open.Text)) > closed
	}
	return strings.Trim(text, format.Space) != "" && closed < 0 &&
		t.o.Continue != chat.ContinueContent
}

// nextTurn returns the literals after which, once the turn has ended, nothing is the model's: a
// further end, and the marker with which the header of a turn begins. Text after that is a turn
// that the model has made up.
func (t *turn) nextTurn() (texts []string) {
	for _, end := range t.endTexts() {
		texts = append(texts, segments(end)...)
	}
	header := strings.TrimLeft(t.f.Header, format.Space)
	if i := strings.IndexAny(header, format.ShutBrackets); i > 0 {
		_, n := utf8.DecodeRuneInString(header[i:])
		if bracketed(header[:i+n]) {
			texts = append(texts, header[:i+n])
		}
	}
	return texts
}

// headerEnds returns the ends of the header that a model may write once more, the longest first.
func (t *turn) headerEnds() (ends []string) {
	if !t.on(StrayClosers) || t.o.Prefill != "" {
		return nil
	}
	header := strings.Trim(t.f.Header, format.Space)
	for i, r := range header {
		if strings.ContainsRune(format.OpenBrackets, r) && distinctive(header[i:]) {
			ends = append(ends, header[tokenAt(header, i):])
		}
	}
	return ends
}

// begunMarker returns the end of the prefill that is the beginning of a marker, as where calls and
// content begin alike and the prompt ends with that; empty if there is none.
func (t *turn) begunMarker() string {
	prefill := strings.TrimRight(t.o.Prefill, format.Space)
	best, content := "", t.f.Content.Open.Text
	for _, text := range append(t.openers(), content) {
		for n := min(len(text), len(prefill)); n > len(best); n-- {
			if strings.HasSuffix(prefill, text[:n]) && (n < len(text) || text != content) {
				best = text[:n]
			}
		}
	}
	return best
}

// Formats of addressed parts.

// starts returns the markers that precede the heads of further parts, closes those that end parts.
func (t *turn) starts() (out []format.Marker) {
	for _, r := range t.f.Routes {
		if r.Start.Text != "" && !slices.Contains(out, r.Start) {
			out = append(out, r.Start)
		}
	}
	return out
}

func (t *turn) closes() (out []format.Marker) {
	for _, r := range t.f.Routes {
		for _, m := range r.Close {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// routeShape is the shape of an addressed part.
func routeShape(r format.Route) shape {
	head := row(lists.Map(r.Head, partShape)...)
	return row(maybe(literal(r.Start.Text)), head, slot(), literals(lists.Map(r.Close, markerText)))
}

// routeTexts returns all literals with which something other than text can begin.
func (t *turn) routeTexts() []string {
	var heads []shape
	for _, r := range t.f.Routes {
		if len(r.Head) > 0 && r.Head[0].Kind == format.SlotLit && distinctive(r.Head[0].Text.Text) {
			heads = append(heads, literal(r.Head[0].Text.Text))
		}
	}
	return either(literals(lists.Map(t.starts(), markerText)),
		literals(lists.Map(t.closes(), markerText)), either(heads...)).firsts()
}

// headWord matches a slot of a head that says nothing to us: a run that ends before any literal of
// a head and at the end of the line.
func (t *turn) headTexts() []string {
	return either(either(lists.Map(t.f.Routes,
		func(r format.Route) shape { return row(lists.Map(r.Head, partShape)...) })...),
		literals(t.routeTexts()), literals(t.endTexts())).all(nil)
}

// request is a turn and the tools that a request has for it.
type request struct {
	*turn
	choice  chat.ToolChoice
	list    []chat.Tool
	schemas []*schema.Schema // of the tools' arguments
	answer  *schema.Schema   // of a JSON answer
}

func newRequest(t *turn, o Options) (*request, error) {
	r := &request{turn: t, choice: o.Choice}
	if o.HasJSONSchema {
		s, err := schema.ParseAt("json_schema", o.JSONSchema)
		if err != nil {
			return nil, err
		}
		r.answer = s
	}
	if !t.tools {
		return r, nil
	}
	r.list = o.Tools
	r.schemas = make([]*schema.Schema, len(r.list))
	sorted := slices.ContainsFunc(t.calls, func(s *spelling) bool { return s.Body.Sorted })
	for i, tool := range r.list {
		if tool.Name == "" || strings.TrimSpace(tool.Name) != tool.Name {
			return nil, fmt.Errorf("tools[%d].function.name: expected a name without white space "+
				"around it, which no output tells from the format's own; found %q", i, tool.Name)
		}
		parameters := tool.Parameters
		if sorted {
			parameters = schema.SortProperties(parameters)
		}
		s, err := schema.ParseObjectAt(fmt.Sprintf("tools[%d].function.parameters", i), parameters)
		if err != nil {
			return nil, err
		}
		r.schemas[i] = s
	}
	return r, nil
}

// own returns the markers and the ends of the format.
func (t *turn) own() []string { return append(t.parts().all(nil), t.endTexts()...) }

// words returns the numbers of the tools, of several with one name the first.
func (r *request) words() (tools []int) {
	seen := make(map[string]bool, len(r.list))
	for i, tool := range r.list {
		if !seen[tool.Name] {
			seen[tool.Name] = true
			tools = append(tools, i)
		}
	}
	return tools
}

// allowed reports whether a tool may be called.
func (r *request) allowed(tool int) bool {
	return r.choice.Mode != chat.ChoiceNamed || r.choice.Name == r.list[tool].Name
}

// required reports whether there must be a call.
func (r *request) required() bool {
	return r.calling() &&
		(r.choice.Mode == chat.ChoiceRequired || r.choice.Mode == chat.ChoiceNamed)
}
