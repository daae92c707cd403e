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
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/edit/mutate"
)

var (
	most = flag.Int("mutants", 24, "judge so many mutants and rewritings, those with the smallest "+
		"digest; 0: all")
	edited = flag.Int("edits", 24, "judge so many bugs and harmless edits made by hand, those with "+
		"the smallest digest; 0: all")
	compared = flag.Bool("compare", true, "ask the comparison of revisions, too")
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
var templates = sync.OnceValues(func() ([]*mutate.Template, error) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		return nil, err
	}
	type named struct{ name, text string }
	var own, vendors []named
	for _, f := range loaded.Families {
		if f.Own {
			text, err := loaded.Text(f.Name)
			if err != nil {
				return nil, err
			}
			own = append(own, named{f.Name, text})
		}
	}
	paths, err := filepath.Glob(filepath.Join(os.Getenv("ASSAY_VENDOR"), "*.jinja"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		vendors = append(vendors, named{filepath.Base(path), string(text)})
	}
	first := func(of []named, most int) []named {
		slices.SortFunc(of, func(a, b named) int {
			return cmp.Compare(digest(a.name),
				digest(b.name))
		})
		return of[:min(most, len(of))]
	}
	var all []*mutate.Template
	for _, n := range slices.Concat(first(own, ownTemplates), first(vendors, vendorTemplates)) {
		one, err := mutate.NewTemplate(n.name, n.text)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
})

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

// sample is a mutant that the suite judges.
type sample struct {
	of *mutate.Template
	mutate.Mutant
	digest string
}

// samples makes mutants of all templates and takes those that were asked for, in the order
// of their digests.
func samples(t *testing.T, make func(text string) ([]mutate.Mutant, error)) []sample {
	t.Helper()
	of, err := templates()
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	for _, of := range of {
		made, err := make(of.Text)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made {
			all = append(all, sample{of, m, digest(of.Name + "\x00" + m.Text)})
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.digest, b.digest) })
	if *most > 0 {
		all = all[:min(*most, len(all))]
	}
	return all
}

// number makes a number of a digest.
func number(digest string) int {
	n, err := strconv.ParseInt(digest[:7], 16, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

// String shows where the mutant differs, and how.
func (s sample) String() string {
	line := 1 + strings.Count(s.of.Text[:s.Off], "\n")
	return fmt.Sprintf("%s %s:%d %s\n\t- %q\n\t+ %q\n", s.digest[:8], s.of.Name, line,
		s.Operator, s.Was, s.Is)
}

// The bars, in percent.
const (
	noticedBar = 70 // of the mutants that change a rendering
	classedBar = 98 // of those, as risky or breaking
)

// TestMutants makes the mistakes of authors. The checks notice most of those that matter, and the
// comparison of revisions nearly all.
func TestMutants(t *testing.T) {
	all := samples(t, mutate.Mutants)
	verdicts := each(len(all), func(i int) mutate.Verdict {
		if !all[i].of.Changes(all[i].Mutant) {
			return mutate.Verdict{}
		}
		return all[i].of.Judge(all[i].Mutant, *compared)
	})
	counts := map[mutate.Operator]*tally{}
	var total tally
	var order []mutate.Operator
	var survivors []string
	for i, v := range verdicts {
		s := all[i]
		if counts[s.Operator] == nil {
			counts[s.Operator] = &tally{}
			order = append(order, s.Operator)
		}
		counts[s.Operator].add(v)
		total.add(v)
		switch {
		case !v.Changes:
		case v.Noticed == nil:
			survivors = append(survivors, s.String())
		}
		if v.Changes && *compared && !warned(v) {
			t.Logf("called %s: %s", v.Class, s)
		}
	}
	slices.Sort(order)
	for _, o := range order {
		t.Logf("%-20s %s", o, counts[o])
	}
	t.Logf("%-20s %s", "all", &total)
	if 100*total.noticed < noticedBar*total.changed {
		t.Errorf("fewer than %d%% of the mutants are noticed", noticedBar)
	}
	if *compared && 100*total.classed < classedBar*total.changed {
		t.Errorf("fewer than %d%% of the mutants are called risky or breaking", classedBar)
	}
	if *listing != "" {
		slices.Sort(survivors)
		if err := os.WriteFile(*listing, []byte(strings.Join(survivors, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tally counts verdicts.
type tally struct{ made, changed, noticed, loud, classed int }

func (c *tally) add(v mutate.Verdict) {
	c.made++
	if !v.Changes {
		return
	}
	c.changed++
	if v.Noticed != nil {
		c.noticed++
	}
	if v.Loud != nil {
		c.loud++
	}
	if warned(v) {
		c.classed++
	}
}

func (c *tally) String() string {
	share := func(n int) float64 { return 100 * float64(n) / float64(max(1, c.changed)) }
	return fmt.Sprintf("made %5d, changed %5d, noticed %5d (%.1f%%), by errors and warnings %5d "+
		"(%.1f%%), risky or breaking %5d",
		c.made, c.changed, c.noticed, share(c.noticed), c.loud, share(c.loud), c.classed)
}

// warned reports whether the comparison of revisions warns of a mutant.
func warned(v mutate.Verdict) bool { return v.Class == "risky" || v.Class == "breaking" }

// TestRewrites makes changes that keep the behaviour: no rendering changes, and nothing is blamed.
func TestRewrites(t *testing.T) {
	all := samples(t, mutate.Rewrites)
	verdicts := each(len(all),
		func(i int) mutate.Verdict { return all[i].of.Judge(all[i].Mutant, false) })
	for i, v := range verdicts {
		switch {
		case v.Changes:
			t.Errorf("a rewriting changes a rendering: %s", all[i])
		case v.Noticed != nil:
			t.Errorf("blamed by %v: %s", v.Noticed, all[i])
		}
	}
	t.Logf("%d rewritings, none of which may be blamed", len(all))
}
