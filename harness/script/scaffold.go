package script

import (
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/split"
)

// File is a script as text.
type File struct{ Name, Text string }

// sketch is a first case: what is asked, and the message whose spelling the template shows.
type sketch struct {
	name, about string
	tools       bool
	thinks      bool // under the flags with which the template writes reasoning
	message     string
}

var sketches = []sketch{
	{"content_plain", "A plain answer.", false, false, `{"content": "The tide turns at noon."}`},
	{"reasoning_and_content", "Reasoning, then the answer.", false, true,
		`{"reasoning_content": "High water was at six.", "content": "The tide turns at noon."}`},
	{"tools_one_call", "One call, typed arguments.", true, false,
		`{"content": "", "tool_calls": [{"id": "call00001", "name": "tide", "arguments": "{\"port\": \"Brest\", \"days\": 2}"}]}`},
	{"tools_two_calls", "Two calls in one answer.", true, false,
		`{"content": "", "tool_calls": [{"id": "call00001", "name": "tide", "arguments": "{\"port\": \"Brest\"}"},
		{"id": "call00002", "name": "tide", "arguments": "{\"port\": \"Lorient\"}"}]}`},
}

const sketchTools = `, "tools": [{"type": "function", "function": {"name": "tide", "description": "Tides of a port",
  "parameters": {"type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}, "required": ["port"]}}}], "parallel_tool_calls": true`

// Scaffold writes first cases for a template from what it writes itself. missing says what it does not show, and why.
func Scaffold(family string, t *engine.Template) (files []File, missing []string) {
	for _, s := range sketches {
		if s.tools && !t.Analysis().HasCalls() {
			missing = append(missing, s.name+": the template shows no calls")
			continue
		}
		file, err := s.write(family, t)
		if err != nil {
			line, _, _ := strings.Cut(source.Detail(err), "\n")
			missing = append(missing, s.name+": "+line)
			continue
		}
		files = append(files, file)
	}
	return files, missing
}

func (s sketch) write(family string, t *engine.Template) (File, error) {
	requestText := `{"messages": [{"role": "user", "content": "When does the tide turn?"}]`
	if s.tools {
		requestText += sketchTools
	}
	if flags := t.Analysis().Thinking; s.thinks && len(flags) > 0 {
		requestText += `, "chat_template_kwargs": ` + ordered.ObjectOf(flags...).String()
	}
	requestText += "}"
	want, request, err := s.read(requestText)
	if err != nil {
		return File{}, err
	}
	turn, err := Turn(t, request, want)
	if err != nil {
		return File{}, err
	}
	plan, err := t.Prepare(request, engine.PrepareOptions{Insist: true})
	if err != nil {
		return File{}, err
	}
	answer, mismatch := split.Check(plan.NewParser(), turn, false)
	if mismatch != nil {
		return File{}, mismatch
	}
	if answer.Message.Reasoning != want.Reasoning && want.Reasoning != "" {
		return File{}, fmt.Errorf("the template does not write reasoning")
	}
	prompt, err := t.Render(request)
	if err != nil {
		return File{}, err
	}
	script := "# " + s.about + "\ntemplate " + family + "\nrequest request.json\nprompt prompt.golden\nparse output.txt message.json\n" +
		"stream output.txt message.json\n"
	if s.tools {
		script += "accept output.txt\n"
	}
	archive := txtar.Archive{Comment: []byte(script), Files: []txtar.File{
		{Name: "request.json", Data: []byte(requestText + "\n")},
		{Name: "prompt.golden", Data: []byte(prompt.Text + "\n")},
		{Name: "output.txt", Data: []byte(turn + "\n")},
		{Name: "message.json", Data: []byte(FormatMessage(answer.Message) + "\n")},
	}}
	return File{s.name + ".txtar", string(txtar.Format(&archive))}, nil
}

func (s sketch) read(requestText string) (chat.Message, chat.Request, error) {
	message, err := ordered.ParseString(s.message)
	if err != nil {
		return chat.Message{}, chat.Request{}, err
	}
	want, err := readMessage(message)
	if err != nil {
		return want, chat.Request{}, err
	}
	v, err := ordered.ParseString(requestText)
	if err != nil {
		return want, chat.Request{}, err
	}
	request, err := chat.ParseRequest(v)
	return want, request, err
}
