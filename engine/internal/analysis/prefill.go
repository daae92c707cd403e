package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/ordered"
)

// ErrTurn is returned where the place in a prompt at which the model's turn begins cannot be told.
var ErrTurn = errors.New("where the model's turn begins in the prompt cannot be told")

// Prefill returns the start of the model's own text: the text after the header in a prompt that was
// rendered for an input (E9). end is the prompt's own end, as [observe.OwnEnd] returns it, or "";
// given the end, Prefill rarely needs another render.
//
// Provenance shows which text at the end of the prompt is the template's own: it is the part that
// the same input without a generation prompt lacks or, where the template cannot be asked for one,
// the text after the last byte of the conversation. The header is looked for nowhere else. Where
// the template continues a turn that it has not closed, as after a tool's result, there is no
// header: it adds nothing, or a text with which its turns were seen to begin.
//
// An error wraps [ErrTurn] and quotes the end of the prompt.
func (a *Analysis) Prefill(t *chattemplate.Template, in chattemplate.Input,
	prompt, end string) (string, error) {
	if !in.Generate {
		return "", nil
	}
	if start, ok := a.known(in, end); ok {
		return start, nil
	}
	if !a.unasked {
		bare := in
		bare.Generate = false
		if without, err := t.Render(bare); err == nil {
			if added, ok := strings.CutPrefix(prompt, without); ok {
				if start, ok := a.afterHeader(added); ok {
					return start, nil
				}
				if bare := strings.Trim(added, format.Space); bare == "" ||
					slices.ContainsFunc(a.Prefills,
						func(p string) bool { return strings.Trim(p, format.Space) == bare }) {
					return added, nil
				}
				return "", a.unknown(t, added)
			}
		}
	}
	traced, err := t.Observe(in)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTurn, err)
	}
	own := observe.OwnEnd(traced.Text)
	if start, ok := strings.CutPrefix(own, a.start); ok {
		return start, nil
	}
	if start, ok := a.afterHeader(own); ok {
		return start, nil
	}
	if n := len(in.Messages); n > 0 && in.Messages[n-1].At("role").Text() != "user" {
		return "", nil // the model's turn goes on, and nothing of it is written yet
	}
	if a.goesOn(t, in, prompt, own) {
		return "", nil
	}
	return "", a.unknown(t, own)
}

// known finds the prefill from a prompt's own end alone. After a question or a result that end has
// no text of the model's. If it has the header once, and the text after the header is a prefill
// that the template was seen to write, the turn begins there.
func (a *Analysis) known(in chattemplate.Input, end string) (string, bool) {
	n, header := len(in.Messages), a.Format.Header
	if end == "" || a.unasked || n == 0 || strings.Trim(header, format.Space) == "" {
		return "", false
	}
	if role := in.Messages[n-1].At("role").Text(); role != "user" && role != "tool" {
		return "", false
	}
	_, start, ok := strings.Cut(end, header)
	return start, ok && !strings.Contains(start, header) && slices.Contains(a.Prefills, start)
}

// unknown returns the error for a prompt whose own end has no header.
func (a *Analysis) unknown(t *chattemplate.Template, own string) error {
	return fmt.Errorf("%s: %w: the generation prompt is %q, expected the "+
		"header %q in it", t.Source.Name, ErrTurn, own, a.Format.Header)
}

// goesOn reports whether an answer would be written directly after a prompt, whose own end must not
// open reasoning.
func (a *Analysis) goesOn(t *chattemplate.Template, in chattemplate.Input, prompt,
	own string) bool {
	said := ordered.Str(observe.ContentNeedle)
	if n := len(in.Messages); n > 0 && in.Messages[n-1].At("content").Kind() == ordered.Array {
		said = ordered.ArrayOf(chat.TextPart(said))
	}
	in.Messages = append(slices.Clip(in.Messages), chat.MessageOf("assistant", said))
	in.Generate = false
	answered, err := t.Render(in)
	open := a.Format.Reasoning.Open.Text
	return err == nil && strings.HasPrefix(answered, prompt+observe.ContentNeedle) &&
		(open == "" || !strings.Contains(own, open))
}

// afterHeader returns the part of a text of the template's own after the header, and whether the
// header is there.
func (a *Analysis) afterHeader(own string) (string, bool) {
	if _, rest, ok := strings.Cut(own, a.Format.Header); ok {
		return rest, true
	}
	n, ok := cutStart(own, a.Format.Header)
	return own[n:], ok
}
