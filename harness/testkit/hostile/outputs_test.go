package hostile

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/split"
)

// compiled compiles a family's own template once.
func compiled(family string) (*engine.Template, error) {
	once, _ := templatesOf.LoadOrStore(family, sync.OnceValues(func() (*engine.Template, error) {
		loaded, err := families.Load(corpus.FS)
		if err != nil {
			return nil, err
		}
		source, err := loaded.Text(family)
		if err != nil {
			return nil, err
		}
		return subject.New(family, source).Compile()
	}))
	return once.(func() (*engine.Template, error))()
}

var templatesOf sync.Map // of families: func() (*engine.Template, error)

// planned prepares the standard request, with other tools where there are any, for a family of the
// corpus.
func planned(family string, tools []chat.Tool) (*engine.Plan, error) {
	tmpl, err := compiled(family)
	if err != nil {
		return nil, err
	}
	r := standard.ToolRequest()
	if tools != nil {
		r.Tools = tools
	}
	return tmpl.Prepare(r, engine.PrepareOptions{Insist: true})
}

func prepare(t *testing.T, family string, tools []chat.Tool) *engine.Plan {
	t.Helper()
	plan, err := planned(family, tools)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// tools makes n tools with names that an attacker would choose.
func tools(t *testing.T, n int, name func(i int) string) []chat.Tool {
	t.Helper()
	all := make([]chat.Tool, n)
	for i := range all {
		v, err := ordered.ParseString(fmt.Sprintf(`{"type": "function", "function": {"name": %q, "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "deep": {"type": "object", "properties": {"x": {"type": "array", "items": {"enum": ["a", "b"]}}}}}}}}`, name(i)))
		if err != nil {
			t.Fatal(err)
		}
		if all[i], err = chat.ParseTool(v); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func alike(i int) string { return strings.Repeat("a", 1+i%200) + strings.Repeat("b", i/200) }

// work is how many instructions the machine runs for an output, in pieces of seven bytes.
func work(plan *engine.Plan, output string) int {
	n := 0
	p := stream.Options{Step: func(vm.Step) { n++ }}.NewParser(plan.Output)
	for b := []byte(output); len(b) > 0; {
		k := min(len(b), 7)
		p.Write(b[:k])
		b = b[k:]
	}
	p.Close(chat.FinishStop)
	p.Diagnostics()
	return n
}

// maxWork is how many instructions a byte of output may cost, over a long output: the worst is a
// format that may be any of fifteen.
const maxWork = 600

// TestOutputs feeds every family of the corpus texts that are nearly markers, for as long as it
// takes to show whether the work grows faster than the output.
func TestOutputs(t *testing.T) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]*engine.Plan{}
	for _, f := range loaded.Families {
		if f.Own {
			plans[f.Name] = prepare(t, f.Name, nil)
		}
	}
	plans["alike"] = prepare(t, "hermes", tools(t, 1000, alike))
	linear := func(output func(plan *engine.Plan, n int) string) func(*testing.T) error {
		return func(t *testing.T) error {
			const n = 20_000
			for name, plan := range plans {
				one, two := work(plan, output(plan, n)), work(plan, output(plan, 2*n))
				if two > 5*one/2+100_000 || two > maxWork*2*n {
					return fmt.Errorf("%s: %d instructions for %d bytes, %d "+
						"for twice as many", name, one, n, two)
				}
			}
			return nil
		}
	}
	near := func(plan *engine.Plan, cut int) string {
		var b strings.Builder
		for _, m := range plan.Preserved {
			b.WriteString(m[:max(1, len(m)-cut)])
		}
		return b.String() + "<"
	}
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)+1) }
	attacks(t, []attack{
		{"near-openers", "", linear(func(_ *engine.Plan, n int) string { return fill("<", n) })},
		{"near-brackets", "", linear(func(_ *engine.Plan, n int) string { return fill("[", n) })},
		{"near-objects", "", linear(func(_ *engine.Plan, n int) string { return fill(`{"`, n) })},
		{"markers less a byte", "", linear(func(p *engine.Plan, n int) string { return fill(near(p, 1), n) })},
		{"markers and nothing else", "", linear(func(p *engine.Plan, n int) string { return fill(near(p, 0), n) })},
		{"calls that break off", "", linear(func(p *engine.Plan, n int) string { return fill(near(p, 0)+`get_weather{"name": "get_weathe`, n) })},
		{"names that begin alike", "", linear(func(p *engine.Plan, n int) string {
			return fill("<tool_call>\n{\"name\": \""+strings.Repeat("a", 199), n)
		})},
		{"unclosed string", "", linear(func(p *engine.Plan, n int) string {
			return near(p, 0) + `{"name": "get_weather", "arguments": {"city": "` + fill(`a\`, n)
		})},
		{"white space", "", linear(func(_ *engine.Plan, n int) string { return fill(" \n", n) + "x" + fill("\t", n) })},
		{"brackets in arguments", "", linear(func(p *engine.Plan, n int) string {
			return near(p, 0) + `{"name": "get_weather", "arguments": {"city": ` + fill("[", n)
		})},
		{"half characters", "", linear(func(_ *engine.Plan, n int) string { return fill("\xf0\x9f\xed\xa0", n) })},
		{"thousand tools with names alike", "", func(t *testing.T) error {
			for _, family := range []string{"hermes", "qwen3-coder", "gpt-oss"} {
				g, err := prepare(t, family, tools(t, 1000, alike)).Output.Grammar()
				if err != nil {
					return err
				}
				t.Logf("%s: a grammar of %d bytes", family, len(g.String()))
			}
			return nil
		}},
		{"ten megabytes with a thousand calls", "", func(t *testing.T) error {
			call := "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"" + strings.Repeat("x", 10_000) + "\"}}\n</tool_call>\n"
			output := strings.Repeat(call, 1000)
			answer, mismatch := split.CheckSchedules(plans["hermes"].NewParser(), output,
				chat.FinishStop, slices.Values([][]int{{len(output) / 3}, {99, 5_000_000}}))
			if mismatch != nil || len(answer.Message.ToolCalls) != 1000 {
				return fmt.Errorf("%d calls, %v", len(answer.Message.ToolCalls), mismatch)
			}
			return nil
		}},
		{"thousand streams of one plan", "", func(t *testing.T) error {
			output := "Let me look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\"}}\n</tool_call>"
			want := split.Feed(plans["hermes"].NewParser(), output, nil, chat.FinishStop).Message
			var wait sync.WaitGroup
			failed := make(chan string, 1000)
			for i := range 1000 {
				wait.Go(func() {
					got := split.Feed(plans["hermes"].NewParser(), output,
						split.Every(len(output))[i%len(output):], chat.FinishStop).Message
					if diff := split.Diff(want, got); diff != "" {
						failed <- diff
					}
				})
			}
			wait.Wait()
			if len(failed) > 0 {
				return fmt.Errorf("%d streams differ: %s", len(failed), <-failed)
			}
			return nil
		}},
	})
}

// matches reads a grammar and a text with it. That the text is no sentence is no error.
func matches(grammar, input string) func(*testing.T) error {
	return func(t *testing.T) error {
		g, err := gbnf.ParseString(grammar)
		if err != nil {
			return err
		}
		m, err := gbnf.NewMatcher(g)
		if err != nil {
			return err
		}
		m.AcceptString(input)
		t.Logf("read to byte %d", m.Offset())
		return m.Err()
	}
}

func TestGrammars(t *testing.T) {
	attacks(t, []attack{
		{"nested repetitions", "", matches(`root ::= ((("a"*)*)*)* "b"`, strings.Repeat("a", 20_000))},
		{"nested counts", "", matches(`root ::= ((("a"{0,1000}){0,1000}){0,1000}){0,1000} "b"`, strings.Repeat("a", 5_000))},
		{"huge count", "", matches(`root ::= "a"{1000000000,1000000000}`, strings.Repeat("a", 20_000))},
		{"count that is too huge", "1000000000", matches(`root ::= "a"{10000000000}`, "")},
		{"left recursion", "left", matches(`root ::= root "a" | "a"`, "")},
		{"hidden left recursion", "left", matches("root ::= x root \"a\" | \"a\"\nx ::= \"\"", "")},
		{"rule that never ends", "end", matches(`root ::= "a" root`, "")},
		{"ambiguity", "too ambiguous", matches("root ::= s\ns ::= s2 s | s2\ns2 ::= \"a\" s2 \"a\" | \"a\" s2 | \"a\" s3\ns3 ::= \"a\" s3 s2 | \"a\" | \"a\" s s3", strings.Repeat("a", 400))},
		{"deep groups", "deep", matches("root ::= "+strings.Repeat("(", 100_000)+`"a"`+strings.Repeat(")", 100_000), "")},
		{"many rules", "", matches("root ::= r0\n"+rules(50_000), "aaaa")},
		{"many alternatives", "too ambiguous", matches("root ::= "+strings.Repeat(`"ab" | `, 50_000)+`"c"`, "ab")},
	})
}

func rules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "r%d ::= \"a\" r%d | \"b\"\n", i, i+1)
	}
	fmt.Fprintf(&b, "r%d ::= \"c\"\n", n)
	return b.String()
}

// language makes a grammar of a schema.
func language(text string) func(*testing.T) error {
	return func(t *testing.T) error {
		v, err := ordered.ParseString(text)
		if err != nil {
			return err
		}
		s, err := schema.Parse(v)
		if err != nil {
			return err
		}
		g, err := gbnf.FromSchema(s)
		if err != nil {
			return err
		}
		t.Logf("a grammar of %d bytes", len(g.String()))
		_, err = gbnf.Accepts(g, `{"a": [1, "x"]}`)
		return err
	}
}

func TestSchemas(t *testing.T) {
	var many, wide strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `"value-%d", `, i)
	}
	for i := range 5_000 {
		fmt.Fprintf(&wide, `"p%d": {"$ref": "#/$defs/p%d"}, `, i, (i+1)%5_000)
	}
	var doubling strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"anyOf": [{"$ref": "#/$defs/d%d"}, {"type": "string"}]}]}, `, i, i+1, i+1)
	}
	attacks(t, []attack{
		{"recursive reference", "", language(`{"type": "object", "properties": {"a": {"$ref": "#"}}}`)},
		{"reference that never ends", "never ends", language(`{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}`)},
		{"ring of references", "refers to itself", language(`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`)},
		{"long ring of references", "refers to itself", language(`{"$ref": "#/$defs/p0", "$defs": {` + wide.String() + `"z": {}}}`)},
		{"references that double", "more than", language(`{"$ref": "#/$defs/d0", "$defs": {` + doubling.String() + `"d60": {"type": ["integer", "string"]}}}`)},
		{"enum of 100,000", "at most 20000", language(`{"enum": [` + many.String() + `""]}`)},
		{"deep schema", "nested deeper than 1000", language(strings.Repeat(`{"items": `, 10_000) + "{}" + strings.Repeat("}", 10_000))},
		{"schema as deep as may be", "", language(strings.Repeat(`{"type": "array", "items": `, 900) + "{}" + strings.Repeat("}", 900))},
		{"huge maxItems", "", language(`{"type": "array", "maxItems": 1000000000, "items": {"type": "array", "maxItems": 1000000000}}`)},
		{"huge maxLength", "", language(`{"type": "string", "maxLength": 1000000000}`)},
		{"huge minItems", "1000000", language(`{"type": "array", "minItems": 1000000000}`)},
		{"nested pattern", "", language(`{"pattern": "^(((a{0,1000}){0,1000}){0,1000}){0,1000}$"}`)},
		{"long pattern", "10000", language(`{"pattern": "` + strings.Repeat("(a|b)*", 10_000) + `"}`)},
		{"many required properties", "", language(`{"properties": {` + properties(2_000) + `}}`)},
		{"pattern matched by validation", "steps", func(t *testing.T) error {
			p, err := schema.ParsePattern(strings.Repeat("(", 100) + "a*" +
				strings.Repeat("b*)*", 100))
			if err == nil {
				_, err = p.Match(strings.Repeat("ab", 20_000) + "c")
			}
			return err
		}},
	})
}

func properties(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"p%d": {"anyOf": [{"type": "string"}, {"type": "integer"}]}`, i)
	}
	return strings.Join(parts, ", ")
}

// reads reads a script of the corpus.
func reads(text string) func(*testing.T) error {
	return func(*testing.T) error {
		_, err := script.Read(fstest.MapFS{"f/c.txtar": &fstest.MapFile{Data: []byte(text)}},
			"f/c.txtar")
		return err
	}
}

func parses(text string) func(*testing.T) error {
	return func(*testing.T) error {
		_, err := ordered.ParseString(text)
		return err
	}
}

func TestFiles(t *testing.T) {
	attacks(t, []attack{
		{"giant script", "", reads("template a\n-- x --\n" + strings.Repeat("line of a file\n", 4<<20))},
		{"script without files", "has no file request.json", reads("template a\nrequest request.json\n")},
		{"script that is nothing", "", reads("")},
		{"file that is there twice", "twice", reads("template a\n-- x --\n1\n-- x --\n2\n")},
		{"file outside the folder", "outside", reads("template a\n-- ../x --\n1\n")},
		{"file at the root", "outside", reads("template a\n-- /tmp/x --\n1\n")},
		{"script that runs a program", "unknown command \"exec\"", reads("template a\nexec sh -c 'echo owned'\n")},
		{"script that hides a command", "no variables", reads("template a\n[vendor] ! $X sh -c true\n")},
		{"script that quotes a command", "unknown command \"exec\"", reads("template a\n'ex'ec sh -c '#'\n")},
		{"script that hides a file", "outside", reads("template a\nprompt '#' '..'/../secret\n")},
		{"script that runs a shell under a condition", "unknown condition \"unix\"", reads("template a\n'[unix ]' exec sh -c 'echo owned'\n")},
		{"script that reads a file elsewhere", "unknown command \"grep\"", reads("template a\ngrep '' /etc/passwd\n")},
		{"script that removes files", "unknown command \"rm\"", reads("template a\nrm /tmp/x\n")},
		{"script that reads another's file", "outside", reads("template a\nrequest ../../secret.json\n")},
		{"million brackets", "nested deeper than 1000", parses(strings.Repeat("[", 1_000_000))},
		{"million braces", "nested deeper than 1000", parses(strings.Repeat(`{"a":`, 1_000_000))},
		{"hundred megabytes of text", "", parses(`"` + strings.Repeat("x", 100<<20) + `"`)},
		{"JSON with NUL bytes", "expected", parses("{\x00}")},
		{"JSON that is no UTF-8", "", parses("{\"a\": \"\xff\"}")},
		{"number of a million digits", "", parses(strings.Repeat("9", 1_000_000))},
		{"key that is there a million times", "", parses(`{` + strings.Repeat(`"a": 1, `, 1_000_000) + `"a": 1}`)},
	})
}
