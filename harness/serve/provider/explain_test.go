package provider

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
)

const asks = `{"messages":[{"role":"user","content":"Weather in Bern?"}],"tools":[{"type":` +
	`"function","function":{"name":"weather","parameters":{"type":"object","properties":{` +
	`"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"],` +
	`"additionalProperties":false}}}]}`

// answers have each miss with each cause that can be told.
var answers = []struct {
	name     string
	template string // a family of the corpus
	message  string // with its finish reason
	usage    string
	raw      string
	misses   string // kind: cause, ...
}{
	{"right", "", `{"content":null,"tool_calls":[{"function":{"name":"weather","arguments":` +
		`"{\"city\":\"Bern\",\"days\":2}"}}]}`, "", "", ""},
	{"wrong value", "", call(`{"city":"Bern","days":0}`), "", "", "arguments: unknown"},
	{"text for a number", "", call(`{"city":"Bern","days":"2"}`), "", "", "arguments: parser"},
	{"encoded twice", "", call(`"{\"city\":\"Bern\"}"`), "", "", "arguments: parser"},
	{"brace missing", "", call(`{"city":"Bern"`), "", "", "arguments: parser"},
	{"no object", "", call(`[1]`), "", "", "arguments: unknown"},
	{"text that is a number", "", call(`{"city":"7"}`), "", "", ""},
	{"no arguments", "", call(``), "", "", "arguments: unknown"},
	{"unknown function", "", strings.Replace(call(`{}`), "weather", "sing", 1), "", "",
		"function: unknown"},
	{"call in the content", "hermes", `{"content":"<tool_call>\n{\"name\": \"weather\", ` +
		`\"arguments\": {\"city\": \"Bern\"}}\n</tool_call>"}`, "", "",
		"call: parser, leak: parser"},
	{"marker, no template", "", `{"content":"Hello.</think>"}`, "", "", "call: parser, leak: parser"},
	{"lost text", "", `{"content":""}`, `{"prompt_tokens":9,"completion_tokens":200}`, "",
		"call: parser, empty: parser"},
	{"reasoning only", "", `{"content":"","reasoning":"Hm."}`, "", "",
		"call: unknown, content: unknown"},
	{"no call", "", `{"content":"Sunny."}`, "", "", "call: unknown"},
	{"short prompt", "hermes", `{"content":"Sunny."}`, `{"prompt_tokens":9,"completion_tokens":3}`,
		"", "call: template"},
	{"no tools in the template", "plain", `{"content":"Sunny."}`, "", "", "call: template"},
	{"raw, the model's", "hermes", call(`{"city":"Bern","days":0}`), "",
		"<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\", \"days\": 0}}\n" +
			"</tool_call>", "arguments: model"},
	{"raw, the parser's", "hermes", call(`{"city":"Bern","days":0}`), "",
		"<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\", \"days\": 10}}\n" +
			"</tool_call>", "arguments: parser"},
	{"cut off", "", `{"content":"Sun"}length`, "", "", "call: limit, end: limit"},
	{"filtered", "", `{"content":"Sun"}content_filter`, "", "", "call: limit, end: provider"},
}

func call(arguments string) string {
	return ordered.ObjectOf(ordered.MemberOf("tool_calls", ordered.ArrayOf(ordered.ObjectOf(
		ordered.MemberOf("function", ordered.ObjectOf(
			ordered.MemberOf("name", ordered.Str("weather")),
			ordered.MemberOf("arguments", ordered.Str(arguments)))))))).String()
}

// completion returns the answer as a provider sends it.
func completion(message, usage, raw string) string {
	end := strings.LastIndex(message, "}") + 1
	finish := message[end:]
	if finish == "" {
		finish = "stop"
	}
	v := ordered.ObjectOf(ordered.MemberOf("choices", ordered.ArrayOf(ordered.ObjectOf(
		ordered.MemberOf("finish_reason", ordered.Str(finish))))))
	text := strings.Replace(v.String(), `{"finish_reason"`, `{"message": `+message[:end]+
		`, "finish_reason"`, 1)
	if usage != "" {
		text = text[:len(text)-1] + `, "usage": ` + usage + "}"
	}
	if raw != "" {
		text = text[:len(text)-1] + `, "__verbose": {"content": ` + ordered.Str(raw).String() + "}}"
	}
	return text
}

func testExplainer(t testing.TB, family string) *Explainer {
	t.Helper()
	if family == "" {
		return NewExplainer(nil, corpus.FS)
	}
	text, err := os.ReadFile(filepath.Join("../../../corpus", family, "template.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	template, err := engine.Compile(t.Context(), engine.Source{Name: family, Text: string(text),
		BOS: subject.BOS, EOS: subject.EOS}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return NewExplainer(template, corpus.FS)
}

func TestExplain(t *testing.T) {
	yes := true
	body, err := ordered.ParseString(asks)
	if err != nil {
		t.Fatal(err)
	}
	q, err := newQuestion(body, &yes)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			v, err := ordered.ParseString(completion(c.message, c.usage, c.raw))
			if err != nil {
				t.Fatal(err)
			}
			a, err := readAnswer(v)
			if err != nil {
				t.Fatal(err)
			}
			o, misses := testExplainer(t, c.template).look(q, a)
			var got []string
			for _, m := range misses {
				got = append(got, m.Kind+": "+m.Cause)
			}
			if strings.Join(got, ", ") != c.misses || o.Right() != (c.misses == "") {
				t.Errorf("%v, %q; expected %q\n%+v", o.Right(), got, c.misses, misses)
			}
		})
	}
}

// TestSchemas demands that a schema loads no other document, and that a pattern which takes for
// ever ends.
func TestSchemas(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(secret, []byte(`{"type":"object"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for schema, usable := range map[string]bool{
		`{"type":"object"}`: true, `{"$ref":"file://` + secret + `"}`: false,
		`{"$ref":"https://example.com/a.json"}`: false, `{"type":1}`: false, `true`: true, `7`: false,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`: true,
		`{"properties":{"a":{"pattern":"^(?!b)a"}}}`:                            true,
	} {
		v, err := ordered.ParseString(schema)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newSchemas().of(v); (err == nil) != usable {
			t.Errorf("%s: %v", schema, err)
		}
	}
	v, err := ordered.ParseString(`{"properties":{"a":{"pattern":"^(a+)+$"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := newSchemas().of(v)
	if err != nil {
		t.Fatal(err)
	}
	if keeps(schema, `{"a":"`+strings.Repeat("a", 60)+`!"}`) == nil {
		t.Error("a text that no time is left for matches")
	}
}

func FuzzAnswers(f *testing.F) {
	for _, c := range answers {
		f.Add([]byte(completion(c.message, c.usage, c.raw)))
	}
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a"}}]}}]}`))
	body, err := ordered.ParseString(asks)
	if err != nil {
		f.Fatal(err)
	}
	q, err := newQuestion(body, nil)
	if err != nil {
		f.Fatal(err)
	}
	e := testExplainer(f, "hermes")
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ordered.Parse(text)
		if err != nil {
			return
		}
		a, err := readAnswer(v)
		if err != nil {
			g := gatherer{}
			if g.add(v) != nil {
				return
			}
			a = g.answer()
		}
		o, misses := e.look(q, a)
		if o.Exist > o.Calls || o.Valid+o.Unjudged > o.Exist || o.Right() != (len(misses) == 0) &&
			o.Right() {
			t.Errorf("%+v, %+v", o, misses)
		}
		for _, m := range misses {
			if m.Cause == "" || m.How == "" {
				t.Errorf("no cause of %+v", m)
			}
		}
	})
}

var manyDigits = regexp.MustCompile("[0-9eE]{3}")

func FuzzLog(f *testing.F) {
	const header = `{"provider":1,"version":"v","root":"r","model":"m","dataset":"d",` +
		`"requests":2,"repeats":2,"send":"both"}` + "\n"
	f.Add([]byte(header + `{"what":"sent","n":1,"stream":true}` + "\n" + `{"what":"answer","n":1,` +
		`"stream":true,"tries":2,"usage":{"prompt":3,"completion":4},"outcome":{"state":2}}` + "\n" +
		`{"what":"forgotten","n":1,"stream":true}` + "\n" + `{"what":"se`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if manyDigits.Match(text) {
			return // a header with so many requests takes memory for them
		}
		table, err := ReadTable(bytes.NewReader(text))
		if err != nil {
			return
		}
		if table.InFlight < 0 || table.InFlight > len(table.Outcomes) || table.Missing() < 0 {
			t.Errorf("%+v", table)
		}
		if table.Requests < 1000 {
			if _, err := Compare(table, table, 1); err != nil {
				t.Error(err)
			}
		}
	})
}
