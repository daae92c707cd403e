// Package storage reads and writes files by name: in folders and, by URL, in buckets.
//
// # Model
//
// A name such as s3://bucket/survey/manifest.jsonl or gs://bucket/survey/manifest.jsonl is that of
// an object in a bucket, any other that of a file. The query of a URL has the bucket's options:
// region, endpoint, profile, use_path_style and more of S3, endpoint and anonymous of Google.
// [Join] and [Dir] keep it. A file appears under its name when it is whole, in a bucket as in a
// folder, so that a shard which runs again replaces its own results.
//
// Buckets are reached by gocloud.dev/blob in a program that was built with the tag cloud. Its
// modules double the size of the program; one that was built without the tag links none of them,
// and answers with an error that names the remedy.
//
// # Credentials
//
// They come from the places where the tools of each provider look for them: the environment,
// configuration files, the machine's own service. A URL has none. They go to one host alone, that
// of the bucket's first request; a server that leads elsewhere is an error.
//
// # Limits
//
// A writer keeps 5 MiB in memory, a reader nothing. A server that is silent for a minute is an
// error, and so is one that takes too long or too many requests for one file or listing, by the
// bounds of engine/model/patience. A listing has at most a million keys, each once and in its
// folder; an answer that is no object's content has at most 2 MiB. Content is not decompressed, and
// tells where it ends.
//
// # Errors
//
// A failure in a bucket is an [*Error], which knows whether another try may help.
//
// # Specifications followed
//
// URLs as gocloud.dev has them: https://gocloud.dev/howto/blob/.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/goassay/assay/engine/model/patience"
	"github.com/goassay/assay/harness/report/safefile"
)

// Error is a failure in a bucket.
type Error struct {
	Name  string // of the object or the bucket
	Again bool   // whether another try may help
	Err   error
}

// Error implements error.
func (e *Error) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns the cause: fs.ErrNotExist where there is no such object.
func (e *Error) Unwrap() error { return e.Err }

// Store opens and writes files. The zero value is ready. It is safe for use by several goroutines.
type Store struct {
	// Silence is how long a bucket's server may send nothing; 0: a minute.
	Silence time.Duration

	mu   sync.Mutex
	open map[string]bucket // by URL, without the path
}

// InBucket reports whether a name is that of an object in a bucket.
func InBucket(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && scheme != "" && strings.IndexFunc(scheme, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// Join names a file of a folder, or of a folder in a bucket.
func Join(folder, name string) string {
	if !InBucket(folder) {
		return filepath.Join(folder, filepath.FromSlash(name))
	}
	base, query := beforeQuery(folder)
	return strings.TrimSuffix(base, "/") + "/" + (&url.URL{Path: name}).EscapedPath() + query
}

// Dir names the folder of a file.
func Dir(name string) string {
	if !InBucket(name) {
		return filepath.Dir(name)
	}
	base, query := beforeQuery(name)
	return base[:strings.LastIndexByte(base, '/')+1] + query
}

// beforeQuery divides a URL; the query keeps its question mark.
func beforeQuery(name string) (base, query string) {
	if at := strings.IndexByte(name, '?'); at >= 0 {
		return name[:at], name[at:]
	}
	return name, ""
}

// Shown is a name for messages: of a URL without its query and user.
func Shown(name string) string {
	if !InBucket(name) {
		return name
	}
	base, _ := beforeQuery(name)
	scheme, rest, _ := strings.Cut(base, "://")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}

// object is an object of a bucket, or a folder of one.
type object struct {
	bucket
	key  string
	name string // for messages
}

// isFolder reports whether the name is a folder's by its form.
func (o object) isFolder() bool { return o.key == "" || strings.HasSuffix(o.key, "/") }

// fail makes an error of the failure of an operation.
func (o object) fail(err error) error {
	missing, again := cause(err)
	if missing {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return &Error{Name: o.name, Again: again, Err: err}
}

// in returns the object of a URL. A bucket is opened once.
func (s *Store) in(ctx context.Context, name string) (object, error) {
	o := object{name: Shown(name)}
	wrong := func(err error) (object, error) { return o, &Error{Name: o.name, Err: err} }
	u, err := url.Parse(name)
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return wrong(bad.Err) // without the URL
	case err != nil:
		return wrong(err)
	case u.User != nil:
		return wrong(errors.New("a URL has no credentials here; they come from the environment " +
			"or the files of the provider's tools"))
	case u.Host == "":
		return wrong(errors.New("the bucket's name is missing, expected one such as " +
			"s3://bucket/name"))
	case u.Fragment != "" || strings.Contains(name, "#"):
		return wrong(errors.New("a # has no meaning in the name of an object; write it as %23"))
	}
	if o.key = strings.TrimPrefix(u.Path, "/"); o.key != "" && path.Clean(o.key) != o.key &&
		path.Clean(o.key)+"/" != o.key || strings.HasPrefix(o.key, "../") {
		return wrong(fmt.Errorf("the path is %.200q, expected one without //, . and .. in it",
			u.Path))
	}
	u.Path, u.RawPath = "", ""
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, found := s.open[u.String()]; found {
		o.bucket = known
		return o, nil
	}
	if o.bucket, err = openBucket(ctx, u, cmp.Or(s.Silence, time.Minute)); err != nil {
		return wrong(err)
	}
	if s.open == nil {
		s.open = map[string]bucket{}
	}
	s.open[u.String()] = o.bucket
	return o, nil
}

// Open opens a file for reading.
func (s *Store) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if !InBucket(name) {
		return os.Open(name)
	}
	o, err := s.in(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := o.read(patience.With(ctx), o.key)
	if err != nil {
		return nil, o.fail(err)
	}
	return &reader{r, o}, nil
}

// reader names the object in the errors of reading it.
type reader struct {
	io.ReadCloser
	object object
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = r.object.fail(err)
	}
	return n, err
}

// Local returns the path of a file on the disk: of an object in a bucket that of a copy with its
// base name, in a folder for temporary files, which done removes.
func (s *Store) Local(ctx context.Context, name string) (local string, done func(), err error) {
	if !InBucket(name) {
		return name, func() {}, nil
	}
	from, err := s.Open(ctx, name)
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	u, err := url.Parse(name) // Open has parsed it, too
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "assay-")
	if err != nil {
		return "", nil, err
	}
	done = func() { os.RemoveAll(dir) }
	local = filepath.Join(dir, path.Base(u.Path))
	if err = safefile.Write(local, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	}); err != nil {
		done()
		return "", nil, err
	}
	return local, done, nil
}

// IsFolder reports whether a name is a folder's. In a bucket that is any that no object has.
func (s *Store) IsFolder(ctx context.Context, name string) (bool, error) {
	if !InBucket(name) {
		info, err := os.Stat(name)
		return err == nil && info.IsDir(), err
	}
	found, err := s.Exists(ctx, name)
	return !found, err
}

// Exists reports whether there is a file of a name.
func (s *Store) Exists(ctx context.Context, name string) (bool, error) {
	if !InBucket(name) {
		_, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	o, err := s.in(ctx, name)
	if err != nil {
		return false, err
	}
	if o.isFolder() {
		return false, nil
	}
	found, err := o.exists(patience.With(ctx), o.key)
	if err != nil {
		err = o.fail(err)
	}
	return found, err
}

// Write writes a file, with its folder. Where write fails, the file that was there under the name
// stays.
func (s *Store) Write(ctx context.Context, name string, write func(io.Writer) error) error {
	if !InBucket(name) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		return safefile.Write(name, write)
	}
	o, err := s.in(ctx, name)
	if err != nil {
		return err
	}
	if o.isFolder() {
		return &Error{Name: o.name, Err: errors.New("it names a folder, expected an object")}
	}
	var own error // of write itself
	err = o.write(patience.With(ctx), o.key, func(w io.Writer) error {
		to := &writer{Writer: w}
		if own = write(to); own != nil && errors.Is(own, to.err) {
			own = nil // the bucket's
		}
		return errors.Join(own, to.err)
	})
	switch {
	case own != nil:
		return own
	case err != nil:
		return o.fail(err)
	}
	return nil
}

// writer remembers why the bucket took no more.
type writer struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

// List returns the names of the files in a folder, not those below it, that end in a suffix, in
// order.
func (s *Store) List(ctx context.Context, folder, suffix string) ([]string, error) {
	var names []string
	if !InBucket(folder) {
		files, err := os.ReadDir(folder)
		for _, f := range files {
			if strings.HasSuffix(f.Name(), suffix) && !f.IsDir() {
				name := filepath.Join(folder, f.Name())
				err = errors.Join(err, safefile.Check(name))
				names = append(names, name)
			}
		}
		return names, err
	}
	o, err := s.in(ctx, folder)
	if err != nil {
		return nil, err
	}
	prefix := o.key
	if !o.isFolder() {
		prefix += "/"
	}
	err = o.list(patience.With(ctx), prefix, func(key string) {
		if strings.HasSuffix(key, suffix) {
			names = append(names, Join(folder, strings.TrimPrefix(key, prefix)))
		}
	})
	if err != nil {
		return nil, o.fail(err)
	}
	return names, nil
}
