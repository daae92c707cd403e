package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/goassay/assay/engine/lists"
)

// A group is a heading of the list of commands.
type group struct{ id, title string }

// The groups, in the order in which help lists them.
var (
	judging = group{"judge", "Judge templates"}
	looking = group{"look", "Look at one step"}
	serving = group{"serve", "Models and servers"}
	many    = group{"many", "Many templates"}
	proving = group{"test", "Corpora and test vectors"}
	program = group{"program", "This program"}

	groups = []group{judging, looking, serving, many, proving, program}
)

// A command is a word after assay, as data: the tree of the command line, help, completion and the
// man pages are made of it.
type command struct {
	group group
	name  string
	args  string // for the usage line, such as "OLD NEW"
	takes arity
	files cobra.CompletionFunc // completes the arguments; nil: with any file
	short string               // one line, without a full stop
	long  string               // the rest of its help: paragraphs, which are wrapped
	apart [][]string           // flags that exclude each other
	// setup declares the flags and returns the function that runs once they are set. It is nil
	// where within has the commands below this one.
	setup  func(*flagSet) func(*call) error
	within []*command
}

// arity is how many arguments a command takes; the zero value is none.
type arity struct {
	least, most int // most < 0: any number
	what        string
}

// commands has every command in the order in which help lists those of a group.
var commands []*command

func init() {
	cobra.EnableCommandSorting = false
	commands = []*command{
		&checkCommand, &fixCommand, &auditCommand, &coverageCommand, &diffCommand,
		&templatesCommand, &explainCommand, &lspCommand,
		&renderCommand, &capsCommand, &analyzeCommand, &programCommand, &grammarCommand,
		&parseCommand, &pageCommand,
		&inspectCommand, &pullCommand, &retemplateCommand, &emitCommand, &trainCommand,
		&liveCommand, &serveCommand, &probeCommand, &providerCommand, &datasetCommand,
		&pipeCommand,
		&hubCommand, &manifestCommand, &surveyCommand,
		&runCommand, &newCommand, &exportCommand, &verifyCommand, &enginesCommand, &reportCommand,
		&helpCommand, &versionCommand, &completionCommand, &manCommand,
	}
}

// The arguments that several commands take, for the completion of shells.
var (
	templateFiles = filesOf("jinja", "j2", "json", "gguf")
	modelFiles    = filesOf("gguf")
	reportFiles   = filesOf("json", "jinja", "j2")
	vectorFiles   = filesOf("jsonl")
)

// filesOf completes with the files that have one of these extensions, and with folders.
func filesOf(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// folders completes with folders.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// words completes with one of a few words.
func words(list func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string,
		begun string) ([]string, cobra.ShellCompDirective) {
		matching := lists.Filter(list(), func(word string) bool {
			return strings.HasPrefix(word, begun)
		})
		return matching, cobra.ShellCompDirectiveNoFileComp
	}
}
