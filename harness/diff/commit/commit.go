// Package commit reads the files of a commit of git: templates and models as they were before an
// edit.
//
// # Model
//
// A [Base] is the commit that the working tree departed from. It finds a file's revision there,
// also where the file was renamed since. Paths are those of git, relative to the working folder.
//
// git runs with settings that keep it from running a program that a repository names, and from
// taking a folder of it for a repository.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package commit

import (
	"bytes"
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

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/subject"
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

// Base is a commit to compare with, and the names of files there.
type Base struct {
	commit  string
	changed map[string]bool   // path now -> it differs
	renamed map[string]string // path now -> path then, of files that were renamed
}

// at is how git names a file.
func (b *Base) at(name string) string {
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

// Open finds the commit that the working tree departed from: the common ancestor with HEAD, or
// the commit itself where a clone is too shallow to know.
func Open(commit string) (*Base, error) {
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
	b := &Base{commit: commit, changed: map[string]bool{}, renamed: map[string]string{}}
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

// Source returns the revision of a template at the base, of the same name where its file has
// several; nil where the base has none that can be used.
func (b *Base) Source(is subject.Source) *subject.Source {
	name := b.at(is.File)
	if old, ok := b.renamed[name]; ok {
		name = old
	}
	object := b.commit + ":./" + name
	if _, err := git("cat-file", "-e", object); err != nil {
		return nil
	}
	all, err := Templates(Scheme + object)
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

// Model returns a model folder, or a model file, as it was at the base; nil where the base has
// none.
func (b *Base) Model(name string) (*subject.Model, error) {
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
func (b *Base) files(dir string) (map[string]string, error) {
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
func (b *Base) copy(file, target string) error {
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

// Read reads a file at the base by its absolute path; what git does not have there is not there.
func (b *Base) Read(file string) ([]byte, error) {
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

// Scheme begins the name of a file of a commit, git:REV:PATH.
const Scheme = "git:"

// Templates opens all templates of a file of a commit, git:REV:PATH.
func Templates(name string) ([]subject.Source, error) {
	spec := strings.TrimPrefix(name, Scheme)
	text, err := git("show", "--end-of-options", spec)
	if err != nil {
		return nil, err
	}
	all, err := subject.Texts(name, text)
	for i := range all {
		_, all[i].File, _ = strings.Cut(spec, ":")
	}
	return all, err
}
