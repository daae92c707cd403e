package editor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/flow"
)

// asked are the variables that engines give to every template, beside those of a request.
var asked = map[string]string{
	"messages":              "the messages of the conversation, from the first",
	"tools":                 "the functions that the model may call; not defined where there are none",
	"add_generation_prompt": "true where the prompt is to end with the header of the model's answer",
	"bos_token":             "the text of the token that begins a prompt",
	"eos_token":             "the text of the token that ends an answer",
	"enable_thinking":       "a switch of the request: whether the model is to think first",
	"documents":             "the documents of the request, for retrieval",
}

// ofMessage are the members of a message, a call and a tool in OpenAI's API.
var ofMessage = []string{"role", "content", "tool_calls", "tool_call_id", "name",
	"reasoning_content", "function", "arguments", "id", "type", "text", "description", "parameters"}

// keywords are the words of the language that begin a statement or stand in an expression.
var keywords = strings.Fields("if elif else endif for in endfor set endset macro endmacro call " +
	"endcall filter endfilter with endwith break continue generation endgeneration not and or is " +
	"true false none loop")

// caret is a place in a template where somebody writes.
type caret struct {
	model *flow.Model // of the last text that had one; nil: none
	text  string      // of the tag, before the place
	base  string      // the names before the word, such as message.tool_calls
	sign  string      // what stands before the word: ".", "|", "is", or ""
}

// caretAt returns what stands before a place; false where that is the template's own text.
func (l *look) caretAt(off int) (caret, bool) {
	for _, p := range l.parts {
		at, ok := p.of(off)
		if !ok {
			continue
		}
		before := p.src.Text[:at]
		open := max(strings.LastIndex(before, "{{"), strings.LastIndex(before, "{%"))
		shut := max(strings.LastIndex(before, "}}"), strings.LastIndex(before, "%}"))
		if open < 0 || open < shut {
			return caret{}, false
		}
		c := caret{model: l.models[p.src.Name], text: before[open+2:]}
		head := strings.TrimRightFunc(c.text, isWord)
		trimmed := strings.TrimRight(head, " \t\r\n")
		switch {
		case strings.HasSuffix(head, "."):
			c.sign, c.base = ".", chain(head[:len(head)-1])
		case strings.HasSuffix(trimmed, "|"):
			c.sign = "|"
		case strings.HasSuffix(trimmed, " is"), strings.HasSuffix(trimmed, " is not"):
			c.sign = "is"
		}
		return c, true
	}
	return caret{}, false
}

// chain returns the names with points between them at the end of a text.
func chain(text string) string {
	return text[len(strings.TrimRightFunc(text,
		func(r rune) bool { return r == '.' || isWord(r) })):]
}

// completion answers with the words that may stand at a place.
func (s *server) completion(ctx context.Context, p placeParams) (any, error) {
	list := completionList{Items: []completionItem{}}
	_, l, ok := s.looked(p.TextDocument.URI)
	if !ok || !l.wait(ctx) {
		return list, ctx.Err()
	}
	c, ok := l.caretAt(l.text.offset(p.Position))
	if !ok {
		return list, nil
	}
	list.Items = c.items()
	slices.SortStableFunc(list.Items,
		func(a, b completionItem) int { return cmp.Compare(a.Label, b.Label) })
	list.Items = slices.CompactFunc(list.Items,
		func(a, b completionItem) bool { return a.Label == b.Label })
	return list, nil
}

// wait waits until the templates of the text are there.
func (l *look) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-l.read:
		return true
	}
}

// items are the words that may stand at a place.
func (c caret) items() (items []completionItem) {
	add := func(kind int, detail string, names ...string) {
		for _, name := range names {
			items = append(items, completionItem{name, kind, detail})
		}
	}
	builtins := func(kind int, what string, table map[string]flow.Builtin) {
		for name, b := range table {
			add(kind, what+", "+kindsOf(b.Result), name)
		}
	}
	switch c.sign {
	case "|":
		builtins(kindFunction, "filter", flow.Filters)
		return items
	case "is":
		for name := range flow.Tests {
			if isWord(rune(name[0])) {
				add(kindFunction, "test", name)
			}
		}
		return items
	case ".":
		if shape := shapeOf(c.model, c.base); shape != nil && len(shape.Members) > 0 {
			for name, m := range shape.Members {
				if strings.IndexFunc(name, func(r rune) bool { return !isWord(r) }) < 0 {
					add(kindField, kindsOf(m.Find().Kinds), name)
				}
			}
		}
		add(kindField, "", ofMessage...)
		for name, b := range flow.Methods {
			add(kindMethod, "method of "+kindsOf(b.On), name)
		}
		return items
	}
	for name, about := range asked {
		add(kindVariable, about, name)
	}
	if c.model != nil {
		shape := c.model.Shape()
		for name, m := range shape.Members {
			add(kindVariable, "of the request, "+kindsOf(m.Find().Kinds), name)
		}
		for _, r := range c.model.Refs {
			if r.Kind != flow.Read && !strings.ContainsAny(r.Name, ".'") {
				add(kindVariable, "set in this template", r.Name)
			}
		}
		add(kindFunction, "macro of this template", slices.Sorted(maps.Keys(c.model.Macros))...)
	}
	builtins(kindFunction, "function", flow.Functions)
	add(kindKeyword, "", keywords...)
	return items
}
