package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/harness/report/spelling"
)

// usageError is a command line that means nothing.
type usageError struct{ error }

// flagSet is where a command declares its flags, by category.
type flagSet struct {
	*pflag.FlagSet
	command *cobra.Command
	current string
	limits  *limits        // where the command has them
	grace   *time.Duration // where the command takes its time to end
	// completing: a shell asks for completions. Only then are they registered: cobra keeps those of
	// flags, and with them the flags, for as long as the process lives.
	completing bool
}

// categoryKey is the annotation that has a flag's category.
const categoryKey = "category"

// category begins a heading of the help: the flags declared from here on stand below it.
func (f *flagSet) category(name string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations[categoryKey] == nil {
			f.SetAnnotation(flag.Name, categoryKey, []string{f.current})
		}
	})
	f.current = name
}

// completes lists the words that the shell offers as a flag's value.
func (f *flagSet) completes(name string, list func() []string) {
	if f.completing {
		f.command.RegisterFlagCompletionFunc(name, words(list))
	}
}

// tree makes cobra's tree of the commands. Each of them acts on c.
func (c *call) tree() *cobra.Command {
	root := &cobra.Command{
		Use:           "assay",
		Short:         "Assay tests what a chat template really does",
		Long:          exitStatuses,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          cobra.ArbitraryArgs, // so that an unknown command is named in our words
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				c.help(c.stderr, cmd)
				return errUnusable
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true}) // ours is in the table
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { c.help(c.stdout, cmd) })
	root.SetFlagErrorFunc(flagError)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.Flags().BoolP("help", "h", false, "print this list")
	root.Flags().Bool("version", false, "print the version")
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	c.add(root, commands)
	return root
}

func (c *call) add(parent *cobra.Command, children []*command) {
	for _, child := range children {
		cmd := &cobra.Command{
			Use:                   child.use(),
			DisableFlagsInUseLine: true,
			Short:                 child.short,
			Long:                  child.long,
			Args:                  child.takes.check,
			ValidArgsFunction:     child.files,
		}
		if !parent.HasParent() {
			cmd.GroupID = child.group.id
		}
		flags := &flagSet{FlagSet: cmd.Flags(), command: cmd, current: "Flags",
			completing: c.completing}
		flags.SortFlags = false
		if child.setup != nil {
			run := child.setup(flags)
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				c.args, c.flags, c.command = args, cmd.Flags(), cmd
				if c.patience = grace; flags.grace != nil {
					c.patience += *flags.grace
				}
				defer c.interruptible()()
				c.limits = flags.limits
				if flags.limits != nil && flags.limits.memory > 0 {
					defer c.bounded(flags.limits.memory)()
				}
				return run(c)
			}
		} else {
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return usageError{errors.New("needs one of its commands: " +
						strings.Join(names(cmd), ", "))}
				}
				return unknownCommand(cmd, args[0])
			}
		}
		for _, names := range child.apart {
			cmd.MarkFlagsMutuallyExclusive(names...)
		}
		cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
			return cmp.Or(emptied(cmd.Flags()), excluded(cmd.Flags(), child.apart))
		}
		flags.category("Help")
		flags.BoolP("help", "h", false, "print this help")
		flags.category("")
		if c.completing {
			flags.completeFiles()
		}
		parent.AddCommand(cmd)
		c.add(cmd, child.within)
	}
}

// use is the usage line.
func (cmd *command) use() string {
	if cmd.setup == nil {
		return cmd.name + " COMMAND [FLAGS] [ARGUMENTS]"
	}
	return strings.TrimSpace(cmd.name + " [FLAGS] " + cmd.args)
}

// completeFiles completes the values of flags as their placeholders say: a DIR with folders, a FILE
// or TEMPLATE with files, others with nothing.
func (f *flagSet) completeFiles() {
	f.VisitAll(func(flag *pflag.Flag) {
		if _, known := f.command.GetFlagCompletionFunc(flag.Name); known || flag.NoOptDefVal != "" {
			return
		}
		complete := cobra.NoFileCompletions
		switch placeholder, _ := pflag.UnquoteUsage(flag); placeholder {
		case "DIR":
			complete = folders
		case "TEMPLATE":
			complete = templateFiles
		case "FILE":
			return
		}
		f.command.RegisterFlagCompletionFunc(flag.Name, complete)
	})
}

// check compares the number of arguments with the number that a command takes.
func (a arity) check(_ *cobra.Command, args []string) error {
	n := len(args)
	if n >= a.least && (n <= a.most || a.most < 0) {
		return nil
	}
	found := fmt.Sprintf("%d arguments", n)
	switch {
	case a.most == 0:
		return usageError{fmt.Errorf("takes no arguments, found %q", strings.Join(args, " "))}
	case n == 0:
		found = "none"
	case n == 1:
		found = "one argument"
	}
	return usageError{fmt.Errorf("takes %s, found %s", a.what, found)}
}

// excluded names the first two flags that were given and exclude each other.
func excluded(flags *pflag.FlagSet, apart [][]string) error {
	for _, names := range apart {
		given := ""
		for _, name := range names {
			switch {
			case !flags.Changed(name):
			case given != "":
				return usageError{fmt.Errorf("%s and %s exclude each other", dashes(given),
					dashes(name))}
			default:
				given = name
			}
		}
	}
	return nil
}

// emptied names the first flag for a file, a folder or a commit that was given an empty text, as a
// variable of a shell is that nobody has set: it must not mean that the flag was not given.
func emptied(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		switch what, _ := pflag.UnquoteUsage(f); what {
		case "FILE", "DIR", "COMMIT":
			if f.Value.String() == "" && err == nil {
				err = usageError{fmt.Errorf("%s needs a %s, found an empty text", dashes(f.Name), what)}
			}
		}
	})
	return err
}

// names returns the names of the commands below one.
func names(parent *cobra.Command) []string {
	return lists.Map(parent.Commands(), (*cobra.Command).Name)
}

func unknownCommand(parent *cobra.Command, name string) error {
	return usageError{fmt.Errorf("there is no command %q%s", name,
		spelling.Meant(name, names(parent)))}
}

// flagError describes an error in a flag in our words.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		valued  *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		err = unknownFlag(cmd.Flags(), unknown)
	case errors.As(err, &valued):
		placeholder, _ := pflag.UnquoteUsage(valued.GetFlag())
		err = fmt.Errorf("%s needs a value, %s", dashes(valued.GetSpecifiedName()), placeholder)
	case errors.As(err, &invalid):
		name := dashes(invalid.GetFlag().Name)
		if wanted, ok := valuesOf[invalid.GetFlag().Value.Type()]; ok {
			err = fmt.Errorf("%s takes %s, found %q", name, wanted, invalid.GetValue())
		} else {
			err = fmt.Errorf("%s: %w, found %q", name, invalid.Unwrap(), invalid.GetValue())
		}
	}
	return usageError{err}
}

// valuesOf names the values that the flags of a type take.
var valuesOf = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"uint64":   "a whole number that is not negative",
	"float64":  "a number",
	"duration": "a time such as 30s or 5m",
}

// unknownFlag names a flag that there is none of, and one that may be meant.
func unknownFlag(flags *pflag.FlagSet, err *pflag.NotExistError) error {
	name := err.GetSpecifiedName()
	if format := flags.Lookup("format"); format != nil {
		if forms, ok := format.Value.(*choice); ok && slices.Contains(forms.of, name) {
			return fmt.Errorf("there is no flag --%s; did you mean --format %[1]s?", name)
		}
	}
	var all []string
	flags.VisitAll(func(f *pflag.Flag) { all = append(all, dashes(f.Name)) })
	if letters := err.GetSpecifiedShortnames(); letters != "" { // one dash
		if flags.Lookup(strings.SplitN(letters, "=", 2)[0]) != nil {
			return fmt.Errorf("there is no flag -%s; did you mean --%[1]s?", letters)
		}
		return fmt.Errorf("there is no flag -%s%s", name, spelling.Meant("--"+letters, all))
	}
	return fmt.Errorf("there is no flag --%s%s", name, spelling.Meant("--"+name, all))
}

// dashes spells a flag as people do: one dash before a letter, two before a word.
func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
