package bench_test

import (
	"os"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/testkit/measure/bench"
)

// load returns the vendors' templates where ASSAY_VENDOR names their folder, else our own.
func load(b testing.TB) *bench.Inputs {
	in, err := bench.Load(os.Getenv("ASSAY_VENDOR"))
	if err != nil {
		b.Fatal(err)
	}
	return in
}

// BenchmarkWorks runs the works that have a bar.
func BenchmarkWorks(b *testing.B) {
	defer batch.SetCollector()()
	works, err := load(b).Works()
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range works {
		b.Run(w.Name, func(b *testing.B) {
			before, op, err := w.Make()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(w.Bytes))
			b.ReportAllocs()
			for b.Loop() {
				if before != nil {
					b.StopTimer()
					before()
					b.StartTimer()
				}
				op()
			}
		})
	}
}

// BenchmarkCheck runs the automatic checks on every template, compiling it included.
func BenchmarkCheck(b *testing.B) {
	defer batch.SetCollector()()
	in := load(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range in.Templates {
			check.Template(subject.New(src.Name, src.Text), check.Options{})
		}
	}
}

// TestWorks does every work once: works must run before they are measured.
func TestWorks(t *testing.T) {
	in, err := bench.Load("")
	if err != nil {
		t.Fatal(err)
	}
	in.Templates = in.Templates[:3]
	works, err := in.Works()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range works {
		before, op, err := w.Make()
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		if before != nil {
			before()
		}
		op()
	}
}
