package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/goassay/assay/harness/testkit/measure/conditions/at"
)

// program is an instrumented program of tests.
type program struct {
	path string
	dir  string // of the package, where its tests run
	skip string // a pattern of tests that are left out
}

// compile builds the tests that are asked for with the overlay of b.
func compile(b *build, a asked, folder string) ([]program, error) {
	pkgs, err := packages(a.tests)
	if err != nil {
		return nil, err
	}
	var all []program
	for i, p := range pkgs {
		to := filepath.Join(folder, strconv.Itoa(i)+".test")
		cmd := exec.Command("go", "test", "-c", "-overlay", b.overlay, "-o", to, p.ImportPath)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", p.ImportPath, err, out)
		}
		if _, err := os.Stat(to); err == nil { // there is none where a package has no tests
			all = append(all, program{to, p.Dir, a.skip})
		}
	}
	return all, nil
}

// sides says how a condition was decided: as false, as true.
type sides [2]bool

// start runs tests of a program by a pattern and returns its output, and the error of tests that
// fail.
func (p program) start(pattern string, limit time.Duration, env ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, "-test.v", "-test.failfast", "-test.run", pattern,
		"-test.skip", p.skip)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// decided runs tests by a pattern and returns how they decided each of n conditions.
func (p program) decided(pattern string, n int) ([]sides, []byte, error) {
	f, err := os.CreateTemp("", "decided")
	if err != nil {
		return nil, nil, err
	}
	f.Close()
	defer os.Remove(f.Name())
	out, err := p.start(pattern, time.Hour, "ASSAY_CONDITIONS="+f.Name())
	if err != nil {
		return nil, out, fmt.Errorf("the tests of %s fail as they are: %w\n%s", p.dir, err,
			out[max(0, len(out)-4000):])
	}
	counts, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, nil, err
	}
	counts = append(counts, make([]byte, 2*at.Most)...)
	all := make([]sides, n)
	for i := range all {
		all[i] = sides{counts[2*i] == 1, counts[2*i+1] == 1}
	}
	return all, out, nil
}

// undecided returns the conditions that no program's tests decide both ways.
func undecided(b *build, programs []program) ([]miss, error) {
	total := make([]sides, len(b.conditions))
	for _, p := range programs {
		all, _, err := p.decided(".", len(b.conditions))
		if err != nil {
			return nil, err
		}
		for i, s := range all {
			total[i] = sides{total[i][0] || s[0], total[i][1] || s[1]}
		}
	}
	var left []miss
	for i, s := range total {
		switch s {
		case sides{}:
			left = append(left, miss{b.conditions[i], "never decided"})
		case sides{true, false}:
			left = append(left, miss{b.conditions[i], "never true"})
		case sides{false, true}:
			left = append(left, miss{b.conditions[i], "never false"})
		}
	}
	return left, nil
}

// test is one that runs alone.
type test struct {
	program
	pattern string
	takes   time.Duration
	decides []int // conditions
}

// negated turns each condition round, one at a time, and returns those with which every test that
// decides them passes.
func negated(b *build, programs []program, split *regexp.Regexp) ([]miss, error) {
	tests, err := alone(b, programs, split)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(tests, func(a, b test) int { return int(a.takes - b.takes) })
	deciding := make([][]test, len(b.conditions))
	for _, t := range tests {
		for _, n := range t.decides {
			deciding[n] = append(deciding[n], t)
		}
	}
	what := make([]string, len(b.conditions))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for n := range b.conditions {
		work.Go(func() error {
			what[n] = survives(n, deciding[n])
			return nil
		})
	}
	err = work.Wait()
	var left []miss
	for n, w := range what {
		if w != "" {
			left = append(left, miss{b.conditions[n], w})
		}
	}
	return left, err
}

// survives says why no test notices that a condition is turned round, "" where one does.
func survives(n int, tests []test) string {
	if len(tests) == 0 {
		return "never decided"
	}
	for _, t := range tests {
		_, err := t.start(t.pattern, 10*t.takes+20*time.Second, "ASSAY_NEGATE="+strconv.Itoa(n))
		if err != nil {
			return ""
		}
	}
	return fmt.Sprintf("turned round, %d tests pass", len(tests))
}

var passed = regexp.MustCompile(`(?m)^( *)--- PASS: (\S+) `)

// alone finds the tests of programs, those that split names by their subtests, and runs each alone
// to see which conditions it decides.
func alone(b *build, programs []program, split *regexp.Regexp) ([]test, error) {
	var all []test
	for _, p := range programs {
		out, err := p.start(".", time.Hour)
		if err != nil {
			return nil, errors.Join(err, errors.New(string(out[max(0, len(out)-4000):])))
		}
		for _, pattern := range patterns(out, split) {
			all = append(all, test{program: p, pattern: pattern})
		}
	}
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var silent []string
	for i := range all {
		t := &all[i]
		work.Go(func() error {
			begin := time.Now()
			decided, out, err := t.decided(t.pattern, len(b.conditions))
			if err != nil {
				return err
			}
			t.takes = time.Since(begin)
			for n, s := range decided {
				if s != (sides{}) {
					t.decides = append(t.decides, n)
				}
			}
			if !bytes.Contains(out, []byte("--- PASS: ")) {
				mu.Lock()
				silent = append(silent, t.pattern)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	if len(silent) > 0 {
		return nil, fmt.Errorf("tests that do not run alone: %s", strings.Join(silent, ", "))
	}
	return all, nil
}

// patterns returns the patterns of the tests that an output names as passed, one each.
func patterns(out []byte, split *regexp.Regexp) []string {
	var all []string
	for _, m := range passed.FindAllSubmatch(out, -1) {
		parent, sub, _ := strings.Cut(string(m[2]), "/")
		switch divided := split.MatchString(parent); {
		case len(m[1]) == 0 && !divided:
			all = append(all, "^"+regexp.QuoteMeta(parent)+"$")
		case len(m[1]) == 4 && divided:
			all = append(all, "^"+regexp.QuoteMeta(parent)+"$/^"+regexp.QuoteMeta(sub)+"$")
		}
	}
	return all
}
