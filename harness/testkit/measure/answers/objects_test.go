package answers_test

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

// tally counts the answers of templates.
type tally struct {
	templates, emitted, refused int
	outputs, meant              int // that templates wrote, and that formats read as they are meant
	plain, said, thought        int // texts alone, and those read as content and as reasoning
	tried, same                 int // that objects were put to, and read as the format does
}

func (a *tally) add(b tally) {
	a.templates, a.emitted = a.templates+b.templates, a.emitted+b.emitted
	a.refused += b.refused
	a.outputs, a.meant = a.outputs+b.outputs, a.meant+b.meant
	a.plain, a.said, a.thought = a.plain+b.plain, a.said+b.said, a.thought+b.thought
	a.tried, a.same = a.tried+b.tried, a.same+b.same
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func (a tally) String() string {
	return fmt.Sprintf("%d templates with calls; formats read %d of %d drawn answers as they are "+
		"meant (%.2f%%), and of %d texts alone %d as content and %d as reasoning (%.2f%%); "+
		"%d objects read %d of %d as the format does (%.2f%%), %d formats have none, with the "+
		"reason", a.templates, a.meant, a.outputs, percent(a.meant, a.outputs), a.plain, a.said,
		a.thought, percent(a.said+a.thought, a.plain), a.emitted, a.same, a.tried,
		percent(a.same, a.tried), a.refused)
}

// subjects are a template with its object, the plan of a request, and the draw.
type subjects struct {
	drawing
	name   string
	plan   *engine.Plan
	object *responsetemplate.Template // nil: the language cannot express the format
	turn   turns.Turn                 // with the request and its prompt
}

// try puts an output to a format, in whole and in pieces, and to its object.
func (s *subjects) try(t *testing.T, output string, meant chat.Message) (a tally) {
	got := s.plan.Parse(output, chat.FinishStop).Message
	p := s.plan.NewParser()
	for rest := output; rest != ""; {
		n := 1 + s.IntN(min(len(rest), 9))
		p.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	p.Close(chat.FinishStop)
	if streamed := p.Message(); streamed.Value().String() != got.Value().String() {
		t.Errorf("%s: %q is read as %s, in pieces as %s", s.name, output, got.Value(),
			streamed.Value())
	}
	for _, call := range got.ToolCalls {
		v, err := ordered.ParseString(call.Arguments)
		if call.Complete && (err != nil || v.Kind() != ordered.Object) {
			t.Errorf("%s: %q gives the arguments %q", s.name, output, call.Arguments)
		}
	}
	a.outputs = 1
	if !same(got, meant) {
		if *listed {
			t.Logf("%s: %q is read as\n%s and is meant as\n%s", s.name, output, got.Value(),
				meant.Value())
		}
		return a
	}
	if a.meant = 1; s.object == nil {
		return a
	}
	turn := s.turn
	turn.Output, turn.Message = output, got
	verdict, err := responsetemplate.JudgeTurns(s.object, []turns.Turn{turn})
	if err != nil {
		t.Errorf("%s: %v", s.name, err)
	}
	for _, text := range verdict.Differences {
		t.Logf("%s: %s", s.name, text)
	}
	a.tried, a.same = 1, verdict.Read
	return a
}

// alone puts a text without a marker to a format and its object: it is content, or reasoning where
// the prompt leaves that open.
func (s *subjects) alone(t *testing.T, text string) tally {
	meant := chat.Message{Content: text}
	got := s.plan.Parse(text, chat.FinishStop).Message
	thought := got.Content == "" && strings.HasSuffix(strings.TrimSpace(got.Reasoning), text)
	if thought {
		meant = got
	}
	one := s.try(t, text, meant)
	a := tally{plain: 1, tried: one.tried, same: one.same}
	if thought {
		a.thought = one.meant
	} else {
		a.said = one.meant
	}
	return a
}

// ofTemplate draws answers of a template, with its markers and without any, and tries them.
func ofTemplate(t *testing.T, file string) (a tally) {
	name := filepath.Base(file)
	src, err := subject.Open(file, nil)
	if err != nil {
		return a
	}
	tm, err := src.Compile()
	if err != nil || tm.Gate().Err() != nil {
		return a
	}
	request := question(t, "Note it.")
	plan, err := tm.Prepare(request, engine.PrepareOptions{})
	if err != nil {
		return a
	}
	s := subjects{drawing{rand.New(rand.NewPCG(*seed, uint64(len(src.Text))))}, name, plan, nil,
		turns.Turn{Name: "drawn", JSON: []byte(request.Value().String()),
			Prompt: plan.Prompt.Text}}
	a.templates = 1
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
		if s.object, err = responsetemplate.Read(object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	thinks := tm.Analysis().Format.Reasoning.Open.Text != ""
	for range *drawn {
		meant, answer := s.answer(thinks)
		output, ok := written(tm, request, plan.Prompt.Text, answer)
		if ok && tells(output, meant) {
			a.add(s.try(t, output, meant))
		}
		a.add(s.alone(t, s.text(true)))
	}
	return a
}

// TestObjects emits the objects of the Hub's templates that have tools, and counts the drawn
// answers that they read as the formats do.
func TestObjects(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASSAY_HUB"), "*.jinja"))
	if err != nil || os.Getenv("ASSAY_HUB") == "" {
		t.Log("ASSAY_HUB names no folder of templates: they are left out")
		return
	}
	var lock sync.Mutex
	var all tally
	next := make(chan string)
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for file := range next {
				one := ofTemplate(t, file)
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
	if percent(all.meant, all.outputs) < 98 || percent(all.said+all.thought, all.plain) < 99.5 {
		t.Error("fewer than 98% of the answers, or 99.5% of the texts, are read as they are meant")
	}
	if percent(all.same, all.tried) < 99.5 {
		t.Error("fewer than 99.5% of the answers are read by the objects as by the formats")
	}
}
