// Package reduce shrinks a failing case to one that a person can read: the output, the request and
// the split.
//
// # Model
//
// A [Case] fails if the engine panics on it, if a split of its output is parsed differently, or if
// it differs from the case's expectation ([Want]). [Case.Reduce] leaves out parts of the output, in
// ever smaller runs, and members and items of the request, as long as the rest fails in the same
// way, until nothing more can be left out. [Case.Script] is the result as a script that reproduces
// the failure.
//
// An expected message shrinks with the output. A part of the output may only go if the message
// stays as it is, if the same text goes from one field of the expected message, or if one call goes
// from both messages; and the first difference must stay in the same field and be the same, or a
// part of it. So the rest is expected for the same reason as the whole.
//
// # Limits
//
// At most [MaxTries] cases are tried; then the smallest one so far is the result.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package reduce

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/split"
)

// MaxTries bounds the work of one reduction.
const MaxTries = 20_000

// Case is a request to a template and an output.
type Case struct {
	Template  *engine.Template
	Request   ordered.Value
	Fallbacks []string
	Output    string
	Reason    chat.FinishReason // why the output ended
	Want      *Want             // nil: any message will do

	// NewParser makes the parser; nil is the plan's own.
	NewParser func(*engine.Plan) split.Parser
}

// Want is a case's expectation.
type Want struct {
	Message chat.Message
	Finish  chat.FinishReason // "" is any
	Accepts bool              // the grammar takes the part of the output that it constrains
	// Same compares the expected value of a field (reasoning_content, content, name, id or
	// arguments) with the found one; nil compares as scripts do.
	Same func(field, want, got string) bool
}

// Failure is how a case fails: its kind and the text. The kinds are "panic", "refused" (the request
// cannot be prepared), "split", "finish", "grammar", and those of a message: a field with "lost",
// "added" or "changed".
type Failure struct{ Kind, Text string }

// outcome is a run of a case.
type outcome struct {
	Failure
	answer split.Answer
	field  string                // of a message, the first that differs
	diffs  map[string]difference // of each field that differs
}

// difference is the expected and the found text, without their common beginning and end.
type difference struct{ want, got string }

// Fails runs a case. The zero Failure means that it does not fail. A request that cannot be
// prepared is a failure of a case that expects something, else an error.
func (c Case) Fails() (Failure, error) {
	o := c.run()
	if o.Kind == "refused" && c.Want == nil {
		return Failure{}, errors.New(o.Text)
	}
	return o.Failure, nil
}

func (c Case) run() (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			o.Failure = Failure{"panic", fmt.Sprint("panic: ", r)}
		}
	}()
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		return outcome{Failure: Failure{"refused", err.Error()}}
	}
	plan, err := c.Template.Prepare(r, engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
	if err != nil {
		return outcome{Failure: Failure{"refused", err.Error()}}
	}
	parser := split.Parser(plan.NewParser())
	if c.NewParser != nil {
		parser = c.NewParser(plan)
	}
	o.answer = split.Feed(parser, c.Output, nil, c.Reason)
	if c.Want != nil {
		if c.Want.compare(&o); o.Kind != "" {
			return o
		}
	}
	if _, mismatch := split.Check(parser, c.Output, c.Reason); mismatch != nil {
		o.Failure = Failure{"split", mismatch.Error()}
		return o
	}
	if c.Want != nil {
		o.Failure = c.Want.rest(plan, o.answer.Finish, c.Output)
	}
	return o
}

// rest checks the parts that a message does not have: the reason of its end, and the grammar.
func (w *Want) rest(plan *engine.Plan, finish chat.FinishReason, output string) Failure {
	if w.Finish != "" && finish != w.Finish {
		return Failure{"finish", fmt.Sprintf("finish_reason is %q, want %q", finish, w.Finish)}
	}
	if !w.Accepts {
		return Failure{}
	}
	grammar, err := plan.Output.Grammar()
	if err != nil {
		return Failure{"grammar", err.Error()}
	}
	text, ok := plan.Output.Constrained(output)
	if grammar == nil || !ok {
		return Failure{}
	}
	refusal, err := grammar.Refusal(text)
	if err != nil {
		refusal = err.Error()
	}
	if refusal != "" {
		return Failure{"grammar", refusal}
	}
	return Failure{}
}

// compare finds the fields in which the message of a run differs from the expected one. The first
// is the failure.
func (w *Want) compare(o *outcome) {
	got := o.answer.Message
	o.diffs = map[string]difference{}
	for _, f := range fields(&w.Message, &got) {
		if w.same(f.name, *f.want, *f.got) {
			continue
		}
		d := middles(*f.want, *f.got)
		o.diffs[f.name] = difference{o.diffs[f.name].want + d.want, o.diffs[f.name].got + d.got}
		if o.field != "" {
			continue
		}
		how := "changed"
		if d.got == "" {
			how = "lost"
		} else if d.want == "" {
			how = "added"
		}
		o.field, o.Failure = f.name,
			Failure{f.name + " " + how, fmt.Sprintf("%s is %q, want %q", f.name, *f.got, *f.want)}
	}
	if found, want := len(got.ToolCalls), len(w.Message.ToolCalls); found != want {
		o.diffs["tool_calls"] = difference{}
		if o.field != "" {
			return
		}
		how := "added"
		if found < want {
			how = "lost"
		}
		o.field, o.Failure = "tool_calls",
			Failure{"tool_calls " + how, fmt.Sprintf("%d calls, want %d", found, want)}
	}
}

func (w *Want) same(field, want, got string) bool {
	if w.Same != nil {
		return w.Same(field, want, got)
	}
	return script.SameText(field, want, got)
}

// field is one text of two messages.
type field struct {
	name      string
	want, got *string
}

// fields pairs the texts of two messages, the calls as far as both have them.
func fields(want, got *chat.Message) []field {
	list := []field{{"reasoning_content", &want.Reasoning, &got.Reasoning},
		{"content", &want.Content, &got.Content}}
	for i := range min(len(want.ToolCalls), len(got.ToolCalls)) {
		w, g := &want.ToolCalls[i], &got.ToolCalls[i]
		list = append(list, field{"name", &w.Name, &g.Name}, field{"id", &w.ID, &g.ID},
			field{"arguments", &w.Arguments, &g.Arguments})
	}
	return list
}

// middles are two texts without their common beginning and end.
func middles(a, b string) difference {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return difference{a, b}
}

// ErrHolds is returned for a case that does not fail.
var ErrHolds = errors.New("the case does not fail, so there is nothing to reduce")

// Reduce returns the smallest case that it finds to fail as c does.
func (c Case) Reduce() (Case, Failure, error) {
	failure, err := c.Fails()
	if err != nil {
		return c, failure, err
	}
	if failure.Kind == "" {
		return c, failure, ErrHolds
	}
	r := reducer{best: c, now: c.run()}
	for r.output() || r.request() {
		continue
	}
	return r.best, r.now.Failure, nil
}

type reducer struct {
	best  Case
	now   outcome // of best
	tries int
}

// try takes a smaller case if it fails in the same way and may be compared with its expectation.
func (r *reducer) try(c Case, may func(outcome) bool) bool {
	if r.tries++; r.tries > MaxTries {
		return false
	}
	o := c.run()
	if o.Kind != r.now.Kind || o.Kind == "refused" && o.Text != r.now.Text || !may(o) {
		return false
	}
	r.best, r.now = c, o
	return true
}

func always(outcome) bool { return true }

// alike reports whether a case differs from its expectation by no more than before, and has no call
// that was cut off by leaving out its end.
func (r *reducer) alike(o outcome) bool {
	for field, d := range o.diffs {
		before, ok := r.now.diffs[field]
		if !ok || !subsequence(d.want, before.want) || !subsequence(d.got, before.got) {
			return false
		}
	}
	return incomplete(o) <= incomplete(r.now)
}

// keeps reports whether an output still has the text that is wanted and was not found, if it was
// there: in several places, perhaps.
func (r *reducer) keeps(output string) bool {
	for _, d := range r.now.diffs {
		if d.want != "" && subsequence(d.want, r.best.Output) && !subsequence(d.want, output) {
			return false
		}
	}
	return true
}

func incomplete(o outcome) (n int) {
	for _, c := range o.answer.Message.ToolCalls {
		if !c.Complete {
			n++
		}
	}
	return n
}

// subsequence reports whether a text is another one with parts left out.
func subsequence(s, of string) bool {
	for i := 0; i < len(of) && s != ""; i++ {
		if s[0] == of[i] {
			s = s[1:]
		}
	}
	return s == ""
}

// unchanged reports whether a case is still read as before.
func (r *reducer) unchanged(o outcome) bool {
	return split.Diff(r.now.answer.Message, o.answer.Message) == ""
}

// output leaves out runs of the output, long ones first, and reports whether it got shorter.
func (r *reducer) output() bool {
	before := len(r.best.Output)
	for size := before; size > 0; size /= 2 {
		for at := 0; at+size <= len(r.best.Output); {
			if !r.leaveOut(at, size) {
				at += size
			}
		}
	}
	thorough := maxThorough
	if r.now.field == "" {
		thorough /= 2 // each try parses in every split
	}
	if len(r.best.Output) == before && before <= thorough {
		for size := before; size > 0; size-- {
			for at := 0; at+size <= len(r.best.Output); at++ {
				if r.leaveOut(at, size) {
					return true
				}
			}
		}
	}
	return len(r.best.Output) < before
}

// maxThorough is the length of an output, in bytes, up to which every run of it is tried at the
// end.
const maxThorough = 128

func (r *reducer) leaveOut(at, size int) bool {
	c := r.best
	removed := c.Output[at : at+size]
	c.Output = c.Output[:at] + c.Output[at+size:]
	return r.without(c, removed)
}

// without tries a case whose output lacks a text, with every message that may be expected of it.
func (r *reducer) without(c Case, removed string) bool {
	switch {
	case c.Want == nil || r.now.Kind == "panic" || r.now.Kind == "refused":
		return r.try(c, always)
	case r.now.field == "":
		return r.readAnew(c)
	case r.keeps(c.Output) && r.try(c, r.unchanged):
		return true
	}
	want := *c.Want
	message := want.Message
	reduced := func(m chat.Message, may func(outcome) bool) bool {
		smaller := want
		smaller.Message = m
		c.Want = &smaller
		return r.try(c, may)
	}
	for i := range fields(&message, &message) {
		for _, find := range []func(s, sub string) int{strings.Index, strings.LastIndex} {
			m := message
			m.ToolCalls = slices.Clone(m.ToolCalls)
			f := fields(&m, &m)[i]
			at := find(*f.want, removed)
			if at < 0 {
				break
			}
			text := (*f.want)[:at] + (*f.want)[at+len(removed):]
			if f.name == "name" || f.name == "arguments" && isJSON(*f.want) && !isJSON(text) {
				break
			}
			*f.want = text
			if reduced(m, r.alike) {
				return true
			}
		}
	}
	calls := len(r.now.answer.Message.ToolCalls)
	for i := range message.ToolCalls {
		// two calls that became one would lose text to the shrinking, not to the fault
		if !r.keeps(c.Output) {
			break
		}
		m := message
		m.ToolCalls = slices.Delete(slices.Clone(m.ToolCalls), i, i+1)
		if reduced(m, func(o outcome) bool {
			return r.alike(o) && len(o.answer.Message.ToolCalls) == calls-1
		}) {
			return true
		}
	}
	return false
}

func isJSON(text string) bool {
	_, err := ordered.ParseString(text)
	return err == nil
}

// readAnew tries a case that fails in something else than its message: the message may be another
// one of the same shape.
func (r *reducer) readAnew(c Case) bool {
	want := *c.Want
	bare := c
	bare.Want = nil
	now, before := bare.run(), r.now.answer
	if now.Kind != "" && now.Kind != r.now.Kind || now.answer.Finish != before.Finish ||
		len(now.answer.Message.ToolCalls) == 0 != (len(before.Message.ToolCalls) == 0) {
		return false
	}
	for _, call := range now.answer.Message.ToolCalls {
		if !call.Complete && !c.Reason.Cut() {
			return false
		}
	}
	want.Message = now.answer.Message
	c.Want = &want
	return r.try(c, always)
}

// request leaves out members and items of the request, and reports whether it could.
func (r *reducer) request() bool {
	changed := false
	for again := true; again; {
		again = false
		for smaller := range without(r.best.Request) {
			c := r.best
			c.Request = smaller
			may := always
			if c.Want != nil && r.now.Kind != "refused" {
				may = r.unchanged
			}
			if r.try(c, may) {
				changed, again = true, true
				break
			}
		}
	}
	return changed
}

// without yields a value with one member or item left out, the outermost first.
func without(v ordered.Value) func(yield func(ordered.Value) bool) {
	return func(yield func(ordered.Value) bool) {
		members, items := v.Members(), v.Items()
		for i := range members {
			if !yield(ordered.ObjectOf(cut(members, i)...)) {
				return
			}
		}
		for i := range items {
			if !yield(ordered.ArrayOf(cut(items, i)...)) {
				return
			}
		}
		for _, m := range members {
			for inner := range without(m.Value) {
				if !yield(v.With(m.Key, inner)) {
					return
				}
			}
		}
		for i := range items {
			for inner := range without(items[i]) {
				changed := append(cut(items, i), ordered.Value{})
				copy(changed[i+1:], changed[i:])
				changed[i] = inner
				if !yield(ordered.ArrayOf(changed...)) {
					return
				}
			}
		}
	}
}

// cut returns a copy without one element.
func cut[T any](list []T, i int) []T {
	return append(append(make([]T, 0, len(list)), list[:i]...), list[i+1:]...)
}

// expected is the message that a script of the case expects: the found one, but with the wanted
// text where the two differ.
func (c Case) expected() chat.Message {
	o := c.run()
	got := o.answer.Message
	if c.Want == nil || o.field == "" {
		return got
	}
	if o.field == "tool_calls" {
		got.ToolCalls = slices.Clone(c.Want.Message.ToolCalls)
		return got
	}
	got.ToolCalls = slices.Clone(got.ToolCalls)
	want := c.Want.Message
	for _, f := range fields(&want, &got) {
		if !c.Want.same(f.name, *f.want, *f.got) {
			*f.got = *f.want
		}
	}
	return got
}

// Script returns a case as a script of the corpus that shows the failure. A text with a line that
// looks like the header of a file in a txtar archive cannot stand in one, and is an error.
func (c Case) Script(f Failure) (string, error) {
	head, _, _ := strings.Cut(f.Text, "\n")
	commands := "# " + head + "\ntemplate template.jinja\n"
	if len(c.Fallbacks) > 0 {
		commands += "fallback " + strings.Join(c.Fallbacks, " ") + "\n"
	}
	commands += "request request.json\n"
	flag := ""
	if c.Reason.Cut() {
		flag = "-cut "
	}
	if f.Kind == "split" || f.Kind == "panic" {
		commands += "stream " + flag + "output.txt message.json\n"
	} else {
		commands += "parse " + flag + "output.txt message.json\n"
	}
	switch f.Kind {
	case "finish":
		commands += "finish " + string(c.Want.Finish) + "\n"
	case "grammar":
		commands += "accept output.txt\n"
	}
	message := chat.Message{}
	if f.Kind != "panic" {
		message = c.expected()
	}
	archive := txtar.Archive{Comment: []byte(commands), Files: []txtar.File{
		{Name: "template.jinja", Data: []byte(c.Template.ChatTemplate().Source.Text)},
		{Name: "request.json", Data: append(c.Request.Append(nil, ordered.Pretty), '\n')},
		{Name: "output.txt", Data: []byte(c.Output + "\n")},
		{Name: "message.json", Data: []byte(script.FormatMessage(message) + "\n")},
	}}
	text := txtar.Format(&archive)
	for i, file := range txtar.Parse(text).Files {
		if i >= len(archive.Files) || file.Name != archive.Files[i].Name {
			return "", fmt.Errorf("%s has a line that looks like the header of a "+
				"file in a script", archive.Files[min(i, len(archive.Files))-1].Name)
		}
	}
	return string(text), nil
}

// FromScript returns a case of a script to reduce, with a template of the corpus unless the script
// has its own.
func FromScript(src subject.Source, s families.Case) (Case, error) {
	if s.Template != "" {
		src = subject.New(s.Family, s.Template)
	}
	t, err := src.Compile()
	if err != nil {
		return Case{}, err
	}
	c := Case{Template: t, Request: s.Request, Fallbacks: s.Fallbacks, Output: s.Output,
		Reason: s.Reason,
		Want:   &Want{Message: s.Message, Finish: s.Finish, Accepts: s.Accepts}}
	if s.Roundtrip {
		request, err := chat.ParseRequest(s.Request)
		if err != nil {
			return Case{}, err
		}
		if c.Output, err = script.Turn(t, request, s.Message); err != nil {
			return Case{}, errors.New(source.Detail(err))
		}
		c.Want.Same = script.SameValue
	}
	return c, nil
}
