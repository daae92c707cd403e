package gguf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/filelock"
)

// Retemplate writes a copy of a file with another chat template: the default one where name is
// empty, else the one of that name, which is added where there is none. Everything else is copied
// byte for byte, and the data begin at an aligned offset again. A template that the file has keeps
// its place among the keys, a new one comes last, and its name is added to the list of names. The
// copy is streamed.
func Retemplate(w io.Writer, f *File, name, template string) error {
	if err := checkTemplateName(name); err != nil {
		return err
	}
	changed, err := f.templated(name, template)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 1<<20)
	e := &encoder{w: buffered, order: f.Order}
	added := 0
	for _, c := range changed {
		if _, ok := f.Find(c.Key); !ok {
			added++
		}
	}
	e.header(f.Version, len(f.Tensors), len(f.Pairs)+added)
	for _, p := range f.Pairs {
		if i := slices.IndexFunc(changed, func(c Pair) bool { return c.Key == p.Key }); i >= 0 {
			e.pair(p.Key, changed[i].Value)
		} else {
			e.section(f, p.off, p.end)
		}
	}
	for _, c := range changed {
		if _, ok := f.Find(c.Key); !ok {
			e.pair(c.Key, c.Value)
		}
	}
	e.section(f, f.infos, f.infosEnd)
	if f.Data < f.Size {
		e.pad(f.Alignment)
		e.section(f, f.Data, f.Size)
	}
	if e.err == nil {
		e.err = buffered.Flush()
	}
	return e.err
}

// section copies a piece of a file.
func (e *encoder) section(f *File, off, end int64) {
	e.copy(io.NewSectionReader(f.r, off, end-off), end-off)
}

// checkTemplateName judges the name of a template.
func checkTemplateName(name string) error {
	if name == "default" {
		return errors.New(`the default template has no name; leave the name out`)
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' ||
			r == '-') {
			return fmt.Errorf("template name %q: expected letters, digits, '_' and "+
				"'-', such as %q", name, ToolUse)
		}
	}
	return nil
}

// templated returns the pairs that a new template changes or adds.
func (f *File) templated(name, template string) ([]Pair, error) {
	if name == "" {
		return []Pair{{Key: templateKey, Value: Text(template)}}, nil
	}
	changed := []Pair{{Key: namedPrefix + name, Value: Text(template)}}
	var names []string
	if _, ok := f.Find(templateList); ok {
		q := &query{file: f}
		names = slices.Collect(q.listed())
		if q.err != nil {
			return nil, q.err
		}
	} else {
		for _, p := range f.Pairs {
			if n, ok := strings.CutPrefix(p.Key, namedPrefix); ok {
				names = append(names, n)
			}
		}
	}
	if !slices.Contains(names, name) {
		names = append(names, name)
	}
	return append(changed, Pair{Key: templateList, Value: Texts(names...)}), nil
}

// RetemplateOptions control how [RetemplateFile] writes. The zero value is usable.
type RetemplateOptions struct {
	Name     string // of the template; "": the default one
	Force    bool   // replace an existing output; the input is never overwritten
	Progress func(done, total int64)
}

// RetemplateFile copies the model at in to out with another chat template: see [Retemplate]. The
// output appears whole or not at all: it is written beside its place as ".NAME.part", flushed to
// the disk, read back and compared with the input, and renamed. Of a split model all parts are
// copied, and renamed when all are there; in and out must then be the names of the first parts.
// Where it fails before that, or the context ends, nothing is left. The next run overwrites the
// part file of a killed run, unless it is still being written.
func RetemplateFile(ctx context.Context, in, out, template string,
	o RetemplateOptions) (err error) {
	jobs, err := plan(in, out)
	if err != nil {
		return err
	}
	var total int64
	for _, j := range jobs {
		if err := j.vacant(jobs, o.Force); err != nil {
			return err
		}
		total += 2 * j.size
	}
	tick := &ticker{ctx: ctx, total: total, progress: o.Progress}
	var parts []*part
	defer func() {
		for _, p := range parts {
			p.discard()
		}
	}()
	for i, j := range jobs {
		p, err := openPart(j.out)
		if err != nil {
			return err
		}
		parts = append(parts, p)
		if err := j.run(p.File, i == 0, template, o, tick); err != nil {
			return err
		}
	}
	// The first part comes last: where it is, the others are.
	for i := len(jobs) - 1; i >= 0; i-- {
		if err := jobs[i].vacant(jobs, o.Force); err != nil {
			return err // somebody else was faster
		}
		if err := parts[i].commit(jobs[i].out); err != nil {
			return err
		}
	}
	return filelock.SyncDir(filepath.Dir(out))
}

// part is an output while it is written. It is locked, so that two runs do not write one.
type part struct {
	*os.File
	done bool
}

// openPart opens the file in which an output is written. One that is there already was left by a
// run that was killed, if nobody has its lock.
func openPart(out string) (*part, error) {
	path := filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".part")
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		fresh := err == nil
		if errors.Is(err, fs.ErrExist) {
			f, err = reopen(path)
		}
		if err != nil {
			return nil, err
		}
		locked, err := filelock.Try(f)
		switch there, statErr := os.Lstat(path); {
		case err != nil && !fresh:
			err = fmt.Errorf("%s is there, and its file system has no locks that show whether it "+
				"is being written (%w): if not, remove it", path, err)
		case err == nil && !locked:
			err = fmt.Errorf("%s is being written by another program", out)
		case statErr != nil || !is(f, there):
			f.Close() // another run was done with it just now
			continue
		default:
			err = f.Truncate(0)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		return &part{File: f}, nil
	}
	return nil, fmt.Errorf("%s comes and goes: other programs are writing %s", path, out)
}

// reopen opens a file that an earlier run left. It refuses a link: the file it leads to is not
// ours.
func reopen(path string) (*os.File, error) {
	there, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !there.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is in the way, and is no regular file: remove it", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(path, 0o600) == nil {
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	return f, err
}

// is reports whether an opened file is the one of an entry.
func is(f *os.File, entry os.FileInfo) bool {
	info, err := f.Stat()
	return err == nil && os.SameFile(info, entry)
}

// commit gives the file its name, with the lock held: nobody else can write into it before. Where a
// system does not rename open files it is closed first; such systems have no lock either.
func (p *part) commit(out string) error {
	err := os.Rename(p.Name(), out)
	if err != nil && p.Close() == nil {
		err = os.Rename(p.Name(), out)
	}
	p.done = err == nil
	return err
}

// discard closes the file, and removes it unless it has its name.
func (p *part) discard() {
	if !p.done && os.Remove(p.Name()) != nil {
		p.Close() // a system that removes no open files
		os.Remove(p.Name())
	}
	p.Close()
}

// job is one file to copy.
type job struct {
	in, out string
	size    int64
}

// plan opens the model and reports which files make it up.
func plan(in, out string) ([]job, error) {
	split, err := splitOf(in)
	if err != nil {
		return nil, err
	}
	if split.No > 0 {
		return nil, fmt.Errorf("%s is part %d of %d, and the templates are in the "+
			"first: give that one", in, split.No+1, split.Count)
	}
	jobs := []job{{in: in, out: out}}
	for no := uint64(1); no < split.Count; no++ {
		from, ok := PartName(in, no, split.Count)
		if !ok {
			return nil, fmt.Errorf("%s is the first of %d parts, but its name does not end "+
				"in -00001-of-%05d.gguf, so the others "+
				"cannot be found", in, split.Count, split.Count)
		}
		to, ok := PartName(out, no, split.Count)
		if first, _ := PartName(out, 0, split.Count); !ok || first != out {
			return nil, fmt.Errorf("%s is the first of %d parts: the output's name must end "+
				"in -00001-of-%05d.gguf, too", in, split.Count, split.Count)
		}
		jobs = append(jobs, job{in: from, out: to})
	}
	for i := range jobs {
		info, err := os.Stat(jobs[i].in)
		if err != nil {
			return nil, err
		}
		jobs[i].size = info.Size()
	}
	return jobs, nil
}

func splitOf(path string) (Split, error) {
	r, f, err := OpenFile(path)
	if err != nil {
		return Split{}, err
	}
	defer r.Close()
	info, err := f.Info()
	if err != nil {
		return Split{}, fmt.Errorf("%s: %w", path, err)
	}
	return info.Split, nil
}

// OpenFile opens a file by its path. The caller closes the [os.File] when it is done with both.
func OpenFile(path string) (*os.File, *File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe waits
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := os.Open(path)
	if err == nil {
		info, err = r.Stat()
	}
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	f, err := Open(r, info.Size())
	if err != nil {
		r.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, f, nil
}

// vacant checks that the output is none of the inputs, under whatever name, and not there unless it
// may be replaced.
func (j job) vacant(jobs []job, force bool) error {
	there, err := os.Stat(j.out)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(j.out); err == nil && !force {
			return fmt.Errorf("%s: %w, a link to nothing", j.out, fs.ErrExist)
		}
		return nil
	} else if err != nil {
		return err
	}
	for _, other := range jobs {
		if in, err := os.Stat(other.in); err != nil {
			return err
		} else if os.SameFile(in, there) {
			return fmt.Errorf("%s is the input; the output must be another file", j.out)
		}
	}
	if !there.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", j.out)
	}
	if !force {
		return fmt.Errorf("%s: %w; it would be replaced with force", j.out, fs.ErrExist)
	}
	return nil
}

// run copies one file into w; the first part gets the template.
func (j job) run(w *os.File, first bool, template string, o RetemplateOptions, tick *ticker) error {
	r, f, err := OpenFile(j.in)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	f.r = &ticking{r, tick}
	if first {
		err = Retemplate(w, f, o.Name, template)
	} else {
		_, err = io.Copy(w, io.NewSectionReader(f.r, 0, f.Size))
	}
	if err == nil {
		err = w.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", j.out, err)
	}
	if err = j.compare(f, w, first, template, o, tick); err != nil {
		return fmt.Errorf("%s was written, but does not read back: %w", j.out, err)
	}
	return w.Chmod(info.Mode().Perm())
}

// compare compares a copy with its original, byte for byte except in the parts that had to change.
func (j job) compare(f *File, w *os.File, first bool, template string, o RetemplateOptions,
	tick *ticker) error {
	info, err := w.Stat()
	if err != nil {
		return err
	}
	if !first {
		if info.Size() != f.Size {
			return fmt.Errorf("%d bytes, expected %d", info.Size(), f.Size)
		}
		return same(f.r, w, 0, 0, f.Size)
	}
	c, err := Open(w, info.Size())
	if err != nil {
		return err
	}
	changed, err := f.templated(o.Name, template)
	if err != nil {
		return err
	}
	added := 0
	for i, p := range changed {
		if _, ok := f.Find(p.Key); !ok {
			added++
		}
		got, _ := c.Find(p.Key)
		if text, ok := got.Value.Text(); i == 0 && (!ok || text != template) {
			return fmt.Errorf("key %q is not the template", p.Key)
		}
	}
	if len(c.Pairs) != len(f.Pairs)+added {
		return fmt.Errorf("%d keys, expected %d", len(c.Pairs), len(f.Pairs)+added)
	}
	for i, p := range f.Pairs {
		if slices.ContainsFunc(changed, func(c Pair) bool { return c.Key == p.Key }) {
			continue
		}
		q := c.Pairs[i]
		if q.end-q.off != p.end-p.off {
			return fmt.Errorf("key %q has another length", p.Key)
		}
		if err := same(f.r, w, p.off, q.off, p.end-p.off); err != nil {
			return err
		}
	}
	if c.infosEnd-c.infos != f.infosEnd-f.infos || c.Size-c.Data != f.Size-f.Data {
		return fmt.Errorf("tensors of %d bytes, expected %d", c.Size-c.Data, f.Size-f.Data)
	}
	if err := same(f.r, w, f.infos, c.infos, f.infosEnd-f.infos); err != nil {
		return err
	}
	return same(f.r, w, f.Data, c.Data, f.Size-f.Data)
}

// same compares n bytes of two files.
func same(a, b io.ReaderAt, offA, offB, n int64) error {
	x, y := make([]byte, min(n, 1<<20)), make([]byte, min(n, 1<<20))
	for done := int64(0); done < n; done += int64(len(x)) {
		x, y = x[:min(int64(len(x)), n-done)], y[:min(int64(len(y)), n-done)]
		if err := readFull(a, x, offA+done); err != nil {
			return err
		}
		if err := readFull(b, y, offB+done); err != nil {
			return err
		}
		if !bytes.Equal(x, y) {
			return errorf(offB+done, "differs from the original at byte %d", offA+done)
		}
	}
	return nil
}

// ticker tells how far the work is: the bytes read of the input, once to copy it and once to
// compare. It stops when the context ends.
type ticker struct {
	ctx         context.Context
	done, total int64
	progress    func(done, total int64)
}

// ticking is a reader whose reads are counted.
type ticking struct {
	r    io.ReaderAt
	tick *ticker
}

func (t *ticking) ReadAt(b []byte, off int64) (int, error) {
	if err := context.Cause(t.tick.ctx); err != nil {
		return 0, err
	}
	n, err := t.r.ReadAt(b, off)
	t.tick.done += int64(n)
	if t.tick.progress != nil {
		t.tick.progress(min(t.tick.done, t.tick.total), t.tick.total)
	}
	return n, err
}
