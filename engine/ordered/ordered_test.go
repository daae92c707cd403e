package ordered_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/ordered"
)

func TestParseKeepsOrderAndNumbers(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{` {"b": 1.0, "a": [1e5, -0, 12345678901234567890], "b2": {}} `, `{"b": 1.0, "a": [1e5, -0, 12345678901234567890], "b2": {}}`},
		{`{"a": 1, "b": 2, "a": 3}`, `{"a": 3, "b": 2}`},
		{`"\u00e9\ud83d\ude00\n\/"`, `"é😀\n/"`},
		{`"\ud800x"`, `"\ud800x"`},
		{`[true, false, null]`, `[true, false, null]`},
		{`""`, `""`},
	} {
		v, err := ordered.ParseString(tt.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.in, err)
		} else if v.String() != tt.want {
			t.Errorf("Parse(%q) = %s, want %s", tt.in, v, tt.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{``, `<input>:1:1: the JSON text ends, expected a value`},
		{"{\n\"a\" 1}", `<input>:2:5: expected ':' after a key in a JSON object`},
		{`[1,]`, `<input>:1:4: expected a JSON value`},
		{`{"a":1,}`, `<input>:1:8: expected a string as key in a JSON object`},
		{`01`, `<input>:1:2: text after the JSON value, expected the end`},
		{`1.`, `<input>:1:3: expected a digit after the point of a JSON number`},
		{`"abc`, `<input>:1:5: a JSON string has no closing quote`},
		{`"\x"`, `<input>:1:2: a bad escape in a JSON string`},
		{"\"a\nb\"", `<input>:1:3: a control character in a JSON string must be escaped`},
		{strings.Repeat("[", 2000), `<input>:1:1002: JSON is nested deeper than 1000 levels`},
	} {
		if _, err := ordered.ParseString(tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%.20q): error %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`1`, `1.0`, true},
		{`100`, `1e2`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e999999999`, `2e999999999`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"1"`, `1`, false},
	} {
		a, b := parse(t, tt.a), parse(t, tt.b)
		if ordered.Equal(a, b) != tt.want {
			t.Errorf("Equal(%s, %s) is not %v", a, b, tt.want)
		}
	}
}

func parse(t *testing.T, text string) ordered.Value {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e-3,"x\u0041"],"b":null}`, `"\ud800\udc00"`, `[[[]]]`, `-0.0`, "\"\xff\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ordered.ParseString(text)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("encoding/json refuses %q", text)
		}
		again, err := ordered.ParseString(v.String())
		if err != nil || again.String() != v.String() {
			t.Fatalf("%q printed as %q, which reads as %q (%v)", text, v, again, err)
		}
	})
}

// TestSize bounds the memory for a text of many values.
func TestSize(t *testing.T) {
	const n = 1 << 20
	for name, text := range map[string]string{
		"numbers": "[" + strings.Repeat("0,", n) + "0]",
		"arrays":  "[" + strings.Repeat("[],", n) + "0]",
		"lists":   "[" + strings.Repeat("[0],", n/2) + "0]",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := ordered.ParseString(text)
		if err != nil || v.Kind() != ordered.Array {
			t.Fatalf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if per := (after.TotalAlloc - before.TotalAlloc) / n; per > 300 {
			t.Errorf("%s: %d bytes allocated for each value", name, per)
		}
	}
	_, err := ordered.ParseString("[" + strings.Repeat("0,", ordered.MaxValues) + "0]")
	if err == nil || !strings.Contains(err.Error(), "JSON of more than 4194304 values") {
		t.Errorf("too many values: %v", err)
	}
}

// TestQuoteBytes has every byte at every place of a text that is looked at in words.
func TestQuoteBytes(t *testing.T) {
	const text = "nothing that needs an escape"
	for b := range 256 {
		for at := range len(text) {
			for _, ascii := range []bool{false, true} {
				one := string([]byte{byte(b)})
				want := `"` + text[:at] + string(ordered.AppendEscaped(nil, one, ascii)) + text[at:] + `"`
				got := string(ordered.AppendQuoted(nil, text[:at]+one+text[at:], ascii))
				if got != want {
					t.Fatalf("byte %#x at %d, ascii %t: got %s, want %s", b, at, ascii, got, want)
				}
			}
		}
	}
}

// TestAppendKey has values that differ, some by little: no key begins with another one.
func TestAppendKey(t *testing.T) {
	texts := []string{`null`, `true`, `false`, `0`, `1`, `1.0`, `""`, `"1"`, `"true"`, `[]`, `[[]]`,
		`["a", "b"]`, `["ab"]`, `["a"]`, `{}`, `{"a": "b"}`, `{"ab": ""}`, `{"a": 1, "b": 2}`,
		`{"b": 2, "a": 1}`, `{"a": {"b": 2}}`, `"\ud800"`, `"\ufffd"`}
	for i, a := range texts {
		for j, b := range texts {
			v, w := parse(t, a), parse(t, b)
			if bytes.HasPrefix(ordered.AppendKey(nil, &v), ordered.AppendKey(nil, &w)) != (i == j) {
				t.Errorf("%s and %s: the key of one begins with that of the other", a, b)
			}
		}
	}
}

func TestRepeated(t *testing.T) {
	many := ""
	for i := range 100 {
		many += fmt.Sprintf(`"k%d": {"a": 1}, `, i)
	}
	for text, want := range map[string]string{
		`5`: "", `"a"`: "", `{}`: "", `[{"a": 1}, {"a": 2}]`: "", `{"a": {"a": "a"}, "b": ["a", "a"]}`: "",
		`{"a": "b", "b": "a"}`: "", `{"a": 1, "a": 2}`: "a", `{"a": 1, "\u0061" : 2}`: "a",
		`{"x": [{"b\"": 1, "c": {}, "b\"": 2}]}`: `b"`, `{"a": "{\"b\": 1, \"b\": 2}"}`: "",
		"{" + many + `"z": 1}`: "", "{" + many + `"k50": 1}`: "k50", `{"": 1, "": 2, "a": 3}`: "",
	} {
		repeats := want != "" || strings.HasPrefix(text, `{""`)
		if got, ok := ordered.Repeated(text); got != want || ok != repeats {
			t.Errorf("%.60s: %q, %t, want %q", text, got, ok, want)
		}
	}
}

func TestPairs(t *testing.T) {
	v := ordered.Pairs("text", "a", "yes", true, "n", 1, "large", int64(1)<<40, "null", nil,
		"texts", []string{"b"}, "none", []string(nil), "list", []ordered.Value{ordered.Int(2)},
		"object", ordered.Pairs())
	const want = `{"text": "a", "yes": true, "n": 1, "large": 1099511627776, "null": null, ` +
		`"texts": ["b"], "none": [], "list": [2], "object": {}}`
	if v.String() != want {
		t.Errorf("got %s\nexpected %s", v, want)
	}
	for _, pairs := range [][]any{{"x", 1.5}, {"x", 1, "y"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was taken: a value of another type, or a key without one", pairs)
				}
			}()
			ordered.Pairs(pairs...)
		}()
	}
}
