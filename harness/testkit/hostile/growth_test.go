package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// whole runs the generators up to the largest input that is read of strangers: make hostile.
var whole = flag.Bool("whole", false, "let inputs grow to a megabyte")

// counted counts the blocks of code that run, for which the whole project is compiled with
// counters: make hostile-short.
var counted = flag.Bool("counted", false, "count the blocks of code that run")

// only runs the generators whose door and name it matches.
var only = flag.String("only", "", "run generators with a \"DOOR: NAME\" that matches `REGEXP`")

// Bounds of the costs of any input that a stranger gives, and of how much faster than the input
// they may grow.
const (
	maxTime   = 10 * time.Second // of the processor
	maxMemory = 1 << 30          // bytes of the heap
	maxBlocks = 5_000_000_000    // which take a few seconds
	maxGrowth = 1.2
	// smallMemory is up to how many bytes the allocations of a run do not count.
	smallMemory = 16 << 20
)

// cost is a line that growth prints.
type cost struct {
	Size, Bytes                    int
	Blocks, Memory, Peak, Resident uint64
	Millis                         int64
	Limit                          bool
	Error                          string
}

// TestGrowth lets everything that strangers give grow along every dimension that it has, each in a
// process of its own, and holds memory, time and their growth to the bounds. Growth is measured in
// bytes that were allocated and, with -counted, in blocks of code that ran, so that neither the
// machine nor its load matter. Counting makes a program four times as slow, so with -whole a
// program without counters shows how long the largest inputs take.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	build := func(name string, flags ...string) string {
		program := filepath.Join(dir, name)
		cmd := exec.Command(
			"go",
			append(append([]string{"build", "-o", program}, flags...),
				"./harness/testkit/measure/growth")...)
		cmd.Dir = "../../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return program
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	program, counter, small := build("timed", "-ldflags=-s -w"), "", []int{4 << 10, 16 << 10}
	if *counted || *whole {
		small = []int{4 << 10, 8 << 10, 16 << 10}
		counter = build("counted", "-cover", "-covermode=atomic",
			"-coverpkg=./engine/...,./harness/...")
	}
	if *whole {
		small = []int{4 << 10, 16 << 10, 64 << 10}
	}
	list, err := exec.Command(program, "-list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		door, generator := fields[0], fields[1]
		thorough, bounded := fields[2] == "true", fields[3] == "true"
		if thorough && !*whole && *only == "" || !chosen.MatchString(door+": "+generator) {
			continue
		}
		t.Run(door+"/"+generator, func(t *testing.T) {
			t.Parallel()
			switch {
			case counter != "":
				hold(t, costs(t, counter, door, generator, small), bounded)
			case bounded: // growth is not held, and up to the bound it takes long
				hold(t, costs(t, program, door, generator, small[:1]), bounded)
			default:
				hold(t, costs(t, program, door, generator, small), bounded)
			}
			if *whole {
				hold(t, costs(t, program, door, generator, sizes(thorough)), bounded)
			}
		})
	}
}

// sizes are those of the inputs of a run without counters, up to a megabyte. Where a door is a part
// of another one, or like one, they grow fourfold.
func sizes(thorough bool) (all []int) {
	times := 2
	if thorough {
		times = 4
	}
	for size := 4 << 10; size <= 1<<20; size *= times {
		all = append(all, size)
	}
	return all
}

// costs runs a generator.
func costs(t *testing.T, program, door, generator string, sizes []int) (all []cost) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	args := []string{door, generator}
	for _, size := range sizes {
		args = append(args, fmt.Sprint(size))
	}
	run := exec.CommandContext(ctx, program, args...)
	var out, log bytes.Buffer
	run.Stdout, run.Stderr = &out, &log
	if err := run.Run(); err != nil {
		t.Errorf("%v %v\n%.2000s", err, ctx.Err(), log.String())
	}
	for d := json.NewDecoder(&out); d.More(); {
		var c cost
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// hold holds costs to the bounds. Tables and lists double now and then, so growth is measured over
// two doublings of the input. The growth of bounded costs is not held, since their bound ends it.
func hold(t *testing.T, all []cost, bounded bool) {
	for _, c := range all {
		t.Logf("%8d bytes: %10d blocks, %5d MiB allocated, peak %4d MiB, %5d ms, %s",
			c.Bytes, c.Blocks, c.Memory>>20, c.Peak>>20, c.Millis, c.Error)
		if c.Error != "" && !c.Limit {
			t.Errorf("%d bytes: %s", c.Bytes, c.Error)
		}
		if c.Blocks > maxBlocks || c.Peak > maxMemory {
			t.Errorf("%d bytes run %d blocks and take %d MiB, more "+
				"than %d and %d MiB", c.Bytes, c.Blocks, c.Peak>>20, maxBlocks, maxMemory>>20)
		}
		if took := time.Duration(c.Millis) * time.Millisecond; c.Blocks == 0 && took > maxTime {
			t.Errorf("%d bytes take %v, more than %v", c.Bytes, took, maxTime)
		}
		at := slices.IndexFunc(all, func(was cost) bool { return was.Size*4 == c.Size })
		if bounded || at < 0 || c.Limit || all[at].Limit { // a run that a limit cut off cost less
			continue
		}
		was := all[at]
		grown := float64(c.Bytes) / float64(was.Bytes)
		if grown < 1.1 { // a number in the input grows instead
			grown = float64(c.Size) / float64(was.Size)
		}
		if exceeds(float64(was.Blocks), float64(c.Blocks), grown, 1_000_000) {
			t.Errorf("%.1f times the input runs %.1f "+
				"times the blocks", grown, float64(c.Blocks)/float64(was.Blocks))
		}
		if exceeds(float64(was.Memory), float64(c.Memory), grown, smallMemory) {
			t.Errorf("%.1f times the input allocates %.1f "+
				"times the memory", grown, float64(c.Memory)/float64(was.Memory))
		}
	}
}

// exceeds reports whether a cost grew faster than it may while the input doubled twice. The cost of
// a small input does not count.
func exceeds(before, after, grown, small float64) bool {
	return after > small && after > grown*maxGrowth*maxGrowth*max(before, small/4)
}
