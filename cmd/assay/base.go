package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/revision"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// settings keep git from running a program that a repository names, and from taking a folder of it
// for a repository.
var settings = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	"-c", "safe.bareRepository=explicit", "--no-replace-objects"}

// git runs git and returns its output; the error has git's own words.
func git(args ...string) (string, error) {
	out, err := exec.Command("git", slices.Concat(settings, args)...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) && len(failed.Stderr) > 0 {
			err = errors.New(strings.TrimSpace(string(failed.Stderr)))
		}
		return "", fmt.Errorf("git %s %s: %w", args[0], args[len(args)-1], err)
	}
	return string(out), nil
}

// base is a commit to compare with, and the names of files there.
type base struct {
	commit  string
	renamed map[string]string // path now -> path then, of files that were renamed
}

// openBase finds the commit that the working tree departed from: the common ancestor with HEAD, or
// the commit itself where a clone is too shallow to know.
func openBase(commit string) (*base, error) {
	if _, err := git("rev-parse", "--verify", "--quiet", "--end-of-options",
		commit+"^{commit}"); err != nil || strings.HasPrefix(commit, "^") {
		if shallow, again := git("rev-parse", "--is-shallow-repository"); again != nil {
			return nil, again
		} else if strings.TrimSpace(shallow) == "true" {
			return nil, fmt.Errorf("--base %s: the commit is not in this clone, which is "+
				"shallow; clone with its history (actions/checkout: fetch-depth: 0), or "+
				"fetch the commit", commit)
		}
		return nil, fmt.Errorf("--base %s: there is no such commit in this repository", commit)
	}
	b := &base{commit: commit, renamed: map[string]string{}}
	if ancestor, err := git("merge-base", "--end-of-options", commit, "HEAD"); err == nil {
		b.commit = strings.TrimSpace(ancestor)
	}
	status, err := git("diff", "--name-status", "--find-renames", "-z", "--relative", b.commit,
		"--")
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

// open returns the revision of a template at the base, of the same name where its file has several;
// nil where the base has none that can be used.
func (b *base) open(is subject.Source) *subject.Source {
	name := filepath.ToSlash(filepath.Clean(is.File))
	if strings.EqualFold(filepath.Ext(name), ".gguf") {
		return nil // git has no text of it
	}
	if old, ok := b.renamed[name]; ok {
		name = old
	}
	object := b.commit + ":./" + name
	if _, err := git("cat-file", "-e", object); err != nil {
		return nil
	}
	all, err := openCommitted("git:" + object)
	if err != nil {
		return nil
	}
	for _, was := range all {
		if part(was) == part(is) {
			return &was
		}
	}
	return nil
}

// model returns a model folder as it was at the base, without its model files; nil where the base
// has no such folder.
func (b *base) model(dir string) (*subject.Model, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, err
	}
	at := filepath.ToSlash(filepath.Clean(dir))
	list, err := git("ls-tree", "-r", "-z", "--name-only", b.commit, "--", "./"+at+"/")
	if err != nil {
		return nil, err
	}
	copied, err := os.MkdirTemp("", "assay-base-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(copied)
	for file := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		name, err := filepath.Rel(dir, filepath.FromSlash(file))
		if ext := filepath.Ext(name); err != nil || !filepath.IsLocal(name) ||
			ext != ".json" && ext != ".jinja" {
			continue
		}
		text, err := git("show", "--end-of-options", b.commit+":./"+file)
		if err != nil {
			return nil, err
		}
		target := filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(target, []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	if list == "" {
		return nil, nil
	}
	folder, err := modeldir.Read(os.DirFS(copied), modeldir.Options{})
	if err != nil {
		return nil, err
	}
	return subject.NewModel(dir, dir, folder), nil
}

// part is the name of a template in a file that has several; "" where the file is the template.
func part(src subject.Source) string {
	_, name, _ := strings.Cut(filepath.Base(src.Name), "#")
	return name
}

// edit describes the change of a template since the base.
type edit struct {
	was     *subject.Source // nil: the base does not have it
	changes []rule.Result   // as `assay diff` finds them, without the checks' own findings
}

// since compares a template with its revision at the base, if there is one. Both have one bound on
// their renders together, that of the options.
func since(was *subject.Source, is subject.Source, o engine.Options) (edit, error) {
	if was == nil {
		return edit{}, nil
	}
	e := edit{was: &subject.With([]subject.Source{*was}, o)[0]}
	if was.Text == is.Text {
		return e, nil
	}
	cases, err := readCases(filepath.Dir(is.File))
	if err != nil {
		return e, err
	}
	e.changes = slices.DeleteFunc(revision.Compare(*e.was, is, cases),
		func(res rule.Result) bool { return slices.Contains(revision.OfFindings, res.Rule) })
	return e, nil
}

// class names the class of the edit, with its changes: new, identical, safe, risky, breaking or not
// compared. It is breaking where a check fails that did not at the base.
func (e edit) class(findings []rule.Result) string {
	switch {
	case e.was == nil:
		return "new, so nothing is compared"
	case revision.Incomparable(e.changes):
		return revision.NotCompared + ", because the limits ended the look at it"
	}
	changed := slices.Clone(e.changes)
	for _, res := range findings {
		if res.Bad() {
			changed = append(changed, res)
		}
	}
	changed = slices.DeleteFunc(changed,
		func(res rule.Result) bool { return res.Status == rule.Passed })
	if len(changed) == 0 {
		return revision.Identical
	}
	slices.SortStableFunc(changed,
		func(a, b rule.Result) int { return cmp.Compare(b.Severity, a.Severity) })
	var names []string
	for _, res := range changed {
		if !slices.Contains(names, res.Name) {
			names = append(names, res.Name)
		}
	}
	return revision.Class(changed[0].Severity) + ": " + strings.Join(names, ", ")
}
