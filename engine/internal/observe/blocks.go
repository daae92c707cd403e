package observe

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
)

// Blocks is the form of an answer whose content is an object that has a list of blocks, each of a
// kind that it names. The zero value is no form. (Content that is a list itself has the typed parts
// of OpenAI's protocol: texts, images, and whatever else people send.)
type Blocks struct {
	List    string // the member of the content that is the list
	Kind    string // the member of a block that names its kind
	Thought Block  // reasoning
	Said    Block  // content
}

// Block is one kind of block.
type Block struct {
	Kind string // its name
	Text string // the member that has the text
}

// IsZero reports whether there is no form.
func (b Blocks) IsZero() bool { return b == Blocks{} }

// Content returns the content of an answer. Without reasoning it has no block of reasoning; the
// block of content is always there, since it may close the one before it.
func (b Blocks) Content(reasoning, content string) ordered.Value {
	var blocks []ordered.Value
	if reasoning != "" {
		blocks = append(blocks, b.block(b.Thought.Kind, b.Thought.Text, reasoning))
	}
	return b.list(append(blocks, b.block(b.Said.Kind, b.Said.Text, content))...)
}

// Paths returns where in a message with reasoning the texts of its blocks are, such as
// content.blocks[0].text.
func (b Blocks) Paths() (reasoning, content string) {
	list := "content." + b.List
	return list + "[0]." + b.Thought.Text, list + "[1]." + b.Said.Text
}

func (b Blocks) list(blocks ...ordered.Value) ordered.Value {
	return ordered.Pairs(b.List, blocks)
}

// block returns a block of a kind, with a text unless its member has no name.
func (b Blocks) block(kind, member, text string) ordered.Value {
	v := ordered.Pairs(b.Kind, kind)
	if member != "" {
		v = v.With(member, ordered.Str(text))
	}
	return v
}

// maxMembers and maxKinds bound how many members of a content and of a block, and how many kinds of
// blocks, are tried.
const maxMembers, maxKinds = 16, 16

// blocks finds the form of an answer in blocks by which a template tells reasoning from content,
// the zero value where there is none. Each step gives the template a little more, and the trace
// shows what it asks for next (E4): the member with the list, the member that names the kind, the
// names that it is compared with, the member that has the text.
func (o *Observer) blocks() Blocks {
	content := Probe{}.AnswerPath() + ".content."
	searched := o.Searched() // a text for which strings are searched is no member
	for _, list := range asked(o.given(ordered.ObjectOf()), content) {
		if slices.Contains(searched, list) {
			continue
		}
		b := Blocks{List: list}
		first := content + list + "[0]."
		for _, b.Kind = range asked(o.given(b.list(ordered.ObjectOf())), first) {
			if found := o.kinds(b, first); !found.IsZero() {
				return found
			}
		}
	}
	return Blocks{}
}

// kinds finds the kinds of blocks: content is the kind that is written as content is that comes as
// a string, reasoning the only other one whose text is written between markers before it.
func (o *Observer) kinds(b Blocks, first string) Blocks {
	var all []Block
	names := o.given(b.list(b.block("", "", ""))).Literals(first+b.Kind, "==", "in")
	for _, kind := range names[:min(len(names), maxKinds)] {
		for _, member := range asked(o.given(b.list(b.block(kind, "", ""))), first) {
			all = append(all, Block{kind, member})
		}
	}
	plain := o.Turns.Plain
	for _, said := range all {
		b.Said = said
		in := o.input(plain.Probe)
		o.answered(&in, b.Content("", ContentNeedle))
		if alone, err := o.template.Render(in); err != nil || alone != plain.String {
			continue
		}
		var thoughts []Blocks
		for _, b.Thought = range all {
			r := o.Observe(plain.Probe.With(func(p *Probe) {
				p.Reasoning, p.Form.Blocks = true, b
			}))
			if b.Thought.Kind != said.Kind && separates(r) {
				thoughts = append(thoughts, b)
			}
		}
		if len(thoughts) == 1 {
			return thoughts[0]
		}
	}
	return Blocks{}
}

// separates reports whether an answer shows reasoning between two markers and content after them.
func separates(r *Rendering) bool {
	if r.Err != nil {
		return false
	}
	lead, at := Before(r.Tail, Reasoning)
	between := After(r.Tail, max(at, 0))
	_, content := Before(r.Tail, Content)
	return at >= 0 && content == at+2 && strings.TrimSpace(lead) != "" &&
		strings.TrimSpace(between) != ""
}

// given returns the trace of a conversation whose answer has a content, up to the place where the
// template fails on it, if it does.
func (o *Observer) given(content ordered.Value) *jinja.Trace {
	in := o.input(Probe{Content: new(ContentNeedle)})
	o.answered(&in, content)
	got, _ := o.template.Observe(in)
	return got.Trace
}

// answered gives the last message of an input a content.
func (o *Observer) answered(in *chattemplate.Input, content ordered.Value) {
	last := len(in.Messages) - 1
	in.Messages = slices.Clone(in.Messages)
	in.Messages[last] = in.Messages[last].With("content", content)
}

// asked returns the names of the members below a path that a template looked for in vain, sorted.
func asked(t *jinja.Trace, path string) []string {
	var names []string
	for _, r := range t.Reads() {
		name, below := strings.CutPrefix(r.Path, path)
		if below && (r.Missing || r.Tested) && name != "" && !strings.ContainsAny(name, ".[") &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxMembers)]
}
