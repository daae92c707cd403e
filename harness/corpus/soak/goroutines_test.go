package soak_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/corpus/split"
)

// drawCuts cuts a text at random.
func drawCuts(r *rand.Rand, n int) (cuts []int) {
	for at := 1 + r.IntN(9); at < n; at += 1 + r.IntN(9) {
		cuts = append(cuts, at)
	}
	return cuts
}

// TestGoroutines reads the outputs of all formats at once, cut at random: of one plan by parsers in
// two goroutines at the same time, and by one parser that two goroutines write to in turn. Each
// finds what one goroutine finds in the whole output. Under the race detector it shows that plans
// are not written to, and that parsers belong to no goroutine.
func TestGoroutines(t *testing.T) {
	const most = 4 // cases of a template
	for i, v := range loadVariants(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			template, err := v.source.Compile()
			if err != nil {
				t.Fatal(err)
			}
			for j, c := range v.cases[:min(most, len(v.cases))] {
				request, err := chat.ParseRequest(c.Request)
				if err != nil {
					t.Fatal(err)
				}
				o := engine.PrepareOptions{Fallbacks: c.Fallbacks}
				plan, err := template.Prepare(request, o)
				if err != nil {
					continue // a template may refuse a request
				}
				whole := split.Feed(stream.NewParser(plan.Output), c.Output, nil, chat.FinishStop)
				alike := func(how string, got split.Answer) {
					if diff := split.Diff(whole.Message, got.Message); diff != "" {
						t.Errorf("case %d, %s: %s", j, how, diff)
					}
				}
				var group sync.WaitGroup
				for k := range 2 {
					group.Go(func() {
						r := rand.New(rand.NewPCG(uint64(i*most+j), uint64(k)))
						parser := stream.NewParser(plan.Output)
						for range 8 {
							alike(fmt.Sprint("parser ", k), split.Feed(parser, c.Output,
								drawCuts(r, len(c.Output)), chat.FinishStop))
						}
					})
				}
				group.Wait()
				parser := stream.NewParser(plan.Output)
				turns := [2]chan string{make(chan string), make(chan string)}
				wrote := make(chan bool)
				for _, turn := range turns {
					go func() {
						for chunk := range turn {
							parser.Write([]byte(chunk))
							wrote <- true
						}
					}()
				}
				at := 0
				for n, cut := range slices.Concat(drawCuts(rand.New(rand.NewPCG(uint64(i), 9)),
					len(c.Output)), []int{len(c.Output)}) {
					turns[n%2] <- c.Output[at:cut]
					<-wrote
					at = cut
				}
				close(turns[0])
				close(turns[1])
				parser.Close(chat.FinishStop)
				alike("in turn", split.Answer{Message: parser.Message()})
			}
		})
	}
}
