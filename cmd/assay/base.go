package main

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/revision"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// git runs git and returns what it prints; the error has git's own words.
func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) && len(failed.Stderr) > 0 {
			err = errors.New(strings.TrimSpace(string(failed.Stderr)))
		}
		return "", fmt.Errorf("git %s %s: %w", args[0], args[len(args)-1], err)
	}
	return string(out), nil
}

// base is a commit to compare with, and what files were called there.
type base struct {
	commit  string
	renamed map[string]string // path now -> path then, of files that were renamed
}

// openBase finds the commit that the working tree departed from: the common ancestor with HEAD, or the commit itself where a clone
// is too shallow to know.
func openBase(commit string) (*base, error) {
	if _, err := git("rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}"); err != nil {
		if shallow, again := git("rev-parse", "--is-shallow-repository"); again != nil {
			return nil, again
		} else if strings.TrimSpace(shallow) == "true" {
			return nil, fmt.Errorf("--base %s: the commit is not in this clone, which is shallow; clone with its history (actions/checkout: fetch-depth: 0), or fetch the commit", commit)
		}
		return nil, fmt.Errorf("--base %s: there is no such commit in this repository", commit)
	}
	b := &base{commit: commit, renamed: map[string]string{}}
	if ancestor, err := git("merge-base", "--end-of-options", commit, "HEAD"); err == nil {
		b.commit = strings.TrimSpace(ancestor)
	}
	status, err := git("diff", "--name-status", "--find-renames", "-z", "--relative", b.commit, "--")
	if err != nil {
		return nil, err
	}
	fields := strings.Split(status, "\x00")
	for len(fields) >= 2 {
		if kind := fields[0]; (kind[0] == 'R' || kind[0] == 'C') && len(fields) >= 3 {
			b.renamed[fields[2]] = fields[1]
			fields = fields[3:]
		} else {
			fields = fields[2:]
		}
	}
	return b, nil
}

// open returns the revision of a template at the base, of the same name where its file has several; false where it is new.
func (b *base) open(is subject.Source) (subject.Source, bool, error) {
	name := filepath.ToSlash(filepath.Clean(is.File))
	if old, ok := b.renamed[name]; ok {
		name = old
	}
	object := b.commit + ":./" + name
	if _, err := git("cat-file", "-e", object); err != nil {
		return subject.Source{}, false, nil
	}
	all, err := openCommitted("git:" + object)
	for _, was := range all {
		if part(was) == part(is) {
			return was, true, nil
		}
	}
	return subject.Source{}, false, err
}

// part is the name of a template in a file that has several; "" where the file is the template.
func part(src subject.Source) string {
	_, name, _ := strings.Cut(filepath.Base(src.Name), "#")
	return name
}

// edit is what became of a template since the base.
type edit struct {
	was     *subject.Source // nil: the base does not have it
	changes []rule.Result   // as `assay diff` finds them, without what the checks find themselves
}

// edit compares a template with its revision at the base.
func (b *base) edit(is subject.Source, limits engine.Limits) (edit, error) {
	was, ok, err := b.open(is)
	if err != nil || !ok {
		return edit{}, err
	}
	was = was.Limited(limits)
	e := edit{was: &was}
	if was.Text == is.Text {
		return e, nil
	}
	cases, err := readCases(filepath.Dir(is.File))
	if err != nil {
		return e, err
	}
	e.changes = slices.DeleteFunc(revision.Compare(was, is, cases), func(res rule.Result) bool { return slices.Contains(revision.OfFindings, res.Rule) })
	return e, nil
}

// class says what the edit is, with what changed: new, identical, safe, risky or breaking. It is breaking where a check fails that did
// not at the base.
func (e edit) class(findings []rule.Result) string {
	if e.was == nil {
		return "new, so nothing is compared"
	}
	changed := slices.Clone(e.changes)
	for _, res := range findings {
		if res.Status == rule.Failed {
			changed = append(changed, res)
		}
	}
	changed = slices.DeleteFunc(changed, func(res rule.Result) bool { return res.Status == rule.Passed })
	if len(changed) == 0 {
		return revision.Identical
	}
	slices.SortStableFunc(changed, func(a, b rule.Result) int { return cmp.Compare(b.Severity, a.Severity) })
	var names []string
	for _, res := range changed {
		if !slices.Contains(names, res.Name) {
			names = append(names, res.Name)
		}
	}
	return revision.Class(changed[0].Severity) + ": " + strings.Join(names, ", ")
}
