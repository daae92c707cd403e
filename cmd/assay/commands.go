package main

import "flag"

// commands has every command in the order in which help lists them.
var commands []command

func init() {
	commands = []command{
		checkCommand, runCommand, verifyCommand, diffCommand, newCommand,
		renderCommand, capsCommand, analyzeCommand, programCommand, grammarCommand, parseCommand,
		explainCommand, exportCommand, reportCommand, liveCommand,
		inspectCommand, pullCommand, templatesCommand, retemplateCommand,
	}
}

func find(name string) (*command, bool) {
	for i := range commands {
		if commands[i].name == name {
			return &commands[i], true
		}
	}
	return nil, false
}

func commandNames() []string {
	names := make([]string, len(commands))
	for i := range commands {
		names[i] = commands[i].name
	}
	return names
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return "" }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func listFlag(flags *flag.FlagSet, name, usage string) *list {
	l := new(list)
	flags.Var(l, name, usage)
	return l
}
