package formatjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/ordered"
)

func ExampleWrite() {
	d := formatjson.Document{
		Format: format.Format{
			Header: "<|im_start|>assistant\n",
			End:    []string{"<|im_end|>\n"},
			Calls: []format.Calls{{
				Call: format.Pair{Open: format.Mark("<tool_call>\n"),
					Close: format.Mark("\n</tool_call>")},
				Object: &format.Object{Fields: []format.Field{
					{Path: []string{"name"}, Slot: format.SlotName},
					{Path: []string{"arguments"}, Slot: format.SlotArgs},
				}},
			}},
		},
		Prefills: []string{"<think>\n"},
	}
	fmt.Println(string(formatjson.Write(d).Append(nil, ordered.Pretty)))
	// Output:
	// {
	//   "assay_format": 1,
	//   "prefills": [
	//     "<think>\n"
	//   ],
	//   "header": "<|im_start|>assistant\n",
	//   "end": [
	//     "<|im_end|>\n"
	//   ],
	//   "calls": [
	//     {
	//       "call": {
	//         "open": "<tool_call>\n",
	//         "close": "\n</tool_call>"
	//       },
	//       "object": {
	//         "fields": [
	//           {
	//             "path": [
	//               "name"
	//             ],
	//             "slot": "name"
	//           },
	//           {
	//             "path": [
	//               "arguments"
	//             ],
	//             "slot": "args"
	//           }
	//         ]
	//       }
	//     }
	//   ]
	// }
}

// full has every member.
const full = `{"assay_format": 2, "prefills": ["p"], "name": "n", "header": "h", "end": ["e"],
 "reasoning": {"mode": "tagged", "open": "<t>\n", "close": {"before": "a", "text": " b ", "after": "c"}, "trim": true},
 "content": {"mode": "wrapped", "open": "<c>", "close": "</c>", "trim": true},
 "calls": [{"name": "n", "section": {"open": "["}, "call": {"close": "]"}, "separator": ", ", "array": true,
  "object": {"fields": [{"path": ["a", "b"], "slot": "id", "const": {"x": [1.50]}, "text": true, "ids": {"characters": "-a-z", "max": 40}}], "name_is_key": true, "quote": "'"},
  "head": [{"literal": "x", "alternatives": ["y"], "optional": true}, {"slot": "id", "parts": [{"slot": "index", "base": 1}], "ids": {"min": 9}}],
  "body": {"kind": "tagged", "open": "{", "close": "}", "entry": [{"slot": "type", "types": [{"word": "string", "raw": true}]}],
   "separator": ",", "codec": {"style": "raw", "cdata": true, "entities": true, "escaped": true, "quote": "q", "nested": true},
   "sorted": true, "item": [{"slot": "value"}]},
  "tail": [{"slot": "word"}], "unclosed": true, "tentative": true}],
 "routes": [{"kind": "call", "start": "s", "head": [{"slot": "recipient"}], "body": {"kind": "json"}, "close": ["a", "b"]}],
 "undisclosed": true}`

func read(text string) (formatjson.Document, error) {
	v, err := ordered.ParseString(text)
	if err != nil {
		return formatjson.Document{}, err
	}
	return formatjson.Read(v)
}

// TestEveryMember reads a document with every member, and writes it with the same members.
func TestEveryMember(t *testing.T) {
	d, err := read(full)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ordered.ParseString(full)
	if err != nil {
		t.Fatal(err)
	}
	if got := formatjson.Write(d); !ordered.Equal(got, want) {
		t.Errorf("written again:\n%s\nexpected\n%s", got, want)
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`[]`, "the format: expected an object, found array"},
		{`{}`, "assay_format: expected the version, found nothing; `assay emit format TEMPLATE` writes a document"},
		{`{"assay_format": 3}`, "assay_format: expected a version from 1 to 2, found 3"},
		{`{"assay_format": "1"}`, `assay_format: expected a version from 1 to 2, found "1"`},
		{`{"assay_format": 1, "calls": [{"head": [{"ids": {"min": 9}}]}]}`,
			"calls[0].head[0].ids: version 1 has no such member"},
		{`{"assay_format": 2, "calls": [{"head": [{"ids": {"min": 9, "max": 8}}]}]}`,
			"calls[0].head[0].ids: no id has 9 characters at least and 8 at most"},
		{`{"assay_format": 2, "calls": [{"head": [{"ids": {"characters": "z-a"}}]}]}`,
			"calls[0].head[0].ids: the range z-a is backwards"},
		{`{"assay_format": 2, "calls": [{"head": [{"ids": {"characters": "a\\"}}]}]}`,
			`calls[0].head[0].ids: expected characters such as 0-9A-Za-z, found '\\'`},
		{`{"assay_format": 1, "calls": {}}`, "calls: expected array, found object"},
		{`{"assay_format": 1, "calls": [1]}`, "calls[0]: expected object, found number"},
		{`{"assay_format": 1, "calls": [{}, {"body": {"kind": "xml"}}]}`,
			`calls[1].body.kind: expected one of none, json, tagged, kwargs, dict, found "xml"`},
		{`{"assay_format": 1, "calls": [{"head": [{"slot": "name", "text": "x"}]}]}`,
			"calls[0].head[0].text: version 1 has no such member"},
		{`{"assay_format": 1, "ends": []}`, "ends: version 1 has no such member"},
		{`{"assay_format": 1, "end": [1]}`, "end[0]: expected string, found number"},
		{`{"assay_format": 1, "reasoning": {"open": 1}}`,
			"reasoning.open: expected the text of a marker, or before, text and " +
				"after, found number"},
		{`{"assay_format": 1, "reasoning": {"open": {"txt": "x"}}}`, "reasoning.open.txt: version 1 has no such member"},
		{`{"assay_format": 1, "calls": [{"object": {"quote": "x"}}]}`, `calls[0].object.quote: expected a quote, found "x"`},
		{`{"assay_format": 1, "calls": [{"head": [{"base": 1.5}]}]}`, "calls[0].head[0].base: expected a whole number, found 1.5"},
		{`{"assay_format": 1, "calls": [{"head": ` + strings.Repeat(`[{"parts": `, 40) + `[]` + strings.Repeat(`}]`, 40) + `}]}`,
			"more than 32 levels"},
		{`{"assay_format": 1, "end": ["` + strings.Repeat("x", formatjson.MaxText) + `"]}`,
			"end: the texts of the document are longer than 16384 bytes"},
	} {
		if _, err := read(c.text); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.text, err, c.want)
		}
	}
}

// FuzzRead reads any document: one that is taken is written and read as itself.
func FuzzRead(f *testing.F) {
	f.Add(full)
	f.Add(`{"assay_format": 1, "reasoning": {"open": {"before": " ", "text": ""}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := read(text)
		if err != nil {
			return
		}
		written := formatjson.Write(d)
		again, err := formatjson.Read(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if second := formatjson.Write(again); second.String() != written.String() {
			t.Errorf("written again:\n%s\nexpected\n%s", second, written)
		}
	})
}
