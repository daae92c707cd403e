package sent_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/conversation/sent"
)

// TestAll demands that every spelling says who sends it, differs from its plain request, and has
// each text once.
func TestAll(t *testing.T) {
	names := map[string]bool{}
	for _, s := range append(sent.Plain(), sent.All()...) {
		if s.Name == "" || s.By == "" || names[s.Name] {
			t.Errorf("%q: no name of its own, or nobody sends it", s.Name)
		}
		names[s.Name] = true
		for _, request := range []ordered.Value{s.Plain, s.Sent} {
			text := request.String()
			for _, m := range request.At("messages").Items() {
				if c := m.At("content"); c.Kind() == ordered.String && c.Text() != "" &&
					strings.Count(text, ordered.Str(c.Text()).String()) != 1 {
					t.Errorf("%s: the text %q is not there once: %s", s.Name, c.Text(), text)
				}
			}
		}
	}
	for _, s := range sent.All() {
		if ordered.Equal(s.Plain, s.Sent) {
			t.Errorf("%s: it is the plain request", s.Name)
		}
		// the protocol permits the plain request
		if _, err := chat.ParseRequest(s.Plain); err != nil {
			t.Errorf("%s: the plain request: %v", s.Name, err)
		}
	}
}

// TestRepeated demands that a conversation has the texts of its rounds, in order.
func TestRepeated(t *testing.T) {
	for _, r := range sent.Repeated() {
		text, at := r.Request.String(), 0
		for _, round := range r.Rounds {
			for _, part := range round {
				i := strings.Index(text[at:], part)
				if i < 0 {
					t.Fatalf("%s: %q is not there, or out of order", r.Name, part)
				}
				at += i + len(part)
			}
		}
	}
}
