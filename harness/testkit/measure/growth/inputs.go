package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/foreign/vector"
	"github.com/goassay/assay/harness/hub/templates"
	"github.com/goassay/assay/harness/report"
)

// template compiles a family's own template once.
func template(family string) (*engine.Template, error) {
	once, _ := templatesOf.LoadOrStore(family, sync.OnceValues(func() (*engine.Template, error) {
		loaded, err := families.Load(corpus.FS)
		if err != nil {
			return nil, err
		}
		text, err := loaded.Text(family)
		if err != nil {
			return nil, err
		}
		return subject.New(family, text).Compile()
	}))
	return once.(func() (*engine.Template, error))()
}

var templatesOf sync.Map // of families: func() (*engine.Template, error)

// planned prepares a request for a family of the corpus.
func planned(family string, r chat.Request) (*engine.Plan, error) {
	t, err := template(family)
	if err != nil {
		return nil, err
	}
	plan, err := t.Prepare(r, engine.PrepareOptions{Insist: true})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLimit, err)
	}
	return plan, nil
}

// ofTools returns a door that reads tools and puts them into a request.
func ofTools(run func(r chat.Request, size int) error) func(text string) error {
	return ofJSON(func(text string, v ordered.Value) error {
		r := standard.ToolRequest()
		r.Tools = nil
		for _, item := range v.Items() {
			tool, err := chat.ParseTool(item)
			if err != nil {
				return err
			}
			r.Tools = append(r.Tools, tool)
		}
		return run(r, len(text))
	})
}

// offered makes the program and the grammar of a request with one tool that has a schema, and reads
// an output with them.
func offered(family string) func(text string) error {
	return ofTool(offeredAll(family))
}

// ofTool runs with a schema what runs with tools: that of one tool.
func ofTool(all func(tools string) error) func(schema string) error {
	return func(schema string) error {
		return all(`[{"type": "function", "function": {"name": "f", "parameters": ` + schema + `}}]`)
	}
}

// offeredAll makes the program and the grammar of a request with tools, and reads an output with
// them.
func offeredAll(family string) func(text string) error {
	return ofTools(func(r chat.Request, size int) error { return constrained(family, r, size) })
}

// answered makes the program and the grammar of a request that wants an answer of a schema, and
// reads one.
var answered = ofJSON(func(text string, v ordered.Value) error {
	r := standard.ToolRequest()
	r.Tools, r.HasJSONSchema, r.JSONSchema = nil, true, v
	return constrained("hermes", r, len(text))
})

func constrained(family string, r chat.Request, size int) error {
	plan, err := planned(family, r)
	if err != nil {
		return err
	}
	g, err := plan.Output.Grammar()
	if err != nil {
		return limited(err)
	}
	if n := len(g.String()); n > 128*size+128<<10 {
		return fmt.Errorf("a grammar of %d bytes", n)
	}
	split.Feed(plan.NewParser(), "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"p0\": \"x\", \"p1\": [1, 2]}}\n</tool_call>", nil, chat.FinishStop)
	return nil
}

const function = `{"type": "function", "function": {"name": "%s", "parameters": {"type": "object", "properties": {%s}, "required": ["city"]}}}`

// manyTools is a list of tools with a name and properties; %d in them is the number of the tool.
func manyTools(name, properties string) func(int) string {
	return list("[", fmt.Sprintf(function, name, properties), "]")
}

// toolLists grow along every dimension that a list of tools has.
var toolLists = []generator{
	{"tools", manyTools("tool_%d", `"city": {"type": "string"}`)},
	{"tools alike", manyTools("tool", `"city": {"type": "string"}`)},
	{"tools with long names", manyTools(strings.Repeat("a", 60)+"%d", `"city": {"type": "string"}`)},
	{"tool with a long name", func(n int) string {
		return "[" + fmt.Sprintf(function, strings.Repeat("a", n), "") + "]"
	}},
	{"tools with enums", manyTools("tool_%d", `"city": {"enum": ["a%d", "b", "c"]}`)},
	{"tools with five keys", manyTools("t%d",
		`"city": {}, "b": {}, "c": {"type": "integer"}, "d": {}, "e": {"type": "array"}`)},
	{"tools with four keys", manyTools("t%d",
		`"city": {}, "b": {}, "c": {"type": "integer"}, "d": {}`)},
	{"tools that describe", list("[",
		`{"type": "function", "function": {"name": "t%d", "description": "does this and that"}}`, "]")},
}

// outputs grow along every dimension that an output has.
var outputs = []generator{
	{"text", times("text ")},
	{"brackets", times("<")},
	{"square brackets", times("[")},
	{"objects", times(`{"`)},
	{"white space", times(" \n")},
	{"half characters", times("\xf0\x9f\xed\xa0")},
	{"calls",
		times("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"%d\"}}\n</tool_call>\n")},
	{"tagged calls",
		times("<tool_call>\n<function=get_weather>\n<parameter=city>\n%d\n</parameter>\n</function>\n</tool_call>\n")},
	{"arguments", between("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {", `"k%d": %d, `, "\"z\": 1}}\n</tool_call>")},
	{"tagged arguments", between("<tool_call>\n<function=get_weather>\n", "<parameter=k%d>\n%d\n</parameter>\n", "</function>\n</tool_call>")},
	{"one argument", between("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"", `a\`, "")},
	{"one tagged argument", between("<tool_call>\n<function=get_weather>\n<parameter=city>\n", "</", "")},
	{"depth", between("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": ", `{"a":`, "")},
	{"reasoning", times("<think>x</think>")},
	{"openers", times("<tool_call>")},
	{"closers", times("</tool_call>")},
	{"tools that are unknown",
		times("<tool_call>\n{\"name\": \"f%d\", \"arguments\": {}}\n</tool_call>\n")},
	{"calls as a list", between("[", "get_weather(city='%d'), ", "]")},
	{"calls that break off",
		times("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": ")},
}

// parsed reads an output whole and in pieces of seven bytes.
func parsed(family string) func(text string) error {
	return func(text string) error {
		plan, err := planned(family, standard.ToolRequest())
		if err != nil {
			return err
		}
		for _, size := range []int{len(text), 7} {
			p := plan.NewParser()
			for b := text; b != ""; {
				n := min(len(b), size)
				p.Write([]byte(b[:n]))
				b = b[n:]
			}
			p.Close(chat.FinishStop)
			diagnostics := 0
			for _, d := range p.Diagnostics() {
				diagnostics += len(d.String())
			}
			if m := p.Message(); len(m.Value().String()) > 16*len(text)+1<<16 ||
				diagnostics > maxReports {
				return fmt.Errorf("%d bytes of diagnostics", diagnostics)
			}
		}
		return nil
	}
}

// documents grow along every dimension that JSON has.
var documents = []generator{
	{"items", list("[", "%d", "]")},
	{"zeros", between("[", "0,", "0]")},
	{"empty lists", between("[", "[],", "0]")},
	{"empty texts", between("[", `"",`, "0]")},
	{"members", list("{", `"k%d": %d`, "}")},
	{"members alike", list("{", `"k": %d`, "}")},
	{"empty objects", between("[", "{},", "0]")},
	{"small objects", between("[", `{"":0},`, "0]")},
	{"text", between(`"`, "x", `"`)},
	{"escapes", between(`"`, `\u00e9`, `"`)},
	{"digits", times("9")},
	{"depth",
		func(n int) string {
			d := min(n/2, 990)
			return strings.Repeat("[", d) + strings.Repeat("]", d)
		}},
	{"depth and width", func(n int) string {
		return strings.Repeat("["+strings.Repeat("0,", n/1000), 400) + strings.Repeat("]", 400)
	}},
	{"white space", between("", " ", "1")},
	{"brackets", times("[")},
}

// decoded reads JSON and writes it in every form.
func decoded(text string) error {
	v, err := ordered.ParseString(text)
	if err != nil {
		return brief(err)
	}
	_ = v.String()
	ordered.Canonical(v)
	ordered.Equal(v, v)
	return nil
}

// grammars grow along every dimension that a grammar has.
var grammars = []generator{
	{"rules", func(n int) string {
		return "root ::= r0\n" + chain(n, "r%d ::= \"a\" r%n | \"b\"\n") +
			fmt.Sprintf("r%d ::= \"c\"\n",
				strings.Count(chain(n, "r%d ::= \"a\" r%n | \"b\"\n"), "\n"))
	}},
	{"alternatives", between("root ::= ", `"a%d" | `, `"c"`)},
	{"alternatives alike", between("root ::= ", `"ab" | `, `"c"`)},
	{"sequence", between("root ::= ", `"a" `, "")},
	{"repetitions", between("root ::= ", `"a"* `, "")},
	{"counts", between("root ::= ", `"a"{2,%d3} `, "")},
	{"classes", between("root ::= ", `[a-z%d] `, "")},
	{"one class", between("root ::= [", "a-zA-Z", "]")},
	{"literal", between(`root ::= "`, "a", `"`)},
	{"groups", func(n int) string {
		return "root ::= " + strings.Repeat("(", min(n/2, 190)) + `"a"` + strings.Repeat(")", min(n/2, 190))
	}},
	{"optional groups", between("root ::= ", `("a" "b"?)? `, "")},
	{"comments", between("", "# comment %d\n", `root ::= "a"`)},
	{"empty rules",
		func(n int) string { return `root ::= "a"` + "\n" + times("r%d ::= \"\"\n")(n) }},
}

// matched reads a grammar, prints it, and reads a text with it.
func matched(text string) error {
	g, err := gbnf.ParseString(text)
	if err != nil {
		return limited(err)
	}
	_ = g.String()
	m, err := gbnf.NewMatcher(g)
	if err != nil {
		return limited(err)
	}
	m.AcceptString(strings.Repeat("a", 200))
	return limited(m.Err())
}

// requests grow along every dimension that a conversation has.
var requests = []generator{
	{"messages",
		list(`{"messages": [`, `{"role": "user", "content": "text %d"}, {"role": "assistant", "content": "text %d"}`, `, {"role": "user", "content": "x"}]}`)},
	{"one message", between(`{"messages": [{"role": "user", "content": "`, "x", `"}]}`)},
	{"parts",
		list(`{"messages": [{"role": "user", "content": [`, `{"type": "text", "text": "a%d"}`, `]}]}`)},
	{"calls",
		list(`{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [`, `{"id": "i%d", "type": "function", "function": {"name": "f", "arguments": "{\"a\": %d}"}}`, `]}]}`)},
	{"results", func(n int) string {
		return `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [` + strings.TrimSuffix(times(`{"id": "i%d", "type": "function", "function": {"name": "f", "arguments": "{}"}}, `)(n/2), ", ") + `]}, ` +
			strings.TrimSuffix(times(`{"role": "tool", "tool_call_id": "i%d", "content": "x"}, `)(n/2), ", ") + `]}`
	}},
	{"arguments", func(n int) string {
		return `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [{"id": "i", "type": "function", "function": {"name": "f", "arguments": "{` +
			strings.TrimSuffix(times(`\"a%d\": %d, `)(n), ", ") + `}"}}]}]}`
	}},
	{"systems",
		list(`{"messages": [`, `{"role": "system", "content": "a%d"}`, `, {"role": "user", "content": "x"}]}`)},
	{"variables",
		list(`{"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": {`, `"v%d": %d`, `}}`)},
}

// requested reads a request, renders it and makes its parser.
var requested = ofJSON(func(_ string, v ordered.Value) error {
	r, err := chat.ParseRequest(v)
	if err != nil {
		return limited(err)
	}
	_, err = planned("hermes", r)
	return err
})

// header makes a model file of pairs.
func header(pairs ...gguf.Pair) string {
	var b bytes.Buffer
	if err := gguf.Create(&b, nil,
		append([]gguf.Pair{{Key: "general.architecture", Value: gguf.Text("llama")}}, pairs...),
		nil); err != nil {
		panic(err)
	}
	return b.String()
}

// manyPairs makes a model file of pairs with a value until it has about a size; the key has the
// number of the pair.
func manyPairs(key string, value gguf.Value) func(int) string {
	return func(size int) string {
		pair := func(i int) gguf.Pair { return gguf.Pair{Key: fmt.Sprintf(key, i), Value: value} }
		one := len(header(pair(0))) - len(header())
		pairs := make([]gguf.Pair, size/one+1)
		for i := range pairs {
			pairs[i] = pair(i)
		}
		return header(pairs...)
	}
}

// manyTexts makes a model file with a list of texts.
func manyTexts(key, text string) func(int) string {
	return func(size int) string {
		texts := make([]string, size/(len(text)+8)+1)
		for i := range texts {
			texts[i] = text
		}
		return header(gguf.Pair{Key: key, Value: gguf.Texts(texts...)})
	}
}

const small = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"

// models grow along every dimension that a model file has.
var models = []generator{
	{"keys", manyPairs("key.%06d", gguf.Of(uint32(7)))},
	{"texts", manyPairs("key.%06d", gguf.Text("text"))},
	{"named templates", manyPairs("tokenizer.chat_template.n%06d", gguf.Text(small))},
	{"named templates with calls", manyPairs("tokenizer.chat_template.n%06d",
		gguf.Text(conversation("<call>", "</call>", "")))},
	{"named templates that loop", manyPairs("tokenizer.chat_template.n%06d",
		gguf.Text("{% for i in range(9999) %}{% endfor %}"))},
	{"template", func(n int) string {
		return header(gguf.Pair{Key: "tokenizer.chat_template",
			Value: gguf.Text(strings.Repeat("x", n))})
	}},
	{"tokens", manyTexts("tokenizer.ggml.tokens", "token")},
	{"names of templates", manyTexts("tokenizer.chat_templates", "name")},
	{"long name", func(n int) string {
		return header(gguf.Pair{Key: "general.name", Value: gguf.Text(strings.Repeat("\x1b", n))})
	}},
	{"long token", func(n int) string {
		return header(gguf.Pair{Key: "tokenizer.ggml.tokens",
			Value: gguf.Texts(strings.Repeat("x", n))},
			gguf.Pair{Key: "tokenizer.ggml.bos_token_id", Value: gguf.Of(uint32(0))})
	}},
	{"key of a template", func(n int) string {
		return header(gguf.Pair{Key: "tokenizer.chat_template." +
			strings.Repeat("n", min(n, 60_000)), Value: gguf.Text(small)})
	}},
}

// inspected judges a model file as assay inspect does, and runs its rules.
func inspected(text string) error {
	f, err := gguf.Open(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return limited(err)
	}
	info, err := f.Info()
	if err != nil {
		return limited(err)
	}
	m := model.Judge(context.Background(), info, engine.Options{Limits: untrusted})
	if n := len(m.String()) + len(m.Value().String()); n > maxReports+8*len(text) {
		return fmt.Errorf("%d bytes are said of it", n)
	}
	folder, err := modeldir.ReadGGUF(fstest.MapFS{"m.gguf": &fstest.MapFile{Data: []byte(text)}},
		"m.gguf")
	if err != nil {
		return limited(err)
	}
	return judged(folder)
}

// judged surveys a model and runs all rules for it.
func judged(folder *modeldir.Folder) error {
	m := subject.NewModel("m", "", folder).Limited(context.Background(), untrusted)
	s := templates.Of(m)
	if n := len(s.String()) + len(s.Value().String()); n > maxReports {
		return fmt.Errorf("%d bytes are said of it", n)
	}
	return written(&report.Report{Results: check.Model(m, check.Options{Accepted: new([]string)})})
}

// folders grow along every dimension that a tokenizer_config.json has.
var folders = []generator{
	{"named templates",
		list(`{"chat_template": [`, `{"name": "n%d", "template": "{% for m in messages %}{{ m.content }}{% endfor %}"}`, `]}`)},
	{"named templates alike",
		list(`{"chat_template": [`, `{"name": "n", "template": "{{ messages }}"}`, `]}`)},
	{"added tokens",
		list(`{"chat_template": "{{ messages }}", "added_tokens_decoder": {`, `"%d": {"content": "<t%d>", "special": true}`, `}}`)},
	{"keys", list(`{"chat_template": "{{ messages }}", `, `"k%d": %d`, `}`)},
	{"long token", between(`{"chat_template": "{{ bos_token }}", "bos_token": "`, "x", `"}`)},
	{"long name", between(`{"chat_template": [{"name": "`, "x", `", "template": "{{ messages }}"}]}`)},
	{"numbers", between(`{"chat_template": "{{ messages }}", "x": [`, "0,", `0]}`)},
}

// surveyed reads a model folder with a configuration.
func surveyed(text string) error {
	files := fstest.MapFS{modeldir.TokenizerConfig: &fstest.MapFile{Data: []byte(text)}}
	folder, err := modeldir.Read(files, modeldir.Options{})
	if err != nil {
		return limited(err)
	}
	return judged(folder)
}

// line makes a vector of JSON with one value that grows.
func line(before, after string, value func(int) string) func(int) string {
	return func(n int) string { return before + value(n) + after }
}

func quoted(make func(int) string) func(int) string {
	return func(n int) string {
		b, err := json.Marshal(make(n))
		if err != nil {
			panic(err)
		}
		return string(b)
	}
}

// vectors grow along every dimension that a line of vectors has.
var vectors = []generator{
	{"vectors",
		times(`{"kind": "schema", "id": "v%d", "schema": {"type": "string"}, "accept": ["\"a\""], "reject": ["1"]}` + "\n")},
	{"failures",
		times(`{"kind": "schema", "id": "v%d", "schema": {"type": "string"}, "accept": ["1"], "reject": []}` + "\n")},
	{"texts",
		line(`{"kind": "schema", "id": "v", "schema": {"type": "string"}, "accept": [`, `"1"], "reject": []}`, times(`"\"%d\"", `))},
	{"text",
		line(`{"kind": "schema", "id": "v", "schema": {"type": "string"}, "accept": [`, `], "reject": []}`, quoted(times("x")))},
	{"grammar",
		line(
			`{"kind": "grammar", "id": "v", "grammar": `,
			`, "accept": ["aaaa"], "reject": ["aaaa"]}`,
			quoted(between("root ::= ", `"a"? `, "")),
		)},
	{"template",
		line(`{"kind": "jinja", "id": "v", "template": `, `, "vars": {}, "want": "x"}`, quoted(times("text %d ")))},
	{"variables",
		line(`{"kind": "jinja", "id": "v", "template": "{{ v }}", "vars": {"v": [`, `0]}, "want": "x"}`, times("0,"))},
	{"id",
		line(`{"kind": "jinja", "id": `, `, "template": "{{ v }}", "vars": {}, "want": "x"}`, quoted(times("x")))},
	{"output",
		line(`{"kind": "fixture", "id": "v", "models": ["x"], "tools": [], "tags": [], "raw_output": `, `}`, quoted(times("<x%d>")))},
}

// verified runs vectors and writes the reports.
func verified(text string) error {
	v := vector.Verifier{Limits: untrusted}
	r := vector.NewReader("v.jsonl", strings.NewReader(text))
	var rep report.Report
	err := v.Run(
		context.Background(),
		r.Next,
		func(res rule.Result) { rep.Results = append(rep.Results, res) },
	)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errLimit, err)
	}
	// each vector has a result of its own
	return writtenWithin(&rep, max(maxReports, 64*len(text)))
}

// scripts grow along every dimension that a case has.
var scripts = []generator{
	{"files", between("template a\n", "-- f%d --\ntext\n", "")},
	{"lines", between("template a\n", "skip %d\n", "")},
	{"file", between("template a\n-- f --\n", "line\n", "")},
	{"quotes", between("template a\nskip ", "'", "\n")},
	{"words", between("template a\nskip", " w%d", "\n")},
	{"comments", between("", "# comment %d\n", "template a\n")},
	{"parses of one output", func(n int) string {
		return "template a\nrequest r\n" + times("parse o m\n")(n/2) +
			"-- r --\n{\"messages\": []}\n-- m --\n{\"content\": \"a\"}\n-- o --\n" +
			strings.Repeat("x", n/2) + "\n"
	}},
	{"expectations of one output", func(n int) string {
		return "template a\nrequest r\nparse o m\n" + times("accept o\n")(n/2) +
			"-- r --\n{\"messages\": []}\n-- m --\n{\"content\": \"a\"}\n-- o --\n" +
			strings.Repeat("x", n/2) + "\n"
	}},
}

// scripted reads a case.
func scripted(text string) error {
	_, err := script.Read(fstest.MapFS{"f/c.txtar": &fstest.MapFile{Data: []byte(text)}},
		"f/c.txtar")
	return long(err)
}
