package codec_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// out collects a scanner's text, and fails where the pieces of one step overlap or leave gaps.
type out struct {
	t      testing.TB
	in     []byte
	text   strings.Builder
	at     int
	number byte            // of the text that comes next
	bytes  strings.Builder // the number of each byte of the text
}

func (o *out) Number(n int) { o.number = byte(n) }

func (o *out) span(from, to int) {
	if from != o.at || to < from || to > len(o.in) {
		o.t.Fatalf("piece [%d,%d) after %d in %q", from, to, o.at, o.in)
	}
	o.at = to
}

func (o *out) Copy(from, to int) {
	o.span(from, to)
	o.write(string(o.in[from:to]))
}

func (o *out) Text(text []byte, from, to int) {
	o.span(from, to)
	o.write(string(text))
}

func (o *out) String(text string, from, to int) {
	o.span(from, to)
	o.write(text)
}

func (o *out) write(text string) {
	o.text.WriteString(text)
	for range len(text) {
		o.bytes.WriteByte(o.number)
	}
}

// result is the outcome of a scan.
type result struct {
	text, numbers string
	consumed      int
	status        peg.Status
}

// scan runs a scanner over pieces.
func scan(t testing.TB, s peg.Scanner, pieces ...string) result {
	t.Helper()
	s.Reset()
	o := &out{t: t}
	var buf []byte
	consumed := 0
	for i := 0; i <= len(pieces); i++ {
		closed := i == len(pieces)
		if !closed {
			buf = append(buf, pieces[i]...)
		}
		o.in, o.at, o.number = buf, 0, 0
		n, status := s.Step(buf, closed, o)
		if o.at > n {
			t.Fatalf("%q: produced text for %d bytes, consumed %d", pieces, o.at, n)
		}
		consumed += n
		buf = buf[n:]
		if status != peg.NeedMore {
			return result{o.text.String(), o.bytes.String(), consumed, status}
		}
		if closed {
			t.Fatalf("%q: needs more after the end", pieces)
		}
	}
	return result{status: peg.Fail}
}

// both scans a text in one go and byte by byte, and checks that the outcome is the same.
func both(t testing.TB, s peg.Scanner, text string) (string, int, peg.Status) {
	t.Helper()
	got := scan(t, s, text)
	single := make([]string, len(text))
	for i := range len(text) {
		single[i] = text[i : i+1]
	}
	if got2 := scan(t, s, single...); got2 != got {
		t.Fatalf("%q: in one go %+v; byte by byte %+v", text, got, got2)
	}
	return got.text, got.consumed, got.status
}

// TestNumberedText checks which of a literal's text has no number and no word.
func TestNumberedText(t *testing.T) {
	for _, c := range []struct{ in, mixed string }{ // a dot for each byte of Strings
		{`{"a": "1", "b": ["x", {}]}`, `..........................`},
		{`{"a": 1, "b": "2"}`, `......1, .........`},
		{`{"a": [1, 2, "x", null], "b": {"c": true}}`, `.......1, 2, .....null], ...........true}}`},
		{`{1: 'x', 'y': -2.5e1}`, `................-2.5e1}`},
		{`{"a": tru`, `......tru`},
		{`17`, `17`},
	} {
		got := scan(t, codec.NewLiteral(codec.Syntax{}), c.in)
		mixed := []byte(got.text)
		for i := range mixed {
			if got.numbers[i] == codec.Strings {
				mixed[i] = '.'
			}
		}
		if string(mixed) != c.mixed {
			t.Errorf("%s: got %q, want %q", c.in, mixed, c.mixed)
		}
		both(t, codec.NewLiteral(codec.Syntax{}), c.in)
	}
}

func TestLiteral(t *testing.T) {
	lenient, strict := codec.Syntax{}, codec.Syntax{Strict: true}
	object, hold := codec.Syntax{Object: true}, codec.Syntax{Hold: true}
	dict := codec.Syntax{Bare: true, Token: `<|"|>`, Object: true}
	words := codec.Syntax{Bare: true, Token: `<|"|>`, Object: true, Words: true, Until: "<end|>"}
	plain, marked := codec.Syntax{Bare: true, Object: true, Words: true}, codec.Syntax{Marked: true}
	space, long := strings.Repeat(" ", 300), strings.Repeat("k", 300)
	table := []struct {
		syntax codec.Syntax
		in     string
		want   string // the text produced
		rest   string // the input that is not consumed
		status peg.Status
	}{
		{lenient, `{"a": [1, -2.5e+3, true, null], "b": {}} x`, `{"a": [1, -2.5e+3, true, null], "b": {}}`, " x", peg.Match},
		{lenient, ` "é\n\u00e9\ud83d" `, ` "é\n\u00e9\ud83d"`, " ", peg.Match},
		{lenient, `{'a': 'it\'s "x"', "b": True, 'c': None, 'd': (1, 2,), 'e': [1,],}`, `{"a": "it's \"x\"", "b": true, "c": null, "d": [1, 2], "e": [1]}`, "", peg.Match},
		{lenient, `"tab	and \d and \x41\101\U0001F600"`, `"tab\tand \\d and AA😀"`, "", peg.Match},
		{lenient, `'''a'b"c'''.`, `"a'b\"c"`, ".", peg.Match},
		{lenient, `{1: 2, -3: 4}`, `{"1": 2, "-3": 4}`, "", peg.Match},
		{lenient, `{"a" 1}`, `{"a" `, `1}`, peg.Fail},
		{lenient, `[1 2]`, `[1 `, `2]`, peg.Fail},
		{lenient, `{"a": tru`, `{"a": tru`, ``, peg.Fail},
		{lenient, `{"a": "x\u12`, `{"a": "x\u12`, ``, peg.Fail},
		{lenient, `[01]`, `[0`, `1]`, peg.Fail},
		{lenient, `1.5e`, `1.5e`, ``, peg.Fail},
		{lenient, `12,`, `12`, `,`, peg.Match},
		{strict, `{'a': 1}`, `{`, `'a': 1}`, peg.Fail},
		{strict, `[True]`, `[`, `True]`, peg.Fail},
		{strict, `[1,]`, `[1,`, `]`, peg.Fail},
		{strict, "\"a\nb\"", `"a`, "\nb\"", peg.Fail},
		{strict, `"\x41"`, `"`, `\x41"`, peg.Fail},
		{object, `[1]`, ``, `[1]`, peg.Fail},
		{object, ` {}`, ` {}`, ``, peg.Match},
		{hold, `12abc`, ``, `12abc`, peg.Fail},
		{hold, `trueish`, ``, `trueish`, peg.Fail},
		{hold, `true`, `true`, ``, peg.Match},
		{hold, `-7 `, `-7`, ` `, peg.Match},
		{dict, `{city:<|"|>say "hi" {},<|"|>,n:3,in ner:{x:[<|"|>a<|"|>,null]}}`, `{"city":"say \"hi\" {},","n":3,"in ner":{"x":["a",null]}}`, ``, peg.Match},
		{dict, `{<|"|>k<|"|> : "v"}!`, `{"k" : "v"}`, `!`, peg.Match},
		{dict, `{k:v}`, `{"k":`, `v}`, peg.Fail},
		{words, `{a:light,n:5}<end|>`, `{"a":"light","n":5}`, `<end|>`, peg.Match},
		{words, `{a:<b> "é", {x} see me, and <end,k : on }`, `{"a":"<b> \"é\", {x} see me, and <end","k" : "on"}`, ``, peg.Match},
		{words, `{d:2024-01-05,t:true story,u:true ,z:-1.5e3}`, `{"d":"2024-01-05","t":"true story","u":true ,"z":-1.5e3}`, ``, peg.Match},
		{words, `{l:[a b, 2, c[0], <|"|>d<|"|>, null],o:{x:y}}`, `{"l":["a b", 2, "c[0]", "d", null],"o":{"x":"y"}}`, ``, peg.Match},
		{words, `{a:,b:1}`, `{"a":`, `,b:1}`, peg.Fail},
		{words, `{a:light<end|>{b:1}`, `{"a":"light`, `<end|>{b:1}`, peg.Fail},
		{words, `{a:li`, `{"a":"li`, ``, peg.Fail},
		{words, `{a:tru`, `{"a":tru`, ``, peg.Fail},
		{lenient, "{\"a\"\n\t:\r\n [ ]}", "{\"a\"\n\t:\r\n [ ]}", ``, peg.Match},
		{lenient, `{"a" ; 1}`, `{"a" `, `; 1}`, peg.Fail},
		{lenient, `[1,` + space + `]`, `[1,` + space, `]`, peg.Fail},
		{lenient, `[1,` + space[:200] + `]`, `[1` + space[:200] + `]`, ``, peg.Match},
		{lenient, `{"a": 1,,}`, `{"a": 1,`, `,}`, peg.Fail},
		{lenient, `{,}`, `{`, `,}`, peg.Fail},
		{lenient, `["\u00g0", "\u0g00", "\u00e", '\u00eg']`, `["\\u00g0", "\\u0g00", "\\u00e", "\\u00eg"]`, ``, peg.Match},
		{lenient, `'\8\18\129\400\x4g\U0011FFFF\N'`, `"\\8\u00018\n9Ā\\x4g\\U0011FFFF\\N"`, ``, peg.Match},
		{lenient, `'\x4`, `"\x4`, ``, peg.Fail},
		{lenient, `'\U0001F`, `"\U0001F`, ``, peg.Fail},
		{lenient, `'\12`, `"\n`, ``, peg.Fail},
		{lenient, `'a\`, `"a\`, ``, peg.Fail},
		{lenient, `"""a"b"""`, `"a\"b"`, ``, peg.Match},
		{lenient, `'''a`, `"a`, ``, peg.Fail},
		{lenient, `''x`, `""`, `x`, peg.Match},
		{lenient, `'`, `"`, ``, peg.Fail},
		{lenient, `-x`, `-`, `x`, peg.Fail},
		{lenient, `1.x`, `1.`, `x`, peg.Fail},
		{lenient, `1E-x`, `1E-`, `x`, peg.Fail},
		{lenient, `0.5.1`, `0.5`, `.1`, peg.Match},
		{lenient, `{1.5: 2}`, `{"1.5": 2}`, ``, peg.Match},
		{lenient, `{1`, `{"1`, ``, peg.Fail},
		{hold, strings.Repeat("1", 300), strings.Repeat("1", 300), ``, peg.Match},
		{hold, `1.5e`, ``, `1.5e`, peg.Fail},
		{hold, `12.`, ``, `12.`, peg.Fail},
		{hold, `-`, ``, `-`, peg.Fail},
		{strict, `(1)`, ``, `(1)`, peg.Fail},
		{strict, `{"a": 1,}`, `{"a": 1,`, `}`, peg.Fail},
		{strict, `{1: 2}`, `{`, `1: 2}`, peg.Fail},
		{dict, `{` + long + `:1}`, `{"` + long + `":1}`, ``, peg.Match},
		{dict, `{k` + space + `:1}`, `{"k"` + space + `:1}`, ``, peg.Match},
		{dict, `{k` + space + `x:1}`, `{"k"` + space, `x:1}`, peg.Fail},
		{dict, `{k `, `{"k" `, ``, peg.Fail},
		{dict, "{k\xc3", "{\"k\ufffd", ``, peg.Fail},
		{dict, `{k:<|"|>a<|`, `{"k":"a<|`, ``, peg.Fail},
		{dict, `{k:<|x`, `{"k":`, `<|x`, peg.Fail},
		{dict, `{<|"`, `{<|"`, ``, peg.Fail},
		{words, `{a:b` + space + `c}`, `{"a":"b` + space + `c"}`, ``, peg.Match},
		{words, `{a:1` + strings.Repeat("2", 300) + `}`, `{"a":1` + strings.Repeat("2", 300) + `}`, ``, peg.Match},
		{words, `{a:true` + space + `}`, `{"a":true` + space + `}`, ``, peg.Match},
		{words, `{a:b,` + space + `c:d}`, `{"a":"b,` + space + `c:d"}`, ``, peg.Match},
		{words, `{a:b,` + long + `:d}`, `{"a":"b,` + long + `:d"}`, ``, peg.Match},
		{words, `{a:b, `, `{"a":"b, `, ``, peg.Fail},
		{words, `{a:b <end`, `{"a":"b `, `<end`, peg.Fail},
		{words, `{a:[b(c), {d}]}`, `{"a":["b(c)", {"d"`, `}]}`, peg.Fail},
		{words, `{a:1.5.2,b:-x,c:1.,d:<|e}`, `{"a":"1.5.2","b":"-x","c":"1.","d":"<|e"}`, ``, peg.Match},
		{plain, `{a:<|"|>b c,d:e}`, `{"a":"<|\"|>b c","d":"e"}`, ``, peg.Match},
		{marked, "{'a\xff<x>b\xff\xfec': \"\xff<x>\"}", "{\"a<x>b\ufffdc\": \"\xff<x>\"}", ``, peg.Match},
		{marked, "{'a\xff", `{"a`, ``, peg.Fail},
	}
	for _, c := range table {
		got, n, status := both(t, c.syntax.New(), c.in)
		if got != c.want || c.in[n:] != c.rest || status != c.status {
			t.Errorf("%s: %q: got %q, rest %q, %v; want "+
				"%q, rest %q, %v", c.syntax.Name(), c.in, got, c.in[n:], status, c.want, c.rest,
				c.status)
		}
	}
}

// TestLiteralRun puts each byte that ends a run of plain text, and some that do not, at each place
// of strings of up to 40 bytes: the run is read many bytes at a time.
func TestLiteralRun(t *testing.T) {
	odd := []struct{ in, want string }{{`\n`, `\n`}, {`\"`, `\"`}, {`\\`, `\\`}, {"\t", `\t`},
		{"\x01", `\u0001`}, {"\x1f", `\u001f`}, {" ", " "}, {"!", "!"}, {"#", "#"}, {"[", "["},
		{"]", "]"}, {"\x7f", "\x7f"}, {"é", "é"}, {"'", "'"}}
	for n := range 40 {
		for at := range n + 1 {
			before, after := strings.Repeat("é!", 20)[:at], strings.Repeat("x", n-at)
			before = strings.ToValidUTF8(before, "y")
			for _, c := range odd {
				in, want := `"`+before+c.in+after+`" 1`, `"`+before+c.want+after+`"`
				got, end, status := both(t, codec.NewLiteral(codec.Syntax{}), in)
				if got != want || in[end:] != " 1" || status != peg.Match {
					t.Fatalf("%q: got %q, rest %q, %v; want %q", in, got, in[end:], status, want)
				}
			}
		}
	}
}

func TestLiteralDepth(t *testing.T) {
	deep := strings.Repeat("[", ordered.MaxDepth+1)
	if _, n, status := both(t, codec.NewLiteral(codec.Syntax{}), deep); status != peg.Fail ||
		n != ordered.MaxDepth {
		t.Errorf("consumed %d, %v; want failure at level %d", n, status, ordered.MaxDepth)
	}
}

func TestEmbedded(t *testing.T) {
	for in, want := range map[string]string{
		`"{\"a\": \"x\\n\\u00e9\"}" `:               `{"a": "x\n\u00e9"}`,
		`'{"a": 1}'`:                                `{"a": 1}`,
		`"{\"\ud83d\ude00 é\": ''}" `:               `{"😀 é": ""}`,
		`"{'a': (1, None),} \n" `:                   `{"a": [1, null]}`,
		`"{\"\udda9c\": '\uD83D'}"`:                 `{"\udda9c": "\uD83D"}`,
		`'{"a": 1} '`:                               `{"a": 1}`,
		`'{"\x41\q\101\7\777\U00110000\v\'\8": 1}'`: `{"A\\qA\u0007ǿ\\U00110000\u000b'\\8": 1}`,
	} {
		if got, _, status := both(t, codec.Embedded{}.New(), in); got != want ||
			status != peg.Match {
			t.Errorf("%s: got %q, %v, want %q", in, got, status, want)
		}
	}
	for in, want := range map[string]string{
		`"{\"a\": tr`:      `{"a": `,
		``:                 ``,
		`{}`:               ``,
		`'{"a": 1}`:        `{"a": 1}`,
		`'{"a": "\'`:       `{"a": "'`,
		`"{\"a\": 1, \`:    `{"a": 1`,
		"'{\"a\": \"\xc3":  `{"a": "`,
		`"\n{\n"name": 1`:  "\n{\n",
		`"{\"a\" x}"`:      `{"a" `,
		`"{\"a\": 1} x"`:   `{"a": 1}`,
		`"{\"a\": 1}, {}"`: `{"a": 1}`,
	} {
		if got, _, status := both(t, codec.Embedded{}.New(), in); got != want ||
			status != peg.Fail {
			t.Errorf("%s: got %q, %v, want %q and failure", in, got, status, want)
		}
	}
}

func TestNested(t *testing.T) {
	tags := codec.Tags{Open: "~<", Mid: ">", Close: "~</", CloseMid: ">", ItemOpen: "~<item>",
		ItemClose: "~</item>"}
	space := strings.Repeat(" ", 300)
	table := []struct{ schema, in, want, rest string }{
		{`{"type": "integer"}`, `42~</n>`, `42`, `~</n>`},
		{`{"type": "string"}`, `a ~< "b"~</n>`, `"a ~< \"b\""`, `~</n>`},
		{`{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}}`, "\n~<a>1~</a>\n~<b>2~</b>\n~</n>", `{"a": "1", "b": 2}`, `~</n>`},
		{`{"type": "array", "items": {"type": "string"}}`, `~<item>1~</item>~<item>~</item>~</n>`, `["1", ""]`, `~</n>`},
		{`{"type": "array"}`, `~</n>`, `[]`, `~</n>`},
		{`{"type": "object"}`, `~</n>`, `{}`, `~</n>`},
		{`{}`, `~<a>~<item>1~</item>~<item>x~</item>~</a>~</n>`, `{"a": [1, "x"]}`, `~</n>`},
		{`{}`, `plain~</n>`, `"plain"`, `~</n>`},
		{`{}`, `~</n>`, `""`, `~</n>`},
		{`{"type": ["object", "null"]}`, `null~</n>`, `null`, `~</n>`},
		{`{}`, space + `x~</n>`, `"` + space + `x"`, `~</n>`},
		{`{}`, `~<a>1~</a>~<a>[2~</a>~</n>`, `{"a": [1, "[2"]}`, `~</n>`},
		{`{"type": "array", "items": {"type": "integer"}}`, `[1, 2]~</n>`, `[1, 2]`, `~</n>`},
		{`{"type": "array"}`, `~<a>1~</a>~</n>`, `"~<a>1"`, `~</a>~</n>`},
		{`{"type": "string"}`, `~</n>`, `""`, `~</n>`},
		{`{"type": "string"}`, "a\xc3", "\"a\ufffd\"", ``},
		{`{"properties": {"l": {"type": ["array", "null"]}}, "type": "object"}`, `~<l>null~</l>~</n>`, `{"l": null}`, `~</n>`},
		{`{"properties": {"l": {"type": ["array", "null"]}}, "type": "object"}`, `~<l>1~</l>~</n>`, `{"l": [1]}`, `~</n>`},
		{`{"properties": {"l": {"type": "array"}}, "type": "object"}`, `~<l>null~</l>~</n>`, `{"l": [null]}`, `~</n>`},
		{`{"properties": {"l": {"type": ["array", "integer"]}}, "type": "object"}`, `~<l>1~</l>~</n>`, `{"l": 1}`, `~</n>`},
		{`{"properties": {"l": {"type": "array"}}, "type": "object"}`, `~<l>~<item>1~</item>~</l>~<l>~</l>~<l>2~</l>~</n>`, `{"l": [[1], [], 2]}`, `~</n>`},
		{`{"properties": {"l": {"type": "array", "items": {"type": "integer"}}}, "type": "object"}`, `~<l>~<item>1~</item>~</l>~<l>~</l>~<l>2~</l>~</n>`, `{"l": [1, 2]}`, `~</n>`},
		{`{"type": ["string", "object"]}`, `~<a>1~</a>~</n>`, `"~<a>1"`, `~</a>~</n>`},
		{`{"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"max": {"type": "integer"}}}]}`, `~<max>5~</max>~</n>`, `{"max": 5}`, `~</n>`},
	}
	for _, c := range table {
		v, err := ordered.ParseString(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Parse(v)
		if err != nil {
			t.Fatal(err)
		}
		typ := &codec.NestedType{Tags: tags, Schema: s}
		got, n, status := both(t, typ.New(), c.in)
		if got != c.want || c.in[n:] != c.rest || status != peg.Match {
			t.Errorf("%s: %q: got %s, rest %q, %v; "+
				"want %s, rest %q", c.schema, c.in, got, c.in[n:], status, c.want, c.rest)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		text   string
		types  schema.TypeSet
		strict bool
		want   string
	}{
		{"7", schema.String | schema.Integer, false, "7"},
		{" 7 ", schema.String | schema.Integer, false, "7"},
		{"7.5", schema.String | schema.Integer, false, `"7.5"`},
		{"1abc", schema.String | schema.Integer, false, `"1abc"`},
		{"null", schema.String | schema.Null, false, "null"},
		{"None", schema.String | schema.Null, false, "null"},
		{"None", schema.String | schema.Null, true, `"None"`},
		{`{"a": 1}`, schema.String | schema.Object, false, `{"a": 1}`},
		{`{not json`, schema.String | schema.Object, false, `"{not json"`},
		{`"q"`, schema.AnyType, false, `"\"q\""`},
		{`"q"`, schema.Integer, false, `"q"`},
		{"many", schema.Integer, false, `"many"`},
		{"", schema.AnyType, false, `""`},
		{"\ufffd\xff", schema.String, false, "\"\ufffd\ufffd\""},
		{"[01]", schema.AnyType, false, `"[01]"`},
	} {
		if got := string(codec.Decode(nil, c.text, codec.Values(c.types),
			c.strict)); got != c.want {
			t.Errorf("%q as %v: got %s, want %s", c.text, c.types, got, c.want)
		}
	}
}

func TestBalance(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "x`:           `"}`,
		`{"a": {"b": [1, 2`:  `]}}`,
		`{"a": 1}`:           ``,
		`{"a": "x\`:          `\"}`,
		`{"a": "in [ string`: `"}`,
	} {
		if got, ok := codec.Balance(text); got != want || !ok {
			t.Errorf("%s: got %q, %t; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{`{"a"`, `{"a": `, `{"a": tru`, `{"a": 1, `, ``, `]`, `[}`, `{"a": [1]]`} {
		if missing, ok := codec.Balance(text); ok {
			t.Errorf("%s: mended with %q", text, missing)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"a &lt;b&gt; &amp;amp; &quot;&#39;&apos;": `a <b> &amp; "''`,
		"?x=1&copy=2&y&":                  "?x=1&copy=2&y&",
		"&#x1F600;&#128512;&#xD800;&#;&;": "😀😀&#xD800;&#;&;",
		"&#x110000;&#1114111;&lt&#XA9;":   "&#x110000;\U0010ffff&lt©",
	} {
		if got := codec.Unescape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestNestedBroken has tags that break off, or of which one is too long.
func TestNestedBroken(t *testing.T) {
	tags := codec.Tags{Open: "~<", Mid: ">", Close: "~</", CloseMid: ">", ItemOpen: "~<item>",
		ItemClose: "~</item>"}
	long := strings.Repeat("k", 300)
	for _, c := range []struct{ in, want, rest string }{
		{`~`, ``, ``}, {`~<it`, ``, ``}, {`~<k`, `{`, ``}, {`~<item>1~</it`, `[1`, ``},
		{`~<k>1~</k`, `{"k": 1`, ``}, {`~<a>1~</a>~`, `{"a": 1`, ``}, {`~<a>1~</a>x`, `{"a": 1`, `x`},
		{`~<` + long, `{`, `~<` + long}, {`~<k>1~</` + long, `{"k": "1~</` + long + `"`, ``},
		{strings.Repeat(`~<a>`, ordered.MaxDepth+1), strings.Repeat(`{"a": `, ordered.MaxDepth), `~<a>`},
		{`~<a>1~</a>~<a>~<item>2`, `{"a": [1, [2`, ``}, {`~<a>1~</a>~<a>`, `{"a": [1, ""`, ``},
	} {
		typ := &codec.NestedType{Tags: tags, Schema: schema.Any()}
		got, n, status := both(t, typ.New(), c.in)
		if got != c.want || c.in[n:] != c.rest || status != peg.Fail {
			t.Errorf("%.40q: got %.60s, rest %.40q, %v; want %.60s, rest %.40q", c.in, got, c.in[n:],
				status, c.want, c.rest)
		}
	}
	if n, text := codec.Entity(""); n != 0 || text != "" {
		t.Errorf("an entity in nothing: %d, %q", n, text)
	}
}

// FuzzLiteral checks on any text that pieces make no difference, and that every match is valid
// JSON.
func FuzzLiteral(f *testing.F) {
	for _, seed := range []string{`{"a": [1, 'x', (2,), True]}`, `"a\u00e9\x41"`, `'''x'''`, `-1.5e3 `, `{k:<|"|>v<|"|>}`} {
		f.Add(seed, uint64(1), uint8(0))
	}
	// a lone surrogate as UTF-8 would spell it, cut inside
	f.Add("'\xed\xa3\x90'", uint64(0), uint8(3))
	syntaxes := []codec.Syntax{{}, {Strict: true}, {Object: true}, {Hold: true}, {Bare: true, Token: `<|"|>`},
		{Bare: true, Token: `<|"|>`, Words: true, Until: "<end|>"}}
	f.Fuzz(func(t *testing.T, text string, seed uint64, which uint8) {
		syntax := syntaxes[int(which)%len(syntaxes)]
		got := scan(t, syntax.New(), text)
		r := rand.New(rand.NewPCG(seed, 0))
		var pieces []string
		for rest := text; rest != ""; {
			k := 1 + r.IntN(min(len(rest), 9))
			pieces = append(pieces, rest[:k])
			rest = rest[k:]
		}
		if got2 := scan(t, syntax.New(), pieces...); got2 != got {
			t.Fatalf("%s: %q: in one go %+v; as %q %+v", syntax.Name(), text, got, pieces, got2)
		}
		json := strings.ToValidUTF8(got.text, "")
		if got.status == peg.Match && !ordered.Valid(json) {
			t.Fatalf("%s: %q gives %q", syntax.Name(), text, got.text)
		}
		inString := false
		for i := 0; i < len(got.text); i++ {
			switch c := got.text[i]; {
			case c == '"':
				inString = !inString
			case inString && c == '\\':
				i++
			case !inString && got.numbers[i] == codec.Strings &&
				!strings.ContainsRune(" \t\r\n,:[]{}", rune(c)):
				t.Fatalf("%s: %q: %q at byte %d of %q is not in a string", syntax.Name(), text, c,
					i, got.text)
			}
		}
	})
}

func BenchmarkLiteral(b *testing.B) {
	rows := strings.Repeat(`{"id": 12345, "name": "Rome, the eternal city", "tags": ["a", "b"], "on": true}, `, 2000)
	text := []byte(`[` + rows + `null]`)
	s := codec.NewLiteral(codec.Syntax{})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Reset()
		if _, status := s.Step(text, false, discard{}); status != peg.Match {
			b.Fatal(status)
		}
	}
}

type discard struct{}

func (discard) Number(int)                {}
func (discard) Copy(_, _ int)             {}
func (discard) Text(_ []byte, _, _ int)   {}
func (discard) String(_ string, _, _ int) {}
