package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/foreign/gonja"
)

var renderCommand = command{
	group: looking, name: "render", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "render a request and print the prompt",
	long: `The prompt is printed to the byte, without a line feed at its end; --explain says which
polyfills the request took. --spans tells where the prompt's text is from: in colours on a terminal,
else as JSON. With --tokenizer it says besides how a server gives the prompt to its tokeniser, so
that nothing in the request becomes a special token.

The request is fitted to the template, as "assay serve" does. --as ENGINE gives the template what
that engine makes of the request; --as sent gives it the request as it is, which shows a fault that
"assay check --request" prints.`,
	apart: [][]string{{"as", "renderer"}, {"as", "spans"}, {"as", "explain"}},
	setup: func(flags *flagSet) func(*call) error {
		s := new(step)
		renderer := flags.String("renderer", "native", "`ENGINE`: native or gonja")
		flags.completes("renderer", func() []string { return []string{"native", "gonja"} })
		flags.BoolVar(&s.explain, "explain", false, "list the changes of fitting, on stderr")
		spans := flags.Bool("spans", false,
			"print the segments: the template's own text, and text from the request")
		as := choice{of: view.Options()}
		flags.Var(&as, "as", "give the template what this `ENGINE` makes of the request: "+
			strings.Join(as.of, ", "))
		flags.completes("as", func() []string { return as.of })
		s.tokenizerFlag(flags)
		nowFlag(flags, &s.now)
		s.flags(flags).requestFlags(flags)
		return func(c *call) error {
			if *spans {
				return s.spans(c)
			}
			switch {
			case as.chosen != "":
				return s.renderAs(c, as.chosen)
			case *renderer == "gonja" && s.limits.untrusted:
				return usageError{errors.New("--untrusted allows no second renderer")}
			case *renderer == "native":
				return s.render(c)
			case *renderer == "gonja":
				second := new(gonja.Renderer)
				defer second.Close()
				return s.renderWith(c, second)
			}
			return fmt.Errorf("unknown renderer %q; there are native and gonja", *renderer)
		}
	},
}

// rendered returns the prompt of the request.
func (s *step) rendered(c *call) (engine.Prompt, error) {
	t, err := s.template(c)
	if err != nil {
		return engine.Prompt{}, err
	}
	r, err := s.readRequest(c)
	if err != nil {
		return engine.Prompt{}, err
	}
	prompt, err := t.Render(r)
	if err != nil {
		return prompt, &failure{err}
	}
	s.warnMessages(c, t, r)
	return prompt, nil
}

func (s *step) render(c *call) error {
	prompt, err := s.rendered(c)
	if err != nil {
		return err
	}
	prefill, unknown := prompt.Prefill()
	if s.explain && unknown == nil {
		fmt.Fprintf(c.stderr, "fitted: %s\nprefill: %q\n", orNone(strings.Join(prompt.Fits, ", ")),
			prefill)
	} else if s.explain {
		fmt.Fprintf(c.stderr, "fitted: %s\nprefill: %v\n", orNone(strings.Join(prompt.Fits, ", ")),
			unknown)
	}
	if s.json {
		out := map[string]any{"prompt": prompt.Text, "prefill": prefill, "fitted": prompt.Fits}
		if unknown != nil {
			out["prefill"] = nil
		}
		return writeJSON(c.stdout, out)
	}
	_, err = io.WriteString(c.data(), prompt.Text)
	return err
}

// renderWith renders with another engine, and only requests that the native one has rendered within
// its limits just before.
func (s *step) renderWith(c *call, renderer chattemplate.Renderer) error {
	t, err := s.template(c)
	if err != nil {
		return err
	}
	r, err := s.readRequest(c)
	if err != nil {
		return err
	}
	text, err := check.RenderWith(renderer, t, r)
	if err != nil {
		return &failure{err}
	}
	s.warnMessages(c, t, r)
	return s.print(c, text)
}

// renderAs renders what an engine makes of the request, whose name it takes.
func (s *step) renderAs(c *call, engine string) error {
	t, err := s.template(c)
	if err != nil {
		return err
	}
	request, err := s.requestValue(c)
	if err != nil {
		return err
	}
	_, text, err := view.RenderNamed(engine, t.ChatTemplate(), request)
	if err != nil {
		return &failure{err}
	}
	return s.print(c, text)
}

// print prints a prompt that another engine has rendered.
func (s *step) print(c *call, prompt string) error {
	if s.json {
		return writeJSON(c.stdout, map[string]any{"prompt": prompt})
	}
	_, err := io.WriteString(c.data(), prompt)
	return err
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
