package soak_test

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/harness/corpus/soak"
	"github.com/goassay/assay/harness/foreign/gonja"
	"github.com/goassay/assay/harness/serve/live"
)

// make soak sets these; ASSAY_VENDOR names the vendors' templates.
var (
	duration = flag.Duration("soak", 0, "soak for this long instead of a fixed number of cases")
	seed     = flag.Uint64("soak-seed", 0, "the seed; 0 with -soak: one of the clock's")
	first    = flag.Uint64("soak-case", 0, "the number of the first case")
	further  = flag.Int("soak-further", 20, "the outputs of each case besides its own")
)

// shortRun is the number of cases that every run of the tests draws.
const shortRun = 600

func pool(t testing.TB) *soak.Pool {
	t.Helper()
	var vendor fs.FS
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" && *duration > 0 {
		vendor = os.DirFS(dir)
	}
	p, err := soak.Load(corpus.FS, vendor)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// acceptor returns llama.cpp's answers where it is built in: those of its grammar sampler for a
// vocabulary of bytes. Its own tokens are texts that no case has.
func acceptor(t *testing.T) soak.Acceptor {
	if !llama.Available() {
		return nil
	}
	path, err := live.WriteTinyFile(t.TempDir(), 1, "<|soak begins|>", "<|soak ends|>", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	model, err := llama.Load(t.Context(), path, llama.ModelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return func(g *gbnf.Grammar, text string) (bool, error) {
		return model.Accepts(llama.Grammar{Text: g.String()}, text)
	}
}

// TestSoak draws cases, 600 of seed 1 or, with -soak, for a time.
func TestSoak(t *testing.T) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	second := new(gonja.Renderer)
	defer second.Close()
	o := soak.Options{Seed: 1, First: *first, Cases: shortRun, Further: *further,
		Second: second, Accepts: acceptor(t)}
	start := time.Now()
	if *duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *duration)
		defer cancel()
		o.Seed, o.Cases = *seed, 0
		last := start
		o.Progress = func(s soak.Stats) {
			if time.Since(last) > time.Minute {
				last = time.Now()
				t.Logf("%s: %v", time.Since(start).Round(time.Second), s)
			}
		}
		if o.Seed == 0 {
			o.Seed = uint64(start.UnixNano())
		}
	}
	t.Logf("seed %d, from case %d", o.Seed, o.First)
	before := runtime.NumGoroutine()
	stats, err := pool(t).Run(ctx, o)
	took := time.Since(start)
	t.Logf("%v in %s: %.0f cases/s", stats, took.Round(time.Second),
		float64(stats.Cases)/took.Seconds())
	if err != nil {
		t.Fatal(err)
	}
	// the second renderer's children, one for each core, and their pipes
	if after := runtime.NumGoroutine(); after > before+2+runtime.GOMAXPROCS(0) {
		t.Errorf("%d goroutines were left behind", after-before)
	}
}

// TestDrawAgain demands that a case depends on its seed and number only.
func TestDrawAgain(t *testing.T) {
	p := pool(t)
	for n := range uint64(40) {
		a, err := p.Draw(7, n)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Draw(7, n)
		if err != nil || a.Name != b.Name || a.Output != b.Output ||
			a.Request.String() != b.Request.String() {
			t.Fatalf("case %d: %q, then %q, %v", n, a.Output, b.Output, err)
		}
	}
}
