package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/config"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/diff/commit"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/report/spelling"
)

// checkSettings are the flags of `assay check` that assay.toml has, too, and the files that they are
// found in.
type checkSettings struct {
	config.Overrides
	failOn   choice
	file     string // the settings of all arguments; "": those upwards of each
	none     bool
	show     bool
	accepted map[string]string // rule -> why its findings do not fail

	now   *config.Finder // of the working tree
	valid *config.Finder // whose settings count: of the base, where there is one
	words *config.Vocabulary
}

// newSettings returns settings that no flag has changed.
func newSettings() *checkSettings {
	return &checkSettings{accepted: map[string]string{}, words: config.Words(),
		failOn: choice{of: []string{rule.Error.String(), rule.Warning.String(),
			rule.Note.String(), config.Never}}}
}

// settingFlags adds the flags.
func settingFlags(flags *flagSet) *checkSettings {
	s := newSettings()
	flags.category("Settings, which assay.toml has, too")
	flags.StringSliceVar(&s.Select, "select", nil, "run these `RULES` and no others: ids, "+
		"beginnings of ids, names, with commas between them; may be given again")
	flags.completes("select", ruleNames)
	flags.StringSliceVar(&s.Ignore, "ignore", nil, "leave out the findings of these `RULES`; "+
		"may be given again")
	flags.completes("ignore", ruleNames)
	flags.StringSliceVar(&s.Exclude, "exclude", nil, "do not judge the files of this `PATTERN`, "+
		"such as vendor/**; may be given again")
	flags.StringArrayVar(&s.Clients, "client", nil, "try the template on the requests of "+
		"this `CLIENT`, or all; may be given again")
	flags.completes("client", func() []string { return s.words.Clients })
	flags.BoolVar(&s.RequireTools, "require-tools", false, "fail where no template of an argument "+
		"is tool-capable and verified")
	flags.Var(&s.failOn, "fail-on", "fail on findings of this `SEVERITY` and worse, error (the "+
		"default), warning or note; or never")
	flags.completes("fail-on", func() []string { return s.failOn.of })
	flags.StringVar(&s.file, "config", "", "take the settings of this `FILE` for all templates, in "+
		"place of those upwards of each")
	flags.BoolVar(&s.none, "no-config", false, "take the settings of no file")
	flags.BoolVar(&s.show, "show-settings", false, "print the settings of each template and where "+
		"they are set, and judge nothing")
	return s
}

// acceptFlag adds the flag for the maintainer's own call.
func (s *checkSettings) acceptFlag(flags *flagSet) {
	flags.Func("accept", "`RULE=REASON`: this time, do not fail on what the rule finds, nor refuse "+
		"its suppression; may be given again", s.accept)
}

// accept reads RULE=REASON.
func (s *checkSettings) accept(text string) error {
	id, reason, _ := strings.Cut(text, "=")
	book := rule.Book{Rules: s.words.Rules}
	r, ok := book.Lookup(id)
	switch reason = strings.TrimSpace(reason); {
	case !ok:
		return fmt.Errorf("expected RULE=REASON, with the id or the name of a rule%s",
			spelling.Meant(id, ruleNames()))
	case slices.Contains(incomplete, r.ID):
		return fmt.Errorf("%s tells that the look was not whole, and that excuses nothing", r.ID)
	case reason == "":
		return fmt.Errorf("expected a reason after %s=", id)
	}
	s.accepted[r.ID] = reason
	return nil
}

// acceptances are lines for the report, so that a reviewer sees what was accepted.
func (s *checkSettings) acceptances() (lines []string) {
	for _, id := range slices.Sorted(maps.Keys(s.accepted)) {
		lines = append(lines, fmt.Sprintf("accepted: %s: %s", id, s.accepted[id]))
	}
	return lines
}

// open makes ready to find settings, and judges those of the command line.
func (s *checkSettings) open() error {
	s.FailOn = s.failOn.chosen
	s.now = &config.Finder{Vocabulary: s.words, Read: readFile, Name: shortName, Alone: s.file}
	s.valid = s.now
	if s.none {
		s.now.Read = func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	}
	return s.words.Check(s.Overrides)
}

// at takes the settings of a commit in place of those of the working tree: an edit must not excuse
// itself.
func (s *checkSettings) at(c *call, b *commit.Base, rev string) {
	if !s.none && s.file == "" {
		s.valid = &config.Finder{Vocabulary: s.words, Read: b.Read,
			Name: func(file string) string { return rev + ":" + shortName(file) },
			Wrong: func(err error) {
				c.warn("the defaults are taken, since the settings are wrong: %s",
					source.Detail(err))
			}}
	}
}

// of returns the settings of an argument.
func (s *checkSettings) of(c *call, name string) (*config.Settings, error) {
	where, isFolder := name, false
	if strings.HasPrefix(name, hub.Scheme) || storage.InBucket(name) || name == "-" {
		where, isFolder = ".", true
	} else if info, err := os.Stat(name); err == nil {
		isFolder = info.IsDir()
	}
	now, err := s.now.For(where, isFolder)
	if err != nil {
		return nil, err
	}
	if s.valid == s.now {
		return now.With(s.Overrides), nil
	}
	then, err := s.valid.For(where, isFolder)
	if err != nil {
		return nil, err
	}
	return then.With(s.Overrides), nil
}

// shortName is the name of a file by its absolute path: relative to the working folder where it is
// in there.
func shortName(file string) string {
	wd, err := os.Getwd()
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(wd, file); err == nil {
		return rel
	}
	return file
}

// kept returns the arguments that no pattern excludes, and reports the others.
func (s *checkSettings) kept(c *call, names []string) ([]string, error) {
	var kept []string
	for _, name := range names {
		of, err := s.of(c, name)
		if err != nil {
			return nil, err
		}
		if pattern, excluded := of.Excludes(name); excluded {
			c.note("%s is not judged: %s excludes %q", name, of.Origin("exclude"), pattern)
			continue
		}
		kept = append(kept, name)
	}
	return kept, nil
}

// print prints the settings of arguments, those with the same ones together.
func (s *checkSettings) print(c *call, names []string) error {
	var order []string
	of := map[string][]string{}
	for _, name := range names {
		one, err := s.of(c, name)
		if err != nil {
			return err
		}
		text := one.String()
		if of[text] == nil {
			order = append(order, text)
		}
		of[text] = append(of[text], name)
	}
	for i, text := range order {
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		for _, name := range of[text] {
			fmt.Fprintf(c.stdout, "# %s\n", name)
		}
		fmt.Fprint(c.stdout, text)
	}
	return nil
}
