// Command ollama is Ollama's parsers after the protocol of docs/reference/adapters.md.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/model/parsers"
)

// names are the parsers that a Modelfile's PARSER line can name (Ollama's documentation of the
// Modelfile, v0.34.0).
var names = []string{
	"cohere", "cogito", "deepseek3", "functiongemma", "gemma4", "gemma4-no-thinking", "glimmer",
	"glm-4.7", "glm-ocr", "harmony", "laguna",
	"lfm2", "lfm2-thinking", "ministral", "nemotron-3-nano", "olmo3", "olmo3-think", "ornith",
	"poolside-v1", "qwen3", "qwen3-coder",
	"qwen3-thinking", "qwen3-vl-instruct", "qwen3-vl-thinking", "qwen3.5",
}

type request struct {
	ID      string
	Op      string
	Request struct {
		Tools      json.RawMessage
		ToolChoice any `json:"tool_choice"`
	}
	Output        string
	Chunks        []string
	ReasoningOpen bool `json:"reasoning_open"`
	Parser        struct{ Tool, Reasoning string }
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

type call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type message struct {
	Reasoning string `json:"reasoning_content"`
	Content   string `json:"content"`
	Calls     []call `json:"tool_calls"`
}

type deltaCall struct {
	Index    int      `json:"index"`
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

type delta struct {
	Reasoning string      `json:"reasoning_content,omitempty"`
	Content   string      `json:"content,omitempty"`
	Calls     []deltaCall `json:"tool_calls,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer := respond(&r)
		answer["id"] = r.ID
		if err := out.Encode(answer); err != nil {
			os.Exit(1)
		}
	}
}

func respond(r *request) (answer map[string]any) {
	defer func() {
		if p := recover(); p != nil {
			at := ""
			for _, line := range strings.Split(string(debug.Stack()), "\n") {
				if strings.Contains(line, "/model/parsers/") && strings.HasPrefix(line, "\t") {
					at = line[strings.LastIndex(line, "/")+1:]
					break
				}
			}
			answer = map[string]any{"error": fmt.Sprint("panic: ", p), "at": at}
		}
	}()
	switch r.Op {
	case "describe":
		// One parser reads calls and reasoning, so that both lists are the same.
		return map[string]any{"engine": "ollama", "version": "0.34.0", "tool_parsers": names,
			"reasoning_parsers": names, "streams": true, "one_parser": true}
	case "parse":
		return parse(r)
	}
	return map[string]any{"unsupported": "no operation " + r.Op}
}

func parse(r *request) map[string]any {
	name := r.Parser.Tool
	name = cmp.Or(name, r.Parser.Reasoning)
	name = cmp.Or(name, "passthrough")
	p := parsers.ParserForName(name)
	if p == nil {
		return map[string]any{"error": "no parser named " + name}
	}
	var tools []api.Tool
	if r.Request.ToolChoice != "none" && len(r.Request.Tools) > 0 {
		if err := json.Unmarshal(r.Request.Tools, &tools); err != nil {
			return map[string]any{"error": err.Error()}
		}
	}
	think := &api.ThinkValue{Value: p.HasThinkingSupport()}
	p.Init(tools, nil, think)
	m := message{Calls: []call{}}
	var deltas []delta
	add := func(text string, done bool) error {
		content, thinking, calls, err := p.Add(text, done)
		if err != nil {
			return err
		}
		m.Content += content
		m.Reasoning += thinking
		if thinking != "" {
			deltas = append(deltas, delta{Reasoning: thinking})
		}
		if content != "" {
			deltas = append(deltas, delta{Content: content})
		}
		for _, c := range calls {
			arguments := c.Function.Arguments.String()
			deltas = append(deltas,
				delta{Calls: []deltaCall{{len(m.Calls), c.ID,
					function{c.Function.Name, arguments}}}})
			m.Calls = append(m.Calls, call{c.ID, c.Function.Name, arguments})
		}
		return nil
	}
	var err error
	if r.Chunks == nil {
		err = add(r.Output, true)
	} else {
		for i, chunk := range r.Chunks {
			if err = add(chunk, i+1 == len(r.Chunks)); err != nil {
				break
			}
		}
	}
	if err != nil {
		return map[string]any{"error": err.Error(), "message": m}
	}
	answer := map[string]any{"message": m}
	if r.Chunks != nil {
		answer["deltas"] = deltas
	}
	return answer
}
