package stream

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// call is a call that is being read, or was.
type call struct {
	off       int // where it begins
	index     int // -1 until it is announced
	name, id  string
	named     bool
	idText    []byte
	idDone    bool
	ids       codegen.IDPlace
	taken     format.IDs // the ids that the template takes
	idOff     int
	hold      bool // the id may still come, and must come first
	announced bool
	complete  bool
	args      strings.Builder
	sent      int  // bytes of args that are in deltas
	argsDone  bool // the arguments are complete
	spares    []spare
	entries   int  // entries of tagged arguments begun
	empty     bool // there are no entries, and the closing brace is still to be written
	key       []byte

	schema *schema.Schema // of the arguments, once the name is known
	quotes bool           // scalars become strings by the schema
	quoter quoter
	nested bool // objects are spelled as tags

	repeating bool           // the entry at hand may be repeated
	repeated  string         // its key, as JSON with the colon after it
	items     *schema.Schema // of the entry
	held      codec.Repeated // the JSON that has come for it

	inValue  bool
	info     codegen.ValueInfo
	value    []byte // ValueHeld: the text so far; ValueRaw: held back
	verbatim bool
	fresh    bool // the value is only white space so far
}

// spare is an object that a call has under an unknown key.
type spare struct {
	text     []byte // as JSON
	off, end int
}

func (p *Parser) callEvent(c *call, e *peg.Event) {
	switch e.Kind {
	case codegen.Name:
		function := &p.out.Tools[e.Arg]
		c.name, c.named = function.Name, true
		c.know(function)
	case codegen.ID:
		switch {
		case c.idDone:
			p.drop(e, "the call has its id already")
			return
		case c.announced:
			p.drop(e, "the id of the call comes after its arguments")
			return
		}
		p.cover(e.Off, e.End, ClassID)
		if len(c.idText) == 0 {
			c.idOff = e.Off
		}
		c.idText = append(c.idText, e.Text...)
		return
	case codegen.IDEnd:
		if c.announced {
			return
		}
		c.id, c.idDone = unescaped(c.idText, byte(e.Arg)), true
		if !c.taken.Has(c.id) {
			p.diagnose(Diagnostic{Off: c.idOff, Kind: "foreign-id", Text: c.id,
				Msg: "the template writes no such id in a later prompt, but ids of " +
					c.taken.String()})
		}
		c.hold = p.out.Incomplete != codegen.IncompleteKeep
	case codegen.ArgsEnd:
		c.argsDone = true
	case codegen.Spare:
		c.spares = append(c.spares, spare{off: e.Off})
		return
	case codegen.SpareText:
		s := &c.spares[len(c.spares)-1]
		s.text, s.end = append(s.text, e.Text...), e.End
		return
	case codegen.Open:
		c.waitNoMore(p.out.Incomplete)
		c.put("{")
	case codegen.Close:
		// Without entries only the end of the call tells that there are none: a call that breaks
		// off has no "{}", which would look complete.
		if c.argsDone = true; c.entries == 0 {
			c.empty = true
			return
		}
		c.release(true)
		c.put("}")
	case codegen.Key:
		c.beginEntry(string(e.Text))
	case codegen.KeyText:
		p.cover(e.Off, e.End, ClassArguments)
		c.key = append(c.key, e.Text...)
		return
	case codegen.KeyEnd:
		key := string(c.key)
		if e.Arg == 1 {
			key = html.UnescapeString(key)
		}
		c.beginEntry(string(append(codec.AppendText([]byte{'"'}, key), `": `...)))
		c.key = c.key[:0]
	case codegen.ValueBegin:
		c.inValue, c.info, c.value, c.verbatim, c.fresh = true, p.out.Values[e.Arg], c.value[:0],
			false, true
		if c.info.Mode == codegen.ValueRaw {
			c.put(`"`)
		}
	case codegen.Value:
		p.cover(e.Off, e.End, ClassArguments)
		c.addValue(e.Text)
	case codegen.Verbatim:
		if c.info.Mode == codegen.ValueRaw {
			c.flushValue(true, "")
		}
		c.verbatim, c.fresh = e.Arg == 1, false
	case codegen.ValueEnd:
		c.endValue(true)
	case codegen.CallEnd:
		p.endCall(true, e.Off)
		return
	case codegen.CallBroken:
		p.endCall(false, e.Off)
		return
	}
	p.send(c)
}

// addArguments adds JSON to the arguments of a call.
func (p *Parser) addArguments(c *call, e *peg.Event) {
	c.waitNoMore(p.out.Incomplete)
	if !c.argsDone {
		p.cover(e.Off, e.End, ClassArguments)
		if e.Arg == codec.Strings {
			c.putBytes(e.Text)
		} else {
			c.putJSON(e.Text)
		}
	} else {
		p.drop(e, "the call has its arguments already")
	}
	p.send(c)
}

// waitNoMore stops waiting for an id once arguments have come, where the template writes the id
// first.
func (c *call) waitNoMore(policy codegen.Incomplete) {
	if c.ids == codegen.IDFirst && policy == codegen.IncompleteKeep {
		c.hold = false
	}
}

// send puts the new part of a call into a delta, once its name is known, and its id if one may
// come.
func (p *Parser) send(c *call) {
	if !c.named || c.hold {
		return
	}
	if !c.announced {
		c.announced = true
		c.index = len(p.calls)
		p.calls = append(p.calls, c)
		c.sent = c.args.Len()
		d := p.addCall(c.index)
		d.ID, d.Name, d.Arguments = c.id, c.name, c.args.String()
		return
	}
	if c.args.Len() == c.sent {
		return
	}
	from := c.sent
	c.sent = c.args.Len()
	if d := p.last(); d != nil && len(d.ToolCalls) > 0 {
		if t := &d.ToolCalls[len(d.ToolCalls)-1]; t.Index == c.index {
			t.Arguments = c.args.String()[from-len(t.Arguments):]
			return
		}
	}
	p.addCall(c.index).Arguments = c.args.String()[from:]
}

// addCall adds a delta for a call.
func (p *Parser) addCall(index int) *chat.ToolCallDelta {
	n := len(p.callDeltas)
	if n == cap(p.callDeltas) {
		p.callDeltas = append(p.callDeltas, chat.ToolCallDelta{})
	}
	p.callDeltas = p.callDeltas[:n+1]
	p.add().ToolCalls = p.callDeltas[n : n+1 : n+1]
	d := &p.callDeltas[n]
	d.Index, d.Arguments = index, ""
	if d.ID != "" || d.Name != "" {
		d.ID, d.Name = "", ""
	}
	return d
}

// spareArguments gives a call without arguments the one object that it has under another key:
// models have learnt "parameters" where a template writes "arguments" (E21 T6). It reports whether
// the arguments are known: of several objects any could be meant.
func (p *Parser) spareArguments(c *call) bool {
	switch len(c.spares) {
	case 0:
		c.put("{}")
	case 1:
		s := c.spares[0]
		c.spares = nil
		p.cover(s.off, s.end, ClassArguments)
		c.putJSON(s.text)
		p.diagnose(Diagnostic{Off: s.off, Kind: "renamed-arguments", Text: c.name,
			Msg: fmt.Sprintf("the call of %s has its arguments under another key "+
				"than the template's", c.name)})
	default:
		return false
	}
	return true
}

// endCall ends the call at hand.
func (p *Parser) endCall(complete bool, off int) {
	c := p.call
	p.call = nil
	if c.inValue {
		c.endValue(false)
	}
	c.release(false)
	if c.empty && complete {
		c.put("}")
	}
	broken := "breaks off"
	if complete && c.args.Len() == 0 {
		if complete = p.spareArguments(c); !complete {
			broken = "has no arguments, but several objects under other keys"
		}
	}
	if complete && !ordered.Valid(c.args.String()) { // even if it was read as complete (E37)
		complete, broken = false, "has arguments that are no JSON"
	}
	for _, s := range c.spares {
		p.drop(&peg.Event{Text: s.text, Off: s.off, End: s.end}, "no part of the message")
	}
	c.complete, c.hold = complete, false
	if key, again := ordered.Repeated(c.args.String()); complete && again {
		p.diagnose(Diagnostic{Off: off, Kind: "repeated-argument", Text: key,
			Msg: fmt.Sprintf("the call of %s has an argument or a member of one twice, and "+
				"readers of JSON take the one or the other", c.name)})
	}
	if !complete {
		d := Diagnostic{Off: off, Kind: "incomplete-call", Text: c.name,
			Msg: fmt.Sprintf("the call of %s %s", c.name, broken)}
		if p.out.CloseArgs {
			if missing, ok := codec.Balance(c.args.String()); ok {
				c.args.WriteString(missing)
				c.complete = true
				d.Msg += fmt.Sprintf("; closed with %q", missing)
			}
		}
		p.diagnose(d)
		if !c.complete && p.out.Incomplete != codegen.IncompleteKeep {
			p.withdraw(c, off)
			return
		}
	}
	p.send(c)
}

// withdraw drops an incomplete call, of which nothing was sent, and makes it text where the policy
// says so.
func (p *Parser) withdraw(c *call, off int) {
	for i := len(p.spans) - 1; i >= 0 && p.spans[i].Off >= c.off; i-- {
		if p.spans[i].Class == ClassID || p.spans[i].Class == ClassArguments {
			p.spans[i].Class = ClassDropped
		}
	}
	if p.out.Incomplete != codegen.IncompleteText {
		return
	}
	p.spans = slices.DeleteFunc(p.spans, func(s Span) bool { return s.Off >= c.off })
	from, known := max(c.off, len(p.out.Prefill)), len(p.out.Prefill)
	for _, s := range p.spans {
		known = max(known, s.End)
	}
	for from > known && isSpace(p.raw[from-1]) { // white space that was dropped beside the marker
		from--
	}
	p.unmarked(&peg.Event{Kind: codegen.Content, Off: from, End: off, Text: p.raw[from:off]})
}

// unescaped returns a text that stood between quotes with its escapes resolved, or as it is if they
// are not valid.
func unescaped(text []byte, quote byte) string {
	if quote == 0 || slices.Index(text, '\\') < 0 {
		return string(text)
	}
	q := string(quote)
	literal, _ := codec.Read(q+string(text)+q, false)
	v, err := ordered.ParseString(literal)
	if err != nil {
		return string(text)
	}
	return strings.ToValidUTF8(v.Text(), "\uFFFD")
}
