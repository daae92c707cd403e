// Package variant compares the prompts of requests that say the same thing in different spellings,
// as inference engines render them.
//
// # Model
//
// [Judge] renders each request of package sent, and the plainer one beside it, in every view of
// package view. Where the two prompts are not related as those of a healthy template are, that is a
// [Fault]. It needs no knowledge of the template: the plain request is the expectation.
//
// # Complexity
//
// Views that make the same input of a request share its render. There are some 40 spellings and 7
// views; a template is rendered about 150 times.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package variant

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
	"github.com/goassay/assay/harness/report"
)

// Kind is what happens to a request.
type Kind uint8

// The kinds of faults, the worst first.
const (
	Crashed Kind = iota // it ends in an error that the template does not word
	Refused             // it ends in an error in the template's words
	Lost                // a text of it is missing
	Doubled             // a text of it, or a marker, stands more often than in the plain prompt
	Changed             // its prompt differs from that of the plain request
	Ignored             // its prompt is that of the plain request, and must not be
)

func (k Kind) String() string {
	return [...]string{"crashed", "refused", "lost", "doubled", "changed", "ignored"}[k]
}

// Fault is what happens to a spelling and not to the plain request.
type Fault struct {
	Kind  Kind
	In    sent.Spelling
	Views []view.View // that show it
	Err   error       // of Crashed and Refused
	Text  string      // of Lost and Doubled: which text
	Want  string      // the prompt of the plain request, "" where there is none
	Got   string      // the prompt of the spelling
	// Off is the first byte of Got that is not as in Want, and WantOff where that is in Want.
	Off, WantOff int
	Input        chattemplate.Input
}

// Faults are those of the template under check.
var Faults = probe.NewFact(func(s *probe.Subject) []Fault {
	return Judge(s.Template.ChatTemplate())
})

// Sandboxed reports whether a request crashes because the template changes its input, which only
// some engines forbid.
func (f Fault) Sandboxed() bool {
	return f.Kind == Crashed && jinja.Class(f.Err) == "SecurityError"
}

// Reordered reports whether the texts of a request stand in another order than in the plain prompt.
func (f Fault) Reordered() bool {
	for _, text := range texts(f.In.Plain) {
		was, is := strings.Index(f.Want, text), strings.Index(f.Got, text)
		if was >= 0 && is >= 0 {
			for _, other := range texts(f.In.Plain) {
				before, now := strings.Index(f.Want, other), strings.Index(f.Got, other)
				if before >= 0 && now >= 0 && (was < before) != (is < now) {
					return true
				}
			}
		}
	}
	return false
}

// judge renders for one template.
type judge struct {
	t     *chattemplate.Template
	asked map[asked]result
	done  map[key]result
	views []*view.Server
}

// asked is a request to an engine. Most spellings share the plain request of their base.
type asked struct {
	of      *view.Server
	request ordered.Value
}

// key is a render: its input as JSON, and the sandbox.
type key struct {
	immutable bool
	input     string
}

type result struct {
	in   chattemplate.Input
	text string
	err  error
}

// errRefused is the error of a request that the engine refuses before the template sees it.
var errRefused = errors.New("the engine refuses the request")

// Judge returns the faults of a template, those of a spelling together.
func Judge(t *chattemplate.Template) []Fault {
	j := &judge{t, map[asked]result{}, map[key]result{}, view.Serve(t)}
	var faults []Fault
	for _, s := range sent.Plain() {
		faults = append(faults, j.plain(s)...)
	}
	all := sent.All()
	for _, s := range all {
		faults = append(faults, j.spelling(s)...)
	}
	for _, tags := range j.tags(all) {
		for _, s := range sent.Between(tags) {
			faults = append(faults, j.spelling(s)...)
		}
	}
	return faults
}

// closing matches the tag that ends a part of a text: "</thinking>", "[/THINK]".
var closing = regexp.MustCompile(`^(?:</[\w|:.-]+>|\[/[\w|:.-]+\])$`)

// tags returns the pairs of tags, other than those of the spellings, that the template looks for
// in the content of an answer with reasoning, or without a member for it.
func (j *judge) tags(spellings []sent.Spelling) [][2]string {
	var all [][2]string
	seen := map[string]bool{} // requests
	for _, s := range spellings {
		for _, request := range []ordered.Value{s.Plain, s.Sent} {
			if s.Relation != sent.Inline || seen[request.String()] {
				continue
			}
			seen[request.String()] = true
			in, err := j.views[0].Input(request)
			if err != nil {
				continue
			}
			o, _ := j.t.Observe(in) // the trace is there even where rendering fails
			for _, literal := range o.Trace.Literals("messages[1].content") {
				tags := [2]string{strings.Replace(literal, "/", "", 1), literal}
				if closing.MatchString(literal) && tags != s.Tags && !slices.Contains(all, tags) {
					all = append(all, tags)
				}
			}
		}
	}
	return all
}

// plain returns the faults of a plain request: it crashes in some views and not in others, or is
// written otherwise where an engine gives null for a variable that the request does not have. What
// crashes in all engines with Python's Jinja is the template's own fault, whatever another Jinja
// makes of it, unless it is due to such a null.
func (j *judge) plain(s sent.Spelling) []Fault {
	var faults []Fault
	renders := false
	for _, v := range j.views {
		got := j.render(v, s.Plain)
		if got.err == errRefused {
			continue
		}
		bare := got.in
		bare.Kwargs = slices.DeleteFunc(slices.Clone(bare.Kwargs),
			func(m ordered.Member) bool { return m.Value.IsNull() })
		without := j.put(v, bare)
		if got.err != nil && !v.HasOwnJinja() { // a template that does not ask is for tools alone
			o, err := j.t.Observe(bare)
			renders = renders || err == nil && o.Trace.Tested("tools")
		}
		if got.err == nil {
			renders = renders || !v.HasOwnJinja()
			if f, ok := compare(s, without, got); without.err == nil && ok &&
				len(got.text) > len(without.text) { // the null is taken for tools
				unasked := s
				unasked.Name += ", with \"tools\": null from the engine,"
				faults = join(faults, f, unasked, v.View)
			}
		} else if f, _ := compare(s, result{}, got); f.Kind == Crashed && !otherForm(v, got.in) {
			faults = join(faults, f, s, v.View)
		}
	}
	if !renders { // it is no matter of views, but for what only a sandbox forbids
		faults = slices.DeleteFunc(faults, func(f Fault) bool { return !f.Sandboxed() })
	}
	return faults
}

// otherForm reports whether a template that fails on an input takes it with arguments that are
// text, or with content in parts: it takes one form alone then, which A036 and A200 say.
func otherForm(v *view.Server, in chattemplate.Input) bool {
	for _, form := range []func([]ordered.Value) []ordered.Value{sent.TextArguments, sent.InParts} {
		other := in
		other.Messages = form(in.Messages)
		if _, err := v.Render(other); err == nil {
			return true
		}
	}
	return false
}

// join adds a fault to those of a spelling: the same in another view is the same fault.
func join(faults []Fault, f Fault, s sent.Spelling, v view.View) []Fault {
	for i := range faults {
		if old := &faults[i]; old.Kind == f.Kind && old.Text == f.Text &&
			(f.Err == nil || f.Err.Error() == old.Err.Error()) {
			old.Views = append(old.Views, v)
			return faults
		}
	}
	f.In, f.Views = s, []view.View{v}
	return append(faults, f)
}

// spelling returns the faults of one spelling, one for each kind and text.
func (j *judge) spelling(s sent.Spelling) []Fault {
	var faults []Fault
	for _, v := range j.views {
		plain := j.render(v, s.Plain)
		if plain.err != nil || !j.takes(v, s, plain) {
			continue
		}
		got := j.render(v, s.Sent)
		if got.err == errRefused {
			continue
		}
		if f, ok := compare(s, plain, got); ok {
			faults = join(faults, f, s, v.View)
		}
	}
	return faults
}

// printed matches a part of content that is printed as a value.
var printed = regexp.MustCompile(`['"]type['"]: ?['"](?:text|image|audio|video|input_)`)

// takes reports whether the template takes the feature that a spelling is about.
func (j *judge) takes(v *view.Server, s sent.Spelling, plain result) bool {
	if !s.Unlike.IsNull() {
		other := j.render(v, s.Unlike)
		if other.err != nil || other.text == plain.text || printed.MatchString(plain.text) ||
			printed.MatchString(other.text) {
			return false
		}
		if s.Relation == sent.Alike && slices.ContainsFunc(texts(s.Unlike), func(text string) bool {
			return !strings.Contains(other.text, text)
		}) {
			return false
		}
	}
	if s.Relation == sent.Shown {
		return strings.Contains(plain.text, s.Shows)
	}
	for _, text := range texts(s.Plain) {
		if s.Relation == sent.Whole && strings.Count(plain.text, text) != 1 {
			return false
		}
	}
	// a template that drops the text beside a call drops the reasoning in it, too
	return s.Relation != sent.Inline ||
		strings.Contains(plain.text, s.Plain.At("messages").Items()[1].At("content").Text())
}

// dense is a prompt without its white space.
var dense = strings.NewReplacer(" ", "", "\n", "").Replace

// described is a text that a template writes which describes the parameters of tools.
const described = "How far ahead to look."

// render renders a request in a view.
func (j *judge) render(v *view.Server, request ordered.Value) result {
	r, ok := j.asked[asked{v, request}]
	if !ok {
		r = j.ask(v, request)
		j.asked[asked{v, request}] = r
	}
	return r
}

func (j *judge) ask(v *view.Server, request ordered.Value) result {
	if v.IsServer() {
		request = request.With("messages",
			ordered.ArrayOf(sent.TextArguments(request.At("messages").Items())...))
	}
	in, err := v.Input(request)
	if err != nil {
		return result{in: in, err: errRefused}
	}
	return j.put(v, in)
}

// put renders an input of a view.
func (j *judge) put(v *view.Server, in chattemplate.Input) result {
	k := key{v.Immutable, j.t.Vars(in).String()}
	r, done := j.done[k]
	if !done {
		r.text, r.err = v.Render(in)
		j.done[k] = r
	}
	r.in = in
	return r
}

// compare returns the fault of a prompt, if it has one.
func compare(s sent.Spelling, plain, got result) (Fault, bool) {
	f := Fault{Err: got.err, Want: plain.text, Got: got.text, Input: got.in}
	if got.err != nil {
		f.Kind = Crashed
		if jinja.Class(got.err) == "TemplateError" {
			f.Kind = Refused
		}
		return f, true
	}
	switch s.Relation {
	case sent.Whole:
		return f.whole(s)
	case sent.Inline:
		return f.inline(s)
	case sent.Later:
		return f.later(s)
	case sent.Shown:
		f.Kind = Ignored
		return f, f.Want == f.Got
	}
	for _, name := range s.Names {
		f.Want = strings.ReplaceAll(f.Want, name[0], name[1])
		f.Got = strings.ReplaceAll(f.Got, name[0], name[1])
	}
	if f.Want == f.Got || s.Relation == sent.Alike && dense(f.Want) == dense(f.Got) {
		return f, false
	}
	f.Kind, f.Off = Changed, report.Parting(f.Want, f.Got)
	f.WantOff = f.Off
	for _, text := range texts(s.Plain) {
		switch was, is := strings.Count(f.Want, text), strings.Count(f.Got, text); {
		case is < was:
			f.Kind, f.Text = Lost, text
			return f, true
		case is > was:
			f.Kind, f.Text = Doubled, text
		}
	}
	return f, true
}

// whole demands that a prompt has every text of its request once, and in order.
func (f Fault) whole(s sent.Spelling) (Fault, bool) {
	for _, text := range texts(s.Sent) {
		n := strings.Count(f.Got, text)
		if n == 1 {
			continue
		}
		if f.Kind, f.Text = Lost, text; n > 1 {
			f.Kind = Doubled
		}
		f.Off = report.Parting(f.Want, f.Got)
		f.WantOff = f.Off
		return f, true
	}
	return f, false
}

// inline demands that the answer stays, that the reasoning is not written twice, nor lost where the
// plain prompt has it, and that no marker of it is left over, nor a part of one. A request that
// says the reasoning twice may be written so.
func (f Fault) inline(s sent.Spelling) (Fault, bool) {
	f.Off = report.Parting(f.Want, f.Got)
	f.WantOff = f.Off
	request := s.Sent.String()
	for _, text := range texts(s.Plain) {
		was, is := strings.Count(f.Want, text), strings.Count(f.Got, text)
		switch {
		case is < was:
			f.Kind, f.Text = Lost, text
			return f, true
		case is > max(was, strings.Count(request, text)):
			f.Kind, f.Text = Doubled, text
			return f, true
		}
	}
	if strings.Contains(request, `"reasoning_content"`) {
		return f, false
	}
	want, got := turn(s.Plain, f.Want), turn(s.Plain, f.Got)
	for _, marker := range []string{s.Tags[1], s.Tags[0]} {
		if strings.Count(got, marker) > max(strings.Count(want, marker), 1) {
			f.Kind, f.Text = Doubled, marker
			return f, true
		}
	}
	// the white space between turns may hang on the branch that writes them
	want, got = dense(f.Want), dense(f.Got)
	for _, text := range texts(s.Plain) {
		text = dense(text)
		for _, marker := range s.Tags {
			for i := 1; i < len(marker) && got != want; i++ {
				head, tail := marker[:i], marker[i:]
				switch got {
				case strings.Replace(want, text, text+head, 1):
					f.Kind, f.Text = Doubled, head
					return f, true
				case strings.Replace(want, text, tail+text, 1):
					f.Kind, f.Text = Doubled, tail
					return f, true
				}
			}
		}
	}
	return f, false
}

// later demands that the prompts are the same after the first question, unless the tools are
// described there.
func (f Fault) later(s sent.Spelling) (Fault, bool) {
	question := s.Plain.At("messages").Items()[0]
	if question.At("role").Text() != "user" {
		question = s.Plain.At("messages").Items()[1]
	}
	_, want, ok := strings.Cut(f.Want, question.At("content").Text())
	_, got, also := strings.Cut(f.Got, question.At("content").Text())
	if !ok || !also || want == got || strings.Contains(got, described) {
		return f, false
	}
	f.Kind = Changed
	f.Off = len(f.Got) - len(got) + report.Parting(want, got)
	f.WantOff = len(f.Want) - len(want) + report.Parting(want, got)
	return f, true
}

// turn is the stretch of a prompt between the first text of a request and the last one that is
// written.
func turn(request ordered.Value, prompt string) string {
	all := texts(request)
	_, rest, _ := strings.Cut(prompt, all[0])
	for _, text := range slices.Backward(all) {
		if i := strings.LastIndex(rest, text); i >= 0 {
			return rest[:i]
		}
	}
	return rest
}

// texts returns the texts of a request: of its documents, and of its messages content, reasoning,
// the descriptions of tools that they bring, and the values of arguments that are strings.
func texts(request ordered.Value) []string {
	var all []string
	add := func(v ordered.Value) {
		if v.Kind() == ordered.String && v.Text() != "" {
			all = append(all, v.Text())
		}
	}
	for _, d := range request.At("documents").Items() {
		add(d.At("text"))
	}
	for _, m := range request.At("messages").Items() {
		add(m.At("reasoning_content"))
		add(m.At("content"))
		for _, part := range m.At("content").Items() {
			add(part.At("text"))
		}
		for _, t := range m.At("tools").Items() {
			add(t.At("function", "description"))
		}
		for _, c := range m.At("tool_calls").Items() {
			for _, a := range c.At("function", "arguments").Members() {
				add(a.Value)
			}
		}
	}
	return all
}
