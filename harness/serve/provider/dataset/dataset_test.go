package dataset_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/serve/provider/dataset"
)

const tool = `{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}`

// lines has a line of each kind that is read, and the request that it is.
var lines = []struct{ name, line, id, body, expect string }{
	{"body", `{"messages":[{"role":"user","content":"a"}],"temperature":1}`, "1",
		`{"messages":[{"role":"user","content":"a"}],"temperature":1}`, ""},
	{"MiniMax", `{"messages":[{"role":"user","content":"a"}],"check_type":["tool_calls"],` +
		`"expected_tool_call":false,"stream":true}`, "1",
		`{"messages":[{"role":"user","content":"a"}],"stream":true}`, "no"},
	{"result", `{"data_index":7,"request":{"messages":[{"role":"user","content":"a"}],` +
		`"model":"m"},"response":null,"hash":"x","expected_tool_call":true}`, "1",
		`{"messages":[{"role":"user","content":"a"}],"model":"m"}`, "yes"},
	{"Kimi", `{"id":"k1","request":{"messages":[{"role":"user","content":"a"}]},` +
		`"expected_prompt_tokens":12}`, "k1",
		`{"messages":[{"role":"user","content":"a"}]}`, "12 tokens"},
	{"batch", `{"custom_id":"c1","method":"POST","url":"/v1/chat/completions",` +
		`"body":{"messages":[{"role":"user","content":"a"}]}}`, "c1",
		`{"messages":[{"role":"user","content":"a"}]}`, ""},
	{"canitoolcall", `{"id":"f/1","tools":[` + tool + `],"raw_output":"x","thinking":true,` +
		`"expected":{"content":null,"tool_calls":[{"name":"look","arguments":{"n":1.50}}]}}`, "f/1",
		`{"messages":[{"role":"user","content":"Call exactly these functions, in this order, with ` +
			`these arguments:\nlook {\"n\": 1.50}"}],"tools":[` + tool +
			`],"chat_template_kwargs":{"enable_thinking":true}}`, "yes"},
	{"canitoolcall without a call", `{"id":"f/2","tools":[],"raw_output":"x",` +
		`"expected":{"content":"Hello.","tool_calls":[]}}`, "f/2",
		`{"messages":[{"role":"user","content":"Call no function. Answer with this text and ` +
			`nothing else:\nHello."}]}`, "no"},
}

func TestRead(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			r, err := dataset.NewReader(strings.NewReader(c.line + "\n")).Next()
			if err != nil {
				t.Fatal(err)
			}
			expect := ""
			if r.Expect != nil {
				expect = map[bool]string{false: "no", true: "yes"}[*r.Expect]
			}
			if r.Tokens > 0 {
				expect += fmt.Sprintf("%d tokens", r.Tokens)
			}
			body, err := r.Body.MarshalJSON()
			if string(body) != c.body || r.ID != c.id || expect != c.expect || err != nil {
				t.Errorf("%q expects %q\n%s\nexpected %q, %q\n%s", r.ID, expect, body, c.id,
					c.expect, c.body)
			}
		})
	}
}

func TestLeftOut(t *testing.T) {
	r := dataset.NewReader(strings.NewReader(`{"id":"f/3","tools":[],"raw_output":"x",` +
		`"expected_error":"malformed"}` + "\n\n" + `{"request":{"messages":[{"role":"user",` +
		`"content":[{"type":"image_url","image_url":{"url":"fixture://a.png?width=1"}}]}]}}` +
		"\n" + lines[0].line + "\n"))
	request, err := r.Next()
	if err != nil || request.ID != "4" || request.N != 0 || r.Left != 2 {
		t.Errorf("%+v, %d left out, %v", request, r.Left, err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("%v, expected the end", err)
	}
}

func TestErrors(t *testing.T) {
	for line, want := range map[string]string{
		`[]`:             "line 1: expected an object, found []",
		`{`:              "line 1: ",
		`{"a":1}`:        `line 1: expected the body of a chat completion, with "messages"`,
		`{"prompt":"a"}`: "line 1: it has a prompt and no messages",
		`{"messages":1}`: "line 1: messages: ",
		`{"request":{"messages":[]},"expected_prompt_tokens":0}`: "line 1: expected_prompt_tokens" +
			" is 0",
	} {
		_, err := dataset.NewReader(strings.NewReader(line)).Next()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", line, err, want)
		}
	}
	_, err := dataset.NewResults(strings.NewReader(`{"data_index":0}`)).Next()
	if err == nil || err.Error() != "line 1: data_index is 0, expected a number from 1" {
		t.Error(err)
	}
}

func TestResults(t *testing.T) {
	line := `{"data_index":2,"request":{"messages":[{"role":"user","content":"a"}]},` +
		`"response":{"object":"chat.completion"}}`
	if !dataset.IsResult([]byte(line)) || dataset.IsResult([]byte(lines[0].line)) {
		t.Error("a result is not told from a request")
	}
	r, err := dataset.NewResults(strings.NewReader(line)).Next()
	if err != nil || r.N != 1 || r.Answer.At("object").Text() != "chat.completion" {
		t.Errorf("%+v, %v", r, err)
	}
}

// generated returns the lines of n requests.
func generated(t *testing.T, seed uint64, n int) []byte {
	t.Helper()
	g, err := dataset.NewGenerator(corpus.FS, seed)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for range n {
		out.Write(append(g.Next().Line(), '\n'))
	}
	return out.Bytes()
}

// TestGenerate demands that a data set can be read back, is the same for the same seed, and has
// everything that it is there for.
func TestGenerate(t *testing.T) {
	const n = 500
	text := generated(t, 1, n)
	if !bytes.Equal(text, generated(t, 1, n)) {
		t.Error("the same seed gives another data set")
	}
	if bytes.Equal(text, generated(t, 2, n)) {
		t.Error("another seed gives the same data set")
	}
	r := dataset.NewReader(bytes.NewReader(text))
	has := map[string]int{}
	for {
		request, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		has["requests"]++
		parsed, err := chat.ParseRequest(request.Body)
		if err != nil {
			t.Fatal(err)
		}
		if len(parsed.Tools) > 0 {
			has["tools"]++
		}
		if len(parsed.Messages) > 4 {
			has["several turns"]++
		}
		switch v := parsed.Kwargs.At("enable_thinking").String(); v {
		case "true", "false":
			has["thinking "+v]++
		}
		if request.Expect != nil {
			has["labels"]++
		}
		line := request.Body.String()
		for _, key := range []string{"additionalProperties", "maxItems", "maxLength", "maximum",
			"enum"} {
			if strings.Contains(line, `"`+key+`"`) {
				has[key]++
			}
		}
	}
	for key, least := range map[string]int{"requests": n, "tools": n / 2, "several turns": n / 10,
		"thinking true": n / 10, "thinking false": n / 10, "labels": n / 10,
		"additionalProperties": n / 10, "maxItems": 5, "maxLength": n / 10, "maximum": n / 20,
		"enum": 1} {
		if has[key] < least {
			t.Errorf("%s: %d, expected %d at least", key, has[key], least)
		}
	}
}

func FuzzRequests(f *testing.F) {
	for _, c := range lines {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := dataset.NewReader(bytes.NewReader(text))
		for {
			request, err := r.Next()
			if err != nil {
				break
			}
			again, err := dataset.NewReader(bytes.NewReader(request.Line())).Next()
			if err != nil || again.ID != request.ID && request.ID != "" {
				t.Fatalf("%s\n%+v, %v", request.Line(), again, err)
			}
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(lines[2].line))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := dataset.NewResults(bytes.NewReader(text))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	})
}
