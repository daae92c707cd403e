package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
)

// renderCommand renders a conversation. Its arguments are the URI of a template, and a request as
// OpenAI's API has it; without one, the request of conversation.json beside the template, else one
// with tools. Its answer is the prompt.
const renderCommand = "assay.render"

// conversationFile is the file beside a template with the conversation to render.
const conversationFile = "conversation.json"

// execute runs a command.
func (s *server) execute(ctx context.Context, p commandParams) (any, error) {
	wrong := func(format string, args ...any) error {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams,
			Message: fmt.Sprintf(format, args...)}
	}
	if p.Command != renderCommand {
		return nil, wrong("there is no command %q, only %s", p.Command, renderCommand)
	}
	var uri string
	if len(p.Arguments) == 0 || json.Unmarshal(p.Arguments[0], &uri) != nil {
		return nil, wrong("%s takes the URI of a template that is open", renderCommand)
	}
	d, l, ok := s.looked(uri)
	if !ok || !l.wait(ctx) {
		return nil, wrong("%s is not open", uri)
	}
	if len(l.parts) == 0 {
		return nil, fmt.Errorf("%s has no template", d.path)
	}
	request, err := s.request(d.path, p.Arguments[1:])
	if err != nil {
		return nil, err
	}
	// the look may end while this goes on
	src := subject.With(ctx, []subject.Source{l.parts[0].src}, engine.Options{Limits: l.limits})[0]
	t, err := src.Compile()
	if err != nil {
		return nil, err
	}
	prompt, err := t.Render(request)
	if err != nil {
		return nil, err
	}
	if s.canShow() {
		if err := s.showText(ctx, d.path, prompt.Text); err != nil {
			return nil, err
		}
	}
	return map[string]any{"prompt": prompt.Text, "fitted": append([]string{}, prompt.Fits...)}, nil
}

// request is the request to render.
func (s *server) request(path string, arguments []json.RawMessage) (r chat.Request, err error) {
	var text []byte
	switch {
	case len(arguments) > 0:
		text = arguments[0]
	default:
		if text, err = s.read(filepath.Join(filepath.Dir(path), conversationFile)); err != nil {
			return standard.ToolRequest(), nil
		}
	}
	v, err := ordered.ParseString(string(text))
	if err != nil {
		return r, err
	}
	return chat.ParseRequest(v)
}

// canShow reports whether the client opens documents when it is asked to.
func (s *server) canShow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shows
}

// showText has the client open a text.
func (s *server) showText(ctx context.Context, path, text string) error {
	s.mu.Lock()
	var err error
	if s.scratch == "" {
		s.scratch, err = os.MkdirTemp("", "assay-")
	}
	name := filepath.Join(s.scratch, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+
		".prompt.txt")
	s.mu.Unlock()
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		return err
	}
	return s.conn.Call(ctx, "window/showDocument",
		map[string]any{"uri": uriOf(name), "takeFocus": true}, nil)
}

// clear removes the files that were made for the client.
func (s *server) clear() {
	if s.scratch != "" {
		os.RemoveAll(s.scratch)
	}
}
