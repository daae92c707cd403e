package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/diff"
)

// settings keep git from running a program that a repository names, and from taking a folder of it
// for a repository.
var settings = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	"-c", "safe.bareRepository=explicit", "--no-replace-objects"}

// git runs git and returns its output; the error has git's own words.
func git(args ...string) (string, error) {
	var out strings.Builder
	err := gitTo(&out, args...)
	return out.String(), err
}

// gitTo runs git and writes its output.
func gitTo(out io.Writer, args ...string) error {
	var said strings.Builder
	cmd := exec.Command("git", slices.Concat(settings, args)...)
	cmd.Stdout, cmd.Stderr = out, &said
	err := cmd.Run()
	if words := strings.TrimSpace(said.String()); err != nil && words != "" {
		err = errors.New(words)
	}
	if err != nil {
		err = fmt.Errorf("git %s %s: %w", args[0], args[len(args)-1], err)
	}
	return err
}

// base is a commit to compare with, and the names of files there. Paths are those of git, relative
// to the working folder.
type base struct {
	commit  string
	changed map[string]bool   // path now -> it differs
	renamed map[string]string // path now -> path then, of files that were renamed
}

// at is how git names a file.
func (b *base) at(name string) string {
	name = filepath.Clean(name)
	if filepath.IsAbs(name) {
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, name); err == nil {
				name = rel
			}
		}
	}
	return filepath.ToSlash(name)
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
	b := &base{commit: commit, changed: map[string]bool{}, renamed: map[string]string{}}
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
			b.changed[fields[2]], b.renamed[fields[2]] = true, fields[1]
			fields = fields[3:]
		} else {
			b.changed[fields[1]] = true
			fields = fields[2:]
		}
	}
	return b, nil
}

// open returns the revision of a template at the base, of the same name where its file has several;
// nil where the base has none that can be used.
func (b *base) open(is subject.Source) *subject.Source {
	name := b.at(is.File)
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

// model returns a model folder, or a model file, as it was at the base; nil where the base has
// none.
func (b *base) model(name string) (*subject.Model, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	dir, file := name, ""
	if !info.IsDir() {
		dir, file = filepath.Split(name)
	}
	files, err := b.files(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	if file != "" {
		maps.DeleteFunc(files, func(name, _ string) bool { return name != file })
	}
	if len(files) == 0 {
		return nil, nil
	}
	copied, err := os.MkdirTemp("", "assay-base-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(copied)
	for name, then := range files {
		target := filepath.Join(copied, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return nil, err
		}
		if err := b.copy(then, target); err != nil {
			return nil, err
		}
	}
	if !subject.HoldsModel(copied) {
		return nil, nil
	}
	if file != "" {
		folder, err := modeldir.ReadGGUF(os.DirFS(copied), file)
		if err != nil {
			return nil, nil // what cannot be used excuses nothing
		}
		return subject.NewModel(name, dir, folder), nil
	}
	folder, err := modeldir.Read(os.DirFS(copied), modeldir.Options{})
	if err != nil {
		return nil, err
	}
	return subject.NewModel(name, name, folder), nil
}

// files maps the files of a model folder, by their names in it, to their paths at the base: those
// that the base has there, and those that have been moved there.
func (b *base) files(dir string) (map[string]string, error) {
	at := b.at(dir)
	list, err := git("ls-tree", "-z", b.commit, "--", "./"+at+"/",
		"./"+at+"/"+modeldir.AdditionalDir+"/")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	add := func(file, then string) {
		name, err := filepath.Rel(filepath.FromSlash(at), filepath.FromSlash(file))
		name = filepath.ToSlash(name)
		folder := path.Dir(name)
		if err != nil || folder != "." && folder != modeldir.AdditionalDir {
			return
		}
		switch strings.ToLower(path.Ext(name)) {
		case ".json", ".jinja", ".gguf":
			if _, there := files[name]; !there {
				files[name] = then
			}
		}
	}
	for entry := range strings.SplitSeq(list, "\x00") {
		if about, file, _ := strings.Cut(entry, "\t"); strings.Contains(about, " blob ") {
			add(file, file)
		}
	}
	for now, then := range b.renamed {
		add(now, then)
	}
	return files, nil
}

// copy writes a file as it was at the base. A model file that has not changed is a link to the one
// on the disk: git may have no more than a pointer to it.
func (b *base) copy(file, target string) error {
	if !b.changed[file] && strings.EqualFold(path.Ext(file), ".gguf") {
		now, err := filepath.Abs(filepath.FromSlash(file))
		if err == nil && os.Symlink(now, target) == nil {
			return nil
		}
	}
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	return errors.Join(gitTo(out, "cat-file", "blob", b.commit+":./"+file), out.Close())
}

// read reads a file at the base by its absolute path; what git does not have there is not there.
func (b *base) read(file string) ([]byte, error) {
	var out bytes.Buffer
	if gitTo(&out, "cat-file", "blob", b.commit+":./"+b.at(file)) != nil {
		return nil, fs.ErrNotExist
	}
	return out.Bytes(), nil
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
func since(ctx context.Context, was *subject.Source, is subject.Source, o engine.Options) (edit,
	error) {
	if was == nil {
		return edit{}, nil
	}
	e := edit{was: &subject.With(ctx, []subject.Source{*was}, o)[0]}
	if was.Same(is) {
		return e, nil
	}
	cases, err := readCases(filepath.Dir(is.File))
	if err != nil {
		return e, err
	}
	e.changes = slices.DeleteFunc(diff.Compare(*e.was, is, cases),
		func(res rule.Result) bool { return slices.Contains(diff.OfFindings, res.Rule) })
	return e, nil
}

// class names the class of the edit, with its changes: new, identical, safe, risky, breaking or not
// compared. It is breaking where a check fails that did not at the base.
func (e edit) class(findings []rule.Result) string {
	switch {
	case e.was == nil:
		return "new, so nothing is compared"
	case diff.Incomparable(e.changes):
		return diff.NotCompared + ", because the limits ended the look at it"
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
		return diff.Identical
	}
	slices.SortStableFunc(changed,
		func(a, b rule.Result) int { return cmp.Compare(b.Level(), a.Level()) })
	var names []string
	for _, res := range changed {
		if !slices.Contains(names, res.Name) {
			names = append(names, res.Name)
		}
	}
	return diff.Class(changed[0].Level()) + ": " + strings.Join(names, ", ")
}
