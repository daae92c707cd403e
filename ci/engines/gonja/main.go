// Command gonja is gonja, with all that package harness/foreign/gonja gives it, for the protocol of
// docs/reference/adapters.md.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/foreign/engines"
	"github.com/goassay/assay/harness/foreign/gonja"
)

func main() {
	// A recursive macro uses the stack up; the process then dies at once, not with the machine.
	debug.SetMaxStack(64 << 20)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gonja:", err)
		os.Exit(1)
	}
}

// serve answers the requests, one a line, until they end.
func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var r engines.Request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		start := processorTime()
		a := answer(r)
		a.ID, a.Nanoseconds = r.ID, processorTime()-start
		if err := encoder.Encode(a); err != nil {
			return err
		}
	}
}

func answer(r engines.Request) (a engines.Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = engines.Answer{Error: fmt.Sprintf("panic: %v", p)}
		}
	}()
	switch r.Op {
	case "describe":
		a.Description = engines.Description{Engine: "gonja", Version: "2.9.1", Renders: true}
	case "render":
		text, err := render(r)
		if err != nil {
			return engines.Answer{Error: err.Error()}
		}
		a.Text = &text
	default:
		a.Unsupported = "no operation " + r.Op
	}
	return a
}

func render(r engines.Request) (string, error) {
	t, err := gonja.CompileUnguarded(source.New("template", r.Template), subject.Now)
	if err != nil {
		return "", err
	}
	vars, err := ordered.Parse(r.Vars)
	if err != nil {
		return "", err
	}
	return t.Bind(vars)()
}

// processorTime returns the time that this process spent on a processor, in nanoseconds.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
