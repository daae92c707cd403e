package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/goassay/assay/harness/report/visible"
)

const exitStatuses = "Exit status: 0 all is well, 1 something failed or was rejected, 2 the " +
	"arguments or the input cannot be used, 3 it could not be judged now (try again), 130 it was " +
	"interrupted."

// The widths of lines of prose, in characters.
const (
	narrowest = 40
	widest    = 100 // longer lines are hard to read; also where nobody looks
)

// width is how long lines for people may be: as the terminal is wide, or COLUMNS says.
func (c *call) width() int {
	n, err := strconv.Atoi(c.getenv("COLUMNS"))
	if err != nil {
		n = widest
		if f := file(c.raw); f != nil {
			if wide, _, err := term.GetSize(int(f.Fd())); err == nil {
				n = wide
			}
		}
	}
	return min(max(n, narrowest), widest)
}

// starts are the first command lines of four people: what they do, and how.
var starts = [...]struct{ to, line string }{
	{"write a template", "assay check --fix template.jinja"},
	{"review a change", "assay check --base main ."},
	{"run a model", "assay audit MODEL.gguf"},
	{"run a server", "assay probe http://127.0.0.1:8080"},
}

// help explains a command, or lists all of them.
func (c *call) help(w io.Writer, cmd *cobra.Command) {
	width := c.width()
	if !cmd.HasParent() {
		fmt.Fprintf(w, "%s.\n\nusage: assay COMMAND [FLAGS] [ARGUMENTS]\n\nStart here:\n", cmd.Short)
		for _, s := range starts {
			fmt.Fprintf(w, "  %-18s %s\n", s.to, s.line)
		}
		for _, g := range cmd.Groups() {
			fmt.Fprintf(w, "\n%s:\n", g.Title)
			list(w, width, cmd, g.ID)
		}
		fmt.Fprintf(w, "\n%s\n",
			visible.Wrap("`assay help COMMAND` explains one. "+cmd.Long, width, ""))
		return
	}
	fmt.Fprintf(w, "usage: %s\n\n%s\n", cmd.UseLine(),
		visible.Wrap(strings.ToUpper(cmd.Short[:1])+cmd.Short[1:]+".", width, ""))
	if cmd.Long != "" {
		fmt.Fprintf(w, "\n%s\n", visible.Wrap(cmd.Long, width, ""))
	}
	if cmd.HasSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
		list(w, width, cmd, "")
	}
	for _, category := range categories(cmd.Flags()) {
		fmt.Fprintf(w, "\n%s:\n%s", category.name, category.flags.FlagUsagesWrapped(width))
	}
}

// list lists the commands of a group.
func list(w io.Writer, width int, parent *cobra.Command, group string) {
	const column = 14
	for _, cmd := range parent.Commands() {
		if cmd.GroupID == group && !cmd.Hidden {
			text := visible.Wrap(cmd.Short, width, strings.Repeat(" ", column))
			fmt.Fprintf(w, "  %-*s%s\n", column-2, cmd.Name(), strings.TrimLeft(text, " "))
		}
	}
}

type category struct {
	name  string
	flags *pflag.FlagSet
}

// categories sorts flags by their categories, which keep the order of their declaration.
func categories(flags *pflag.FlagSet) []category {
	var all []category
	at := map[string]int{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := categoryOf(f)
		i, known := at[name]
		if !known {
			i = len(all)
			at[name] = i
			all = append(all, category{name, pflag.NewFlagSet(name, pflag.ContinueOnError)})
			all[i].flags.SortFlags = false
		}
		all[i].flags.AddFlag(f)
	})
	return all
}

// categoryOf is the heading that a flag stands below.
func categoryOf(f *pflag.Flag) string {
	if names := f.Annotations[categoryKey]; len(names) > 0 {
		return names[0]
	}
	return ""
}
