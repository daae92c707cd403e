package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/corpus/split"
)

// commands are the commands that this package adds to testscript's. A command fails through the
// TestScript and then does not return.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"template":  cmdTemplate,
	"request":   cmdRequest,
	"fallback":  cmdFallback,
	"caps":      cmdCaps,
	"gate":      cmdGate,
	"prompt":    cmdPrompt,
	"parse":     cmdParse,
	"stream":    cmdStream,
	"finish":    cmdFinish,
	"accept":    cmdAccept,
	"roundtrip": cmdRoundtrip,
}

// usage fails unless the number of arguments is right, and unless the command may be negated if it
// is.
func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

func cmdTemplate(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "template NAME")
	r := runOf(ts)
	src := r.source
	if name := args[0]; strings.HasSuffix(name, ".jinja") {
		src = r.other(name, ts.ReadFile(name))
	} else if name != r.variant.Family.Name {
		text, err := r.suite.Corpus.Text(name)
		ts.Check(err)
		src = r.other(name, text)
	}
	t, err := src.Compile()
	if err != nil {
		ts.Fatalf("%s", source.Detail(err))
	}
	r.template, r.plan = t, nil
}

func cmdRequest(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "request FILE")
	r := runOf(ts)
	r.needTemplate(ts)
	request, err := chat.ParseRequest(readJSON(ts, args[0]))
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	r.request, r.plan = &request, nil
}

// readJSON reads a file of the script; an error names the file, line and column.
func readJSON(ts *testscript.TestScript, name string) ordered.Value {
	src := source.New(name, ts.ReadFile(name))
	v, err := ordered.ParseString(src.Text)
	if e, ok := err.(*source.Error); ok {
		ts.Fatalf("%s", source.Errorf(src, e.Off, "%s", e.Msg).Detail())
	}
	return v
}

func cmdFallback(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "fallback NAME...")
	r := runOf(ts)
	r.fallbacks, r.plan = args, nil
}

func cmdCaps(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 0, "caps NAME...")
	r := runOf(ts)
	r.needTemplate(ts)
	for _, short := range args {
		name, has, err := capability(r.template.Caps().Value(), short)
		ts.Check(err)
		if has == neg {
			ts.Fatalf("%s is %t", name, has)
		}
	}
}

// capability finds a capability by a short name: without "supports_", and as short as it is unique.
func capability(caps ordered.Value, short string) (name string, has bool, err error) {
	var found []ordered.Member
	for _, m := range caps.Members() {
		if m.Key == "supports_"+short {
			return m.Key, m.Value.Bool(), nil
		}
		if strings.HasPrefix(m.Key, "supports_"+short) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return "", false, fmt.Errorf("%q names %d "+
			"capabilities; there are: %s", short, len(found), caps)
	}
	return found[0].Key, found[0].Value.Bool(), nil
}

func cmdGate(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 0, "gate")
	r := runOf(ts)
	r.needTemplate(ts)
	switch err := r.template.Gate().Err(); {
	case err != nil && !neg:
		ts.Fatalf("the gate rejects the template: %v", err)
	case err == nil && neg:
		ts.Fatalf("the gate lets the template pass")
	}
}

func cmdPrompt(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "prompt FILE")
	r := runOf(ts)
	r.needRequest(ts)
	if !r.own() {
		return
	}
	prompt, err := r.template.Render(*r.request)
	if err != nil {
		ts.Fatalf("%s", source.Detail(err))
	}
	r.expect(ts, args[0], prompt.Text)
}

// outputArgs reads the arguments [-cut] OUTPUT FILE.
func outputArgs(ts *testscript.TestScript, neg bool, args []string,
	name string) (output, file string, reason chat.FinishReason) {
	if len(args) > 0 && args[0] == "-cut" {
		reason, args = chat.FinishLength, args[1:]
	}
	usage(ts, !neg && len(args) == 2, name+" [-cut] OUTPUT FILE")
	return text(ts, args[0]), args[1], reason
}

func cmdParse(ts *testscript.TestScript, neg bool, args []string) {
	output, file, reason := outputArgs(ts, neg, args, "parse")
	r := runOf(ts)
	r.answer = split.Feed(r.prepared(ts).NewParser(), output, nil, reason)
	r.expectMessage(ts, file)
}

func cmdStream(ts *testscript.TestScript, neg bool, args []string) {
	output, file, reason := outputArgs(ts, neg, args, "stream")
	r := runOf(ts)
	plan := r.prepared(ts)
	answer, mismatch := split.Check(plan.NewParser(), output, reason)
	if mismatch != nil {
		ts.Fatalf("%v", mismatch)
	}
	r.answer = answer
	r.expectMessage(ts, file)
}

// expectMessage compares the answer's message with a file's, or writes it there. An empty file
// expects nothing yet.
func (r *run) expectMessage(ts *testscript.TestScript, file string) {
	if strings.TrimSpace(text(ts, file)) == "" {
		r.expect(ts, file, FormatMessage(r.answer.Message))
		return
	}
	want, err := readMessage(readJSON(ts, file))
	if err != nil {
		ts.Fatalf("%s: %v", file, err)
	}
	if sameMessage(want, r.answer.Message, SameText) {
		return
	}
	r.expect(ts, file, FormatMessage(r.answer.Message))
}

func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "finish REASON")
	if got := string(runOf(ts).answer.Finish); got != args[0] {
		ts.Fatalf("finish_reason is %q, want %q", got, args[0])
	}
}

func cmdAccept(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, "accept OUTPUT")
	plan := runOf(ts).prepared(ts)
	grammar, err := plan.Output.Grammar()
	ts.Check(err)
	if grammar == nil {
		ts.Fatalf("the request has no grammar")
	}
	constrained, ok := plan.Output.Constrained(text(ts, args[0]))
	if !ok {
		ts.Fatalf("nothing in the output arms the grammar; triggers: %v", plan.Triggers)
	}
	refusal, err := grammar.Refusal(constrained)
	ts.Check(err)
	switch {
	case refusal != "" && !neg:
		ts.Fatalf("%s", refusal)
	case refusal == "" && neg:
		ts.Fatalf("the grammar takes %q", constrained)
	}
}

// cmdRoundtrip renders the message as the answer to the request, cuts off the part that the prompt
// has, and parses the rest.
func cmdRoundtrip(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "roundtrip FILE")
	r := runOf(ts)
	if !r.own() {
		return
	}
	want, err := readMessage(readJSON(ts, args[0]))
	ts.Check(err)
	plan := r.prepared(ts)
	turn, err := Turn(r.template, *r.request, want)
	ts.Check(err)
	got := plan.Parse(turn, chat.FinishStop).Message
	if !sameMessage(want, got, SameValue) {
		ts.Fatalf("%s does not come back\nturn: %q\n%s", args[0], turn, diffMessages(want, got))
	}
}

// Turn is a model's output for a message: the message rendered as the last one, without the prompt.
func Turn(t *engine.Template, request chat.Request, m chat.Message) (string, error) {
	asked, err := t.Render(request)
	if err != nil {
		return "", err
	}
	request.Messages = append(slices.Clip(request.Messages), m.Value())
	request.NoGeneration = true
	answered, err := t.Render(request)
	if err != nil {
		return "", err
	}
	prefill, err := asked.Prefill()
	if err != nil {
		return "", err
	}
	header := strings.TrimSuffix(asked.Text, prefill)
	turn, ok := strings.CutPrefix(answered.Text, header)
	if !ok {
		return "", fmt.Errorf("the rendered turn does not start like the "+
			"prompt\nprompt: %q\nturn:   %q", header, answered.Text)
	}
	return strings.TrimPrefix(turn, prefill), nil
}
