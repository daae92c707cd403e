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
var requestsOfPrograms = append(tabled("lines of pipe"), []generator{
	{"depth", func(n int) string {
		return `{"op": "describe", "id": ` + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + `}`
	}},
}...)

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

// within puts a generator's text into a format's document, in the place of key.
func within(key string, make func(int) string) func(int) string {
	return func(n int) string {
		text := strings.ReplaceAll(document, key, make(n))
		for _, other := range []string{"PREFILLS", "HEADER", "ENDS", "OPEN", "CLOSE", "PATH",
			"FIELDS", "CALLS", "MEMBERS"} {
			text = strings.ReplaceAll(text, other, "")
		}
		return text
	}
}

// documentsOfFormats grow along every dimension that a format as JSON has.
var documentsOfFormats = append(placed("formats", within), []generator{
	{"depth", func(n int) string {
		d := min(n/5, 900)
		return within("MEMBERS", constant(`, "k": `+strings.Repeat("[", d)+strings.Repeat("]", d)))(n)
	}},
}...)

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
var tokenLists = append(tabled("tokens"), []generator{
	{"token", func(n int) string { return `{"id": 1, "text": "` + strings.Repeat("<", n) + `"}` + "\n" }},
}...)

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
