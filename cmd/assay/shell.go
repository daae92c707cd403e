package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/goassay/assay/harness/report/spelling"
)

var helpCommand = command{
	group: program, name: "help", args: "[COMMAND]", takes: arity{0, 2, "one command"},
	short: "explain a command",
	setup: func(*flagSet) func(*call) error {
		return func(c *call) error {
			root := c.command.Root()
			cmd, rest, err := root.Find(c.args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("there is no command %q%s", strings.Join(c.args, " "),
					spelling.Meant(c.args[0], names(root)))}
			}
			c.help(c.stdout, cmd)
			return nil
		}
	},
}

var versionCommand = command{
	group: program, name: "version",
	short: "print the version",
	setup: func(*flagSet) func(*call) error {
		return func(c *call) error {
			_, err := fmt.Fprintln(c.stdout, "assay", version())
			return err
		}
	},
}

// shells are the shells that completion knows, and how each is told.
var shells = []struct {
	name  string
	write func(c *call, root *cobra.Command) error
}{
	{"bash", func(c *call, root *cobra.Command) error { return root.GenBashCompletionV2(c.data(), true) }},
	{"zsh", func(c *call, root *cobra.Command) error { return root.GenZshCompletion(c.data()) }},
	{"fish", func(c *call, root *cobra.Command) error { return root.GenFishCompletion(c.data(), true) }},
	{"powershell", func(c *call, root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(c.data()) }},
}

func shellNames() []string {
	all := make([]string, len(shells))
	for i := range shells {
		all[i] = shells[i].name
	}
	return all
}

var completionCommand = command{
	group: program, name: "completion", args: "bash|zsh|fish|powershell",
	takes: arity{1, 1, "a shell"}, files: words(shellNames),
	short: "print the script that completes command lines in a shell",
	long: `For bash, with its package bash-completion: source <(assay completion bash). For zsh:
assay completion zsh > "${fpath[1]}/_assay". For fish: assay completion fish | source. For
PowerShell: assay completion powershell | Out-String | Invoke-Expression.`,
	setup: func(*flagSet) func(*call) error {
		return func(c *call) error {
			for _, shell := range shells {
				if shell.name == c.args[0] {
					return shell.write(c, c.command.Root())
				}
			}
			return usageError{fmt.Errorf("there is no completion for "+
				"%q; there are %s%s", c.args[0], strings.Join(shellNames(), ", "),
				spelling.Meant(c.args[0], shellNames()))}
		}
	},
}

var manCommand = command{
	group: program, name: "man", args: "DIR", takes: arity{1, 1, "a folder"}, files: folders,
	short: "write the manual pages, one for each command, into a folder",
	long: "The folder must exist. SOURCE_DATE_EPOCH is the date that the pages carry, " +
		"in seconds since 1970; default: today.",
	setup: func(*flagSet) func(*call) error {
		return func(c *call) error {
			if info, err := os.Stat(c.args[0]); err != nil {
				return err
			} else if !info.IsDir() {
				return errors.New(c.args[0] + " is no folder")
			}
			root := c.command.Root()
			markdown(root)
			return doc.GenManTree(root,
				&doc.GenManHeader{Section: "1", Source: "assay " + version(), Manual: "Assay"},
				c.args[0])
		}
	},
}

// markdown escapes in all texts of a tree the characters that Markdown would take as markup, since
// the library reads them as Markdown.
func markdown(cmd *cobra.Command) {
	escape := strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`)
	cmd.Short, cmd.Long = escape.Replace(cmd.Short), escape.Replace(cmd.Long)
	cmd.DisableAutoGenTag = true
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = escape.Replace(f.Usage) })
	for _, child := range cmd.Commands() {
		markdown(child)
	}
}
