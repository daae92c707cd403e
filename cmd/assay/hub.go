package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/subject"
)

// remote has the flags of commands that take a model on the Hub.
type remote struct {
	revision string
	retries  int
	rate     float64 // requests a second; 0: as many as the Hub allows
	budget   int64   // requests in all; 0: any number
}

func remoteFlags(flags *flagSet) *remote {
	flags.category("The Hub")
	r := new(remote)
	flags.StringVar(&r.revision, "revision", "", "`REVISION` on the Hub: a branch, tag or "+
		"commit; default: main")
	r.retry(flags)
	return r
}

func (r *remote) retry(flags *flagSet) {
	flags.IntVar(&r.retries, "retries", hub.DefaultRetries, "how often a request to the Hub is "+
		"tried again, `N` times in a row")
}

// politeFlags has the flags of commands that ask the Hub for many things.
func politeFlags(flags *flagSet) *remote {
	flags.category("The Hub")
	r := new(remote)
	flags.Float64Var(&r.rate, "rate", 0, "send at most `N` requests a second; default: as many as "+
		"the Hub allows")
	flags.Int64Var(&r.budget, "budget", 0, "stop after `N` requests: the next run goes on; "+
		"default: any number")
	r.retry(flags)
	return r
}

// hubHelp is the part of those commands' help about the environment.
const hubHelp = `HF_TOKEN or the token file of a log-in opens gated and private repositories, HF_HOME or
HF_HUB_CACHE moves the cache, HF_HUB_OFFLINE=1 uses nothing else, HF_ENDPOINT is another Hub,
HTTPS_PROXY a proxy, HF_HUB_DOWNLOAD_TIMEOUT how many seconds a server may be silent.`

// client makes a client of the environment.
func (r *remote) client(c *call) (*hub.Client, error) {
	config, err := hub.FromEnv(c.getenv)
	if err != nil {
		return nil, err
	}
	if config.Retries = r.retries; r.retries < 0 {
		return nil, errors.New("--retries must not be negative")
	}
	config.Rate, config.Budget = r.rate, r.budget
	config.Agent = "assay/" + version()
	return hub.New(config)
}

// ref reads the name of a model on the Hub.
func (r *remote) ref(text string) (hub.Ref, error) {
	ref, err := hub.ParseRef(text)
	ref.Revision = r.revision
	return ref, err
}

// model opens a model on the Hub.
func (r *remote) model(c *call, name string) (*subject.Model, error) {
	ref, err := r.ref(name)
	if err != nil {
		return nil, err
	}
	_, folder, err := r.folder(c, ref, false)
	if err != nil {
		return nil, err
	}
	return subject.NewModel(ref.String(), ref.String(), folder), nil
}

// folder reads the templates of a repository: those of its files, and of one model file or of all.
func (r *remote) folder(c *call, ref hub.Ref, all bool) (*hub.Repo, *modeldir.Folder, error) {
	client, err := r.client(c)
	if err != nil {
		return nil, nil, err
	}
	repo, err := client.Repo(c.ctx, ref.Repo, ref.Revision)
	if err != nil {
		return nil, nil, verdict(err)
	}
	var chosen error
	models := func(files []string) []string {
		if all || len(files) == 0 && ref.File == "" {
			return files
		}
		parts, err := repo.Choose(ref.File)
		if chosen = err; err != nil {
			return nil
		}
		return []string{parts[0].Name}
	}
	folder, err := modeldir.Read(client.FS(c.ctx, repo), modeldir.Options{Models: models})
	if err == nil {
		err = chosen
	}
	if err != nil {
		return nil, nil, verdict(err)
	}
	for _, p := range folder.Problems {
		// A file that could not be fetched says nothing of the model.
		if broken := new(hub.Error); errors.As(p.Err, &broken) {
			return nil, nil, verdict(broken)
		}
	}
	return repo, folder, nil
}

// verdict makes a failure of an error that judges a model; the rest keeps an answer from being
// found.
func verdict(err error) error {
	var rejected *hub.Rejected
	if errors.As(err, &rejected) || errors.Is(err, hub.ErrMismatch) {
		return &failure{err}
	}
	return err
}

// downloading returns a function that keeps a bar on the terminal, and one that removes it.
func (c *call) downloading() (show func(hub.Progress), end func()) {
	if !c.showsStatus() {
		return func(hub.Progress) {}, func() {}
	}
	last := ""
	show = func(p hub.Progress) {
		if line := bar(p); line != last {
			last = line
			c.status(line)
		}
	}
	return show, func() { c.status("") }
}

// bar is a download's line: it changes once per thousandth.
func bar(p hub.Progress) string {
	const width = 30
	name := p.File[strings.LastIndexByte(p.File, '/')+1:]
	if p.Waiting {
		return name + ": another program is downloading it; waiting"
	}
	part := 1.0
	if p.Total > 0 {
		part = float64(p.Done) / float64(p.Total)
	}
	full := int(part * width)
	return fmt.Sprintf("%s [%s%s] %5.1f%% of %s", name, strings.Repeat("=", full),
		strings.Repeat(" ", width-full), part*100, hub.Bytes(p.Total))
}
