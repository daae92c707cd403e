package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/corpus/tokens"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/serve/pipe"
)

// requestsOfPrograms grow along every dimension that a line of assay pipe has.
var requestsOfPrograms = []generator{
	{"operation", between(`{"op": "`, "x", `"}`)},
	{"field", between(`{"`, "x", `": 1}`)},
	{"fields", between(`{`, `"k%d": 1, `, `"op": "describe"}`)},
	{"fields alike", between(`{`, `"op": "describe", `, `"op": "describe"}`)},
	{"id", between(`{"op": "describe", "id": [`, "[],", `0]}`)},
	{"depth", func(n int) string {
		return `{"op": "describe", "id": ` + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + `}`
	}},
	{"request", between(`{"op": "render", "untrusted": true, "template": {"text": "{{ messages }}"}, "request": {"messages": [`,
		`{"role": "user", "content": "%d"}, `, `{"role": "user", "content": "x"}]}}`)},
	{"tools", between(`{"op": "grammar", "untrusted": true, "template": {"text": "{{ messages }}"}, "request": {"messages": [], "tools": [`,
		`{"type": "function", "function": {"name": "f%d"}}, `, `{"type": "function", "function": {"name": "f"}}]}}`)},
	{"cuts", between(`{"op": "stream", "untrusted": true, "template": {"text": "{{ messages }}"}, "output": "x", "cuts": [`,
		`0, `, `0]}`)},
	{"rules", between(`{"op": "check", "untrusted": true, "template": {"text": "{{ messages }}"}, "only": [`,
		`"A%d", `, `"A001"]}`)},
	{"fallbacks", between(`{"op": "grammar", "untrusted": true, "template": {"text": "{{ messages }}"}, "fallbacks": [`,
		`"f%d", `, `"hermes"]}`)},
	{"template", between(`{"op": "check", "untrusted": true, "template": {"text": "`, "x", `"}}`)},
	{"broken template", between(`{"op": "check", "untrusted": true, "template": {"text": "{% `, "x", `"}}`)},
	{"template that raises", between(`{"op": "render", "untrusted": true, "template": {"text": "{{ raise_exception('`,
		"x", `') }}"}, "request": {"messages": []}}`)},
	{"name of a template", between(`{"op": "check", "untrusted": true, "template": {"name": "`, "x", `", "text": "x"}}`)},
	{"no JSON", times(`{"op"`)},
}

// answeredLine answers a line as assay pipe does.
func answeredLine(text string) error {
	s := pipe.New(context.Background(), pipe.Options{Check: check.Options{Accepted: new([]string)},
		Tight: untrusted, Limits: untrusted})
	if n := len(s.Answer([]byte(text))); n > maxReports {
		return fmt.Errorf("an answer of %d bytes", n)
	}
	return nil
}

const document = `{"assay_format": 1, "prefills": ["" PREFILLS], "header": "<|im_start|>assistant\nHEADER", "end": ["<|im_end|>\n" ENDS],
"calls": [{"call": {"open": "\n<tool_call>OPEN\n", "close": "CLOSE\n</tool_call>"}, "object": {"fields": [{"path": ["name" PATH], "slot": "name"}, {"path": ["arguments"], "slot": "args"} FIELDS]}} CALLS] MEMBERS}`

// within returns a function that puts copies of a piece into a format's document, in the place of
// key.
func within(key, piece string) func(int) string {
	return func(n int) string {
		text := strings.ReplaceAll(document, key, times(piece)(n))
		for _, other := range []string{"PREFILLS", "HEADER", "ENDS", "OPEN", "CLOSE", "PATH",
			"FIELDS", "CALLS", "MEMBERS"} {
			text = strings.ReplaceAll(text, other, "")
		}
		return text
	}
}

// documentsOfFormats grow along every dimension that a format as JSON has.
var documentsOfFormats = []generator{
	{"prefills", within("PREFILLS", `, "p%d"`)},
	{"header", within("HEADER", "x")},
	{"ends", within("ENDS", `, "<e%d>"`)},
	{"ends alike", within("ENDS", `, "<|im_end|>"`)},
	{"ends that begin alike", within("ENDS", `, "<|im_end|>x%d"`)},
	{"opening", within("OPEN", "<x>")},
	{"closing", within("CLOSE", "</x>")},
	{"path", within("PATH", `, "k%d"`)},
	{"fields", within("FIELDS", `, {"path": ["k%d"], "slot": "id"}`)},
	{"fields alike", within("FIELDS", `, {"path": ["k"], "slot": "id"}`)},
	{"calls", within("CALLS", `, {"call": {"open": "<c%d>", "close": "</c>"}, "object": {"fields": [{"path": ["name"], "slot": "name"}]}}`)},
	{"calls alike", within("CALLS", `, {"call": {"open": "<c>", "close": "</c>"}, "object": {"fields": [{"path": ["name"], "slot": "name"}]}}`)},
	{"members", within("MEMBERS", `, "k%d": 1`)},
	{"depth", func(n int) string {
		d := min(n/5, 900)
		return within("MEMBERS", `, "k": `+strings.Repeat("[", d)+strings.Repeat("]", d))(1)
	}},
}

// read reads a format as assay parse --format does, and an output with it.
var read = ofJSON(func(_ string, v ordered.Value) error {
	d, err := formatjson.Read(v)
	if err != nil {
		return limited(err)
	}
	plan, err := engine.PrepareFormat(d.Format, d.Prefills[0], standard.ToolRequest(),
		engine.PrepareOptions{})
	if err != nil {
		return limited(err)
	}
	const output = "hello <tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	split.Feed(plan.NewParser(), output, split.Every(len(output)), chat.FinishStop)
	return nil
})

// vocabularies grow along every dimension that a tokenizer.json has.
var vocabularies = []generator{
	{"added tokens", list(`{"added_tokens": [`, `{"id": %d, "content": "<t%d>", "special": true}`, `]}`)},
	{"tokens alike", list(`{"added_tokens": [`, `{"id": 1, "content": "<t>", "special": true}`, `]}`)},
	{"tokens that begin alike", list(`{"added_tokens": [`, `{"id": %d, "content": "<tool_call>%d", "special": true}`, `]}`)},
	{"token", between(`{"added_tokens": [{"id": 1, "content": "`, "x", `"}]}`)},
	{"words", list(`{"model": {"vocab": {`, `"w%d": %d`, `}}, "added_tokens": []}`)},
	{"no tokens", list(`{"added_tokens": [`, `{}`, `]}`)},
	{"faults", list(`{"added_tokens": [`, `{"id": "x%d", "content": %d}`, `]}`)},
}

// vocabulary reads the added tokens of a model, and makes a plan that asks for them.
func vocabulary(text string) error {
	v, err := engine.ReadVocabulary(engine.VocabularyFiles{Tokenizer: text})
	if err != nil {
		return long(err)
	}
	src, err := template("hermes")
	if err != nil {
		return err
	}
	t, err := engine.Compile(context.Background(), engine.Source{Name: "t",
		Text: src.ChatTemplate().Source.Text},
		engine.Options{Limits: untrusted, Vocabulary: v})
	if err != nil {
		return err
	}
	_, err = t.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
	return err
}

// tokenLists grow along every dimension that an output in tokens has.
var tokenLists = []generator{
	{"tokens", times(`{"id": %d, "text": "x"}` + "\n")},
	{"token", func(n int) string { return `{"id": 1, "text": "` + strings.Repeat("<", n) + `"}` + "\n" }},
	{"bytes", between(`{"id": 1, "bytes": [`, "240,", "0]}\n")},
	{"lines", times("\n")},
	{"members", between(`{"id": 1, "text": "x"`, `, "k%d": 1`, "}\n")},
	{"calls", times(`{"id": 7, "text": "<tool_call>"}` + "\n" + `{"id": 8, "text": "{"}` + "\n")},
	{"faults", times("{\n")},
}

// tokenised reads an output in tokens as assay parse --tokens does.
func tokenised(text string) error {
	v, err := engine.ReadVocabulary(engine.VocabularyFiles{
		Tokenizer: `{"added_tokens": [{"id": 7, "content": "<tool_call>", "special": true}]}`})
	if err != nil {
		return err
	}
	plan, err := planned("hermes", standard.ToolRequest())
	if err != nil {
		return err
	}
	none := func() (*vocab.Texts, error) { return nil, errors.New("no file spells the tokens") }
	list, err := tokens.Read("t", text, tokens.Tokenizer{Vocabulary: v, Texts: none})
	if err != nil {
		return long(err)
	}
	_, mismatch := tokens.Check(plan.NewParser(), list, chat.FinishStop)
	if mismatch != nil {
		return mismatch
	}
	return nil
}

// reports grow along every dimension that a report as JSON has.
var reports = []generator{
	{"results", list(`{"command": "check", "results": [`, `{"suite": "s%d", "name": "n", "status": "failed", "severity": "error", "text": "x"}`, `]}`)},
	{"passed", list(`{"command": "check", "results": [`, `{"suite": "s", "name": "n%d", "status": "passed"}`, `]}`)},
	{"text", between(`{"command": "check", "results": [{"suite": "s", "name": "n", "status": "failed", "severity": "error", "text": "`, `\u001b`, `"}]}`)},
	{"lines", between(`{"command": "check", "results": [{"suite": "s", "name": "n", "status": "failed", "severity": "error", "text": "`, `\n::error::`, `"}]}`)},
	{"name", between(`{"command": "check", "results": [{"suite": "`, "x", `", "name": "n", "status": "failed", "text": ""}]}`)},
	{"members", list(`{"command": "check", "results": [], `, `"k%d": 1`, `}`)},
	{"results that are lists", list(`{"command": "check", "results": [`, `[]`, `]}`)},
	{"results without names", list(`{"command": "check", "results": [`, `{}`, `]}`)},
	{"details of nothing", list(`{"command": "check", "results": [{"name": "n", "details": [`, `{}`,
		`]}]}`)},
	{"rules without names", list(`{"command": "check", "rules": [`, `{}`, `]}`)},
	{"conclusions", list(`{"command": "check", "conclusions": [`, `""`, `]}`)},
}

// reported reads a report and writes it in every form.
func reported(text string) error {
	r, err := report.Read(strings.NewReader(text))
	if err != nil {
		return long(err)
	}
	merged, err := report.Merge([]*report.Report{r})
	if err != nil {
		return err
	}
	return writtenWithin(merged, max(maxReports, 64*len(text)))
}
