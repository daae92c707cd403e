package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/report/safefile"
)

var pullCommand = command{
	group: serving, name: "pull", args: "[OWNER/REPO[:FILE]]", takes: arity{0, 1, "one model"},
	short: "fetch a model from the Hub into the cache, check it and ask the gate",
	long: `FILE is a file of the repository or a quantisation such as Q8_0; without it the only
model is taken, else Q4_K_M, Q5_K_M, Q4_0, Q8_0, Q6_K, Q3_K_M or Q2_K. All parts of a split model
are fetched. A download that broke off goes on where it stopped. Size and hash must be as the Hub
promised, and the gate must accept the model before the cache shows it; a rejected one goes into
quarantine, with the reason beside it. --lock notes the fetched files, --locked fetches exactly
those, or fails and names the difference.

Exit status 1 means that the gate rejects the model, or that a file is not as promised
or locked, 2 that it could not be fetched.

` + hubHelp,
	setup: func(flags *flagSet) func(*call) error {
		p := new(pull)
		flags.BoolVar(&p.json, "json", false, "print JSON")
		flags.StringVar(&p.lock, "lock", "", "write the fetched files to `FILE`: repository, "+
			"commit, files, sizes, hashes, templates")
		flags.StringVar(&p.locked, "locked", "", "fetch the files of `FILE`, nothing else")
		p.remote, p.limits = remoteFlags(flags), limitFlag(flags, lookedAt)
		return func(c *call) error {
			err := p.run(c)
			if err != nil && p.json {
				fmt.Fprintf(c.stdout, "%s\n", p.errorValue(c, err).Append(nil, ordered.Pretty))
			}
			return err
		}
	},
}

type pull struct {
	*remote
	limits       *limits
	json         bool
	lock, locked string
}

func (p *pull) run(c *call) error {
	ref, lock, err := p.wanted(c)
	if err != nil {
		return err
	}
	client, err := p.client(c)
	if err != nil {
		return err
	}
	show, end := c.downloading()
	m, err := model.Pull(c.ctx, client, ref, model.PullOptions{
		Options:  engine.Options{Now: subject.Now, Limits: p.limits.Limits},
		Progress: show,
		Warn: func(text string) {
			end()
			fmt.Fprintf(c.stderr, "assay pull: warning: %s\n", text)
		},
		Lock: lock,
	})
	end()
	if err != nil {
		return verdict(err)
	}
	if p.lock != "" {
		err := safefile.Write(p.lock, func(w io.Writer) error {
			_, err := w.Write(m.Lock.Text())
			return err
		})
		if err != nil {
			return err
		}
	}
	return p.print(c, m)
}

// wanted reads the reference, or the lock that stands for one.
func (p *pull) wanted(c *call) (hub.Ref, *hub.Lock, error) {
	if p.locked == "" {
		if len(c.args) == 0 {
			return hub.Ref{}, nil, usageError{errors.New("takes a model, OWNER/REPO[:FILE], " +
				"or --locked FILE")}
		}
		ref, err := p.ref(c.args[0])
		return ref, nil, err
	}
	if len(c.args) > 0 || p.revision != "" || p.lock != "" {
		return hub.Ref{}, nil, errors.New("--locked names the files to fetch: a model, --revision and " +
			"--lock are not for it")
	}
	text, err := readFile(p.locked)
	if err != nil {
		return hub.Ref{}, nil, err
	}
	lock, err := hub.ParseLock(text)
	if err != nil {
		return hub.Ref{}, nil, fmt.Errorf("%s: %w", p.locked, err)
	}
	return hub.Ref{Repo: lock.Repository, Revision: lock.Commit}, lock, nil
}

func (p *pull) print(c *call, m *model.Pulled) error {
	if !p.json {
		_, err := fmt.Fprintf(c.data(), "%s\nrepository: %s\ncommit: %s\ngate: pass\n", m.Paths[0], m.Repo.ID, m.Repo.Commit)
		return err
	}
	files := make([]ordered.Value, len(m.Paths))
	for i, path := range m.Paths {
		files[i] = ordered.Pairs("file", m.Files[i].Name, "path", path,
			"size", int(m.Files[i].Size), "sha256", m.Lock.Files[i].SHA256)
	}
	v := m.Model.Value().With("file", ordered.Str(m.Paths[0])).
		With("repository", ordered.Str(m.Repo.ID)).
		With("commit", ordered.Str(m.Repo.Commit)).
		With("files", ordered.ArrayOf(files...)).
		With("cached", ordered.Boolean(m.Cached))
	_, err := fmt.Fprintf(c.data(), "%s\n", v.Append(nil, ordered.Pretty))
	return err
}

// errorValue is an error as JSON; of a rejection it says where the file is.
func (p *pull) errorValue(c *call, err error) ordered.Value {
	name := p.locked
	if len(c.args) > 0 {
		name = c.args[0]
	}
	v := errorValue(name, err)
	var rejected *hub.Rejected
	if errors.As(err, &rejected) {
		v = v.With("type", ordered.Str("rejected")).
			With("reason", ordered.Str(rejected.Err.Error())).
			With("path", ordered.Str(rejected.Path))
	}
	return v
}
