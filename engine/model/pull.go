package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/hub"
)

// Remote is a model on the Hub, judged by its header without fetching it.
type Remote struct {
	*Model
	Repo  *hub.Repo
	File  string // the model's file, or its first part
	Keys  string // its keys and tensors as text, see [gguf.File.String]
	Bytes int64  // how much had to be read over the network
	// Sequential reports whether the server ignores ranges, and everything up to the header's end
	// had to be read.
	Sequential bool
}

// InspectHub chooses a model of a repository as a pull would, and reads and judges it by the
// headers of its parts. Files that the cache has are read there. A rejected model is no error.
func InspectHub(ctx context.Context, c *hub.Client, ref hub.Ref,
	o engine.Options) (*Remote, error) {
	repo, err := c.Repo(ctx, ref.Repo, ref.Revision)
	if err != nil {
		return nil, err
	}
	files, err := repo.Choose(ref.File)
	if err != nil {
		return nil, err
	}
	m := &Remote{Repo: repo, File: files[0].Name}
	m.Model, err = inspect(ctx, m.File, func(name string) (*gguf.File, io.Closer, error) {
		file, ok := repo.Find(name)
		if !ok {
			return nil, nil, fmt.Errorf("%s: %s is not in the repository", repo.ID, name)
		}
		r, err := c.Open(ctx, repo, file)
		if err != nil {
			return nil, nil, err
		}
		f, err := gguf.Open(r, r.Size())
		if err == nil && name == m.File {
			m.Keys = f.String()
		}
		closing := closer(func() error {
			m.Bytes += r.BytesRead()
			m.Sequential = m.Sequential || r.Sequential()
			return r.Close()
		})
		if err != nil {
			closing.Close()
			return nil, nil, remoteError(repo, name, err)
		}
		return f, closing, nil
	}, o)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// remoteError puts the repository before an error in a header; one of the Hub has it already.
func remoteError(repo *hub.Repo, name string, err error) error {
	var said *hub.Error
	if errors.As(err, &said) {
		return said
	}
	return fmt.Errorf("%s: %s: %w", repo.ID, name, err)
}

type closer func() error

func (c closer) Close() error { return c() }

// PullOptions control how a model is fetched and judged. The functions may be nil.
type PullOptions struct {
	engine.Options
	Progress func(hub.Progress)
	Warn     func(string) // takes findings that do not keep the model from being fetched
	Lock     *hub.Lock    // exactly the files that must come; nil: whatever the reference names
}

// Pulled is a model that was fetched and accepted.
type Pulled struct {
	*hub.Pulled
	Model *Model
}

// Pull brings a model from the Hub into the cache and asks the gate (M2). A model that the gate
// rejects is a [hub.Rejected].
func Pull(ctx context.Context, c *hub.Client, ref hub.Ref, o PullOptions) (*Pulled, error) {
	pulled, err := c.Pull(ctx, ref, hub.PullOptions{
		Judge:    func(path string) error { return judgeFile(ctx, path, o.Options) },
		Hint:     func(h hub.Hint) error { return judgeHint(ctx, h, o.Options) },
		Progress: o.Progress, Warn: o.Warn, Lock: o.Lock,
	})
	if err != nil {
		return nil, err
	}
	m, err := Inspect(ctx, pulled.Paths[0], o.Options)
	if err != nil {
		return nil, err
	}
	for i := range m.Templates {
		t := &m.Templates[i]
		pulled.Lock.Templates = append(pulled.Lock.Templates,
			hub.LockedTemplate{Name: t.Title(), SHA256: t.SHA256, Judged: t == m.Judged})
	}
	if o.Lock != nil {
		err = o.Lock.CheckTemplates(c, pulled.Lock.Templates)
	}
	return &Pulled{pulled, m}, err
}

// judgeFile is the gate on a file that has no name yet.
func judgeFile(ctx context.Context, path string, o engine.Options) error {
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	stat, err := r.Stat()
	if err != nil {
		return err
	}
	f, err := gguf.Open(r, stat.Size())
	if err != nil {
		return err
	}
	info, err := f.Info()
	if err != nil {
		return err
	}
	if info.Split.No > 0 {
		return fmt.Errorf("the file is part %d of %d, "+
			"and the first by its name", info.Split.No+1, info.Split.Count)
	}
	return Judge(ctx, info, o).Rejection
}

// judgeHint asks the gate about the template that the Hub shows. That is the default one alone, so
// the answer is no verdict (M1).
func judgeHint(ctx context.Context, h hub.Hint, o engine.Options) error {
	if h.Architecture == "" && h.Template == "" {
		return nil // the Hub has not read the model files
	}
	info := &gguf.Info{BOS: gguf.Token{Text: h.BOS}, EOS: gguf.Token{Text: h.EOS}}
	if h.Template != "" {
		info.Templates = []gguf.Template{{Text: h.Template}}
	}
	if reason := Judge(ctx, info, o).Rejection; reason != nil {
		return fmt.Errorf("by the template that the Hub shows the model would be rejected: %w; "+
			"it may have another one for tools", reason)
	}
	return nil
}
