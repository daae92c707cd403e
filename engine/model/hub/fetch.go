package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/goassay/assay/engine/model/filelock"
)

// Progress is the state of a download.
type Progress struct {
	File        string
	Done, Total int64 // bytes of the file
	Waiting     bool  // another program downloads the same file, and is waited for
}

// staged is content that is on this machine whole and checked.
type staged struct {
	path   string
	place  place
	unlock func()
}

type place int

const (
	inCache      place = iota // it was there before, shown to the world
	inQuarantine              // it was rejected before
	downloaded                // it came now, and is beside its place in the cache
)

// stage brings a file's content onto this machine. The caller calls unlock once it is where it
// shall stay.
func (c *Client) stage(ctx context.Context, r *Repo, f File,
	progress func(Progress)) (*staged, error) {
	if path := c.cachedPath(r, f); path != "" {
		return &staged{path, inCache, func() {}}, nil
	}
	if c.offline {
		return nil, c.failf(ErrOffline, r.named(f.Name), "not in the cache at %s", c.folder(r.ID))
	}
	unlock, err := c.lock(ctx, c.lockPath(r.ID, f.etag()),
		func() { progress(Progress{File: f.Name, Total: f.Size, Waiting: true}) })
	if err != nil {
		return nil, err
	}
	s := &staged{unlock: unlock}
	if path := c.cachedPath(r, f); path != "" {
		s.path, s.place = path, inCache // somebody else was faster
		return s, nil
	}
	s.path, s.place = c.quarantinePath(r.ID, f.etag(), f.Name), inQuarantine
	if info, err := os.Stat(s.path); err == nil && info.Size() == f.Size {
		return s, nil
	}
	s.path, s.place = c.blobPath(r.ID, f.etag())+".incomplete", downloaded
	if err := c.download(ctx, r, f, s.path, progress); err != nil {
		unlock()
		return nil, err
	}
	return s, nil
}

// keep puts staged content in its place in the cache.
func (c cache) keep(r *Repo, f File, s *staged) error {
	blob := c.blobPath(r.ID, f.etag())
	switch s.place {
	case inQuarantine:
		if err := os.MkdirAll(filepath.Dir(blob), 0o755); err != nil {
			return err
		}
		return c.release(r, f, blob)
	case downloaded:
		if err := os.Rename(s.path, blob); err != nil {
			return err
		}
		return filelock.SyncDir(filepath.Dir(blob))
	}
	return nil
}

// lockPoll is how often a lock that another program holds is tried.
const lockPoll = 200 * time.Millisecond

// lock takes a lock file, and says once that it has to wait.
func (c *Client) lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		locked, err := filelock.Try(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s cannot be locked: %w; set HF_HUB_CACHE to a folder on a "+
				"file system with locks", path, err)
		}
		if tries == 0 {
			waiting()
		}
		if err := c.sleep(ctx, lockPoll); err != nil {
			f.Close()
			return nil, err
		}
	}
}

// download brings a file to a path, where a part of it may lie already. Afterwards the file has the
// size and the hash that the Hub promised, and is flushed. After an error the file is a beginning
// from which a later download goes on.
func (c *Client) download(ctx context.Context, r *Repo, f File, path string,
	progress func(Progress)) error {
	d := &download{c: c, repo: r, file: f, path: path, progress: progress}
	err := d.run(ctx)
	if errors.Is(err, errDamaged) && d.resumed {
		// The damage may be in the part that lay there, which nobody had checked.
		err = d.run(ctx)
	}
	return err
}

// errDamaged marks content with another hash than promised; it is gone.
var errDamaged = errors.New("damaged")

// download is one file on its way.
type download struct {
	c        *Client
	repo     *Repo
	file     File
	path     string
	progress func(Progress)

	out     *os.File
	sum     hash.Hash // of the bytes in out
	done    int64     // bytes in out; done ≤ file.Size
	most    int64     // that were ever in out: bytes that come again are no progress
	resumed bool      // some of them were there before
	etag    string    // the storage's own, of the bytes of this run
}

// step is how much must come for a download to be called lively: failures are counted from there.
// In bytes.
const step = 1 << 20

func (d *download) run(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
		return err
	}
	if d.out, err = os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	defer func() {
		if closed := d.out.Close(); err == nil {
			err = closed
		}
	}()
	if err := d.resume(ctx); err != nil {
		return err
	}
	again := d.c.retrier()
	for d.done < d.file.Size {
		err := d.request(ctx)
		if err == nil {
			continue
		}
		if d.done-d.most >= step {
			again.tries, d.most = 0, d.done
		}
		if err := again.wait(ctx, err); err != nil {
			return err
		}
	}
	if sum := hex.EncodeToString(d.sum.Sum(nil)); sum != d.file.etag() {
		if err := os.Remove(d.path); err != nil {
			return err
		}
		e := d.c.failf(ErrMismatch, d.what(), "its hash is %s, expected %s: the download was "+
			"damaged and is removed; try again", sum, d.file.etag())
		e.Err = errDamaged
		return e
	}
	return d.disk(d.out.Sync())
}

func (d *download) what() string { return d.repo.named(d.file.Name) }

// resume takes up the part that is there.
func (d *download) resume(ctx context.Context) error {
	info, err := d.out.Stat()
	if err != nil {
		return err
	}
	d.sum, d.done = d.file.hash(), 0
	d.resumed = info.Mode().IsRegular() && info.Size() > 0
	if info.Size() > d.file.Size {
		return d.restart()
	}
	for buf := make([]byte, step); d.done < info.Size(); d.tell() {
		n, err := d.out.ReadAt(buf[:min(step, info.Size()-d.done)], d.done)
		d.sum.Write(buf[:n])
		if d.done += int64(n); err != nil {
			return d.disk(err)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restart throws away the part that is there.
func (d *download) restart() error {
	d.sum, d.done, d.etag, d.resumed = d.file.hash(), 0, "", false
	return d.out.Truncate(0)
}

func (d *download) tell() {
	d.progress(Progress{File: d.file.Name, Done: d.done, Total: d.file.Size})
}

// request asks for the missing part and writes it.
func (d *download) request(ctx context.Context) error {
	header := http.Header{}
	if d.done > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", d.done))
		if d.etag != "" {
			header.Set("If-Range", d.etag) // a storage with other content sends all of it
		}
	}
	resp, err := d.c.send(ctx, d.what(), http.MethodGet, d.c.resolve(d.repo, d.file.Name), header,
		followAll)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		if n := resp.ContentLength; n >= 0 && n != d.file.Size {
			return d.c.failf(ErrMismatch, d.what(), "%d bytes are coming, expected %d", n,
				d.file.Size)
		}
		if d.done > 0 {
			if err := d.restart(); err != nil {
				return err
			}
		}
	case resp.StatusCode == http.StatusPartialContent && d.done > 0:
		if _, err := d.c.contentRange(d.what(), resp, d.done, d.file.Size-d.done,
			d.file.Size); err != nil {
			// Without a beginning there is no range to get wrong.
			return errors.Join(d.restart(), &transient{err, -1})
		}
	default:
		return d.c.statusError(resp, d.what(), d.repo.ID)
	}
	if etag := resp.Header.Get("ETag"); strings.HasPrefix(etag, `"`) {
		d.etag = etag
	}
	return d.copy(resp)
}

// copy writes a body to the file.
func (d *download) copy(resp *http.Response) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := resp.Body.Read(buf)
		if int64(n) > d.file.Size-d.done {
			return errors.Join(d.restart(), d.c.failf(ErrMismatch, d.what(), "more bytes are coming than the %d expected", d.file.Size))
		}
		if n > 0 {
			if wrote, err := d.out.WriteAt(buf[:n], d.done); err != nil {
				d.sum.Write(buf[:wrote])
				d.done += int64(wrote)
				return d.disk(err)
			}
			d.sum.Write(buf[:n])
			d.done += int64(n)
			d.tell()
		}
		if err == io.EOF && d.done == d.file.Size {
			return nil
		} else if err != nil {
			return d.c.short(d.what(), resp, err)
		}
	}
}

// disk makes an error of a file system's.
func (d *download) disk(err error) error {
	if err == nil {
		return nil
	}
	e := d.c.failf(nil, d.what(), "%v", err)
	if e.Err = err; errors.Is(err, syscall.ENOSPC) {
		e.Msg = fmt.Sprintf("no space is left for %s: %s more are needed; the part that has come stays "+
			"there, and the download goes on from it",
			d.path, Bytes(d.file.Size-d.done))
	}
	return e
}
