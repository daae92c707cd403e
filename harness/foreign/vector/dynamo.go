package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation/turns"
)

// isYAML reports whether a file's name is one of YAML.
func isYAML(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return true
	}
	return false
}

// maxNodes bounds the values of a YAML file with its aliases written out, so that a few lines that
// refer to each other do not fill the memory.
const maxNodes = 1 << 20

// yamlValues turns YAML into JSON's values.
type yamlValues struct {
	src   *source.Source
	nodes int
}

func (y *yamlValues) at(n *yaml.Node, format string, args ...any) error {
	return source.Errorf(&source.Source{Name: y.src.Name, First: n.Line}, 0, format, args...)
}

// value returns a node as a value. A scalar without quotes that is a number, a boolean or null in
// YAML is one; any other scalar is a text.
func (y *yamlValues) value(n *yaml.Node) (ordered.Value, error) {
	if y.nodes++; y.nodes > maxNodes {
		return ordered.Value{}, y.at(n, "the file has more than %d values, aliases included",
			maxNodes)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return y.value(n.Alias)
	case yaml.SequenceNode:
		items := make([]ordered.Value, len(n.Content))
		for i, item := range n.Content {
			var err error
			if items[i], err = y.value(item); err != nil {
				return ordered.Value{}, err
			}
		}
		return ordered.ArrayOf(items...), nil
	case yaml.MappingNode:
		members := make([]ordered.Member, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := y.value(n.Content[i+1])
			if err != nil {
				return ordered.Value{}, err
			}
			members = append(members, ordered.MemberOf(n.Content[i].Value, v))
		}
		return ordered.ObjectOf(members...), nil
	}
	switch n.ShortTag() {
	case "!!null":
		return ordered.Value{}, nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return ordered.Value{}, y.at(n, "%v", err)
		}
		return ordered.Boolean(b), nil
	case "!!int", "!!float":
		// YAML has spellings that JSON has not, such as 0x1f and .5.
		if v, err := ordered.ParseString(n.Value); err == nil && v.Kind() == ordered.Number {
			return v, nil
		}
		var f float64
		if err := n.Decode(&f); err == nil {
			if v, err := ordered.ParseString(strconv.FormatFloat(f, 'g', -1, 64)); err == nil {
				return v, nil
			}
		}
	}
	return ordered.Str(n.Value), nil
}

// readDynamo reads the cases of a file of Dynamo's parser fixtures as vectors.
func readDynamo(name string, in io.Reader) ([]Vector, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxLine+1))
	if err != nil {
		return nil, err
	}
	y := &yamlValues{src: source.New(name, "")}
	if len(text) > MaxLine {
		return nil, source.Errorf(y.src, 0, "the file is longer than %d bytes", MaxLine)
	}
	var document yaml.Node
	if err := unmarshal(text, &document); err != nil {
		return nil, source.Errorf(y.src, 0, "%v", err)
	}
	other := source.Errorf(y.src, 0, "no parser fixtures; expected an object with \"family\" "+
		"and \"cases\"")
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, other
	}
	var family, label string
	var cases *yaml.Node
	head := func(n *yaml.Node) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch n.Content[i].Value {
			case "family":
				family = n.Content[i+1].Value
			case "model_label":
				label = n.Content[i+1].Value
			}
		}
	}
	root := document.Content[0]
	head(root)
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch root.Content[i].Value {
		case "input_document":
			head(root.Content[i+1])
		case "cases":
			cases = root.Content[i+1]
		}
	}
	if family == "" || cases == nil || cases.Kind != yaml.MappingNode {
		return nil, other
	}
	var vectors []Vector
	for i := 0; i+1 < len(cases.Content); i += 2 {
		id := cases.Content[i]
		v, err := y.value(cases.Content[i+1])
		if err != nil {
			return nil, err
		}
		fixture, ok, err := dynamoCase(v, family, label)
		if err != nil {
			return nil, y.at(id, "%s: %v", id.Value, err)
		}
		if !ok {
			continue
		}
		vectors = append(vectors, Vector{ID: family + "/" + id.Value, Kind: "dynamo",
			Value: fixture, Place: rule.Place{File: name, Line: id.Line}})
	}
	return vectors, nil
}

// unmarshal reads YAML; a panic of the library on foreign text is an error.
func unmarshal(text []byte, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not YAML: %v", r)
		}
	}()
	return yaml.Unmarshal(text, n)
}

// dynamoCase returns a case as {models, output, tools, starts, cut, want}. It has none where the
// family of parsers cannot have the case, which the file then gives a reason for, or where Dynamo's
// own parser does not read it.
func dynamoCase(c ordered.Value, family, label string) (ordered.Value, bool, error) {
	in := c
	if request := c.At("request"); request.Kind() == ordered.Object {
		in = request
	}
	output, ok := dynamoOutput(in)
	if !ok {
		return ordered.Value{}, false, nil
	}
	want, ok := dynamoWant(c)
	if !ok {
		return ordered.Value{}, false, nil
	}
	var tools []ordered.Value
	for _, t := range in.At("tools").Items() {
		if f := t.At("function"); f.Kind() == ordered.Object {
			t = f
		}
		if t.At("name").Kind() != ordered.String {
			return ordered.Value{}, false, errors.New("a tool has no name")
		}
		tools = append(tools, ordered.Pairs("type", "function", "function", t))
	}
	models := []ordered.Value{ordered.Str("dynamo/" + family)}
	if label != "" {
		models = append(models, ordered.Str(label))
	}
	finish := in.At("finish_reason").Text()
	for _, chunk := range in.At("chunks").Items() {
		finish = cmp.Or(chunk.At("finish_reason").Text(), finish)
	}
	return ordered.Pairs("models", models, "output", output, "tools", tools,
		"starts", in.At("init", "starting_state"), "cut", finish == "length",
		"want", want), true, nil
}

// dynamoOutput returns the output of a case: one text, or chunks.
func dynamoOutput(in ordered.Value) (string, bool) {
	for _, name := range []string{"model_text", "input"} {
		if v := in.At(name); v.Kind() == ordered.String {
			return v.Text(), true
		}
	}
	chunks, ok := in.Get("chunks")
	var b strings.Builder
	for _, chunk := range chunks.Items() {
		b.WriteString(chunk.At("delta_text").Text())
	}
	return b.String(), ok && chunks.Kind() == ordered.Array
}

// dynamoReaders are the names of the readings that a case expects of Dynamo, the first one that is
// there counting.
var dynamoReaders = []string{"dynamo", "dynamo_v2", "dynamo_v1", "dynamo_rust"}

// dynamoWant returns the reading that a case expects, {content, reasoning_content, tool_calls}; a
// part that the case is silent about is not there.
func dynamoWant(c ordered.Value) (ordered.Value, bool) {
	if events, ok := c.At("golden").Get("assembled"); ok {
		return assembled(events), true
	}
	expected := c.At("expected")
	_, calls := expected.Get("calls")
	_, text := expected.Get("normal_text")
	if !calls && !text {
		i := slices.IndexFunc(dynamoReaders, func(name string) bool {
			return expected.At(name).Kind() == ordered.Object
		})
		if i < 0 {
			return ordered.Value{}, false
		}
		expected = expected.At(dynamoReaders[i])
	}
	var members []ordered.Member
	if v, ok := expected.Get("reasoning_text"); ok {
		members = append(members, ordered.MemberOf("reasoning_content", v))
	}
	if v, ok := expected.Get("normal_text"); ok {
		members = append(members, ordered.MemberOf("content", v))
	}
	if v, ok := expected.Get("calls"); ok {
		members = append(members, ordered.MemberOf("tool_calls", v))
	}
	return ordered.ObjectOf(members...), len(members) > 0
}

// assembled joins events of the kinds reasoning, text and tool_call to a message.
func assembled(events ordered.Value) ordered.Value {
	var reasoning, content strings.Builder
	var calls []ordered.Value
	for _, e := range events.Items() {
		switch e.At("kind").Text() {
		case "reasoning":
			reasoning.WriteString(e.At("text").Text())
		case "text":
			content.WriteString(e.At("text").Text())
		case "tool_call":
			calls = append(calls, e)
		}
	}
	return ordered.Pairs("reasoning_content", reasoning.String(), "content", content.String(),
		"tool_calls", calls)
}

// dynamo checks one case of Dynamo's: its output is read as the message that Dynamo's parsers make
// of it, in one go and in every split.
func (v *Verifier) dynamo(ctx context.Context, vec *Vector) error {
	name, err := v.Templates.find("", stringsOf(vec.Value.At("models")))
	if err != nil {
		return err
	}
	t, err := v.named(ctx, name)
	if err != nil {
		return err
	}
	plan, err := t.started(vec)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	reason := chat.FinishStop
	if vec.Value.At("cut").Bool() {
		reason = chat.FinishLength
	}
	output := vec.Value.At("output").Text()
	answer, mismatch := inText(output)(plan.NewParser(), reason)
	if mismatch != nil {
		return fmt.Errorf("%s: %w", name, mismatch)
	}
	if err := expectDynamo(vec.Value.At("want"), answer.Message); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// started prepares the request of a case, in the first mode of thinking whose prompt leaves the
// block of reasoning as the case begins: open or not.
func (t *template) started(vec *Vector) (*engine.Plan, error) {
	open := strings.EqualFold(vec.Value.At("starts").Text(), "reasoning")
	plan, _, err := t.thinking(vec, func(t *engine.Template, plan *engine.Plan) (bool, error) {
		prefill, err := plan.Prompt.Prefill()
		return err == nil && turns.LeavesOpen(&t.Analysis().Format, prefill) == open, err
	}, ordered.Value{}, ordered.Boolean(true), ordered.Boolean(false))
	return plan, err
}

// expectDynamo compares a message with a case's reading: texts by their words, since engines differ
// by policy in the white space beside markers (docs/reference/policies.md), and no calls that are
// not complete. Where the reading is that of a parser of calls alone, reasoning stands in its text
// with its markers: then the text is compared only of answers without reasoning. One of reasoning
// alone leaves calls in the text.
func expectDynamo(want ordered.Value, got chat.Message) error {
	calls := slices.DeleteFunc(slices.Clone(got.ToolCalls),
		func(c chat.ToolCall) bool { return !c.Complete })
	reasoning, judged := want.Get("reasoning_content")
	if judged && !sameWords(reasoning.Text(), got.Reasoning) {
		return fmt.Errorf("reasoning_content\nwant %q\ngot  %q", reasoning.Text(), got.Reasoning)
	}
	wants, counted := want.Get("tool_calls")
	if content, ok := want.Get("content"); ok && (judged || got.Reasoning == "") &&
		(counted || len(got.ToolCalls) == 0) && !sameWords(content.Text(), got.Content) {
		return fmt.Errorf("content\nwant %q\ngot  %q", content.Text(), got.Content)
	}
	if !counted {
		return nil
	}
	return expectCalls(wants.Items(), calls, got)
}

// sameWords reports whether texts have the same words, whatever white space is between them.
func sameWords(a, b string) bool {
	return slices.Equal(strings.Fields(a), strings.Fields(b))
}
