package mutate_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/families"
	"github.com/goassay/assay/harness/mutate"
)

var (
	part     = flag.Int("mutants", 40, "judge one mutant of so many; 1: all")
	compared = flag.Bool("compare", false, "ask the comparison of revisions, too")
	listing  = flag.String("survivors", "", "write the mutants that change a render and are not "+
		"noticed to this file")
)

// The suite's templates: of the corpus and of the vendors those with the smallest SHA-256 of their
// names.
const (
	ownTemplates    = 15
	vendorTemplates = 10
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// templates returns the suite's templates; without the vendors' where these are not at hand.
func templates(t *testing.T) []*mutate.Template {
	t.Helper()
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	type named struct{ name, text string }
	var own, vendors []named
	for _, f := range loaded.Families {
		if f.Own {
			text, err := loaded.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, named{f.Name, text})
		}
	}
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("ASSAY_VENDOR"), "*.jinja"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		vendors = append(vendors, named{filepath.Base(path), string(text)})
	}
	var all []*mutate.Template
	for _, set := range []struct {
		of   []named
		most int
	}{{own, ownTemplates}, {vendors, vendorTemplates}} {
		slices.SortFunc(set.of, func(a, b named) int {
			return cmp.Compare(digest(a.name),
				digest(b.name))
		})
		for _, n := range set.of[:min(set.most, len(set.of))] {
			one, err := mutate.NewTemplate(n.name, n.text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
	}
	return all
}

// each judges on two cores, and hands the verdicts on in order.
func each[T any](n int, judge func(int) T) []T {
	all := make([]T, n)
	var wait sync.WaitGroup
	next := make(chan int)
	for range 2 {
		wait.Go(func() {
			for i := range next {
				all[i] = judge(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	return all
}

func TestMutants(t *testing.T) {
	type sample struct {
		of *mutate.Template
		mutate.Mutant
		digest string
	}
	var samples []sample
	for _, of := range templates(t) {
		made, err := mutate.Mutants(of.Text)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made {
			d := digest(of.Name + "\x00" + m.Text)
			var n int
			fmt.Sscanf(d[:7], "%x", &n)
			if n%*part == 0 {
				samples = append(samples, sample{of, m, d})
			}
		}
	}
	verdicts := each(len(samples), func(i int) mutate.Verdict {
		if !samples[i].of.Changes(samples[i].Mutant) {
			return mutate.Verdict{}
		}
		return samples[i].of.Judge(samples[i].Mutant, false)
	})
	type tally struct{ made, changed, noticed, loud int }
	counts := map[mutate.Operator]*tally{}
	var all tally
	var order []mutate.Operator
	var survivors []string
	for i, v := range verdicts {
		s := samples[i]
		c := counts[s.Operator]
		if c == nil {
			c = &tally{}
			counts[s.Operator] = c
			order = append(order, s.Operator)
		}
		for _, c := range []*tally{c, &all} {
			c.made++
			if !v.Changes {
				continue
			}
			c.changed++
			if v.Noticed != nil {
				c.noticed++
			}
			if v.Loud != nil {
				c.loud++
			}
		}
		if v.Changes && v.Noticed == nil {
			line := 1 + strings.Count(s.of.Text[:s.Off], "\n")
			survivors = append(survivors, fmt.Sprintf("%s %s:%d %s\n\t- %q\n\t+ %q\n",
				s.digest[:8], s.of.Name, line, s.Operator, s.Was, s.Is))
		}
	}
	for _, o := range append(order, "all") {
		c := counts[o]
		if o == "all" {
			c = &all
		}
		t.Logf("%-20s made %5d, changed %5d, noticed %5d (%.1f%%), as an error or a warning "+
			"%5d", o, c.made, c.changed, c.noticed, 100*float64(c.noticed)/float64(max(1,
			c.changed)), c.loud)
	}
	if *listing != "" {
		slices.Sort(survivors)
		if err := os.WriteFile(*listing, []byte(strings.Join(survivors, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
