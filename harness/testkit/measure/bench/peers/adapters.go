package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/foreign/engines"
	"github.com/goassay/assay/harness/testkit/measure/bench"
)

// adapter is how a peer is asked through its adapter.
type adapter struct {
	folder   string // under ci/engines
	program  string // in the folder
	parser   string // for the spelling of the answers
	language string // of grammars
}

// adapters are the peers that are asked through their adapters.
var adapters = map[string]*adapter{
	dynamo:     {folder: "dynamo", program: "run", parser: "hermes"},
	smg:        {folder: "smg", program: "run", parser: "qwen"},
	xgrammar:   {folder: "grammars", program: "xgrammar", language: "ebnf"},
	llguidance: {folder: "grammars", program: "llguidance", language: "lark"},
}

// serveAdapter puts a work to an adapter for every line that comes, and answers with the time that
// the engine took and the bytes that it read.
func serveAdapter(in *bench.Inputs, peer, work string, stdin io.Reader, stdout io.Writer) error {
	p := adapters[peer]
	request, err := p.request(in, work)
	if err != nil {
		return err
	}
	ctx := context.Background()
	a, err := engines.Start(ctx, []string{filepath.Join("ci", "engines", p.folder, p.program)}, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	ask := func() (took int64, good int, err error) {
		answer, err := a.Ask(ctx, request)
		if text := answer.Error + answer.Unsupported; err == nil && text != "" {
			err = errors.New(text)
		}
		if err != nil {
			return 0, 0, err
		}
		if m := answer.Message; m != nil {
			good = len(m.Content)
			for _, c := range m.Calls {
				good += len(c.Arguments)
			}
		}
		return answer.Nanoseconds, good, nil
	}
	if _, _, err := ask(); err != nil { // once to warm up
		return err
	}
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		took, good, err := ask()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, took, good); err != nil {
			return err
		}
	}
	return nil
}

// request is the request of a work.
func (p *adapter) request(in *bench.Inputs, work string) (engines.Request, error) {
	kind, rest, _ := strings.Cut(work, "/")
	if kind == "grammar" {
		text, err := written(in, p.language)
		return engines.Request{Op: "judge", Language: p.language, Grammar: text}, err
	}
	asked := standard.ToolRequest()
	body := ordered.Pairs("messages", asked.Messages, "tools", asked.ToolsValue())
	r := engines.Request{Op: "parse", Request: json.RawMessage(body.String()), Reason: "stop",
		Parser: &engines.Parser{Tool: p.parser}, Output: textOf(rest)}
	if r.Output == "" {
		return r, fmt.Errorf("there is no work %q", work)
	}
	if kind == "stream" {
		for at := 0; at < len(r.Output); at += 4 {
			r.Chunks = append(r.Chunks, r.Output[at:min(at+4, len(r.Output))])
		}
	}
	return r, nil
}

// textOf returns the answer of a name; "" where there is none.
func textOf(name string) string {
	for _, out := range bench.Outputs {
		for _, tokens := range streams {
			if answer(out, tokens) == name {
				return out.Make(tokens)
			}
		}
	}
	return ""
}

// written returns the grammar of the battery's request with tools in a language.
func written(in *bench.Inputs, language string) (string, error) {
	t, err := in.Own(bench.Family)
	if err != nil {
		return "", err
	}
	plan, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		return "", err
	}
	if language == "lark" {
		return emit.Lark(plan.Output, nil)
	}
	return emit.EBNF(plan.Output)
}

// grammarWork makes the grammar of a request with two tools that were not seen before, and writes
// it.
func grammarWork(in *bench.Inputs) (op func(), err error) {
	t, err := in.Own(bench.Family)
	if err != nil {
		return nil, err
	}
	n := 0
	return func() {
		n++
		plan, err := t.Prepare(bench.Tools(2, fmt.Sprintf("set_%d_", n)), engine.PrepareOptions{})
		if err == nil {
			_, err = emit.EBNF(plan.Output)
		}
		if err != nil {
			panic(err) // the corpus's templates take tools and have grammars
		}
	}, nil
}
