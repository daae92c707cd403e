package tokens_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/tokens"
)

// BenchmarkRender renders the standard battery with every template of the corpus: segments, each of
// which is looked at, may add a fifth at most. Pieces are the prompts as a server tokenises them.
func BenchmarkRender(b *testing.B) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		b.Fatal(err)
	}
	suite, battery := script.Suite{Corpus: loaded}, standard.Battery()
	for _, c := range []struct {
		name             string
		segments, pieces bool
	}{{"plain", false, false}, {"segments", true, false}, {"pieces", true, true}} {
		var all []*engine.Template
		var vocabularies []*engine.Vocabulary
		for _, v := range suite.Variants() {
			src, err := suite.Source(b.Context(), v)
			if err != nil {
				b.Fatal(err)
			}
			t, err := engine.Compile(b.Context(), src.Source,
				engine.Options{Now: subject.Now, Segments: c.segments})
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, t)
			vocabularies = append(vocabularies, tokens.Made(t.Analysis().Format))
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			begun := processor(b)
			asked := 0 // bytes of the request
			for b.Loop() {
				for i, t := range all {
					for _, conversation := range battery {
						p, err := t.Render(conversation.Request)
						if err != nil || !c.segments {
							continue
						}
						if c.pieces {
							if _, err := p.Pieces(vocabularies[i]); err != nil {
								b.Fatal(err)
							}
							continue
						}
						segments, err := p.Segments()
						if err != nil {
							b.Fatal(err)
						}
						for s := range segments.All() {
							if !s.Own {
								asked += len(s.Text)
							}
						}
					}
				}
			}
			b.ReportMetric(float64(processor(b)-begun)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processor returns the processor time of the process, the collector's included.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkParse reads an output of 8,192 tokens by bytes and by ids, a token a call.
func BenchmarkParse(b *testing.B) {
	text, err := corpus.FS.ReadFile("qwen3/template.jinja")
	if err != nil {
		b.Fatal(err)
	}
	src := subject.New("qwen3", string(text)).Source
	plain, err := engine.Compile(b.Context(), src, engine.Options{Now: subject.Now})
	if err != nil {
		b.Fatal(err)
	}
	v := tokens.Made(plain.Analysis().Format)
	byIDs, err := engine.Compile(b.Context(), src, engine.Options{Now: subject.Now, Vocabulary: v})
	if err != nil {
		b.Fatal(err)
	}
	output := strings.Repeat("std::vector<int> v; if (a < b && c > d) { v.push_back(a); }\n", 550)[:8192*4]
	var list []engine.Token
	for i := 0; i < len(output); i += 4 {
		list = append(list, engine.Token{ID: 7, Text: []byte(output[i : i+4])})
	}
	plan := func(t *engine.Template) *engine.Plan {
		p, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	b.Run("bytes", func(b *testing.B) {
		p := plan(plain).NewParser()
		for b.Loop() {
			p.Reset()
			for i := range list {
				p.Write(list[i].Text)
			}
			p.Close(chat.FinishStop)
		}
	})
	b.Run("ids", func(b *testing.B) {
		p := plan(byIDs).NewParser()
		for b.Loop() {
			p.Reset()
			for i := range list {
				p.WriteTokens(list[i : i+1])
			}
			p.Close(chat.FinishStop)
		}
	})
}
