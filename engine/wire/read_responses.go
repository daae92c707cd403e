package wire

import (
	"fmt"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// ResponsesReader reads the events of a response.
type ResponsesReader struct {
	a      Answer
	number int
	items  int // that have begun
	open   *readBlock
	begun  bool
	ended  bool
	id     string // of the response
	done   []ordered.Value
	ids    map[string]bool
}

// growing are the events of a text that grows: the type of its item, and whether it is in a part.
var growing = map[string]struct {
	item string
	part bool
	key  string // of the whole text in the event that ends it
}{
	"response.output_text":             {"message", true, "text"},
	"response.reasoning_text":          {"reasoning", true, "text"},
	"response.function_call_arguments": {"function_call", false, "arguments"},
	"response.custom_tool_call_input":  {"custom_tool_call", false, "input"},
}

// Event takes an event.
func (r *ResponsesReader) Event(name string, v ordered.Value) {
	a := &r.a
	kind := v.At("type").Text()
	if name != kind {
		a.fault(FaultShape, "the event %q has data of the type %q", name, kind)
	}
	if kind == "error" {
		a.Broken, r.ended = v.At("message").Text(), true
		return
	}
	a.next(v.At("sequence_number"), kind+": sequence_number", r.number)
	r.number++
	if r.ended {
		a.fault(FaultOrder, "%s comes after the end", kind)
		return
	}
	if (kind == "response.created") == r.begun {
		a.fault(FaultOrder, "%s comes %s", kind,
			map[bool]string{true: "again", false: "before response.created"}[r.begun])
	}
	r.begun = true
	if base, end, ok := cutEnd(kind); ok {
		r.grow(base, end, v)
		return
	}
	switch kind {
	case "response.created", "response.in_progress", "response.queued":
		r.head(v.At("response"), "in_progress", "queued")
	case "response.output_item.added":
		r.added(v)
	case "response.content_part.added", "response.content_part.done":
		r.part(kind, v)
	case "response.output_item.done":
		r.itemDone(v)
	case "response.completed", "response.incomplete", "response.failed":
		r.finish(kind, v.At("response"))
	default:
		a.fault(FaultShape, "an event of the type %q", kind)
	}
}

// cutEnd cuts the name of an event of a text that grows.
func cutEnd(kind string) (base, end string, ok bool) {
	for base := range growing {
		if kind == base+".delta" || kind == base+".done" {
			return base, kind[len(base)+1:], true
		}
	}
	return "", "", false
}

// head checks the members of a response that every one of its events has.
func (r *ResponsesReader) head(v ordered.Value, statuses ...string) {
	a := &r.a
	a.word(v.At("object"), "response.object", "response")
	a.word(v.At("status"), "response.status", statuses...)
	a.id(v.At("model"), "response.model")
	a.kind(v.At("output"), "response.output", ordered.Array)
	a.kind(v.At("created_at"), "response.created_at", ordered.Number)
	id := a.id(v.At("id"), "response.id")
	if r.id != "" && id != r.id {
		a.fault(FaultID, "response.id: it is %q, and %q before", id, r.id)
	}
	r.id = id
}

func (r *ResponsesReader) added(v ordered.Value) {
	a := &r.a
	if r.open != nil {
		a.fault(FaultOrder, "response.output_item.added comes before item %d is done", r.items-1)
		r.close()
	}
	a.next(v.At("output_index"), "response.output_item.added: output_index", r.items)
	r.items++
	item := v.At("item")
	b := &readBlock{kind: item.At("type").Text(), item: a.id(item.At("id"), "item.id")}
	if r.ids[b.item] {
		a.fault(FaultID, "item.id: %q comes again", b.item)
	}
	if r.ids == nil {
		r.ids = map[string]bool{}
	}
	r.ids[b.item] = true
	switch b.kind {
	case "message":
		a.word(item.At("role"), "item.role", "assistant")
	case "reasoning":
	case "function_call", "custom_tool_call":
		b.id = a.id(item.At("call_id"), "item.call_id")
		b.name = a.id(item.At("name"), "item.name")
	default:
		a.fault(FaultShape, "item.type: %s is none of this protocol's", item.At("type"))
	}
	r.open = b
}

// current reports whether an event is of the open item.
func (r *ResponsesReader) current(kind string, v ordered.Value) bool {
	if r.open == nil {
		r.a.fault(FaultOrder, "%s comes where no item is open", kind)
		return false
	}
	if id, ok := v.Get("item_id"); ok && id.Text() != r.open.item {
		r.a.fault(FaultID, "%s: item_id: expected %q, found %s", kind, r.open.item, id)
	} else if !ok && kind != "response.output_item.done" {
		r.a.fault(FaultID, "%s: item_id is missing", kind)
	}
	return r.a.next(v.At("output_index"), kind+": output_index", r.items-1)
}

func (r *ResponsesReader) part(kind string, v ordered.Value) {
	if !r.current(kind, v) {
		return
	}
	r.a.next(v.At("content_index"), kind+": content_index", 0)
	want := map[string]string{"message": "output_text", "reasoning": "reasoning_text"}[r.open.kind]
	if want == "" {
		r.a.fault(FaultOrder, "%s comes in an item of the type %q", kind, r.open.kind)
		return
	}
	r.a.word(v.At("part", "type"), kind+": part.type", want)
	if kind == "response.content_part.added" {
		if r.open.part != 0 {
			r.a.fault(FaultOrder, "%s comes again", kind)
		}
		r.open.part = 1
		return
	}
	if r.open.part != 1 || !r.open.done {
		r.a.fault(FaultOrder, "%s comes before the text of its part is done", kind)
	}
	r.open.part = 2
	r.same(kind+": part.text", v.At("part", "text"))
}

// same demands that a whole text is its deltas put together.
func (r *ResponsesReader) same(path string, v ordered.Value) {
	if got, want := r.a.text(v, path), r.open.whole.String(); got != want {
		r.a.fault(FaultText, "%s is %s, its deltas are %s", path,
			ordered.Excerpt(ordered.Str(got), 60), ordered.Excerpt(ordered.Str(want), 60))
	}
}

func (r *ResponsesReader) grow(base, end string, v ordered.Value) {
	kind := base + "." + end
	g := growing[base]
	if !r.current(kind, v) {
		return
	}
	if r.open.kind != g.item {
		r.a.fault(FaultOrder, "%s comes in an item of the type %q", kind, r.open.kind)
		return
	}
	if g.part {
		r.a.next(v.At("content_index"), kind+": content_index", 0)
		if r.open.part != 1 {
			r.a.fault(FaultOrder, "%s comes where no part is open", kind)
		}
	}
	if r.open.done {
		r.a.fault(FaultOrder, "%s comes after the text is done", kind)
	}
	if end == "delta" {
		r.open.whole.WriteString(r.a.text(v.At("delta"), kind+": delta"))
		return
	}
	r.open.done = true
	if name := v.At("name"); !name.IsNull() && name.Text() != r.open.name {
		r.a.fault(FaultID, "%s: name: it is %s, and %q before", kind, name, r.open.name)
	}
	r.same(kind+": "+g.key, v.At(g.key))
}

func (r *ResponsesReader) itemDone(v ordered.Value) {
	const kind = "response.output_item.done"
	if !r.current(kind, v) {
		return
	}
	b, item, a := r.open, v.At("item"), &r.a
	a.word(item.At("type"), kind+": item.type", b.kind)
	if id := item.At("id").Text(); id != b.item {
		a.fault(FaultID, "%s: item.id: it is %q, and %q before", kind, id, b.item)
	}
	if !b.done && !(b.kind == "reasoning" && b.part == 0) || b.part == 1 {
		a.fault(FaultOrder, "%s comes before the text of the item is done", kind)
	}
	switch b.kind {
	case "message", "reasoning":
		text := ""
		for _, part := range item.At("content").Items() {
			text += a.text(part.At("text"), kind+": item.content.text")
		}
		r.same(kind+": item.content", ordered.Str(text))
		b.sealed = item.At("encrypted_content").Text()
	case "function_call":
		r.same(kind+": item.arguments", item.At("arguments"))
	case "custom_tool_call":
		r.same(kind+": item.input", item.At("input"))
	}
	if b.id != item.At("call_id").Text() || b.name != item.At("name").Text() {
		a.fault(FaultID, "%s: item: the call is another one than it was", kind)
	}
	r.done = append(r.done, item)
	r.close()
}

func (r *ResponsesReader) close() {
	if r.open.kind == "reasoning" {
		r.a.Sealed = append(r.a.Sealed, r.open.sealed)
	}
	r.a.take(r.open)
	r.open = nil
}

func (r *ResponsesReader) finish(kind string, v ordered.Value) {
	r.ended = true
	if r.open != nil && kind != "response.failed" {
		r.a.fault(FaultOrder, "%s comes before item %d is done", kind, r.items-1)
	}
	r.head(v, kind[len("response."):])
	if kind == "response.failed" {
		if r.a.Broken = v.At("error", "message").Text(); r.a.Broken == "" {
			r.a.fault(FaultShape, "response.error.message: expected a text, found %s",
				v.At("error"))
		}
		return
	}
	output := v.At("output").Items()
	if len(output) != len(r.done) {
		r.a.fault(FaultText, "%s has %d items, %d were streamed", kind, len(output), len(r.done))
	} else {
		for i, item := range output {
			if !ordered.Equal(item, r.done[i]) {
				r.a.fault(FaultText, "%s: output[%d] is another item than was streamed", kind, i)
			}
		}
	}
	r.a.ending(v)
}

// ending reads how a response ended.
func (a *Answer) ending(v ordered.Value) {
	a.Whole = true
	a.Usage = chat.Usage{Prompt: a.count(v.At("usage", "input_tokens"), "usage.input_tokens"),
		Completion: a.count(v.At("usage", "output_tokens"), "usage.output_tokens")}
	if total := a.count(v.At("usage", "total_tokens"), "usage.total_tokens"); total !=
		a.Usage.Prompt+a.Usage.Completion {
		a.fault(FaultUsage, "usage does not add up: %s", v.At("usage"))
	}
	switch {
	case v.At("status").Text() == "incomplete":
		a.Finish = chat.FinishLength
		switch reason := v.At("incomplete_details", "reason"); reason.Text() {
		case "max_output_tokens":
		case "content_filter":
			a.Finish = chat.FinishContentFilter
		default:
			a.fault(FaultShape, "incomplete_details.reason: expected a reason, found %s", reason)
		}
	case len(a.Message.ToolCalls) > 0:
		a.Finish = chat.FinishToolCalls
	default:
		a.Finish = chat.FinishStop
	}
}

// End ends the stream and returns the answer.
func (r *ResponsesReader) End() Answer {
	if r.open != nil {
		r.close()
	}
	return r.a.ended("response.completed")
}

// ReadResponse reads a response in one piece.
func ReadResponse(v ordered.Value) Answer {
	r := &ResponsesReader{ids: map[string]bool{}}
	a := &r.a
	r.head(v, "completed", "incomplete", "failed")
	for i, item := range v.At("output").Items() {
		path := fmt.Sprintf("output[%d]", i)
		b := &readBlock{kind: item.At("type").Text()}
		if id := a.id(item.At("id"), path+".id"); r.ids[id] {
			a.fault(FaultID, "%s.id: %q comes again", path, id)
		} else {
			r.ids[id] = true
		}
		switch b.kind {
		case "message", "reasoning":
			if b.kind == "message" {
				a.word(item.At("role"), path+".role", "assistant")
				a.word(item.At("status"), path+".status", "completed", "incomplete")
			} else {
				a.kind(item.At("summary"), path+".summary", ordered.Array)
				a.Sealed = append(a.Sealed, item.At("encrypted_content").Text())
			}
			for j, part := range item.At("content").Items() {
				at := fmt.Sprintf("%s.content[%d]", path, j)
				a.word(part.At("type"), at+".type", map[string]string{"message": "output_text",
					"reasoning": "reasoning_text"}[b.kind])
				if b.kind == "message" {
					a.kind(part.At("annotations"), at+".annotations", ordered.Array)
				}
				b.whole.WriteString(a.text(part.At("text"), at+".text"))
			}
		case "function_call", "custom_tool_call":
			b.id = a.id(item.At("call_id"), path+".call_id")
			b.name = a.id(item.At("name"), path+".name")
			key := map[string]string{"function_call": "arguments",
				"custom_tool_call": "input"}[b.kind]
			b.whole.WriteString(a.text(item.At(key), path+"."+key))
			for _, c := range a.Message.ToolCalls {
				if c.ID == b.id {
					a.fault(FaultID, "%s.call_id: %q comes again", path, b.id)
				}
			}
		default:
			a.fault(FaultShape, "%s.type: %s is none of this protocol's", path, item.At("type"))
			continue
		}
		a.take(b)
	}
	if e := v.At("error"); !e.IsNull() {
		a.Broken = e.At("message").Text()
		return *a
	}
	a.ending(v)
	return *a
}
