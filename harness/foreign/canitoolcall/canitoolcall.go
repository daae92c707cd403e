// Package canitoolcall writes cases of a corpus as records of CanIToolCall's fixture specification
// 0.1, which engines replay every night. Package vector reads such records.
//
// # Model
//
// A [Writer] belongs to a family and a [Model]: the repository of the Hub, with the commit, whose
// models write so. A record has no conversation but the tools, so a case whose request asks for
// more than that has none: [Writer.Record] returns the reason. Calls that are not complete are not
// expected of anybody; where an output has no others, the record states that no call may come of
// it.
//
// Every record names its source, the licence and the authors. [Writer.Family] returns the object
// that their folder needs beside the records.
//
// # Errors
//
// A model that is no repository with a commit is an error of [ParseModel].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package canitoolcall

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/families"
)

// Model is a repository of the Hub at a commit.
type Model struct{ Repo, Revision string }

var (
	repoForm     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	revisionForm = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// ParseModel reads FAMILY=OWNER/NAME@COMMIT.
func ParseModel(text string) (family string, m Model, err error) {
	family, rest, ok := strings.Cut(text, "=")
	m.Repo, m.Revision, _ = strings.Cut(rest, "@")
	switch {
	case !ok || family == "" || !repoForm.MatchString(m.Repo):
		err = fmt.Errorf("%q is no model of a family; expected FAMILY=OWNER/NAME@COMMIT", text)
	case !revisionForm.MatchString(m.Revision):
		err = fmt.Errorf("%q: the commit %q is not one of 40 hexadecimal digits; a branch moves, "+
			"and the records have to stay true", text, m.Revision)
	}
	return family, m, err
}

// Source is where the cases are from.
type Source struct {
	URL      string // of the repository's corpus at the revision, without a slash at the end
	Revision string // a commit or a release
}

// The licence and the authors of the corpus.
const (
	license     = "Apache-2.0"
	attribution = "Copyright the Assay authors (Apache-2.0)"
)

// Writer writes the cases of a family.
type Writer struct {
	family   string
	model    Model
	source   Source
	template *engine.Template
	digest   string
	stops    []string
}

// NewWriter returns a writer of a family, whose own template it is given.
func NewWriter(family string, t *engine.Template, m Model, s Source) *Writer {
	digest := sha256.Sum256([]byte(t.ChatTemplate().Source.Text))
	w := &Writer{family: family, model: m, source: s, template: t,
		digest: hex.EncodeToString(digest[:])}
	for _, stop := range slices.Concat(t.Analysis().Format.End, []string{t.ChatTemplate().EOS}) {
		if stop = strings.TrimSpace(stop); stop != "" && !slices.Contains(w.stops, stop) {
			w.stops = append(w.stops, stop)
		}
	}
	return w
}

// Record returns a case as a record; an error is why it has none.
func (w *Writer) Record(c families.Case) (ordered.Value, error) {
	if !c.Parsed || c.Template != "" || len(c.Fallbacks) > 0 {
		return ordered.Value{}, errors.New("it is not read by the family's own template alone")
	}
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		return ordered.Value{}, err
	}
	if r.HasJSONSchema || r.ToolChoice != (chat.ToolChoice{}) || r.Continue != chat.ContinueNone ||
		r.ReasoningFormat == chat.ReasoningKeep {
		return ordered.Value{}, errors.New("its request asks for more than an answer with tools")
	}
	plan, err := w.template.Prepare(r, engine.PrepareOptions{Insist: true})
	if err != nil {
		return ordered.Value{}, err
	}
	prefill, err := plan.Prompt.Prefill()
	if err != nil {
		return ordered.Value{}, err
	}
	thinking := c.Request.At("enable_thinking")
	if !w.asked(c.Request, thinking, prefill) {
		return ordered.Value{}, errors.New("its conversation or its switches begin the answer")
	}
	p := plan.NewParser()
	p.Write([]byte(c.Output))
	reason := c.Reason
	if reason == "" {
		reason = chat.FinishStop
	}
	p.Close(reason)
	read := p.Message()
	if len(read.ToolCalls) != len(c.Message.ToolCalls) {
		return ordered.Value{}, errors.New("its calls are not read")
	}
	expected, err := expectation(read)
	if err != nil {
		return ordered.Value{}, err
	}
	v := ordered.Pairs("id", fmt.Sprintf("%s/assay-%s-%d", w.family, c.Name, c.Number),
		"family", w.family, "models", []string{w.model.Repo}, "spec_version", "0.1",
		"provenance", w.provenance(), "tools", c.Request.At("tools").Items(),
		"raw_output", w.withoutStop(c.Output),
		"generation_prompt", w.header(plan.Prompt.Text, prefill))
	if thinking.Kind() == ordered.Bool {
		v = v.With("thinking", thinking)
	}
	v = v.With(expected.Key, expected.Value).With("tags", tags(c, read, prefill))
	if about, _, _ := strings.Cut(c.About, "\n"); about != "" {
		v = v.With("notes", ordered.Str(about))
	}
	return v, nil
}

// asked reports whether a request without a conversation has a prompt that begins the answer in the
// same way.
func (w *Writer) asked(request, thinking ordered.Value, prefill string) bool {
	var members []ordered.Member
	if tools := request.At("tools"); !tools.IsNull() {
		members = append(members, ordered.MemberOf("tools", tools))
	}
	if !thinking.IsNull() {
		members = append(members, ordered.MemberOf("enable_thinking", thinking))
	}
	plan, err := w.plan(members...)
	if err != nil {
		return false
	}
	got, err := plan.Prompt.Prefill()
	return err == nil && got == prefill
}

// withoutStop takes the tokens that end a turn off an output.
func (w *Writer) withoutStop(output string) string {
	for {
		rest := output
		for _, stop := range w.stops {
			rest = strings.TrimSuffix(rest, stop)
		}
		if rest == output {
			return output
		}
		output = rest
	}
}

// header returns the end of a prompt that add_generation_prompt adds.
func (w *Writer) header(prompt, prefill string) string {
	f := &w.template.Analysis().Format
	if whole := f.Header + prefill; strings.HasSuffix(prompt, whole) {
		return whole
	}
	return prefill
}

func (w *Writer) provenance() ordered.Value {
	return ordered.Pairs("kind", "engine_test", "source_url", w.source.URL+"/"+w.family,
		"revision", w.source.Revision, "license", license, "template_sha256", w.digest,
		"attribution", attribution)
}

// expectation returns the member expected or expected_error for a message.
func expectation(m chat.Message) (ordered.Member, error) {
	calls := []ordered.Value{}
	for _, c := range m.ToolCalls {
		if !c.Complete {
			continue
		}
		arguments, err := ordered.ParseString(c.Arguments)
		if err != nil || arguments.Kind() != ordered.Object {
			return ordered.Member{}, errors.New("the arguments of a call are no object")
		}
		calls = append(calls, ordered.Pairs("name", c.Name, "arguments", arguments))
	}
	if len(calls) == 0 && len(m.ToolCalls) > 0 {
		return ordered.MemberOf("expected_error", ordered.Pairs(
			"reason", "its call is not complete",
			"accept", ordered.ArrayOf(ordered.Str("no_tool_calls"),
				ordered.Str("content_passthrough"), ordered.Str("exception")))), nil
	}
	text := func(s string) ordered.Value {
		if s == "" {
			return ordered.Value{}
		}
		return ordered.Str(s)
	}
	return ordered.MemberOf("expected", ordered.Pairs("content", text(m.Content),
		"reasoning_content", text(m.Reasoning), "tool_calls", calls)), nil
}

var number = regexp.MustCompile(`[:\[,]\s*-?[0-9]`)

// tags returns the tags of a case: those of the specification that can be told, and its kind.
func tags(c families.Case, m chat.Message, prefill string) ordered.Value {
	var names []string
	add := func(name string, ok bool) {
		if ok {
			names = append(names, name)
		}
	}
	add("no-call", len(m.ToolCalls) == 0)
	add("single-call", len(m.ToolCalls) == 1)
	add("parallel-calls", len(m.ToolCalls) > 1)
	add("reasoning", m.Reasoning != "")
	add("reasoning-prefilled", m.Reasoning != "" && strings.TrimSpace(prefill) != "")
	add("truncated", c.Reason.Cut())
	add("malformed", strings.HasPrefix(c.Name, "malformed"))
	var arguments strings.Builder
	empty := false
	for _, call := range m.ToolCalls {
		arguments.WriteString(call.Arguments)
		empty = empty || strings.TrimSpace(call.Arguments) == "{}"
	}
	text := arguments.String()
	add("empty-arguments", empty)
	add("numeric-arguments", number.MatchString(text))
	add("string-escapes", strings.Contains(text, `\`))
	add("unicode", strings.ContainsFunc(c.Output, func(r rune) bool { return r > 0x7f }))
	add("x-assay-"+strings.ReplaceAll(c.Name, "_", "-"), kind.MatchString(c.Name))
	return ordered.ListOf(names, ordered.Str)
}

// kind matches the names that a tag can have.
var kind = regexp.MustCompile(`^[a-z0-9_-]+$`)

// Family returns the object that stands in family.json beside the records: the family's markers and
// its model.
func (w *Writer) Family(about string) (ordered.Value, error) {
	markers, err := w.markers()
	if err != nil {
		return ordered.Value{}, err
	}
	seen := map[string]bool{}
	var all []ordered.Value
	for _, m := range slices.Concat(markers, w.stops) {
		if m = strings.TrimSpace(m); m != "" && !seen[m] {
			seen[m] = true
			all = append(all, ordered.Str(m))
		}
	}
	f := &w.template.Analysis().Format
	return ordered.Pairs("slug", w.family, "name", about, "spec_version", "0.1",
		"has_reasoning", f.Reasoning.Open.Text != "" || f.Reasoning.Close.Text != "",
		"markers", all, "reference_models", ordered.ArrayOf(ordered.Pairs("repo", w.model.Repo,
			"revision", w.model.Revision, "stop_tokens", w.stops)),
		"format_notes", "docs/formats/"+w.family+".md"), nil
}

// markers returns the literals of the family's format that a tokeniser must not cut.
func (w *Writer) markers() ([]string, error) {
	plan, err := w.plan()
	if err != nil {
		return nil, err
	}
	return plan.Preserved, nil
}

// plan prepares a request without a conversation.
func (w *Writer) plan(more ...ordered.Member) (*engine.Plan, error) {
	r, err := chat.ParseRequest(ordered.ObjectOf(append([]ordered.Member{ordered.MemberOf(
		"messages", ordered.ArrayOf(chat.User("Please help me.")))}, more...)...))
	if err != nil {
		return nil, err
	}
	return w.template.Prepare(r, engine.PrepareOptions{Insist: true})
}
