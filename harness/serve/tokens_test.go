package serve_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve"
)

// speaker answers with tokens.
type speaker []serve.Piece

func (s speaker) Generate(_ context.Context, _ serve.Job,
	take func(serve.Piece) error) (serve.Result, error) {
	for _, p := range s {
		if err := take(p); err != nil {
			return serve.Result{}, err
		}
	}
	return serve.Result{}, nil
}

func (speaker) Count(context.Context, serve.Job) (int, error) { return 1, nil }
func (speaker) Constrains() bool                              { return false }
func (speaker) Ready(context.Context) error                   { return nil }

// TestTokens has a back end answer with tokens. A text that spells a marker is content, in each
// protocol; the token opens a call, and a character in two tokens is joined.
func TestTokens(t *testing.T) {
	src, _ := compile(t, "hermes")
	v, err := engine.ReadVocabulary(engine.VocabularyFiles{Tokenizer: `{"added_tokens": [
		{"id": 7, "content": "<tool_call>", "special": false},
		{"id": 8, "content": "</tool_call>", "special": false}]}`})
	if err != nil {
		t.Fatal(err)
	}
	tm, err := engine.Compile(t.Context(), src, engine.Options{Now: subject.Now, Vocabulary: v})
	if err != nil {
		t.Fatal(err)
	}
	var answer speaker
	for _, token := range []engine.Token{{ID: 1, Text: []byte("A call: <tool")},
		{ID: 2, Text: []byte("_call>{} caf\xc3")}, {ID: 3, Text: []byte("\xa9\n")},
		{ID: 7, Text: []byte("<tool_call>")},
		{ID: 4, Text: []byte(`{"name": "get_weather", "arguments": {"city": "</tool_call>"}}`)},
		{ID: 8, Text: []byte("</tool_call>")}} {
		answer = append(answer, serve.Piece{Text: token.Text, ByID: true, ID: token.ID})
	}
	s, err := serve.New(serve.Options{Names: []string{"scripted"}, Source: src, Template: tm,
		Backend: answer, Now: subject.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for path, body := range requests {
		status, text := post(t, server.URL+path, strings.Replace(body, "%s", "", 1))
		got, err := ordered.ParseString(text)
		if err != nil || status != 200 {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		for _, want := range []string{`A call: <tool_call>{} café`, `get_weather`,
			`</tool_call>`} {
			if !strings.Contains(strings.ReplaceAll(got.String(), `\"`, `"`), want) {
				t.Errorf("%s: no %s in %s", path, want, text)
			}
		}
	}
}
