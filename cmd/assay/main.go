// Command assay tests what a chat template really does.
//
// Run "assay help" for the commands and "assay help COMMAND" for one of them. The exit status is 0 when all is well, 1 when
// something failed or was rejected, 2 when the arguments or the input cannot be used, 130 when it was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/visible"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // something failed or was rejected
	exitUsage  = 2 // the arguments or the input cannot be used

	exitInterrupted = 130 // an interrupt ended it; what was done is reported
)

// errFailed ends a command whose checks failed and are reported already.
var errFailed = errors.New("checks failed")

// errUnusable ends a command that could not use a part of its input and has said so.
var errUnusable = errors.New("a part of the input cannot be used")

// errInterrupted ends a command that was interrupted and has said so.
var errInterrupted = errors.New("interrupted")

// command is one word behind assay.
type command struct {
	name  string
	args  string // the arguments, for the usage line
	short string // one line
	long  string // what help adds to it; may be empty
	// setup declares the flags and returns what runs once they are set.
	setup func(*flag.FlagSet) func(*call) error
}

// call is one run of a command.
type call struct {
	args   []string // without flags
	stdin  io.Reader
	getenv func(string) string
	// stdout and stderr make what others wrote visible (package visible), so that any print may hold it. raw and rawErr are behind
	// them: for a report, which does that itself and has colours, and for data ([call.data]).
	stdout, stderr io.Writer
	raw, rawErr    io.Writer
	ctx            context.Context // nil: the background
	interrupt      context.Context // of interruptible
}

// interruptible returns a context that an interrupt ends, with the cause errInterrupted. A second interrupt ends a command that does not heed
// the first. stop gives the signals back.
func (c *call) interruptible() (ctx context.Context, stop func()) {
	if ctx = c.ctx; ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
		signal.Stop(signals)
	}()
	c.interrupt = ctx
	return ctx, func() { cancel(nil) }
}

// interrupted says that the command was interrupted, where err is how it ended.
func (c *call) interrupted(err error) bool {
	return errors.Is(err, errInterrupted) || c.interrupt != nil && context.Cause(c.interrupt) == errInterrupted
}

func main() {
	debug.SetGCPercent(400) // short runs on small heaps: memory is cheaper than time
	c := &call{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	os.Exit(c.main(os.Args[1:]))
}

// main runs a command line and returns the exit status.
func (c *call) main(args []string) int {
	out, errs := visible.NewWriter(c.stdout), visible.NewWriter(c.stderr)
	c.raw, c.rawErr, c.stdout, c.stderr = c.stdout, c.stderr, out, errs
	defer out.Flush()
	defer errs.Flush()
	return c.dispatch(args)
}

func (c *call) dispatch(args []string) int {
	if len(args) == 0 {
		usage(c.stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return c.help(args[1:])
	case "version", "-version", "--version":
		if len(args) > 1 {
			fmt.Fprintf(c.stderr, "assay version: expected no arguments, found %d\n", len(args)-1)
			return exitUsage
		}
		fmt.Fprintln(c.stdout, "assay", version())
		return exitOK
	}
	cmd, ok := find(args[0])
	if !ok {
		fmt.Fprintf(c.stderr, "assay: unknown command %q; `assay help` lists the commands%s\n", args[0], meant(nearest(args[0], commandNames())))
		return exitUsage
	}
	return c.run(cmd, args[1:])
}

func (c *call) run(cmd *command, args []string) int {
	flags := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	run := cmd.setup(flags)
	var err error
	if c.args, err = parseFlags(flags, args); errors.Is(err, flag.ErrHelp) {
		cmd.usage(c.stdout)
		return exitOK
	} else if err != nil {
		fmt.Fprintf(c.stderr, "assay %s: %v; `assay help %s` shows the usage\n", cmd.name, unknownFlag(flags, err), cmd.name)
		return exitUsage
	}
	switch err := run(c); {
	case err == nil:
		return exitOK
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, errUnusable):
		return exitUsage
	case err == errInterrupted:
		return exitInterrupted
	case c.interrupted(err):
		if !errors.Is(err, errInterrupted) {
			err = errInterrupted // what it made fail says nothing
		}
		fmt.Fprintf(c.stderr, "assay %s: %v\n", cmd.name, err)
		return exitInterrupted
	default:
		c.fail(cmd.name, err)
		var failed *failure
		if errors.As(err, &failed) {
			return exitFailed
		}
		return exitUsage
	}
}

// fail says what a command could not do.
func (c *call) fail(name string, err error) {
	fmt.Fprintf(c.stderr, "assay %s: %s\n", name, source.Detail(err))
}

// failure is an error that is a verdict: the input could be used, and is bad.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// parseFlags parses flags wherever they stand between the arguments, up to "--", and returns the arguments.
func parseFlags(flags *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		left := flags.Args()
		if n := len(args) - len(left); n > 0 && args[n-1] == "--" || len(left) == 0 {
			return append(rest, left...), nil
		}
		rest = append(rest, left[0])
		args = left[1:]
	}
}

// unknownFlag says of a flag that there is none which one may be meant; other errors it returns as they are.
func unknownFlag(flags *flag.FlagSet, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if near := nearest(name, names); near != "" {
		return fmt.Errorf("there is no flag %s; did you mean %s?", dashes(name), dashes(near))
	}
	return fmt.Errorf("there is no flag %s", dashes(name))
}

// takes returns what runs a command that takes so many arguments; what says which.
func takes(least, most int, what string, run func(*call) error) func(*call) error {
	return func(c *call) error {
		if err := c.want(least, most, what); err != nil {
			return err
		}
		return run(c)
	}
}

// want checks the number of arguments.
func (c *call) want(least, most int, what string) error {
	if n := len(c.args); n < least || most >= 0 && n > most {
		return fmt.Errorf("expected %s, found %d arguments", what, n)
	}
	return nil
}

func (c *call) help(args []string) int {
	if len(args) == 0 {
		usage(c.stdout)
		return exitOK
	}
	cmd, ok := find(args[0])
	if !ok || len(args) > 1 {
		fmt.Fprintf(c.stderr, "assay help: expected a command, found %q; `assay help` lists the commands\n", strings.Join(args, " "))
		return exitUsage
	}
	cmd.usage(c.stdout)
	return exitOK
}

func usage(w io.Writer) {
	fmt.Fprint(w, "assay tests what a chat template really does\n\nusage: assay COMMAND [ARGUMENTS]\n\n")
	for i := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", commands[i].name, commands[i].short)
	}
	fmt.Fprintf(w, "  %-10s %s\n  %-10s %s\n", "help", "explain a command", "version", "print the version")
	fmt.Fprint(w, "\nexit status: 0 all well, 1 something failed or was rejected, 2 wrong usage or input, 130 interrupted\n")
}

func (cmd *command) usage(w io.Writer) {
	fmt.Fprintf(w, "usage: assay %s\n\n%s\n", strings.TrimSpace(cmd.name+" [FLAGS] "+cmd.args), strings.ToUpper(cmd.short[:1])+cmd.short[1:]+".")
	if cmd.long != "" {
		fmt.Fprintf(w, "\n%s\n", cmd.long)
	}
	flags := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	cmd.setup(flags)
	fmt.Fprintln(w, "\nflags:")
	flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "  %-22s %s\n", strings.TrimSpace(dashes(f.Name)+" "+value), text)
	})
}

// dashes spells a flag as people do: one dash before a letter, two before a word.
func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// version is the module's version, or the revision that was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.Trim(info.Main.Version, "()")
}
