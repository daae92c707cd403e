package responsetemplate_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/turns"
	"github.com/goassay/assay/harness/foreign/responsetemplate"
)

var (
	every  = flag.Int("every", 1, "put one of so many templates to the test")
	drawn  = flag.Int("drawn", 24, "draw so many answers for each template")
	seed   = flag.Uint64("seed", 1, "draw them from this seed")
	listed = flag.Bool("listed", false, "list the answers that formats read otherwise than meant")
)

// scraps are what drawn texts are made of: no text of the proof's, and all that may be taken for a
// marker or for JSON.
var scraps = []string{"The bridge", "is open", "see", "Ålborg", "答え", "🙂", "a_b", "3.5", "-1", "true",
	"null", "[", "]", "[1]", "[link](http://x.y/z)", "(", ")", "{", "}", "{}", `{"a": 1}`, "<b>", "</b>", "<",
	">", "<br/>", "`", "``", "\n```json\n{\"b\": [2]}\n```\n", "\n```\n", "\"", "'", "\\", "\\n",
	"  ", "\t", "\n", "\n\n", "\n- ", "# ", "**", "|", "||", ",", ":", "=", "/", "$x$", "%", "&amp;",
	"call", "name", "f(x=1)", "print('y')", ".", "…", "«q»"}

// drawing draws answers of a model.
type drawing struct{ *rand.Rand }

func (d drawing) text(trim bool) string {
	for {
		var b strings.Builder
		for range 1 + d.IntN(9) {
			b.WriteString(scraps[d.IntN(len(scraps))])
			if d.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		text := b.String()
		if trim {
			text = strings.TrimSpace(text)
		}
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
}

func (d drawing) value(depth int) ordered.Value {
	switch n := d.IntN(8); {
	case n < 3:
		return ordered.Str(d.text(false))
	case n == 3:
		return ordered.Int(d.IntN(2000) - 1000)
	case n == 4:
		return ordered.Boolean(d.IntN(2) == 0)
	case n == 5 && depth > 0:
		items := make([]ordered.Value, d.IntN(3))
		for i := range items {
			items[i] = d.value(depth - 1)
		}
		return ordered.ArrayOf(items...)
	case n == 6 && depth > 0:
		var members []ordered.Member
		for i := range d.IntN(3) {
			members = append(members, ordered.MemberOf(fmt.Sprintf("k%d", i), d.value(depth-1)))
		}
		return ordered.ObjectOf(members...)
	}
	return ordered.Str("plain")
}

const drawnTools = `[
	{"type": "function", "function": {"name": "write_note", "description": "Writes.", "parameters": {"type": "object", "properties": {
		"path": {"type": "string"}, "body": {"type": "string"}, "line": {"type": "integer"}, "append": {"type": "boolean"},
		"tags": {"type": "array", "items": {"type": "string"}}, "meta": {"type": "object"}}, "required": ["path"]}}},
	{"type": "function", "function": {"name": "now", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}}}]`

// call draws a call of one of the tools.
func (d drawing) call(n int) (c chat.ToolCall, v ordered.Value) {
	c = chat.ToolCall{ID: fmt.Sprintf("drawn%04d", n), Name: "now", Arguments: "{}"}
	if d.IntN(4) > 0 {
		c.Name = "write_note"
		members := []ordered.Member{ordered.MemberOf("path", ordered.Str(d.text(false)))}
		for _, m := range []func() ordered.Member{
			func() ordered.Member { return ordered.MemberOf("body", ordered.Str(d.text(false))) },
			func() ordered.Member { return ordered.MemberOf("line", ordered.Int(d.IntN(900)-100)) },
			func() ordered.Member { return ordered.MemberOf("append", ordered.Boolean(d.IntN(2) == 0)) },
			func() ordered.Member {
				return ordered.MemberOf("tags", ordered.ArrayOf(ordered.Str(d.text(false)), ordered.Str("b")))
			},
			func() ordered.Member {
				return ordered.MemberOf("meta", ordered.ObjectOf(ordered.MemberOf("k", d.value(2))))
			},
		} {
			if d.IntN(3) == 0 {
				members = append(members, m())
			}
		}
		c.Arguments = ordered.ObjectOf(members...).String()
	}
	arguments, _ := ordered.ParseString(c.Arguments)
	return c, chat.CallOf(c.ID, c.Name, arguments)
}

// answer draws a message.
func (d drawing) answer(thinks bool) (m chat.Message, v ordered.Value) {
	var calls []ordered.Value
	kind := d.IntN(6)
	if kind < 4 {
		for n := range 1 + kind/3 {
			c, v := d.call(n)
			m.ToolCalls, calls = append(m.ToolCalls, c), append(calls, v)
		}
	}
	if kind > 1 {
		m.Content = d.text(true)
	}
	members := []ordered.Member{}
	if thinks && d.IntN(3) == 0 {
		m.Reasoning = d.text(true)
		members = append(members, ordered.MemberOf("reasoning_content", ordered.Str(m.Reasoning)))
	}
	if len(calls) > 0 {
		members = append(members, ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))
	}
	return m, chat.MessageOf("assistant", ordered.Str(m.Content), members...)
}

// written returns what a template writes of an answer after the prompt for it, less the end of the
// turn; ok is false where it writes another text before it, or none of the answer.
func written(tm *engine.Template, request chat.Request, prompt string, answer ordered.Value) (turn string, ok bool) {
	history := request
	history.Messages = append(history.Messages[:1:1], answer)
	history.NoGeneration = true
	past, err := tm.Render(history)
	if err != nil {
		return "", false
	}
	turn, ok = strings.CutPrefix(past.Text, prompt)
	cut := len(turn)
	for _, end := range tm.Analysis().Format.End {
		if i := strings.LastIndex(turn, strings.TrimSpace(end)); i >= 0 && strings.TrimSpace(end) != "" {
			cut = min(cut, i)
		}
	}
	return turn[:cut], ok && turn[:cut] != ""
}

// tells reports whether a turn has all texts of a message: templates drop thoughts of the past, text
// beside calls, further calls.
func tells(turn string, m chat.Message) bool {
	for _, call := range m.ToolCalls {
		_, rest, ok := strings.Cut(turn, call.Name)
		if !ok {
			return false
		}
		turn = turn[:len(turn)-len(rest)-len(call.Name)] + rest
	}
	return strings.Contains(turn, m.Content) && strings.Contains(turn, m.Reasoning)
}

// tally counts the answers of templates.
type tally struct {
	templates, emitted, refused int
	outputs, meant              int // that formats were put to, and read as they are meant
	tried, same                 int // that objects were put to, and read as the format does
}

func (a *tally) add(b tally) {
	a.templates, a.emitted, a.refused = a.templates+b.templates, a.emitted+b.emitted, a.refused+b.refused
	a.outputs, a.meant = a.outputs+b.outputs, a.meant+b.meant
	a.tried, a.same = a.tried+b.tried, a.same+b.same
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func (a tally) String() string {
	return fmt.Sprintf("%d templates with calls; formats read %d of %d drawn answers as they are meant (%.2f%%); "+
		"%d objects read %d of %d as the format does (%.2f%%), %d formats have none, with the reason", a.templates,
		a.meant, a.outputs, percent(a.meant, a.outputs), a.emitted, a.same, a.tried, percent(a.same, a.tried), a.refused)
}

// same reports whether two messages say the same; white space around texts does not count.
func same(a, b chat.Message) bool {
	if strings.TrimSpace(a.Content) != strings.TrimSpace(b.Content) ||
		strings.TrimSpace(a.Reasoning) != strings.TrimSpace(b.Reasoning) || len(a.ToolCalls) != len(b.ToolCalls) {
		return false
	}
	for i, call := range a.ToolCalls {
		x, errX := ordered.ParseString(call.Arguments)
		y, errY := ordered.ParseString(b.ToolCalls[i].Arguments)
		if call.Name != b.ToolCalls[i].Name || errX != nil || errY != nil || !ordered.Equal(x, y) {
			return false
		}
	}
	return true
}

// tried puts an output to a format, in whole and in pieces, and to its object.
func tried(t *testing.T, name string, plan *engine.Plan, parser *responsetemplate.Template, request chat.Request,
	d drawing, output string, meant chat.Message) (a tally) {
	got := plan.Parse(output, chat.FinishStop).Message
	p := plan.NewParser()
	for rest := output; rest != ""; {
		n := 1 + d.IntN(min(len(rest), 9))
		p.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	p.Close(chat.FinishStop)
	if streamed := p.Message(); streamed.Value().String() != got.Value().String() {
		t.Errorf("%s: %q is read as %s, in pieces as %s", name, output, got.Value(), streamed.Value())
	}
	for _, call := range got.ToolCalls {
		if v, err := ordered.ParseString(call.Arguments); call.Complete && (err != nil || v.Kind() != ordered.Object) {
			t.Errorf("%s: %q gives the arguments %q", name, output, call.Arguments)
		}
	}
	a.outputs = 1
	if !same(got, meant) {
		if *listed {
			t.Logf("%s: %q is read as\n%s and is meant as\n%s", name, output, got.Value(), meant.Value())
		}
		return a
	}
	if a.meant = 1; parser == nil {
		return a
	}
	turn := turns.Turn{Name: "drawn", JSON: []byte(request.Value().String()),
		Prompt: plan.Prompt.Text, Output: output, Message: got}
	verdict, err := responsetemplate.JudgeTurns(parser, []turns.Turn{turn})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, text := range verdict.Differences {
		t.Logf("%s: %s", name, text)
	}
	a.tried, a.same = 1, verdict.Read
	return a
}

// hubTemplate puts drawn answers to the format of a template, in whole and in pieces, and to its
// object.
func hubTemplate(t *testing.T, file string) (a tally) {
	name := filepath.Base(file)
	src, err := subject.Open(file, nil)
	if err != nil {
		return a
	}
	tm, err := src.Compile()
	if err != nil || tm.Gate().Err() != nil {
		return a
	}
	declared, err := ordered.ParseString(drawnTools)
	if err != nil {
		t.Fatal(err)
	}
	request, err := chat.ParseRequest(ordered.Pairs("messages", ordered.ArrayOf(chat.User("Note it.")), "tools", declared))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tm.Prepare(request, engine.PrepareOptions{})
	if err != nil {
		return a
	}
	a.templates = 1
	var parser *responsetemplate.Template
	object, err := responsetemplate.Emit(tm)
	var inexpressible *emit.Inexpressible
	switch {
	case errors.As(err, &inexpressible):
		a.refused = 1
		t.Logf("%s: refused: %.200s", name, err)
	case err != nil:
		t.Errorf("%s: %v", name, err)
	default:
		a.emitted = 1
		if parser, err = responsetemplate.Read(object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := tm.Analysis().Format
	d := drawing{rand.New(rand.NewPCG(*seed, uint64(len(src.Text))))}
	for range *drawn {
		meant, answer := d.answer(f.Reasoning.Open.Text != "")
		if output, ok := written(tm, request, plan.Prompt.Text, answer); ok && tells(output, meant) {
			a.add(tried(t, name, plan, parser, request, d, output, meant))
		}
		plain := chat.Message{Content: d.text(true)} // without any marker
		if read := plan.Parse(plain.Content, chat.FinishStop).Message; same(read, plain) {
			a.add(tried(t, name, plan, parser, request, d, plain.Content, plain))
		}
	}
	return a
}

// TestHub emits the objects of the Hub's templates that have tools, and counts the outputs with
// drawn texts that they read as the formats do.
func TestHub(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASSAY_HUB"), "*.jinja"))
	if err != nil || os.Getenv("ASSAY_HUB") == "" {
		t.Skip("ASSAY_HUB names no folder of templates")
	}
	var lock sync.Mutex
	var all tally
	next := make(chan string)
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for file := range next {
				one := hubTemplate(t, file)
				lock.Lock()
				all.add(one)
				lock.Unlock()
			}
		})
	}
	for i, file := range files {
		if i%*every == 0 {
			next <- file
		}
	}
	close(next)
	wait.Wait()
	t.Log(all)
	if percent(all.same, all.tried) < 99.5 {
		t.Error("fewer than 99.5% of the answers are read by the objects as by the formats")
	}
}
