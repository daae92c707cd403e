package live_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/livetest"
	"github.com/goassay/assay/harness/testkit/double/pipenet"
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
	return run(t, tm, l, server, edit)
}

// late is limited for a server that lets requests wait: it runs in a bubble, where the limits of
// time are those of a fake clock.
func late(t *testing.T, tm *engine.Template, l openai.Limits, o livetest.Options,
	edit func(*live.Server)) (results []rule.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		results = run(t, tm, l, pipenet.NewServer(livetest.Handler(tm, o)), edit)
	})
	return results
}

func run(t *testing.T, tm *engine.Template, l openai.Limits, server *httptest.Server,
	edit func(*live.Server)) []rule.Result {
	t.Helper()
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

// asks reports whether a reply answers a question.
func asks(r *livetest.Reply, text string) bool {
	return strings.Contains(r.Request.String(), text) && r.Status == http.StatusOK
}

// editMessage changes the message of a chat completion in one piece.
func editMessage(r *livetest.Reply, change func(m ordered.Value) ordered.Value) {
	if choices := r.Body.At("choices").Items(); !r.Stream && len(choices) == 1 {
		r.Body = r.Body.With("choices",
			ordered.ArrayOf(choices[0].With("message", change(choices[0].At("message")))))
	}
}

// TestWrongServers breaks one thing at a time: the rules of the fault say so, and no others.
func TestWrongServers(t *testing.T) {
	tm := compile(t, "qwen3")
	count := map[wire.Protocol]int{}
	for _, fault := range livetest.Faults() {
		count[fault.Protocol]++
		t.Run(fault.Protocol.Name()+"/"+fault.Name, func(t *testing.T) {
			t.Parallel()
			judge := limited
			if fault.Silent {
				judge = late
			}
			found := map[string]bool{}
			for _, r := range judge(t, tm, openai.Limits{Line: 1 << 16},
				livetest.Options{Alter: fault.Alter()},
				func(s *live.Server) {
					if s.Protocols = []wire.Protocol{fault.Protocol}; fault.Beside {
						s.Protocols = wire.All
					}
				}) {
				if r.Status == rule.Passed {
					continue
				}
				found[r.Rule] = true
				first, _, _ := strings.Cut(r.Text, "\n")
				if !strings.HasPrefix(first, fault.Protocol.Name()+": ") && !fault.Beside {
					t.Errorf("[%s] %s", r.Rule, r.Text)
				}
			}
			got := strings.Join(slices.Sorted(maps.Keys(found)), " ")
			if got != fault.Rules {
				t.Errorf("found %q, want %q", got, fault.Rules)
			}
		})
	}
	for _, p := range wire.All {
		if count[p] < 40 {
			t.Errorf("%s: %d faults", p.Name(), count[p])
		}
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
	for _, fault := range livetest.Faults() {
		for _, id := range strings.Fields(fault.Rules) {
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
		if r.Severity != rule.Note && !seen[r.ID] && r.ID != "S022" &&
			r.ID != "S023" && r.ID != "S002" { // which other tests break
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

// TestLongName has a server whose model has a name as long as an answer may be.
func TestLongName(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			io.WriteString(w, `{"data": [{"id": "`+strings.Repeat("x", 1<<20)+`"}]}`)
		}
	}))
	defer server.Close()
	client, err := openai.New(server.URL, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.AskProperties(t.Context(), client); err == nil || len(err.Error()) > 1000 ||
		!strings.Contains(err.Error(), "a model whose name has 1048576 bytes") {
		t.Errorf("%.2000v", err)
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
			stream.Events = append(stream.Events,
				openai.Event{Name: chunk.At("type").Text(), Data: chunk})
		}
		for _, p := range wire.All {
			for _, r := range live.Judge(plan, p, &wire.Request{Chat: request}, v, stream) {
				if (r.Status == rule.Passed) != (r.Text == "") {
					t.Errorf("%+v", r)
				}
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
	r, err := wire.ChatCompletions.Decode(request, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tm.Prepare(r.Chat, engine.PrepareOptions{})
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
	for _, res := range live.Judge(plan, wire.ChatCompletions, r, body.JSON, stream) {
		// A model's text may break the request, have markers in it, or leave a call unfinished,
		// which is no reason to run it: the server must make the right answer of it all the same.
		if res.Status == rule.Failed &&
			!slices.Contains([]string{"S010", "S012", "S016", "S017", "S018", "S019"}, res.Rule) {
			t.Errorf("[%s] %s", res.Rule, res.Text)
		}
	}
}

// TestLate ends a run with a server that lets requests wait: every one, with silence or with a
// byte now and then, or every other one.
func TestLate(t *testing.T) { synctest.Test(t, testLate) }

func testLate(t *testing.T) {
	for name, c := range map[string]struct {
		wait  time.Duration
		turns bool
		want  string
	}{"silence": {time.Hour, false, "4 answers in a row"},
		"drops":    {time.Minute, false, "4 answers in a row"},
		"by turns": {time.Hour, true, "20 answers met"}} {
		var asked atomic.Int32
		server := pipenet.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1)%2 == 0 && c.turns {
				http.Error(w, "no", http.StatusInternalServerError)
				return
			}
			for r.Context().Err() == nil {
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(c.wait):
				case <-r.Context().Done():
				}
			}
		}))
		t.Cleanup(server.Close)
		client, err := openai.New(server.URL, "", openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&live.Server{Client: client, Model: "m", Max: 9, MaxFree: 9}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!errors.Is(err, openai.ErrSilent) && !errors.Is(err, openai.ErrSlow) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
