package wire

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// A blockKind is the kind of a part of an answer.
type blockKind uint8

const (
	reasoningBlock blockKind = iota
	textBlock
	callBlock
	customBlock // a call of a custom tool; its text is the tool's input
)

// block is a part of an answer: an item of the Responses, a content block of the Messages.
type block struct {
	kind     blockKind
	index    int // from 0
	id, name string
	text     strings.Builder // reasoning, text, arguments or input

	input *freeText // of a customBlock
}

// blocks cuts an answer into blocks: a new one begins where the kind of text changes and where a
// call begins. Blocks follow each other, and only the last one grows.
type blocks struct {
	envelope chat.Envelope // numbers calls that have no id
	custom   map[string]bool
	skip     chat.Message // text that the answer goes on with and does not repeat
	all      []*block
	open     *block // the last one, nil before the first

	// These are told of every change.
	begun func(*block)
	grown func(*block, string)
	ended func(*block)
}

// output is what the writers of all protocols have: an answer's blocks, and its events so far.
type output struct {
	a      Envelope
	blocks blocks
	dst    []byte
}

// Delta implements [Writer].
func (w *output) Delta(dst []byte, d chat.Delta) []byte {
	w.dst = dst
	w.blocks.add(d)
	return w.dst
}

// newBlocks returns the blocks of an answer; the functions are told of every change.
func newBlocks(a Envelope, begun func(*block), grown func(*block, string),
	ended func(*block)) blocks {
	return blocks{envelope: chat.Envelope{ID: a.ID}, custom: a.Request.Custom,
		skip: a.Request.Prefix, begun: begun, grown: grown, ended: ended}
}

// add takes a delta.
func (b *blocks) add(d chat.Delta) {
	if text := cutPrefix(d.Reasoning, &b.skip.Reasoning); text != "" {
		b.grow(reasoningBlock, text)
	}
	if text := cutPrefix(d.Content, &b.skip.Content); text != "" {
		b.grow(textBlock, text)
	}
	if len(d.ToolCalls) == 0 {
		return
	}
	for _, c := range b.envelope.Chunk(d).Delta.ToolCalls {
		if c.Name != "" {
			kind := callBlock
			if b.custom[c.Name] {
				kind = customBlock
			}
			b.begin(&block{kind: kind, id: c.ID, name: c.Name})
			if kind == customBlock {
				b.open.input = new(freeText)
			}
		}
		text := c.Arguments
		if b.open.input != nil {
			text = b.open.input.write(text)
		}
		b.append(text)
	}
}

// cutPrefix takes text that is to be skipped from a text. Where the two differ nothing more is
// skipped.
func cutPrefix(text string, skip *string) string {
	n := min(len(text), len(*skip))
	if n == 0 {
		return text
	}
	if text[:n] != (*skip)[:n] {
		*skip = ""
		return text
	}
	*skip = (*skip)[n:]
	return text[n:]
}

func (b *blocks) grow(kind blockKind, text string) {
	if b.open == nil || b.open.kind != kind {
		b.begin(&block{kind: kind})
	}
	b.append(text)
}

func (b *blocks) append(text string) {
	if text != "" {
		b.open.text.WriteString(text)
		b.grown(b.open, text)
	}
}

func (b *blocks) begin(next *block) {
	b.close()
	next.index = len(b.all)
	b.all = append(b.all, next)
	b.open = next
	b.begun(next)
}

// close ends the open block.
func (b *blocks) close() {
	if b.open == nil {
		return
	}
	if in := b.open.input; in != nil {
		b.append(in.close())
	}
	b.ended(b.open)
	b.open = nil
}

// inputKey is the one argument of the function as which a template sees a custom tool.
const inputKey = "input"

// freeText reads the arguments of a custom tool's function, {"input": "..."}, as they come, and
// gives the string's text. Arguments that are no such object are the text themselves: a model that
// nothing constrains may write the text without the object.
type freeText struct {
	held  string // not yet known
	state int8
}

const (
	beforeText int8 = iota // the opening of the object may still be incomplete
	inText
	afterText
	notWrapped
)

// write takes more of the arguments and returns the text that they add.
func (f *freeText) write(more string) string {
	f.held += more
	if f.state == beforeText {
		rest, more, ok := cutOpening(f.held)
		switch {
		case ok:
			f.state, f.held = inText, rest
		case more:
			return ""
		default:
			f.state = notWrapped
		}
	}
	switch f.state {
	case inText:
		return f.string()
	case notWrapped:
		text := f.held
		f.held = ""
		return text
	}
	f.held = ""
	return ""
}

// close returns the text that was held back.
func (f *freeText) close() string {
	if f.state != beforeText {
		return ""
	}
	if _, err := ordered.ParseString(f.held); err == nil {
		return "" // {}, a call without input: all else that may open the text is cut off
	}
	return f.held
}

// string decodes as much of the string as is there.
func (f *freeText) string() string {
	var out []byte
	text := f.held
	for text != "" {
		switch c := text[0]; {
		case c == '"':
			f.state, f.held = afterText, ""
			return string(out)
		case c != '\\':
			n := strings.IndexAny(text, `"\`)
			if n < 0 {
				n = len(text)
			}
			out = append(out, text[:n]...)
			text = text[n:]
		case half(text):
			f.held = text
			return string(out)
		default:
			var n int
			if out, n = ordered.AppendUnescaped(out, text); n == 0 {
				out, n = append(out, c), 1 // no escape of JSON's: the backslash itself
			}
			text = text[n:]
		}
	}
	f.held = ""
	return string(out)
}

// half reports whether a text begins with an escape that more text may complete; the first of two
// surrogates wants the second.
func half(text string) bool {
	if len(text) < 2 {
		return true
	}
	if text[1] != 'u' {
		return false
	}
	if len(text) < 6 {
		return isHex(text[2:])
	}
	high := isHex(text[2:6]) && (text[2] == 'd' || text[2] == 'D') &&
		strings.IndexByte("89abAB", text[3]) >= 0
	next := text[6:]
	return high && len(next) < 6 && strings.HasPrefix(`\u`, next[:min(2, len(next))]) &&
		isHex(next[min(2, len(next)):])
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

// cutOpening cuts {"input": " from a text, with white space where JSON has it. More reports whether
// the text may be the beginning of it.
func cutOpening(text string) (rest string, more, ok bool) {
	if strings.Join(strings.Fields(text), "") == "{}" { // a call without input, if no more comes
		return "", true, false
	}
	for _, part := range [...]string{"{", `"` + inputKey + `"`, ":", `"`} {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" || len(text) < len(part) && strings.HasPrefix(part, text) {
			return "", true, false
		}
		var cut bool
		if text, cut = strings.CutPrefix(text, part); !cut {
			return "", false, false
		}
	}
	return text, false, true
}

// arguments returns the arguments of a custom tool's function with an input.
func arguments(input string) string {
	return ordered.Pairs(inputKey, input).String()
}

// freeTool returns the function as which a template sees a custom tool. Members of its input's
// schema constrain the text.
func freeTool(name, description string, constraint ...ordered.Member) ordered.Value {
	input := typed("string", constraint...)
	return chat.ToolOf(name, description, typed("object",
		ordered.MemberOf("properties", ordered.Pairs(inputKey, input)),
		ordered.MemberOf("required", ordered.ArrayOf(ordered.Str(inputKey)))))
}

// customTool reads a custom tool's declaration, which is at a path, and makes a function of it.
func (f *fields) customTool(r *Request, v ordered.Value, path string) ordered.Value {
	n := v.At("name")
	if n.Kind() != ordered.String || n.Text() == "" {
		f.refuse(expected(path+".name", "a name", n))
	}
	var constraint []ordered.Member
	format := v.At("format")
	switch format.At("type").Text() {
	case "", "text":
	case "grammar":
		// chat completions have the grammar in an object of its own
		g := format.At("grammar")
		if g.IsNull() {
			g = format
		}
		definition := g.At("definition")
		text := definition.Text()
		if definition.Kind() != ordered.String || text == "" {
			f.refuse(expected(path+".format.definition", "a grammar", definition))
		}
		switch syntax := g.At("syntax"); syntax.Text() {
		case "regex":
			constraint = []ordered.Member{ordered.MemberOf("pattern",
				ordered.Str("^(?:"+text+")$"))}
		case "lark":
			constraint = []ordered.Member{ordered.MemberOf(schema.LarkKeyword, definition)}
			if _, err := schema.ParseLark(text); err != nil {
				f.refuse(unsupported(path+".format.definition", "the grammar: "+err.Error()))
			}
		default:
			f.refuse(expected(path+".format.syntax", `"regex" or "lark"`, syntax))
		}
	default:
		f.refuse(expected(path+".format.type", `"text" or "grammar"`, format.At("type")))
	}
	r.Custom[n.Text()] = true
	r.Strict = r.Strict || len(constraint) > 0
	return freeTool(n.Text(), v.At("description").Text(), constraint...)
}
