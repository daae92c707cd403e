package vocab_test

import (
	"fmt"
	"testing"

	"github.com/goassay/assay/engine/vocab"
)

const tokenizer = `{"added_tokens": [
 {"id": 0, "content": "<s>", "special": true}, {"id": 1, "content": "</s>", "special": true},
 {"id": 2, "content": "<|end|>", "special": true, "rstrip": true},
 {"id": 3, "content": "<call>", "special": false},
 {"id": 4, "content": "\n\n", "special": false}, {"id": 5, "content": "<|end|>\n", "special": true},
 {"id": 6, "content": "<table>", "special": false}],
 "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {
  "type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}]}}`

func read(t *testing.T, f vocab.Files) *vocab.Vocabulary {
	t.Helper()
	v, err := vocab.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRead(t *testing.T) {
	v := read(t, vocab.Files{Tokenizer: tokenizer,
		Config: `{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": false,
			"added_tokens_decoder": {"1": {"content": "</s>", "special": false},
			"9": {"content": "<late>", "special": true}}}`,
		Generation: `{"eos_token_id": [1, 2]}`})
	if v.BOS != "<s>" || v.EOS != "</s>" || !*v.AddsBOS || *v.AddsEOS ||
		fmt.Sprint(v.Stops) != "[1 2]" {
		t.Errorf("%+v", v.Config)
	}
	for _, c := range []struct {
		id     int
		text   string
		marker bool
	}{{0, "<s>", true}, {1, "</s>", true}, {3, "<call>", true}, {4, "\n\n", false},
		{9, "<late>", true}, {8, "", false}, {-1, "", false}, {1 << 40, "", false}} {
		token, _ := v.ByID(c.id)
		if token.Text != c.text || v.Marker(c.id) != c.marker {
			t.Errorf("token %d: %+v, a marker: %t", c.id, token, v.Marker(c.id))
		}
	}
	if one := read(t, vocab.Files{Tokenizer: `{}`, Generation: `{"eos_token_id": 7}`}); fmt.Sprint(one.Stops) != "[7]" ||
		one.AddsBOS != nil {
		t.Errorf("%+v", one.Config)
	}
	for _, f := range []vocab.Files{{},
		{Tokenizer: "{"},
		{Config: `{"added_tokens_decoder": {"x": {}}}`},
		{Tokenizer: "{}", Generation: "[]"},
	} {
		if _, err := vocab.Read(f); err == nil {
			t.Errorf("%+v is read", f)
		}
	}
}

func TestMark(t *testing.T) {
	v := read(t, vocab.Files{Tokenizer: tokenizer})
	for text, want := range map[string]string{
		"":                      "",
		"<|end|>":               "!<|end|>",
		"a<call>\n\n</s><call":  "a!<call>\n\n!</s><call",
		"<|end|>\n<|end|><s> s": "!<|end|>\n!<|end|>!<s> s",
	} {
		if got := v.Mark(text, "!"); got != want {
			t.Errorf("%q is marked %q, want %q", text, got, want)
		}
	}
}

// TestPieces cuts texts in which the template's own bytes are upper case or stand in the template's
// markers. Each case alternates the template's text and the request's.
func TestPieces(t *testing.T) {
	v := read(t, vocab.Files{Tokenizer: tokenizer})
	writes := func(text string) bool { return text == "<call>" }
	for _, c := range []struct {
		parts []string
		want  string // special pieces in brackets, others in parentheses
	}{
		{[]string{"<s>", "Hi", "</s>"}, "[<s>Hi</s>]"},
		{[]string{"<s>", "Hi</s>you", "</s>"}, "[<s>](Hi</s>you)[</s>]"},
		{[]string{"<s>USER ", "Hi</s>you", " END</s>A</s>"}, "[<s>](USER Hi</s>you END)[</s>A</s>]"},
		{[]string{"<s>", "a", "</s>B<s>", "</s>", "</s>"}, "[<s>a</s>B<s>](</s>)[</s>]"},
		// Read in every text, and a marker of the template.
		{[]string{"<s>", "a<call>b", "</s>"}, "[<s>](a<)(call>b)[</s>]"},
		// Read in every text, and none of its markers.
		{[]string{"<s>", "a<table>\n\nb", "</s>"}, "[<s>a<table>\n\nb</s>]"},
		// Half is the request's.
		{[]string{"<s>", "a<", "/s>"}, "[<s>](a</s>)"},
		{[]string{"A<", "/s>b", "<s>"}, "(A</s>b)[<s>]"},
		// The token takes the white space along.
		{[]string{"<|end|>", " \n</s>", "<s>"}, "[<|end|> \n](</s>)[<s>]"},
		// The request makes a longer token of it.
		{[]string{"<|end|>", "\nhi", "</s>"}, "[<|end|>](\nhi)[</s>]"},
		{[]string{"", "</s>"}, "(</s>)"},
		{[]string{"", "</s>", "<s>", "</s></s>", ""}, "(</s>)[<s>](</s></s>)"},
		// The template's own are tokens.
		{[]string{"<s>", "a", "<call>", "b", "</call><call>"}, "[<s>a<call>b</call><call>]"},
	} {
		var text string
		var spans []vocab.Span
		for i, part := range c.parts {
			text += part
			spans = append(spans, vocab.Span{End: len(text), Own: i%2 == 0})
		}
		got := ""
		for _, p := range v.Pieces(text, spans, writes) {
			if p.Special {
				got += "[" + p.Text + "]"
			} else {
				got += "(" + p.Text + ")"
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.parts, got, c.want)
		}
	}
}
