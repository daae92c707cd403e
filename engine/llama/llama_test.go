package llama_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/harness/serve/live"
)

func TestStub(t *testing.T) {
	if llama.Available() {
		t.Skip("the library is in this binary")
	}
	if _, err := llama.Load(t.Context(), "x.gguf", llama.ModelOptions{}); !errors.Is(err,
		llama.ErrNotBuilt) {
		t.Errorf("Load: %v", err)
	}
}

// tiny loads the tiny model.
func tiny(t *testing.T, o llama.ModelOptions) *llama.Model {
	t.Helper()
	if !llama.Available() {
		t.Skip("this test binary was built without llama.cpp")
	}
	m, err := llama.Load(t.Context(), tinyFile(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func tinyFile(t *testing.T) string {
	t.Helper()
	path, err := live.WriteTinyFile(t.TempDir(), 1, "<s>", "</s>",
		[]string{"<tool_call>", "</tool_call>"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func newContext(t *testing.T, m *llama.Model, o llama.ContextOptions) *llama.Context {
	t.Helper()
	o.Threads = 1
	c, err := m.NewContext(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func tokens(t *testing.T, m *llama.Model, text string) []llama.Token {
	t.Helper()
	list, err := m.Tokenize(text, true)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func generate(t *testing.T, c *llama.Context, r llama.Request) (string, llama.Result) {
	t.Helper()
	var b strings.Builder
	result, err := c.Generate(t.Context(), r, func(_ llama.Token, text []byte) error {
		if len(text) == 0 {
			t.Error("emit was called with nothing")
		}
		b.Write(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), result
}

func TestTokenize(t *testing.T) {
	var last float64
	m := tiny(t, llama.ModelOptions{Progress: func(f float64) { last = f }})
	if last != 1 {
		t.Errorf("the last progress was %v", last)
	}
	var every []byte // so that some are no characters
	for c := range 256 {
		every = append(every, byte(c))
	}
	for _, text := range []string{"", string(every), "half of a pair: \xed\xa0\xbd.", "hello", "<s>a<tool_call>\n{\"ü\": \"日本\"}</tool_call></s>", "\x00", "é\u0301 \u200b\u00ad"} {
		var back strings.Builder
		for _, token := range tokens(t, m, text) {
			back.Write(m.Piece(token))
		}
		if want := strings.ToValidUTF8(text, "\ufffd"); back.String() != want {
			t.Errorf("%q comes back as %q, want %q", text, back.String(), want)
		}
	}
	if list := tokens(t, m, "<tool_call>"); len(list) != 1 {
		t.Errorf("a special token is %d tokens", len(list))
	}
	if end := tokens(t, m, "</s>"); len(end) != 1 || !m.IsEnd(end[0]) || m.IsEnd(-1) ||
		m.IsEnd(1<<30) {
		t.Errorf("</s> is %v, which does not end a turn", end)
	}
	if m.Piece(-1) != nil || m.Piece(1<<30) != nil {
		t.Error("an unknown token has a piece")
	}
	if info := m.Info(); info.Layers != 2 || info.Vocabulary < 256 || info.Parameters < 100_000 {
		t.Errorf("%+v", info)
	}
}

func TestGenerate(t *testing.T) {
	m := tiny(t, llama.ModelOptions{})
	c := newContext(t, m, llama.ContextOptions{Size: 1024, Batch: 16})
	prompt := tokens(t, m, "<s>"+strings.Repeat("A prompt of several batches. ", 10))
	sampled := llama.Sampling{Temperature: 1, TopK: 50, TopP: 0.99, MinP: 0.001, Seed: 5}
	quoted := &llama.Grammar{Text: `root ::= "{\"a\": \"" [a-z]{2,9} "\"}"`}
	first, result := generate(t, c,
		llama.Request{Prompt: prompt, Sampling: sampled, Grammar: quoted})
	if !strings.HasPrefix(first, `{"a": "`) || !strings.HasSuffix(first, `"}`) || result.End != llama.EndToken || result.Reused != 0 {
		t.Errorf("%q, %+v", first, result)
	}
	again, result := generate(t, c,
		llama.Request{Prompt: prompt, Sampling: sampled, Grammar: quoted})
	if again != first || result.Reused != len(prompt)-1 {
		t.Errorf("the same request gives %q, then %q, %+v", first, again, result)
	}
	greedy, _ := generate(t, c, llama.Request{Prompt: prompt, Max: 20})
	if same, _ := generate(t, newContext(t, m, llama.ContextOptions{Size: 512}),
		llama.Request{Prompt: prompt, Max: 20}); same != greedy {
		t.Errorf("greedy answers differ with the batch size: %q and %q", greedy, same)
	}
	given := tokens(t, m, "xyz")
	text, result := generate(t, c,
		llama.Request{Prompt: prompt, Begin: given, Stops: []string{"yz"}})
	if text != "x" || result.End != llama.EndStop || result.Text != "yz" || result.Tokens != 3 {
		t.Errorf("a stop that spans tokens: %q, %+v", text, result)
	}
	if _, result = generate(t, c,
		llama.Request{Prompt: prompt, Grammar: quoted, Max: 1}); result.End != llama.EndMax ||
		!result.End.Cut() {
		t.Errorf("with Max 1: %+v", result)
	}
	long := &llama.Grammar{Text: `root ::= "a" root`}
	if text, result = generate(t, c,
		llama.Request{Prompt: prompt, Grammar: long}); result.End != llama.EndFull ||
		len(text) != c.Size()-len(prompt) {
		t.Errorf("%d bytes in a context of %d tokens with a "+
			"prompt of %d, %+v", len(text), c.Size(), len(prompt), result)
	}
}

func TestLazyGrammar(t *testing.T) {
	m := tiny(t, llama.ModelOptions{})
	c := newContext(t, m, llama.ContextOptions{Size: 1024})
	prompt := tokens(t, m, "<s>Go")
	for _, test := range []struct {
		name, grammar string
		trigger       llama.Trigger
		begin, want   string
	}{
		{"word of one token", `root ::= "<tool_call>" "ab" "</tool_call>"`, llama.Trigger{Text: "<tool_call>"}, "free <tool_call>", "free <tool_call>ab</tool_call>"},
		{"word of several", `root ::= "call: " "1"`, llama.Trigger{Text: "call: "}, "a (word). call: ", "a (word). call: 1"},
		{"word with signs", `root ::= "f(x).*" "1"`, llama.Trigger{Text: "f(x).*"}, "f(x) f(x).*", "f(x) f(x).*1"},
		{"pattern", `root ::= "[" [a-z] "]!"`, llama.Trigger{Kind: llama.TriggerPattern, Text: `\s(\[[a-z])`}, "[ [q", "[ [q]!"},
		{"token", `root ::= "</tool_call>" "c"`, llama.Trigger{Kind: llama.TriggerToken, Text: "</tool_call>"}, "</tool_call>", "</tool_call>c"},
	} {
		g := &llama.Grammar{Text: test.grammar, Lazy: true, Triggers: []llama.Trigger{test.trigger}}
		got, result := generate(t, c,
			llama.Request{Prompt: prompt, Begin: tokens(t, m, test.begin), Grammar: g, Max: 60,
				Sampling: llama.Sampling{Temperature: 1}})
		if got != test.want {
			t.Errorf("%s: %q, %+v; want %q", test.name, got, result, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	m := tiny(t, llama.ModelOptions{})
	c := newContext(t, m, llama.ContextOptions{Size: 256})
	prompt := tokens(t, m, "<s>Go")
	for _, test := range []struct {
		name string
		want error
		r    llama.Request
	}{
		{"no prompt", llama.ErrDecode, llama.Request{}},
		{"no such token", llama.ErrDecode, llama.Request{Prompt: []llama.Token{1 << 20}}},
		{"long prompt", llama.ErrFull, llama.Request{Prompt: make([]llama.Token, 4096)}},
		{"grammar", llama.ErrGrammar, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: `root ::= missing`}}},
		{"grammar with NUL", llama.ErrGrammar, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: "root ::= \"a\x00\""}}},
		{"lazy without trigger", llama.ErrGrammar, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: `root ::= "a"`, Lazy: true}}},
		{"trigger that is no token", llama.ErrGrammar, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: `root ::= "a"`, Lazy: true,
			Triggers: []llama.Trigger{{Kind: llama.TriggerToken, Text: "two words"}}}}},
		{"beginning against the grammar", llama.ErrSample, llama.Request{Prompt: prompt, Begin: prompt[1:], Grammar: &llama.Grammar{Text: `root ::= "a"`}}},
	} {
		_, err := c.Generate(t.Context(), test.r, func(llama.Token, []byte) error { return nil })
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v; want %v", test.name, err, test.want)
		}
	}
	failed := errors.New("no more")
	if _, err := c.Generate(t.Context(), llama.Request{Prompt: prompt},
		func(llama.Token, []byte) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("emit's error comes back as %v", err)
	}
	if _, err := m.NewContext(llama.ContextOptions{Size: -1}); !errors.Is(err, llama.ErrMemory) {
		t.Errorf("a negative size: %v", err)
	}
	if _, err := m.NewContext(llama.ContextOptions{Size: 1<<31 - 1}); !errors.Is(err,
		llama.ErrMemory) || !strings.Contains(err.Error(), "GiB") {
		t.Errorf("an absurd size: %v", err)
	}
	whole, err := os.ReadFile(tinyFile(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": nil, "cut header": whole[:5000],
		"cut tensors": whole[:len(whole)-1000], "no model": []byte("GGUFnot at all"),
		"text": []byte("hello")} {
		path := filepath.Join(t.TempDir(), "bad.gguf")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if bad, err := llama.Load(t.Context(), path, llama.ModelOptions{}); !errors.Is(err,
			llama.ErrModel) {
			t.Errorf("%s: %v, %v", name, bad, err)
		}
	}
	if _, err := llama.Load(t.Context(), filepath.Join(t.TempDir(), "none.gguf"),
		llama.ModelOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestLongText lets a lazy grammar's triggers come after a long text. llama.cpp searches for them
// with a regular expression engine that recurses for each repetition, so that an unbounded one
// would exhaust the stack (package codegen makes none).
func TestLongText(t *testing.T) {
	if !llama.Available() {
		t.Skip("this test binary was built without llama.cpp")
	}
	long := "<" + strings.Repeat("word ", 2000) + ">" // one token
	path, err := live.WriteTinyFile(t.TempDir(), 1, "<s>", "</s>", []string{long, "<tool_call>"},
		"")
	if err != nil {
		t.Fatal(err)
	}
	m, err := llama.Load(t.Context(), path, llama.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	c := newContext(t, m, llama.ContextOptions{Size: 1024})
	begin := tokens(t, m, strings.Repeat(long, 20)+"<tool_call>{ ")
	for _, trigger := range []llama.Trigger{
		{Kind: llama.TriggerWord, Text: "<tool_call>"},
		{Kind: llama.TriggerWord, Text: "call>{ "},
		{Kind: llama.TriggerPattern, Text: `(<tool_call>\{\s{0,40})`},
	} {
		grammar := &llama.Grammar{Text: `root ::= "<tool_"? "call>{ done"`, Lazy: true, Triggers: []llama.Trigger{trigger}}
		text, result := generate(t, c,
			llama.Request{Prompt: tokens(t, m, "<s>Go"), Begin: begin, Grammar: grammar, Max: 100})
		if !strings.HasSuffix(text, "<tool_call>{ done") || result.End != llama.EndToken ||
			len(text) < 200_000 {
			t.Errorf("%+v: %d bytes that "+
				"end with %q, %+v", trigger, len(text), text[max(0, len(text)-40):], result)
		}
	}
}

func TestCancel(t *testing.T) {
	m := tiny(t, llama.ModelOptions{})
	c := newContext(t, m, llama.ContextOptions{Size: 4096})
	prompt := tokens(t, m, "<s>Go")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	_, err := c.Generate(ctx, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: `root ::= "a" root`}}, func(llama.Token, []byte) error {
		if n++; n == 5 {
			cancel(cause)
		}
		return nil
	})
	if !errors.Is(err, cause) || n > 6 {
		t.Errorf("after %d pieces: %v", n, err)
	}
	if _, err := llama.Load(ctx, tinyFile(t), llama.ModelOptions{}); !errors.Is(err, cause) {
		t.Errorf("Load: %v", err)
	}
	if text, _ := generate(t, c, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: `root ::= "ok"`}}); text != "ok" {
		t.Errorf("the context gives %q after it was cancelled", text)
	}
}

func TestClose(t *testing.T) {
	m := tiny(t, llama.ModelOptions{})
	c := newContext(t, m, llama.ContextOptions{Size: 256})
	prompt := tokens(t, m, "<s>Go")
	for range 2 {
		m.Close()
	}
	if text, _ := generate(t, c, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: `root ::= "ok"`}}); text != "ok" {
		t.Errorf("a context of a closed model gives %q", text)
	}
	for range 2 {
		c.Close()
	}
	if _, err := c.Generate(t.Context(), llama.Request{Prompt: prompt}, nil); !errors.Is(err,
		llama.ErrClosed) {
		t.Errorf("Generate: %v", err)
	}
	if _, err := m.Tokenize("a", true); !errors.Is(err, llama.ErrClosed) {
		t.Errorf("Tokenize: %v", err)
	}
	if _, err := m.NewContext(llama.ContextOptions{}); !errors.Is(err, llama.ErrClosed) {
		t.Errorf("NewContext: %v", err)
	}
}

// TestConcurrent uses a model from several goroutines, and one context from all of them. Run it
// with -race.
func TestConcurrent(t *testing.T) {
	m := tiny(t, llama.ModelOptions{})
	shared := newContext(t, m, llama.ContextOptions{Size: 512})
	prompt := tokens(t, m, "<s>Go")
	var lines sync.Map
	llama.SetLog(func(level llama.LogLevel, line string) { lines.Store(line, level) })
	defer llama.SetLog(nil)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			own := newContext(t, m, llama.ContextOptions{Size: 512})
			for _, c := range []*llama.Context{own, shared} {
				text, _ := generate(t, c, llama.Request{Prompt: prompt, Grammar: &llama.Grammar{Text: `root ::= "ok" [0-9]{20}`}, Sampling: llama.Sampling{Temperature: 1, Seed: uint32(i)}})
				if !strings.HasPrefix(text, "ok") || len(text) != 22 {
					t.Errorf("%q", text)
				}
			}
			tokens(t, m, "some text")
		})
	}
	all.Wait()
	if _, any := lines.LoadAndDelete(""); any {
		t.Log("empty lines were logged")
	}
}
