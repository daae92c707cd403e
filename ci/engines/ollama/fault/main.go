// Command fault reads a fault's output by Ollama's own parser, without an adapter: fault < REQUEST.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/model/parsers"
)

type call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type message struct {
	Reasoning string `json:"reasoning_content"`
	Content   string `json:"content"`
	Calls     []call `json:"tool_calls"`
}

func main() {
	m, err := read()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
		os.Exit(1)
	}
}

func read() (m message, err error) {
	var given struct {
		Request struct{ Tools []api.Tool }
		Parser  struct{ Tool string }
		Output  string
		Chunks  []string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return m, err
	}
	p := parsers.ParserForName(given.Parser.Tool)
	p.Init(given.Request.Tools, nil, &api.ThinkValue{Value: p.HasThinkingSupport()})
	if given.Chunks == nil {
		given.Chunks = []string{given.Output}
	}
	for i, chunk := range given.Chunks {
		content, thinking, calls, err := p.Add(chunk, i+1 == len(given.Chunks))
		if err != nil {
			return m, err
		}
		m.Content += content
		m.Reasoning += thinking
		for _, c := range calls {
			m.Calls = append(m.Calls, call{c.Function.Name, c.Function.Arguments.String()})
		}
	}
	return m, nil
}
