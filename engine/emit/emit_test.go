package emit_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

func hermes() format.Format {
	f := format.Format{Header: "<|im_start|>assistant\n", End: []string{"<|im_end|>\n"}}
	f.Reasoning.Pair = format.Pair{Open: format.Mark("<think>\n"),
		Close: format.Mark("\n</think>\n\n")}
	f.Calls = []format.Calls{{
		Call: format.Pair{Open: format.Mark("<tool_call>\n"), Close: format.Mark("\n</tool_call>")},
		Object: &format.Object{Fields: []format.Field{
			{Path: []string{"name"}, Slot: format.SlotName}, {Path: []string{"arguments"}, Slot: format.SlotArgs}}},
	}}
	return f
}

// TestAnchors writes an object for prompts of which some end without the header.
func TestAnchors(t *testing.T) {
	v, err := emit.ResponseTemplate(hermes(), "[/TOOL_RESULTS]")
	if err != nil {
		t.Fatal(err)
	}
	want := `["<|im_start|>assistant\n", "[/TOOL_RESULTS]"]`
	if got := v.At("start_anchor").String(); got != want {
		t.Errorf("start_anchor is %s, expected %s", got, want)
	}
}

func TestResponseTemplate(t *testing.T) {
	v, err := emit.ResponseTemplate(hermes())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "version": 1,
  "defaults": {
    "role": "assistant"
  },
  "start_anchor": "<|im_start|>assistant\n",
  "fields": {
    "reasoning_content": {
      "open_pattern": "\\s*<think>",
      "close_pattern": "</think>\\s*",
      "content": "text",
      "repeats": true,
      "join": ""
    },
    "tool_calls": {
      "open_pattern": "\\s*\\s*<tool_call>\\s*",
      "close_pattern": "\\s*</tool_call>\\s*\\s*",
      "repeats": true,
      "content": "json",
      "transform": {
        "type": "function",
        "function": {
          "name": "{content.name}",
          "arguments": "{content.arguments}"
        }
      }
    },
    "content": {
      "close_pattern": "\\s*(?:<\\|im_end\\|>|</think>)\\s*",
      "content": "text",
      "repeats": true,
      "join": ""
    }
  }
}
`
	if got := emit.Indent(v); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestInexpressible has formats for which the language has no words.
func TestInexpressible(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*format.Format)
		want   string
	}{
		{"no header", func(f *format.Format) { f.Header = "" },
			"response_template cannot express this format's header: a prompt without a text " +
				"before the model's turn gives no anchor"},
		{"an end marker alone", func(f *format.Format) { f.Reasoning.Open = format.Marker{} },
			"response_template cannot express this format's reasoning: it has an end marker and " +
				"no opener, and only content may stand outside all markers"},
		{"Python dicts", func(f *format.Format) { f.Calls[0].Object.Quote = '\'' },
			"response_template cannot express this format's calls: they are " +
				"Python dicts, not JSON"},
		{"bare objects", func(f *format.Format) { f.Calls[0].Call = format.Pair{} },
			"response_template cannot express this format's calls: nothing opens them that a " +
				"pattern could wait for"},
		{"undisclosed calls", func(f *format.Format) { f.Calls, f.Undisclosed = nil, true },
			"response_template cannot express this format's calls: the template describes tools " +
				"and shows no call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := hermes()
			tt.change(&f)
			_, err := emit.ResponseTemplate(f)
			var refused *emit.Inexpressible
			if !errors.As(err, &refused) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestInto(t *testing.T) {
	v := ordered.ObjectOf(ordered.MemberOf("version", ordered.Int(1)))
	for _, tt := range []struct{ name, text, want string }{
		{"appended", "{\n  \"a\": [1,  2],\n  \"b\": \"\\u00e9\"\n}\n", "{\n  \"a\": [1,  2],\n  \"b\": \"\\u00e9\",\n  \"key\": {\n    \"version\": 1\n  }\n}\n"},
		{"replaced", `{"key": {"version":  0}, "z": 1}`, `{"key": {"version": 1}, "z": 1}`},
		{"into an empty object", `{}`, `{"key": {"version": 1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := emit.Into("tokenizer_config.json", tt.text, "key", v)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("%q is not JSON", got)
			}
		})
	}
	for _, text := range []string{"", "[1]", `{"a": }`, `{"a": 1`} {
		if got, err := emit.Into("f.json", text, "key", v); err == nil {
			t.Errorf("%q: %q, want an error", text, got)
		}
	}
}

func FuzzInto(f *testing.F) {
	f.Add(`{"a": 1, "key": [2]}`)
	f.Add("{\n\t\"a\": {}\n}")
	f.Fuzz(func(t *testing.T, text string) {
		v := ordered.ObjectOf(ordered.MemberOf("version", ordered.Int(1)))
		if got, err := emit.Into("f.json", text, "key", v); err == nil &&
			!json.Valid([]byte(got)) && json.Valid([]byte(text)) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
