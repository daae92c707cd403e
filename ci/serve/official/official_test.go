// Package official holds assay serve to the official clients of OpenAI's and Anthropic's APIs. It
// is a module of its own, so that their packages are no requirement of this project's.
package official

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve"
	client "github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/serve/upstream"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// rounds is how often the model calls before it answers.
const rounds = 10

// start starts a scripted upstream and the server before it.
func start(t *testing.T, up *servetest.Upstream) string {
	t.Helper()
	back := httptest.NewServer(up)
	t.Cleanup(back.Close)
	c, err := client.New(back.URL, "", client.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := upstream.Open(t.Context(), c, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := corpus.FS.ReadFile("qwen3/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	src := engine.Source{Name: "qwen3", Text: string(text), BOS: "", EOS: "<|im_end|>"}
	tm, err := engine.Compile(t.Context(), src, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := wire.NewSealer(bytes.Repeat([]byte("k"), 32), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Names: []string{servetest.Model}, Source: src, Template: tm,
		Backend: backend, Sealer: sealer, Keys: []string{"sk-test"}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(s.Handler())
	t.Cleanup(front.Close)
	return front.URL
}

func agent(t *testing.T) *servetest.Upstream {
	return &servetest.Upstream{Dialect: "llama-server", Write: servetest.Agent(rounds, t.Errorf)}
}

// tools are the two that the agent has.
var tools = []struct {
	name       string
	parameters map[string]any
}{
	{"get_weather", map[string]any{"type": "object", "properties": map[string]any{
		"city": map[string]any{"type": "string"}}, "required": []string{"city"}}},
	{"store_note", map[string]any{"type": "object", "properties": map[string]any{
		"text": map[string]any{"type": "string"}}, "required": []string{"text"}}},
}

// run runs a tool.
func run(t *testing.T, round int, name, arguments string) string {
	t.Helper()
	var args map[string]string
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		t.Fatalf("round %d: %s(%s): %v", round, name, arguments, err)
	}
	want := map[string]string{"city": fmt.Sprintf("city-%d é", round)}
	if name == "store_note" {
		want = map[string]string{"text": fmt.Sprintf("note %d", round)}
	}
	if fmt.Sprint(args) != fmt.Sprint(want) {
		t.Errorf("round %d: %s(%v), want %v", round, name, args, want)
	}
	return fmt.Sprintf("weather of round %d", round)
}

const answer = "It rains everywhere, 日本 too."

func reasoning(round int) string { return fmt.Sprintf("Round %d needs a look.", round) }

func each(t *testing.T, test func(t *testing.T, stream bool)) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%t", stream), func(t *testing.T) { test(t, stream) })
	}
}

func openAI(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("sk-test"),
		option.WithMaxRetries(0))
}

// TestChatCompletions is an agent loop with openai-go's chat completions and its accumulator.
func TestChatCompletions(t *testing.T) {
	each(t, func(t *testing.T, stream bool) {
		c := openAI(start(t, agent(t)))
		p := openai.ChatCompletionNewParams{Model: servetest.Model, Seed: openai.Int(1),
			Messages: []openai.ChatCompletionMessageParamUnion{
				openai.DeveloperMessage("Be brief."), openai.UserMessage("Rain?")}}
		for _, tool := range tools {
			p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(
				shared.FunctionDefinitionParam{Name: tool.name, Parameters: tool.parameters,
					Strict: openai.Bool(true)}))
		}
		for round := 0; ; round++ {
			var m openai.ChatCompletionMessage
			var thought, finish string
			var usage openai.CompletionUsage
			if stream {
				p.StreamOptions.IncludeUsage = openai.Bool(true)
				s := c.Chat.Completions.NewStreaming(t.Context(), p)
				var acc openai.ChatCompletionAccumulator
				for s.Next() {
					chunk := s.Current()
					if !acc.AddChunk(chunk) {
						t.Fatalf("the accumulator refuses %s", chunk.RawJSON())
					}
					for _, choice := range chunk.Choices {
						if f, ok := choice.Delta.JSON.ExtraFields["reasoning_content"]; ok {
							var text string
							json.Unmarshal([]byte(f.Raw()), &text)
							thought += text
						}
					}
				}
				if err := s.Err(); err != nil {
					t.Fatal(err)
				}
				m, finish, usage = acc.Choices[0].Message, acc.Choices[0].FinishReason, acc.Usage
			} else {
				a, err := c.Chat.Completions.New(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				m, finish, usage = a.Choices[0].Message, a.Choices[0].FinishReason, a.Usage
				json.Unmarshal([]byte(m.JSON.ExtraFields["reasoning_content"].Raw()), &thought)
			}
			if usage.PromptTokens == 0 || usage.CompletionTokens == 0 ||
				usage.TotalTokens != usage.PromptTokens+usage.CompletionTokens {
				t.Errorf("usage: %s", usage.RawJSON())
			}
			if len(m.ToolCalls) == 0 {
				if round != rounds || m.Content != answer || finish != "stop" {
					t.Errorf("round %d ends with %q, %s", round, m.Content, finish)
				}
				return
			}
			if thought != reasoning(round) || finish != "tool_calls" || len(m.ToolCalls) != 2 {
				t.Fatalf("round %d: %q, %s, %s", round, thought, finish, m.RawJSON())
			}
			back := m.ToParam()
			back.OfAssistant.SetExtraFields(map[string]any{"reasoning_content": thought})
			p.Messages = append(p.Messages, back)
			for _, call := range m.ToolCalls {
				p.Messages = append(p.Messages, openai.ToolMessage(
					run(t, round, call.Function.Name, call.Function.Arguments), call.ID))
			}
		}
	})
}

// TestResponses is an agent loop with openai-go's Responses. Reasoning goes back sealed.
func TestResponses(t *testing.T) {
	each(t, func(t *testing.T, stream bool) {
		c := openAI(start(t, agent(t)))
		p := responses.ResponseNewParams{Model: servetest.Model, Store: openai.Bool(false),
			Instructions: openai.String("Be brief."),
			Include: []responses.ResponseIncludable{
				responses.ResponseIncludableReasoningEncryptedContent}}
		input := responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Rain?", responses.EasyInputMessageRoleUser)}
		for _, tool := range tools {
			p.Tools = append(p.Tools,
				responses.ToolParamOfFunction(tool.name, tool.parameters, true))
		}
		for round := 0; ; round++ {
			p.Input.OfInputItemList = input
			var r *responses.Response
			if stream {
				s := c.Responses.NewStreaming(t.Context(), p)
				text := ""
				for s.Next() {
					e := s.Current()
					switch e.Type {
					case "response.output_text.delta":
						text += e.Delta
					case "response.completed":
						r = &e.Response
					}
				}
				if err := s.Err(); err != nil {
					t.Fatal(err)
				}
				if r == nil || r.OutputText() != text {
					t.Fatalf("round %d: %q is streamed", round, text)
				}
			} else {
				var err error
				if r, err = c.Responses.New(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if r.Status != "completed" || r.Usage.InputTokens == 0 || r.Usage.OutputTokens == 0 {
				t.Errorf("round %d: %s, %s", round, r.Status, r.Usage.RawJSON())
			}
			calls := 0
			var outputs responses.ResponseInputParam
			for _, item := range r.Output {
				raw := item.RawJSON()
				switch item.Type {
				case "reasoning":
					reasoned := item.AsReasoning()
					if reasoned.EncryptedContent == "" ||
						round < rounds && reasoned.Content[0].Text != reasoning(round) {
						t.Errorf("round %d: %s", round, raw)
					}
					raw = fmt.Sprintf(`{"type": "reasoning", "id": %q, "summary": [], "encrypted_content": %q}`,
						item.ID, reasoned.EncryptedContent)
				case "function_call":
					calls++
					call := item.AsFunctionCall()
					out := responses.ResponseInputItemParamOfFunctionCallOutput(
						run(t, round, call.Name, call.Arguments))
					out.OfFunctionCallOutput.CallID = openai.String(call.CallID)
					outputs = append(outputs, out)
				}
				input = append(input, param.Override[responses.ResponseInputItemUnionParam](
					json.RawMessage(raw)))
			}
			input = append(input, outputs...)
			if calls == 0 {
				if round != rounds || r.OutputText() != answer {
					t.Errorf("round %d ends with %q", round, r.OutputText())
				}
				return
			}
			if calls != 2 {
				t.Fatalf("round %d: %d calls", round, calls)
			}
		}
	})
}

// TestMessages is an agent loop with anthropic-sdk-go's Messages and its accumulator. Thinking goes
// back with its signature.
func TestMessages(t *testing.T) {
	each(t, func(t *testing.T, stream bool) {
		c := anthropic.NewClient(anthropicoption.WithBaseURL(start(t, agent(t))),
			anthropicoption.WithAPIKey("sk-test"), anthropicoption.WithMaxRetries(0))
		p := anthropic.MessageNewParams{Model: servetest.Model, MaxTokens: 4096,
			System:   []anthropic.TextBlockParam{{Text: "Be brief."}},
			Thinking: anthropic.ThinkingConfigParamOfEnabled(1024),
			Messages: []anthropic.MessageParam{
				anthropic.NewUserMessage(anthropic.NewTextBlock("Rain?"))}}
		for _, tool := range tools {
			p.Tools = append(p.Tools, anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{
				Properties: tool.parameters["properties"],
				Required:   tool.parameters["required"].([]string)}, tool.name))
		}
		count, err := c.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
			Model: p.Model, Messages: p.Messages})
		if err != nil || count.InputTokens == 0 {
			t.Errorf("tokens counted: %v, %v", count, err)
		}
		for round := 0; ; round++ {
			m := new(anthropic.Message)
			if stream {
				s := c.Messages.NewStreaming(t.Context(), p)
				for s.Next() {
					if err := m.Accumulate(s.Current()); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Err(); err != nil {
					t.Fatal(err)
				}
			} else if m, err = c.Messages.New(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if m.Usage.InputTokens == 0 || m.Usage.OutputTokens == 0 {
				t.Errorf("round %d: %s", round, m.Usage.RawJSON())
			}
			var results []anthropic.ContentBlockParamUnion
			text := ""
			for _, b := range m.Content {
				switch b.Type {
				case "thinking":
					if round < rounds && b.Thinking != reasoning(round) || b.Signature == "" {
						t.Errorf("round %d: %+v", round, b)
					}
				case "text":
					text += b.Text
				case "tool_use":
					results = append(results, anthropic.NewToolResultBlock(b.ID,
						run(t, round, b.Name, string(b.Input)), round == 3))
				}
			}
			if len(results) == 0 {
				if round != rounds || text != answer || m.StopReason != "end_turn" {
					t.Errorf("round %d ends with %q, %s", round, text, m.StopReason)
				}
				return
			}
			if len(results) != 2 || m.StopReason != "tool_use" {
				t.Fatalf("round %d: %d calls, %s", round, len(results), m.StopReason)
			}
			p.Messages = append(p.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
		}
	})
}

// TestCancel cancels a stream of each client: the upstream hears of it.
func TestCancel(t *testing.T) {
	up := &servetest.Upstream{Dialect: "llama-server", Pause: 2 * time.Millisecond,
		Write: func(string) string { return strings.Repeat("word ", 20000) }}
	url := start(t, up)
	for i, read := range []func(context.Context) (next func() bool){
		func(ctx context.Context) func() bool {
			c := openAI(url)
			return c.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
				Model:    servetest.Model,
				Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")}}).Next
		},
		func(ctx context.Context) func() bool {
			c := openAI(url)
			return c.Responses.NewStreaming(ctx, responses.ResponseNewParams{
				Model: servetest.Model, Input: responses.ResponseNewParamsInputUnion{
					OfString: openai.String("x")}}).Next
		},
		func(ctx context.Context) func() bool {
			c := anthropic.NewClient(anthropicoption.WithBaseURL(url),
				anthropicoption.WithAPIKey("sk-test"))
			return c.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
				Model: servetest.Model, MaxTokens: 90000, Messages: []anthropic.MessageParam{
					anthropic.NewUserMessage(anthropic.NewTextBlock("x"))}}).Next
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		next := read(ctx)
		for range 6 {
			if !next() {
				t.Fatalf("client %d: the stream ends", i)
			}
		}
		cancel()
		for next() {
		}
		for deadline := time.Now().Add(time.Minute); up.Cancelled.Load() <= int64(i); {
			if time.Now().After(deadline) {
				t.Fatalf("client %d: the upstream goes on", i)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestRefusals reads refusals as the clients' own errors.
func TestRefusals(t *testing.T) {
	url := start(t, agent(t))
	c := openAI(url)
	_, err := c.Responses.New(t.Context(), responses.ResponseNewParams{Model: servetest.Model,
		PreviousResponseID: openai.String("resp_1"),
		Input:              responses.ResponseNewParamsInputUnion{OfString: openai.String("x")}})
	if e, ok := err.(*openai.Error); !ok || e.StatusCode != 400 ||
		e.Param != "previous_response_id" || e.Type != "invalid_request_error" {
		t.Errorf("%v", err)
	}
	a := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("wrong"),
		anthropicoption.WithMaxRetries(0))
	_, err = a.Messages.New(t.Context(), anthropic.MessageNewParams{Model: servetest.Model,
		MaxTokens: 1, Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(anthropic.NewTextBlock("x"))}})
	if e, ok := err.(*anthropic.Error); !ok || e.StatusCode != 401 ||
		!strings.Contains(e.RawJSON(), "authentication_error") {
		t.Errorf("%v", err)
	}
}
