// Command assay tests what a chat template really does.
//
// Run "assay help" for the commands and "assay help COMMAND" for one of them. The exit status is 0
// when all is well, 1 when something failed or was rejected, 2 when the arguments or the input
// cannot be used, 3 when something could not be judged and another try may help, 130 when it was
// interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/report/visible"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // something failed or was rejected
	exitUsage  = 2 // the arguments or the input cannot be used
	exitRetry  = 3 // something could not be judged; another try may help

	exitInterrupted = 130 // an interrupt ended it; the work done is reported
)

// errFailed ends a command whose checks failed and are reported already.
var errFailed = errors.New("checks failed")

// errUnread ends a command that reported all that it could judge, and could not judge the rest.
var errUnread = errors.New("not everything could be judged")

// errUnusable ends a command that could not use a part of its input and has said so.
var errUnusable = errors.New("a part of the input cannot be used")

// errInterrupted ends a command that was interrupted; errCut one that has said so.
var (
	errInterrupted = errors.New("interrupted")
	errCut         = fmt.Errorf("%w, as was said", errInterrupted)
)

// call is one run of a command.
type call struct {
	args    []string // without flags
	flags   *pflag.FlagSet
	command *cobra.Command
	stdin   io.Reader
	getenv  func(string) string
	// stdout and stderr make the texts of others visible (package visible), so that any print may
	// hold them. raw and rawErr are after them: for a report, which does that itself and has
	// colours, and for data ([call.data]).
	stdout, stderr io.Writer
	raw, rawErr    io.Writer
	base           context.Context  // nil: the background
	ctx            context.Context  // of the command that runs: an interrupt ends it
	patience       time.Duration    // how long it may take to end in order after that
	files          storage.Store    // those that the user names, in buckets too
	limits         *limits          // of the command that runs; nil: it has none
	exit           func(status int) // ends the process where its memory is at an end; nil: os.Exit
	completing     bool             // a shell asks for completions
}

// grace is how long a command may take to end in order after an interrupt.
const grace = 5 * time.Second

// interruptible lets an interrupt end the context of a command, with the cause errInterrupted, and
// its waiting on standard input. It ends a command that does not heed it for a while, as a second
// interrupt does at once. stop gives the signals back.
func (c *call) interruptible() (stop func()) {
	base := c.base
	if base == nil {
		base = context.Background()
	}
	ctx, cancel := context.WithCancelCause(base)
	c.ctx, c.stdin = ctx, &heeding{Reader: c.stdin, ctx: ctx}
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		select {
		case <-signals:
		case <-over:
			return
		}
		cancel(errInterrupted)
		signal.Stop(signals)
		select {
		case <-over:
		case <-time.After(c.patience):
			fmt.Fprintf(c.rawErr, "%s: %v; the work under way is cut off\n",
				c.command.CommandPath(), errInterrupted)
			c.end(exitInterrupted)
		}
	}()
	return func() {
		close(over)
		cancel(nil)
	}
}

// end ends the process.
func (c *call) end(status int) {
	if c.exit != nil {
		c.exit(status)
		return
	}
	os.Exit(status)
}

// heeding is standard input whose readers an interrupt wakes.
type heeding struct {
	io.Reader
	ctx  context.Context
	read chan piece // of the reading that is under way
	buf  []byte
}

// piece is the result of a reading.
type piece struct {
	n   int
	err error
}

// Read implements [io.Reader].
func (h *heeding) Read(p []byte) (int, error) {
	if err := context.Cause(h.ctx); err != nil {
		return 0, err
	}
	if h.buf == nil {
		h.buf, h.read = make([]byte, 64<<10), make(chan piece, 1)
	}
	buf := h.buf[:min(len(p), len(h.buf))]
	go func() {
		n, err := h.Reader.Read(buf)
		h.read <- piece{n, err}
	}()
	select {
	case got := <-h.read:
		return copy(p, buf[:got.n]), got.err
	case <-h.ctx.Done():
		return 0, context.Cause(h.ctx)
	}
}

// interrupted reports whether the command was interrupted, where err is how it ended.
func (c *call) interrupted(err error) bool {
	return errors.Is(err, errInterrupted) || c.ctx != nil && context.Cause(c.ctx) == errInterrupted
}

func main() {
	batch.SetCollector()
	log.SetOutput(io.Discard) // net/http writes there what servers send unasked
	c := &call{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	os.Exit(c.main(os.Args[1:]))
}

// main runs a command line and returns the exit status.
func (c *call) main(args []string) int {
	raw := &sink{Writer: c.stdout}
	out, errs := visible.NewWriter(raw), visible.NewMessages(c.stderr)
	c.raw, c.rawErr, c.stdout, c.stderr = raw, c.stderr, out, errs
	defer errs.Flush()
	if terminal(c.stdin) {
		c.stdin = &typed{Reader: c.stdin, call: c}
	}
	status := c.dispatch(args)
	out.Flush()
	if raw.err != nil && status == exitOK {
		fmt.Fprintf(c.stderr, "assay: the output cannot be written: %v\n", raw.err)
		return exitUsage
	}
	return status
}

// sink remembers that something could not be written: a command that prints and does not ask fails
// too.
type sink struct {
	io.Writer
	err error
}

// Write implements [io.Writer].
func (s *sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// file returns the file that a stream is, nil for another stream.
func file(stream any) *os.File {
	if s, ok := stream.(*sink); ok {
		stream = s.Writer
	}
	f, _ := stream.(*os.File)
	return f
}

func (c *call) dispatch(args []string) int {
	c.completing = len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
	root := c.tree()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	name := cmd.CommandPath()
	var misused usageError
	var remote *storage.Error
	switch {
	case errors.As(err, &misused):
		help := strings.Replace(name, "assay", "assay help", 1)
		shows := "shows the usage"
		if !cmd.HasParent() {
			shows = "lists the commands"
		}
		fmt.Fprintf(c.stderr, "%s: %v; `%s` %s\n", name, err, help, shows)
		return exitUsage
	case err == errCut:
		return exitInterrupted
	case c.interrupted(err):
		if !errors.Is(err, errInterrupted) {
			err = errInterrupted // its result, well or not, may lack something
		}
		fmt.Fprintf(c.stderr, "%s: %v\n", name, err)
		return exitInterrupted
	case err == nil:
		return exitOK
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, errUnusable):
		return exitUsage
	case errors.Is(err, errUnread), errors.As(err, &remote) && remote.Again:
		c.fail(err)
		return exitRetry
	default:
		c.fail(err)
		var failed *failure
		if errors.As(err, &failed) {
			return exitFailed
		}
		return exitUsage
	}
}

// typed is standard input that a person types, who gets one note that the command waits.
type typed struct {
	io.Reader
	call *call
	told bool
}

// Read implements [io.Reader].
func (t *typed) Read(p []byte) (int, error) {
	if !t.told {
		t.told = true
		t.call.note("this reads your typing now, up to Ctrl-D; `assay help %s` shows how to "+
			"name a file instead", t.call.command.Name())
	}
	return t.Reader.Read(p)
}

// maxError is how many bytes of an error are shown: a server's may have any number of lines.
const maxError = 16 << 10

// fail reports the failure of a command.
func (c *call) fail(err error) {
	fmt.Fprintf(c.stderr, "%s: %s\n", c.command.CommandPath(),
		source.Cut(source.Detail(err), maxError))
}

// failure is an error that is a verdict: the input could be used, and is bad.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// release is the version of a released binary, which the linker sets (ci/package).
var release string

// version is the release's, or the module's, without its v, or the revision that was built.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.TrimPrefix(strings.Trim(info.Main.Version, "()"), "v")
}
