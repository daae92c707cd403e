package live_test

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/families"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/live/livetest"
	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
	"github.com/goassay/assay/harness/subject"
)

// battery puts a server through it.
func battery(t *testing.T, tm *engine.Template, o livetest.Options,
	edit func(*live.Server)) []rule.Result {
	t.Helper()
	return limited(t, tm, openai.Limits{Line: 1 << 16}, o, edit)
}

// limited is battery with limits.
func limited(t *testing.T, tm *engine.Template, l openai.Limits, o livetest.Options,
	edit func(*live.Server)) []rule.Result {
	t.Helper()
	server := livetest.New(tm, o)
	t.Cleanup(server.Close)
	client, err := openai.New(server.URL, "", l)
	if err != nil {
		t.Fatal(err)
	}
	s := &live.Server{Client: client, Model: livetest.Model, Template: tm, Max: 5000, MaxFree: 500}
	if edit != nil {
		edit(s)
	}
	results, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// scenario is that of a reply's request, by the question.
func asks(r *livetest.Reply, text string) bool {
	return strings.Contains(r.Request.At("messages").String(), text) && r.Status == http.StatusOK
}

func required(r *livetest.Reply) bool {
	return r.Request.At("tool_choice").Text() == "required" && r.Status == http.StatusOK
}

// edit changes the delta of each chunk of a stream; nil leaves the chunk out.
func edit(r *livetest.Reply, change func(i int, delta ordered.Value) *ordered.Value) {
	if !r.Stream {
		return
	}
	var kept []ordered.Value
	for i, c := range r.Chunks {
		delta := livetest.Chunk(c)
		if delta.Kind() != ordered.Object {
			kept = append(kept, c)
		} else if changed := change(i, delta); changed != nil {
			kept = append(kept, livetest.WithDelta(c, *changed))
		}
	}
	r.Chunks = kept
}

// editCalls changes the calls of each delta.
func editCalls(r *livetest.Reply, change func(call ordered.Value) ordered.Value) {
	edit(r, func(_ int, delta ordered.Value) *ordered.Value {
		if calls := delta.At("tool_calls").Items(); len(calls) > 0 {
			changed := make([]ordered.Value, len(calls))
			for i, c := range calls {
				changed[i] = change(c)
			}
			delta = delta.With("tool_calls", ordered.ArrayOf(changed...))
		}
		return &delta
	})
}

// editMessage changes the message of an answer in one piece.
func editMessage(r *livetest.Reply, change func(m ordered.Value) ordered.Value) {
	if choices := r.Body.At("choices").Items(); !r.Stream && len(choices) == 1 {
		r.Body = r.Body.With("choices",
			ordered.ArrayOf(choices[0].With("message", change(choices[0].At("message")))))
	}
}

func editChoices(v *ordered.Value, key string, value ordered.Value) {
	if choices := v.At("choices").Items(); len(choices) == 1 {
		*v = v.With("choices", ordered.ArrayOf(choices[0].With(key, value)))
	}
}

func insert(r *livetest.Reply, at int, delta ordered.Value) {
	if r.Stream && r.Status == http.StatusOK {
		r.Chunks = slices.Insert(r.Chunks, at, livetest.WithDelta(r.Chunks[1], delta))
	}
}

func text(key, value string) ordered.Member {
	return ordered.Member{Key: key, Value: ordered.Str(value)}
}

// faults are servers that are wrong in one respect each, and the rules that must say so. Rules that
// follow from the same fault may say so too.
var faults = []struct {
	name   string
	alter  func(r *livetest.Reply)
	want   string // rules, all of them
	silent bool   // the server is, so that a short limit is set
}{
	{"text that is taken back", func(r *livetest.Reply) {
		if required(r) {
			insert(r, 1, ordered.ObjectOf(text("content", "<tool")))
		}
	}, "S014", false},
	{"a marker leaks", func(r *livetest.Reply) {
		if !asks(r, "Say hello") {
			return
		}
		insert(r, 2, ordered.ObjectOf(text("content", "</think>")))
		editMessage(r, func(m ordered.Value) ordered.Value {
			return m.With("content", ordered.Str("</think>"+m.At("content").Text()))
		})
	}, "S016", false},
	{"the name comes twice", func(r *livetest.Reply) {
		editCalls(r, func(c ordered.Value) ordered.Value {
			return c.With("function", c.At("function").With("name", ordered.Str("get_weather")))
		})
	}, "S009", false},
	{"the name is null afterwards", func(r *livetest.Reply) {
		editCalls(r, func(c ordered.Value) ordered.Value {
			if c.At("function", "name").IsNull() {
				c = c.With("function", c.At("function").With("name", ordered.Value{}))
			}
			return c
		})
	}, "S009", false},
	{"the index is shifted", func(r *livetest.Reply) {
		editCalls(r, func(c ordered.Value) ordered.Value {
			if c.At("function", "name").IsNull() {
				c = c.With("index", ordered.Int(1))
			}
			return c
		})
	}, "S009", false},
	{"arguments are encoded twice", func(r *livetest.Reply) {
		editMessage(r, func(m ordered.Value) ordered.Value {
			calls := m.At("tool_calls").Items()
			if len(calls) == 0 {
				return m
			}
			f := calls[0].At("function")
			return m.With("tool_calls",
				ordered.ArrayOf(calls[0].With("function",
					f.With("arguments", ordered.Str(f.At("arguments").String())))))
		})
	}, "S010", false},
	{"arguments are an object", func(r *livetest.Reply) {
		editMessage(r, func(m ordered.Value) ordered.Value {
			calls := m.At("tool_calls").Items()
			if len(calls) == 0 {
				return m
			}
			return m.With("tool_calls",
				ordered.ArrayOf(calls[0].With("function", calls[0].At("function").
					With("arguments", ordered.ObjectOf()))))
		})
	}, "S010", false},
	{"a fragment of the arguments is lost", func(r *livetest.Reply) {
		lost := false
		edit(r, func(_ int, delta ordered.Value) *ordered.Value {
			if calls := delta.At("tool_calls").Items(); len(calls) > 0 &&
				calls[0].At("id").IsNull() && !lost {
				lost = true
				return nil
			}
			return &delta
		})
	}, "S010", false},
	{"no [DONE]", func(r *livetest.Reply) { r.Tail = "" }, "S005", false},
	{"an event after [DONE]", func(r *livetest.Reply) { r.Tail += "data: {}\n\n" }, "S005", false},
	{"no finish reason in the stream", func(r *livetest.Reply) {
		for i := range r.Chunks {
			editChoices(&r.Chunks[i], "finish_reason", ordered.Value{})
		}
	}, "S005", false},
	{"the stream has other text", func(r *livetest.Reply) { insert(r, 2, ordered.ObjectOf(text("content", " "))) }, "S014", false},
	{"the finish reason of a call is stop", func(r *livetest.Reply) {
		if required(r) {
			editChoices(&r.Body, "finish_reason", ordered.Str("stop"))
			if r.Stream {
				editChoices(&r.Chunks[len(r.Chunks)-2], "finish_reason", ordered.Str("stop"))
			}
		}
	}, "S012", false},
	{"an unknown finish reason", func(r *livetest.Reply) { editChoices(&r.Body, "finish_reason", ordered.Str("eos")) }, "S003", false},
	{"a call that is cut off", func(r *livetest.Reply) {
		if required(r) {
			editChoices(&r.Body, "finish_reason", ordered.Str("length"))
		}
	}, "S014", false},
	{"an error within the stream", func(r *livetest.Reply) {
		if r.Stream {
			r.Chunks = append(r.Chunks[:2],
				ordered.ObjectOf(ordered.Member{Key: "error",
					Value: ordered.ObjectOf(text("message", "out of memory"))}))
		}
	}, "S005", false},
	{"status 500", func(r *livetest.Reply) {
		if required(r) {
			r.Status, r.Stream, r.Body = http.StatusInternalServerError, false,
				ordered.ObjectOf(ordered.Member{Key: "error",
					Value: ordered.ObjectOf(text("message", "parse error"))})
		}
	}, "S001", false},
	{"no answer", func(r *livetest.Reply) { r.Hang = required(r) && !r.Stream }, "S001", true},
	{"a stream that goes silent", func(r *livetest.Reply) { r.Hang = required(r) && r.Stream }, "S005", true},
	{"a stream that breaks off", func(r *livetest.Reply) { r.Tail = "data: {\"id\": \"chatc" }, "S005", false},
	{"a line that is no JSON", func(r *livetest.Reply) { r.Tail = "data: {'id': 1}\n\n" + r.Tail }, "S004", false},
	{"an error that is no event", func(r *livetest.Reply) { r.Tail = "{\"error\": {\"message\": \"x\"}}\n\n" + r.Tail }, "S004", false},
	{"a giant line", func(r *livetest.Reply) { r.Tail = "data: \"" + strings.Repeat("x", 1<<17) + "\"\n\n" + r.Tail }, "S004", false},
	{"no call where one is required", func(r *livetest.Reply) {
		if !required(r) {
			return
		}
		editMessage(r, func(m ordered.Value) ordered.Value {
			return m.Without("tool_calls").With("content", ordered.Str("It rains."))
		})
		editChoices(&r.Body, "finish_reason", ordered.Str("stop"))
	}, "S017", false},
	{"a call where none is allowed", func(r *livetest.Reply) {
		if r.Request.At("tool_choice").Text() == "none" {
			editMessage(r, func(m ordered.Value) ordered.Value {
				return ordered.ObjectOf(text("role", "assistant"),
					ordered.Member{Key: "tool_calls",
						Value: ordered.ArrayOf(ordered.ObjectOf(text("id", "a"),
							text("type", "function"),
							ordered.Member{Key: "function",
								Value: ordered.ObjectOf(text("name", "list_notes"),
									text("arguments", "{}"))}))})
			})
			editChoices(&r.Body, "finish_reason", ordered.Str("tool_calls"))
		}
	}, "S014 S017", false},
	{"another function than the named one", func(r *livetest.Reply) {
		if r.Request.At("tool_choice", "function", "name").Text() == "list_notes" {
			editMessage(r, func(m ordered.Value) ordered.Value {
				call := m.At("tool_calls").Items()[0]
				return m.With("tool_calls",
					ordered.ArrayOf(call.With("function", call.At("function").
						With("name", ordered.Str("get_weather")))))
			})
		}
	}, "S017 S018", false},
	{"two calls where one is allowed", func(r *livetest.Reply) {
		if required(r) && !r.Request.At("parallel_tool_calls").Bool() {
			editMessage(r, func(m ordered.Value) ordered.Value {
				call := m.At("tool_calls").Items()[0]
				return m.With("tool_calls", ordered.ArrayOf(call, call))
			})
		}
	}, "S017", false},
	{"a call of an undeclared function", func(r *livetest.Reply) {
		editMessage(r, func(m ordered.Value) ordered.Value {
			calls := m.At("tool_calls").Items()
			if len(calls) == 0 {
				return m
			}
			return m.With("tool_calls",
				ordered.ArrayOf(calls[0].With("function", calls[0].At("function").
					With("name", ordered.Str("rm")))))
		})
	}, "S018", false},
	{"arguments that the schema forbids", func(r *livetest.Reply) {
		if required(r) {
			editMessage(r, func(m ordered.Value) ordered.Value {
				call := m.At("tool_calls").Items()[0]
				return m.With("tool_calls", ordered.ArrayOf(call.With("function", ordered.ObjectOf(text("name", "get_weather"), text("arguments", `{"city": "Bern", "days": "2"}`)))))
			})
		}
	}, "S018", false},
	{"reasoning in the content", func(r *livetest.Reply) {
		editMessage(r, func(m ordered.Value) ordered.Value {
			thought := m.At("reasoning_content").Text()
			if thought == "" {
				return m
			}
			return m.Without("reasoning_content").
				With("content", ordered.Str("<think>"+thought+"</think>"+m.At("content").Text()))
		})
	}, "S014 S016", false},
	{"the answer is reasoning although thinking is off", func(r *livetest.Reply) {
		if on := r.Request.At("chat_template_kwargs",
			"enable_thinking"); on.Kind() == ordered.Bool && !on.Bool() &&
			r.Status == http.StatusOK {
			editMessage(r, func(m ordered.Value) ordered.Value {
				return ordered.ObjectOf(text("role", "assistant"),
					text("reasoning_content", m.At("content").Text()),
					ordered.Member{Key: "content"})
			})
		}
	}, "S014 S020", false},
	{"reasoning and content in one delta", func(r *livetest.Reply) {
		insert(r, 2, ordered.ObjectOf(text("reasoning_content", "a"), text("content", "b")))
	}, "S008", false},
	{"a character is split", func(r *livetest.Reply) { insert(r, 2, ordered.ObjectOf(text("content", "\xc3"))) }, "S011", false},
	{"a character becomes U+FFFD", func(r *livetest.Reply) {
		edit(r, func(_ int, delta ordered.Value) *ordered.Value {
			if c := delta.At("content").Text(); strings.Contains(c, "ü") {
				delta = delta.With("content",
					ordered.Str(strings.ReplaceAll(c, "ü", "\uFFFD\uFFFD")))
			}
			return &delta
		})
	}, "S011 S014", false},
	{"no role", func(r *livetest.Reply) {
		edit(r, func(_ int, delta ordered.Value) *ordered.Value {
			delta = delta.Without("role")
			return &delta
		})
	}, "S007", false},
	{"another role later", func(r *livetest.Reply) { insert(r, 2, ordered.ObjectOf(text("role", "user"))) }, "S007", false},
	{"the id changes", func(r *livetest.Reply) {
		for i := range r.Chunks {
			r.Chunks[i] = r.Chunks[i].With("id", ordered.Str(strings.Repeat("x", i+1)))
		}
	}, "S006", false},
	{"text after the finish reason", func(r *livetest.Reply) {
		if r.Stream {
			insert(r, len(r.Chunks)-1, ordered.ObjectOf(text("content", "more")))
		}
	}, "S006", false},
	{"two choices", func(r *livetest.Reply) {
		for i, c := range r.Chunks {
			if choices := c.At("choices").Items(); len(choices) == 1 {
				r.Chunks[i] = c.With("choices",
					ordered.ArrayOf(choices[0], choices[0].With("index", ordered.Int(1))))
			}
		}
	}, "S006", false},
	{"no message", func(r *livetest.Reply) {
		if r.Status == http.StatusOK {
			r.Body = ordered.ObjectOf(text("object", "chat.completion"))
		}
	}, "S003", false},
	{"usage that does not add up", func(r *livetest.Reply) {
		if r.Status == http.StatusOK {
			r.Body = r.Body.With("usage", r.Body.At("usage").With("total_tokens", ordered.Int(1)))
		}
	}, "S013", false},
	{"no usage in the stream", func(r *livetest.Reply) {
		if r.Stream {
			r.Chunks = r.Chunks[:len(r.Chunks)-1]
		}
	}, "S013", false},
	{"more tokens than were asked for", func(r *livetest.Reply) {
		if r.Status == http.StatusOK {
			r.Body = r.Body.With("usage",
				ordered.ObjectOf(ordered.Member{Key: "prompt_tokens", Value: ordered.Int(1)},
					ordered.Member{Key: "completion_tokens", Value: ordered.Int(9999)},
					ordered.Member{Key: "total_tokens", Value: ordered.Int(10000)}))
		}
	}, "S013", false},
	{"prose instead of JSON", func(r *livetest.Reply) {
		if !r.Request.At("response_format").IsNull() {
			editMessage(r, func(m ordered.Value) ordered.Value {
				return m.Without("tool_calls").With("content", ordered.Str("Sunny."))
			})
		}
	}, "S014 S019", false},
	{"errors without a type", func(r *livetest.Reply) {
		if r.Status != http.StatusOK {
			r.Body = ordered.ObjectOf(text("detail", "wrong"))
		}
	}, "S021", false},
	{"errors with status 200", func(r *livetest.Reply) { r.Status = http.StatusOK }, "S021", false},
}

// TestWrongServers breaks one thing at a time.
func TestWrongServers(t *testing.T) {
	tm := compile(t, "qwen3")
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := map[string]bool{}
			limits := openai.Limits{Line: 1 << 16}
			if tt.silent {
				limits.Silence = 300 * time.Millisecond
			}
			for _, r := range limited(t, tm, limits, livetest.Options{Alter: tt.alter}, nil) {
				if r.Status == rule.Failed {
					found[r.Rule] = true
					if r.Text == "" {
						t.Errorf("%s says nothing", r.Rule)
					}
				}
			}
			for _, id := range strings.Fields(tt.want) {
				if !found[id] {
					t.Errorf("%s does not see it; %v do", id, found)
				}
			}
		})
	}
}

// TestRightServer has nothing to say of a right one, with and without the template.
func TestRightServer(t *testing.T) {
	tm := compile(t, "qwen3")
	for name, change := range map[string]func(*live.Server){"template": nil,
		"none": func(s *live.Server) { s.Template = nil }} {
		t.Run(name, func(t *testing.T) {
			rules := map[string]bool{}
			for _, r := range battery(t, tm, livetest.Options{}, change) {
				if r.Status != rule.Passed {
					t.Errorf("%s [%s]: %s", r.Name, r.Rule, r.Text)
				}
				_, rule, _ := strings.Cut(r.Name, "/")
				rules[rule] = true
			}
			for _, r := range live.Rules() {
				known := name == "template" || r.ID != "S016"
				if needsRaw := r.ID == "S022" || r.ID == "S023" || r.ID == "S024" ||
					r.ID == "S015"; rules[r.Name] == needsRaw && known {
					t.Errorf("rule %s was looked at: %t", r.ID, rules[r.Name])
				}
			}
		})
	}
}

// TestUnsteadyServer is held to structure.
func TestUnsteadyServer(t *testing.T) {
	tm := compile(t, "qwen3")
	n := 0
	results := battery(t, tm, livetest.Options{Output: func(r chat.Request, _ *engine.Plan) string {
		if len(r.Tools) > 0 || r.HasJSONSchema {
			return `<tool_call>` + "\n" + `{"name": "list_notes", "arguments": {}}` + "\n</tool_call>"
		}
		n++
		return "Hello" + strings.Repeat("!", n)
	}}, func(s *live.Server) { s.Template = nil })
	for _, r := range results {
		if strings.HasPrefix(r.Name, "content/") && r.Status == rule.Failed {
			t.Errorf("%s: %s", r.Name, r.Text)
		}
		if r.Name == "content/repeats" && r.Status != rule.Found {
			t.Errorf("%s: %s", r.Name, r.Status)
		}
	}
	if !slices.ContainsFunc(results, func(r rule.Result) bool { return r.Rule == "S015" }) {
		t.Error("nobody saw that the server does not repeat itself")
	}
}

// TestRawByCompletion takes the text from the prompt's completion where nothing constrains the
// answer.
func TestRawByCompletion(t *testing.T) {
	results := battery(t, compile(t, "qwen3"), livetest.Options{Alter: func(r *livetest.Reply) {
		if asks(r, "Say hello") {
			editMessage(r, func(m ordered.Value) ordered.Value {
				return m.With("content",
					ordered.Str("Hello."))
			})
		}
	}}, func(s *live.Server) { s.Raw = true })
	status := map[string]rule.Status{}
	for _, r := range results {
		status[r.Name] = r.Status
	}
	for name, want := range map[string]rule.Status{"content/raw-agrees": rule.Failed,
		"continued/raw-agrees": rule.Passed, "required/raw-known": rule.Found} {
		if got, ok := status[name]; !ok || got != want {
			t.Errorf("%s: %s, %t, want %s", name, got, ok, want)
		}
	}
}

// TestRaw compares a server's reading with this project's.
func TestRaw(t *testing.T) {
	tm := compile(t, "qwen3")
	results := battery(t, tm, livetest.Options{Raw: true, Alter: func(r *livetest.Reply) {
		if asks(r, "Say hello") {
			editMessage(r, func(m ordered.Value) ordered.Value {
				return m.Without("reasoning_content").
					With("content", ordered.Str("<think>"+m.At("reasoning_content").
						Text()+"</think>"+m.At("content").Text()))
			})
		}
	}}, func(s *live.Server) { s.Raw = true })
	for _, r := range results {
		if want := r.Name == "content/raw-agrees"; want &&
			(r.Status != rule.Failed || !strings.Contains(r.Text, "the model wrote")) {
			t.Errorf("%s: %s %s", r.Name, r.Status, r.Text)
		}
	}
}

// TestPrompts takes the server's default of thinking, and does not judge answers to another prompt.
func TestPrompts(t *testing.T) {
	thinks := compile(t, "qwq")
	for _, r := range battery(t, thinks, livetest.Options{Raw: true, Think: true},
		func(s *live.Server) { s.Raw = true }) {
		if r.Status != rule.Passed {
			t.Errorf("%s [%s]: %s", r.Name, r.Rule, r.Text)
		}
	}
	for _, r := range battery(t, thinks, livetest.Options{Raw: true},
		func(s *live.Server) { s.Raw, s.Template = true, compile(t, "llama-3") }) {
		_, name, _ := strings.Cut(r.Name, "/")
		if other := name == "prompt-agrees" ||
			name == "raw-known"; other != (r.Status == rule.Found) || name == "raw-agrees" {
			t.Errorf("%s: %s %s", r.Name, r.Status, r.Text)
		}
	}
}

func TestRules(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range live.Rules() {
		if r.ID == "" || ids[r.ID] || r.Short == "" || r.Damage == "" || r.Fix == "" {
			t.Errorf("rule %+v", r)
		}
		ids[r.ID] = true
		if !strings.Contains(live.Book().Manual(), r.Markdown()) {
			t.Errorf("the manual lacks %s", r.ID)
		}
	}
	seen := map[string]bool{}
	for _, tt := range faults {
		for _, id := range strings.Fields(tt.want) {
			seen[id] = true
		}
	}
	for _, p := range rule.Pains() {
		for _, id := range p.Rules {
			if id[0] == 'S' && !ids[id] {
				t.Errorf("%s names the rule %s, which is not there", p.ID, id)
			}
		}
	}
	for _, r := range live.Rules() {
		if r.Severity == rule.Error && !seen[r.ID] && r.ID != "S022" { // which TestRaw breaks
			t.Errorf("no test breaks %s", r.ID)
		}
	}
}

// TestProperties asks servers for their properties.
func TestProperties(t *testing.T) {
	tm := compile(t, "qwen3")
	for _, source := range []string{"", "{{ messages }}"} {
		server := livetest.New(tm, livetest.Options{Source: source})
		defer server.Close()
		client, err := openai.New(server.URL, "", openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := live.AskProperties(t.Context(), client)
		if err != nil || p.Model != livetest.Model || p.Template != source ||
			(p.BOS == subject.BOS) != (source != "") {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// FuzzAnswers believes nothing that a server says: any body, and any data of a stream.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"choices": [{"index": 0, "message": {"role": "assistant", "content": "x", "tool_calls": [{"function": {"name": 3, "arguments": {}}}]}, "finish_reason": "stop"}],
		"__verbose": {"content": "</think>"}}`, `[]`)
	f.Add(`{"choices": 3, "usage": {"prompt_tokens": -1}}`, `[{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a",
		"function": {"name": "f", "arguments": "{"}}, {"index": 7}, {"index": -1}, {"index": 0, "function": {"arguments": "}"}}]}}]},
		{"choices": [{"delta": {"content": "x", "reasoning": ["y"]}, "finish_reason": "length"}], "usage": {"prompt_tokens": 1e9}}, {"error": 3}]`)
	tm, err := subject.New("chat", "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<assistant><think>{% endif %}").Compile()
	if err != nil {
		f.Fatal(err)
	}
	request := standard.ToolRequest()
	plan, err := tm.Prepare(request, engine.PrepareOptions{Insist: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body, events string) {
		v, _ := ordered.ParseString(body) // null where it is no JSON, as from a server
		chunks, _ := ordered.ParseString(events)
		stream := &openai.Stream{Done: true}
		for _, chunk := range chunks.Items() {
			stream.Events = append(stream.Events, openai.Event{Data: chunk})
		}
		for _, r := range live.Judge(plan, request, v, stream) {
			if (r.Status == rule.Passed) != (r.Text == "") {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestRecordedOutputs plays the recorded outputs of the corpus as answers of a server, and reads
// them back. Those of a case that ends the output at a limit, or that has none, are left out.
func TestRecordedOutputs(t *testing.T) {
	all, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for i := range all.Families {
		f := &all.Families[i]
		if !f.Own {
			continue
		}
		var output string
		tm := compile(t, f.Name)
		server := livetest.New(tm,
			livetest.Options{Raw: true,
				Output: func(chat.Request, *engine.Plan) string { return output }})
		defer server.Close()
		client, err := openai.New(server.URL, "", openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range f.Cases {
			text, err := fs.ReadFile(all.FS, name)
			if err != nil {
				t.Fatal(err)
			}
			request := ordered.Value{}
			a := txtar.Parse(text)
			output = ""
			for _, file := range a.Files {
				switch file.Name {
				case "request.json":
					if request, err = ordered.Parse(file.Data); err != nil {
						t.Fatal(err)
					}
				case "output.txt":
					output = strings.TrimSuffix(string(file.Data), "\n")
				}
			}
			if request.IsNull() || output == "" ||
				!strings.Contains(string(a.Comment), "\nparse output.txt message.json\n") {
				continue
			}
			played++
			t.Run(name, func(t *testing.T) { playRecorded(t, tm, client, request) })
		}
	}
	if played < 100 {
		t.Errorf("only %d outputs were played", played)
	}
}

func playRecorded(t *testing.T, tm *engine.Template, client *openai.Client, request ordered.Value) {
	r, err := chat.ParseRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tm.Prepare(r, engine.PrepareOptions{})
	if errors.Is(err, engine.ErrUnverified) {
		t.Skip("no server can call with this template")
	} else if err != nil {
		t.Fatal(err)
	}
	body, err := client.Post(t.Context(), "/v1/chat/completions",
		request.Append(nil, ordered.Compact))
	if err != nil {
		t.Fatal(err)
	}
	request = request.With("stream", ordered.Boolean(true)).
		With("stream_options",
			ordered.ObjectOf(ordered.Member{Key: "include_usage", Value: ordered.Boolean(true)}))
	stream, answer, err := client.Stream(t.Context(), "/v1/chat/completions",
		request.Append(nil, ordered.Compact))
	if err != nil || answer != nil {
		t.Fatal(answer, err)
	}
	for _, res := range live.Judge(plan, r, body.JSON, stream) {
		// A model's text may break the request, have markers in it, or leave a call unfinished,
		// which is no reason to run it: the server must make the right answer of it all the same.
		if res.Status == rule.Failed &&
			!slices.Contains([]string{"S010", "S012", "S016", "S017", "S018", "S019"}, res.Rule) {
			t.Errorf("[%s] %s", res.Rule, res.Text)
		}
	}
}
