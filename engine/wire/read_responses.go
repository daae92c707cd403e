package wire

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// responsesReader reads the events of a response.
type responsesReader struct {
	a      Answer
	number int // of the next event
	items  int // that have begun
	open   *readBlock
	begun  bool
	ended  bool
	done   []ordered.Value
	ids    map[string]bool
}

func (responses) Reader() Reader { return newResponsesReader() }

func newResponsesReader() *responsesReader { return &responsesReader{ids: map[string]bool{}} }

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

// Mark implements [Reader]. Some servers end these streams as those of chat completions; clients
// that look for the mark take it for the end.
func (r *responsesReader) Mark() {
	if r.a.event++; !r.ended {
		r.a.fault(FaultEnd, "[DONE] comes before the response has ended", "")
		r.ended = true
	}
}

// Event implements [Reader].
func (r *responsesReader) Event(name string, v ordered.Value) {
	a := &r.a
	a.event++
	kind := v.At("type").Text()
	a.named(name, kind)
	if r.ended {
		a.fault(FaultEnd, kind+" comes after the end", "")
		return
	}
	if kind == "error" {
		a.Broken, r.ended = cmp.Or(v.At("message").Text(), "an error without a message"), true
		return
	}
	r.numbered(v.At("sequence_number"))
	switch {
	case kind == "response.created" && r.begun:
		a.fault(FaultOrder, "response.created comes again", "")
		return
	case kind != "response.created" && !r.begun:
		a.fault(FaultOrder, "the first event is not response.created", "it is %s", kind)
	}
	r.begun = true
	if base, end, ok := cutEnd(kind); ok {
		r.grow(base, end, v)
		return
	}
	switch kind {
	case "response.created", "response.in_progress", "response.queued":
		r.head(v.At("response"), "response.", "in_progress", "queued")
	case "response.output_item.added":
		r.added(v)
	case "response.content_part.added", "response.content_part.done":
		r.part(kind, v)
	case "response.output_item.done":
		r.itemDone(v)
	case "response.completed", "response.incomplete", "response.failed":
		r.finish(kind, v.At("response"))
	default:
		a.expect(FaultShape, "the type of an event", "one of this protocol's", v.At("type"))
	}
}

// numbered demands the next sequence number. After a gap it goes on from there.
func (r *responsesReader) numbered(v ordered.Value) {
	if !r.a.next(v, "sequence_number", r.number) {
		if n, err := strconv.Atoi(v.Text()); err == nil {
			r.number = n
		}
	}
	r.number++
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
func (r *responsesReader) head(v ordered.Value, path string, statuses ...string) {
	a := &r.a
	a.word(v.At("object"), path+"object", "response")
	a.word(v.At("status"), path+"status", statuses...)
	a.id(v.At("model"), path+"model")
	a.kind(v.At("output"), path+"output", ordered.Array)
	a.Lost = a.Lost || v.At("output").Kind() != ordered.Array
	a.kind(v.At("created_at"), path+"created_at", ordered.Number)
	id := a.id(v.At("id"), path+"id")
	if a.ID != "" && id != a.ID {
		a.fault(FaultID, path+"id: it changes", "it is %q, and %q before", id, a.ID)
	}
	a.ID = id
}

// item reads the members that an item has from its beginning; nil where it is none of the
// protocol's.
func (r *responsesReader) item(v ordered.Value, path string) *readBlock {
	a := &r.a
	b := &readBlock{kind: v.At("type").Text(), item: a.id(v.At("id"), path+".id")}
	if r.ids[b.item] && b.item != "" {
		a.fault(FaultID, indices.ReplaceAllString(path, "[]")+".id: two items have the same id",
			"%q", b.item)
	}
	r.ids[b.item] = true
	switch b.kind {
	case "message":
		a.word(v.At("role"), path+".role", "assistant")
		a.word(v.At("status"), path+".status", "in_progress", "completed", "incomplete")
	case "reasoning":
		a.kind(v.At("summary"), path+".summary", ordered.Array)
	case "function_call", "custom_tool_call":
		b.id, b.name = a.id(v.At("call_id"), path+".call_id"), a.id(v.At("name"), path+".name")
		a.fresh(FaultID, b.id, path+".call_id")
	default:
		a.expect(FaultShape, path+".type", "an item of this protocol's", v.At("type"))
		a.Lost = true
		return nil
	}
	return b
}

func (r *responsesReader) added(v ordered.Value) {
	a := &r.a
	if r.open != nil {
		a.fault(FaultOrder, "response.output_item.added comes before the last item is done",
			"item %d", r.items-1)
		r.close()
	}
	a.next(v.At("output_index"), "response.output_item.added: output_index", r.items)
	r.items++
	if r.open = r.item(v.At("item"), "item"); r.open == nil {
		r.open = &readBlock{kind: lostBlock}
	}
}

// current reports whether an item is open that an event can be of.
func (r *responsesReader) current(kind string, v ordered.Value) bool {
	if r.open == nil {
		r.a.fault(FaultOrder, kind+" comes where no item is open", "")
		r.a.Lost = true
		if kind == "response.output_item.done" {
			return false
		}
		r.open = &readBlock{kind: lostBlock}
		r.items++
	}
	if r.open.kind == lostBlock {
		return false
	}
	if id := v.At("item_id"); kind != "response.output_item.done" && id.Text() != r.open.item {
		r.a.fault(FaultID, kind+": item_id: expected the open item's", "expected %q, found %s",
			r.open.item, ordered.Excerpt(id, 60))
	}
	r.a.next(v.At("output_index"), kind+": output_index", r.items-1)
	return true
}

// partTypes are the types of the parts of items.
var partTypes = map[string]string{"message": "output_text", "reasoning": "reasoning_text"}

func (r *responsesReader) part(kind string, v ordered.Value) {
	if !r.current(kind, v) {
		return
	}
	r.a.next(v.At("content_index"), kind+": content_index", 0)
	want := partTypes[r.open.kind]
	if want == "" {
		r.a.fault(FaultOrder, kind+" comes in an item that has no parts", "in one of the type %q",
			r.open.kind)
		return
	}
	r.a.word(v.At("part", "type"), kind+": part.type", want)
	if kind == "response.content_part.added" {
		if r.open.part != 0 {
			r.a.fault(FaultOrder, kind+" comes again", "")
		}
		r.open.part = 1
		return
	}
	if r.open.part != 1 || !r.open.done {
		r.a.fault(FaultOrder, kind+" comes before the text of its part is done", "")
	}
	r.open.part = 2
	r.same(kind+": part.text", v.At("part", "text"))
}

// same demands that a whole text is its deltas put together.
func (r *responsesReader) same(path string, v ordered.Value) {
	if got, want := r.a.text(v, path), r.open.whole.String(); got != want &&
		v.Kind() == ordered.String && !r.a.Lost {
		r.a.fault(FaultText, path+" is not its deltas put together", "it is %s, they are %s",
			ordered.Excerpt(ordered.Str(got), 60), ordered.Excerpt(ordered.Str(want), 60))
	}
}

func (r *responsesReader) grow(base, end string, v ordered.Value) {
	kind := base + "." + end
	g := growing[base]
	if !r.current(kind, v) {
		return
	}
	if r.open.kind != g.item {
		r.a.fault(FaultShape, kind+" comes in an item of another type", "in one of the type %q",
			r.open.kind)
		r.a.Lost = true
		return
	}
	if g.part {
		r.a.next(v.At("content_index"), kind+": content_index", 0)
		if r.open.part == 0 {
			r.a.fault(FaultOrder, kind+" comes where no part is open", "")
		}
	}
	if r.open.done {
		r.a.fault(FaultOrder, kind+" comes after the text is done", "")
	}
	if end == "delta" {
		r.open.whole.WriteString(r.a.text(v.At("delta"), kind+": delta"))
		return
	}
	r.open.done = true
	if name := v.At("name"); !name.IsNull() && name.Text() != r.open.name {
		r.a.fault(FaultID, kind+": name: it changes", "it is %s, and %q before", name, r.open.name)
	}
	r.same(kind+": "+g.key, v.At(g.key))
}

func (r *responsesReader) itemDone(v ordered.Value) {
	const kind = "response.output_item.done"
	if !r.current(kind, v) {
		if r.open != nil { // its beginning did not come
			r.done, r.open = append(r.done, v.At("item")), nil
		}
		return
	}
	b, item, a := r.open, v.At("item"), &r.a
	if !b.done && (b.kind != "reasoning" || b.part != 0) || b.part == 1 {
		a.fault(FaultOrder, kind+" comes before the text of the item is done", "")
	}
	if b.kind != item.At("type").Text() || b.item != item.At("id").Text() ||
		b.id != item.At("call_id").Text() || b.name != item.At("name").Text() {
		a.fault(FaultID, kind+": the item is another one than was added", "%s",
			ordered.Excerpt(item, 120))
	}
	switch b.kind {
	case "message", "reasoning":
		whole := ""
		for _, part := range item.At("content").Items() {
			whole += a.text(part.At("text"), kind+": item.content[].text")
		}
		r.same(kind+": item.content", ordered.Str(whole))
		b.sealed = item.At("encrypted_content").Text()
	case "function_call":
		r.same(kind+": item.arguments", item.At("arguments"))
	case "custom_tool_call":
		r.same(kind+": item.input", item.At("input"))
	}
	r.done = append(r.done, item)
	r.close()
}

// close ends the open item.
func (r *responsesReader) close() {
	if r.open.kind == "reasoning" {
		r.a.Sealed = append(r.a.Sealed, r.open.sealed)
	}
	r.a.take(r.open)
	r.open = nil
}

func (r *responsesReader) finish(kind string, v ordered.Value) {
	r.ended = true
	if r.open != nil && kind != "response.failed" {
		r.a.fault(FaultOrder, kind+" comes before the last item is done", "item %d", r.items-1)
		r.close()
	}
	r.head(v, "response.", kind[len("response."):])
	if kind == "response.failed" {
		e := v.At("error", "message")
		if r.a.Broken = cmp.Or(e.Text(), "an error without a message"); e.Text() == "" {
			r.a.expect(FaultShape, "response.error.message", "a text", e)
		}
		return
	}
	output := v.At("output").Items()
	if len(output) != len(r.done) {
		r.a.fault(FaultText, kind+": output has other items than were streamed",
			"%d, and %d were streamed", len(output), len(r.done))
	} else {
		for i, item := range output {
			if !ordered.Equal(item, r.done[i]) {
				r.a.fault(FaultText, kind+": output has other items than were streamed",
					"output[%d] is %s, and was %s", i, ordered.Excerpt(item, 120),
					ordered.Excerpt(r.done[i], 120))
			}
		}
	}
	r.a.responseEnd(v, "response.")
}

// responseEnd reads how a response ended.
func (a *Answer) responseEnd(v ordered.Value, path string) {
	a.Whole = true
	usage := v.At("usage")
	if a.counts(usage) {
		a.Usage = chat.Usage{Prompt: a.count(usage.At("input_tokens"), path+"usage.input_tokens"),
			Completion: a.count(usage.At("output_tokens"), path+"usage.output_tokens")}
		a.total(usage, path)
	}
	switch details := v.At("incomplete_details"); {
	case v.At("status").Text() == "incomplete":
		a.Finish = chat.FinishLength
		switch reason := details.At("reason"); reason.Text() {
		case "max_output_tokens":
		case "content_filter":
			a.Finish = chat.FinishContentFilter
		default:
			a.expect(FaultShape, path+"incomplete_details.reason",
				`"max_output_tokens" or "content_filter"`, reason)
		}
	case !details.IsNull():
		a.expect(FaultShape, path+"incomplete_details of a response that is complete", "null",
			details)
		fallthrough
	case len(a.Message.ToolCalls) > 0:
		a.Finish = chat.FinishToolCalls
	default:
		a.Finish = chat.FinishStop
	}
}

// total demands that the counts of usage add up.
func (a *Answer) total(usage ordered.Value, path string) {
	total := usage.At("total_tokens")
	if a.count(total, path+"usage.total_tokens") != a.Usage.Prompt+a.Usage.Completion &&
		!total.IsNull() {
		a.fault(FaultUsage, "usage does not add up", "%s", usage)
	}
}

// End implements [Reader].
func (r *responsesReader) End() Answer {
	if r.open != nil {
		r.close()
	}
	r.a.Turn = r.done
	return r.a.ended("response.completed")
}

func (responses) Read(v ordered.Value) Answer {
	r := newResponsesReader()
	a := &r.a
	r.head(v, "", "completed", "incomplete", "failed")
	a.Turn = v.At("output").Items()
	for i, item := range a.Turn {
		path := fmt.Sprintf("output[%d]", i)
		b := r.item(item, path)
		if b == nil {
			continue
		}
		switch b.kind {
		case "message", "reasoning":
			if b.kind == "reasoning" {
				a.Sealed = append(a.Sealed, item.At("encrypted_content").Text())
			}
			for j, part := range item.At("content").Items() {
				at := fmt.Sprintf("%s.content[%d]", path, j)
				a.word(part.At("type"), at+".type", partTypes[b.kind])
				if b.kind == "message" {
					a.kind(part.At("annotations"), at+".annotations", ordered.Array)
				}
				b.whole.WriteString(a.text(part.At("text"), at+".text"))
			}
		case "function_call":
			b.whole.WriteString(a.arguments(item.At("arguments"), path+".arguments"))
		case "custom_tool_call":
			b.whole.WriteString(a.arguments(item.At("input"), path+".input"))
		}
		a.take(b)
	}
	if e := v.At("error"); !e.IsNull() {
		a.Broken = cmp.Or(e.At("message").Text(), "an error without a message")
		return a.joined()
	}
	a.responseEnd(v, "")
	return a.joined()
}

// arguments demands a text; of another value it returns the JSON.
func (a *Answer) arguments(v ordered.Value, path string) string {
	if v.Kind() != ordered.String {
		a.expect(FaultArguments, path, "a text", v)
		return v.String()
	}
	a.characters(v, path)
	return v.Text()
}

func (responses) ReadRefusal(v ordered.Value) (string, error) { return openAIReadRefusal(v) }
