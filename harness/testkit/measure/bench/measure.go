package bench

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goassay/assay/harness/check/batch"
)

// Sample sums up the times of one operation in the rounds of a work.
type Sample struct{ Min, Median, Max time.Duration }

// NewSample returns the sample of at least one round.
func NewSample(rounds []time.Duration) Sample {
	s := slices.Sorted(slices.Values(rounds))
	return Sample{s[0], s[len(s)/2], s[len(s)-1]}
}

// Process is a child process that measures one work, one round each time it is asked. Each work has
// a process of its own, so that none pays for the memory of another.
//
// It is asked by a line on its standard input, and answers with a line: the nanoseconds that one
// operation took, or the word error and the message. A number after the nanoseconds says how many
// parts of the work came out as they should.
type Process struct {
	Name string
	// Good is the number that the last answer had after the nanoseconds.
	Good int

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a child.
func Start(name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, cmd: cmd}
	cmd.Stderr = os.Stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// Round asks for a round.
func (p *Process) Round() (time.Duration, error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return 0, fmt.Errorf("%s has ended: %w", p.Name, err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("%s has ended without an answer: %w", p.Name, err)
	}
	if message, bad := strings.CutPrefix(line, "error "); bad {
		return 0, fmt.Errorf("%s: %s", p.Name, strings.TrimSpace(message))
	}
	var ns int64
	if n, _ := fmt.Sscan(line, &ns, &p.Good); n == 0 {
		return 0, fmt.Errorf("%s answered %q; expected the nanoseconds that "+
			"an operation took", p.Name, strings.TrimSpace(line))
	}
	return time.Duration(ns), nil
}

// Stop ends the child.
func (p *Process) Stop() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// Rounds runs rounds, each through all processes in turn, and then stops the processes. Standard
// error says, after a text, which process is at its round.
func Rounds(text string, all []*Process, rounds int) ([]Sample, error) {
	took := make([][]time.Duration, len(all))
	defer fmt.Fprint(os.Stderr, "\r\033[K")
	for round := range rounds {
		for i, p := range all {
			fmt.Fprintf(os.Stderr, "\r\033[K%sround %d of %d: %s", text, round+1, rounds, p.Name)
			d, err := p.Round()
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], d)
		}
	}
	samples := make([]Sample, len(all))
	for i, p := range all {
		samples[i] = NewSample(took[i])
		if err := p.Stop(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return samples, nil
}

// Serve is the child's side: it measures a round of a work for every line that comes, on one core
// and with the garbage collector as the command sets it, until the input ends.
func (w Work) Serve(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	batch.SetCollector()
	before, op, err := w.Make()
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		took, good := once(before, op).Nanoseconds(), 0
		if w.Good != nil {
			good = *w.Good
		}
		if _, err := fmt.Fprintln(out, took, good); err != nil {
			return err
		}
	}
	return nil
}

// slice is the least time that a round measures; a short operation is repeated to fill it.
const slice = 100 * time.Millisecond

// once repeats an operation for at least a slice of time and returns the time of one. The first run
// is not counted: it finds the caches as the other processes left them.
func once(before, op func()) time.Duration {
	if before != nil {
		before()
	}
	op()
	var total time.Duration
	n := 0
	for total < slice {
		if before != nil {
			before()
		}
		// Several short operations are timed at once: reading the clock costs more than some of
		// them.
		batch := 1
		if before == nil && n > 0 {
			batch = int(min(max(1, int64(cmp.Or(slice-total, 1))*int64(n)/int64(max(total, 1))),
				10_000))
		}
		start := Clock()
		for range batch {
			op()
		}
		total += Clock() - start
		n += batch
	}
	return total / time.Duration(n)
}
