package encoder_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/foreign/encoder"
	"github.com/goassay/assay/harness/foreign/engines"
)

const template = `{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>` +
	`{{ m.content if m.content is string }}<|end|>{% endfor %}` +
	`{% if add_generation_prompt %}<|assistant|>{% endif %}`

// TestMain lets the test's program be an encoder, in the way that a variable names.
func TestMain(m *testing.M) {
	if how := os.Getenv("ENCODER_TEST"); how != "" {
		serve(how)
		return
	}
	os.Exit(m.Run())
}

// serve answers with the prompts of the template, but for what the words of how change.
func serve(how string) {
	t, err := subject.New("encoder", template).WithTokens("<begin>", "").Compile()
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r engines.Request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			panic(err)
		}
		a := engines.Answer{ID: r.ID}
		switch r.Op {
		case "describe":
			a.Description = engines.Description{Engine: "tester", Version: "7",
				Encodes: how != "parser", Tokenizes: true, BOS: "<begin>"}
		case "tokenize":
			a.IDs = []int{len(r.Text)}
		case "render":
			render(how, t.ChatTemplate(), r.Vars, &a)
		}
		if err := out.Encode(a); err != nil {
			return
		}
	}
}

func render(how string, t *chattemplate.Template, request []byte, a *engines.Answer) {
	vars, err := ordered.Parse(request)
	if err != nil {
		panic(err)
	}
	vars = vars.With("bos_token", ordered.Str("<begin>"))
	text, err := t.Render(chattemplate.Input{Kwargs: vars.Members()})
	if err != nil {
		panic(err)
	}
	a.Text, a.IDs = &text, []int{len(text)}
	first := vars.At("messages").Items()[0].At("role").Text()
	switch {
	case how == "silent":
		a.Text = nil
	case how == "system" && first == "system":
		changed := strings.Replace(text, "<|end|>", "\n<|end|>", 1)
		a.Text = &changed
	case how == "refuses" && first == "system":
		a.Text, a.Error, a.At = nil, "no system message: "+text, "encoder.py:7"
	case how == "beyond" && first == "system":
		a.Text, a.Unsupported = nil, "not known"
	case how == "ids":
		a.IDs = []int{1, 2}
	}
}

// start starts the test's program as an encoder.
func start(t *testing.T, how string) (*encoder.Encoder, error) {
	t.Helper()
	t.Setenv("ENCODER_TEST", how)
	e, err := encoder.Start(t.Context(), os.Args[0])
	t.Cleanup(e.Close)
	return e, err
}

// TestAgainst holds a template to encoders that write the same, something else, or nothing.
func TestAgainst(t *testing.T) {
	for _, test := range []struct {
		how, finding, text string
		equal              bool // all conversations
		counts             func(check.Counts) int
	}{
		{how: "same", equal: true, counts: func(c check.Counts) int { return c.SameIDs }},
		{how: "ids", equal: true, counts: func(c check.Counts) int { return c.Tokenized }},
		{how: "system", finding: "A190", text: `the model is shown "<|end|>`,
			counts: func(c check.Counts) int { return c.Different }},
		{how: "refuses", finding: "A192", text: "that tester 7 refuses: no system message",
			counts: func(c check.Counts) int { return c.ByEncoder }},
		{how: "beyond", counts: func(c check.Counts) int { return c.Beyond }},
	} {
		e, err := start(t, test.how)
		if err != nil {
			t.Fatal(err)
		}
		results, counts := check.Against(subject.New("t.jinja", template), check.Options{}, e)
		if test.counts(counts) == 0 || test.equal != (counts.Different+counts.ByEncoder+
			counts.ByTemplate+counts.ByBoth+counts.Beyond == 0) {
			t.Errorf("%s: %s", test.how, counts)
		}
		var found []rule.Result
		for _, r := range results {
			if r.Status != rule.Passed {
				found = append(found, r)
			}
		}
		switch {
		case test.finding == "" && len(found) > 0:
			t.Errorf("%s: expected no finding, found %s", test.how, found[0].Text)
		case test.finding == "":
		case len(found) != 1 || found[0].Rule != test.finding ||
			!strings.Contains(found[0].Text, test.text):
			t.Errorf("%s: expected one finding of %s with %q, found %+v", test.how,
				test.finding, test.text, found)
		}
		if test.how == "system" && !strings.Contains(found[0].Text,
			"whose: the template's own text, after the content of message 1 (system message)") {
			t.Errorf("it does not tell whose text it is: %s", found[0].Text)
		}
		if told := strings.Contains(counts.String(), "other tokens"); told != (test.how == "ids") {
			t.Errorf("%s: %s", test.how, counts)
		}
	}
}

// TestFaults has programs that are no encoders.
func TestFaults(t *testing.T) {
	if _, err := start(t, "parser"); err == nil || !strings.Contains(err.Error(), "encodes") {
		t.Errorf("a program that encodes nothing: %v", err)
	}
	e, err := start(t, "silent")
	if err != nil {
		t.Fatal(err)
	}
	results, _ := check.Against(subject.New("t.jinja", template), check.Options{}, e)
	for _, r := range results {
		if r.Status != rule.Unjudged || !strings.Contains(r.Text, `neither "text" nor "error"`) {
			t.Errorf("a program that answers nothing: %+v", r)
		}
	}
	for _, command := range []string{"no-such-program", "/", "../engines", "harmony/"} {
		if _, err := encoder.Start(t.Context(), command); err == nil {
			t.Errorf("the command %q starts", command)
		}
	}
	if e, err := encoder.Start(t.Context(), ""); e != nil || err != nil {
		t.Errorf("no command: %v, %v", e, err)
	}
}

// TestNamed starts the carried adapters where their packages may be missing: then the error tells
// which to install.
func TestNamed(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	for name, missing := range map[string]string{
		"harmony": "pip install openai-harmony", "mistral-common v3": "pip install mistral-common",
	} {
		e, err := encoder.Start(t.Context(), name)
		if err == nil {
			e.Close()
		} else if !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: %v; expected it to start, or to say %q", name, err, missing)
		}
	}
}
