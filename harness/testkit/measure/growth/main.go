// Growth runs one generator of package hostile's and prints the cost of its inputs: a line of JSON
// for each size, in bytes.
//
//	growth SUBJECT GENERATOR SIZE...
//	growth -list
//
// It counts the blocks of the project's code that run, so it is built with counters:
//
//	go build -cover -covermode=atomic -coverpkg=./engine/...,./harness/... ./harness/testkit/measure/growth
//
// The tests of package hostile build it and compare its output with the bounds.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goassay/assay/harness/testkit/measure/heap"
)

// generator makes inputs that grow along one dimension: of about the given number of bytes.
type generator struct {
	name string
	make func(size int) string
}

// door is a reader of foreign input.
type door struct {
	name       string
	thorough   bool // it is a part of another one, or like one, and not tried in each run of CI
	generators []generator
	run        func(input string) error
}

// errLimit is the error of a run that ended in a limit: its cost beyond the limit means nothing.
var errLimit = errors.New("limit")

// maxReports bounds the bytes of the reports on one input, in all forms together.
const maxReports = 16 << 20

// Cost is the cost of a run.
type Cost struct {
	Size     int    // that was asked for
	Bytes    int    // of the input
	Blocks   uint64 // of the project's code that ran
	Memory   uint64 // bytes allocated in all
	Peak     uint64 // by which the live heap grew, in bytes
	Resident uint64 // at most, of the process, in bytes
	Millis   int64  // of the processor
	Limit    bool   // the run ended in a limit
	Error    string
}

// softMemory is where the collector begins to work harder, in bytes, as it does for a command that
// runs under --untrusted.
const softMemory = 768 << 20

func main() {
	// Each processor has memory that renders use again, so how much is allocated would depend on
	// their number and on chance.
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(softMemory)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "-list" {
		for _, d := range doors() {
			for _, g := range d.generators {
				fmt.Printf("%s\t%s\t%t\t%t\n", d.name, g.name, d.thorough,
					strings.HasPrefix(d.name, larkDoor))
			}
		}
		return nil
	}
	if len(args) < 3 {
		return errors.New("expected SUBJECT GENERATOR SIZE..., or -list")
	}
	sizes := make([]int, len(args)-2)
	for i, text := range args[2:] {
		var err error
		if sizes[i], err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	for _, d := range doors() {
		for _, g := range d.generators {
			if d.name != args[0] || g.name != args[1] {
				continue
			}
			d.run(g.make(64)) // state that is made once is not counted
			for _, size := range sizes {
				c := measured(g.make(size), d.run)
				c.Size = size
				if err := json.NewEncoder(os.Stdout).Encode(c); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return fmt.Errorf("there is no generator %q for %q", args[1], args[0])
}

func measured(input string, run func(string) error) Cost {
	var err error
	c := Cost{Bytes: len(input)}
	before := processor()
	work := func() { c.Blocks = blocks(func() { err = run(input) }) }
	c.Peak, c.Memory = heap.Growth(work, 3<<30, func() {
		fmt.Fprintln(os.Stderr, "the heap has more than 3 GiB")
		os.Exit(3)
	})
	after := processor()
	c.Millis = (after.Utime.Nano() +
		after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()) / int64(time.Millisecond)
	c.Resident = uint64(after.Maxrss) << 10
	if err != nil {
		c.Limit = errors.Is(err, errLimit)
		c.Error, _, _ = strings.Cut(err.Error(), "\n")
		c.Error = c.Error[:min(len(c.Error), 200)]
	}
	return c
}

func processor() (usage syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage
}
