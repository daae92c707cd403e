package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/hub/crawl"
)

var hubCommand = command{
	group: many, name: "hub",
	short: "list the Hub's repositories, and fetch their templates alone",
	long: `Together with "assay survey" this judges what the Hub holds. All files are in one folder;
docs/scale.md describes them.`,
	within: []*command{&hubListCommand, &hubFetchCommand},
}

// politeHelp is the part of both commands' help about requests.
const politeHelp = `The rates that the Hub announces are kept, and its demands to wait. A run that
was ended, in whatever way, goes on where it stopped. The status is 3 where another run has to go
on: the budget is spent, or the Hub could not be reached.
` + hubHelp

var hubListCommand = command{
	name: "list", takes: arity{0, 0, ""},
	short: "list the repositories of the Hub, those with the most downloads first",
	long: `Writes DIR/repositories.jsonl, a manifest of repositories: the commit of each, its
downloads, the model that it was made from, and the names of the files that may hold templates.
Nothing of a repository itself is read. A list that is complete is asked for anew by the next run,
except for pages that have not changed.

` + politeHelp,
	setup: func(flags *flagSet) func(*call) error {
		l := hubListing{}
		flags.StringVar(&l.Folder, "out", "", "write to `DIR`, which is made")
		flags.StringVar(&l.Query.Author, "author", "", "only repositories of this `OWNER`")
		flags.StringArrayVar(&l.Query.Tags, "tag", nil, "only repositories with this `TAG`, such as "+
			"gguf; with several: with all of them")
		flags.IntVar(&l.Most, "most", 0, "list the first `N` repositories; default: all")
		flags.BoolVar(&l.json, "json", false, "print JSON")
		l.remote = politeFlags(flags)
		return l.run
	},
}

type hubListing struct {
	crawl.Listing
	*remote
	json bool
}

func (l *hubListing) run(c *call) error {
	if l.Folder == "" {
		return usageError{errors.New("needs --out DIR")}
	}
	if l.Most < 0 {
		return usageError{errors.New("--most must not be negative")}
	}
	var err error
	if l.Client, err = l.client(c); err != nil {
		return err
	}
	if c.showsStatus() {
		l.Show = func(found int) { c.status(fmt.Sprintf("repositories %d", found)) }
	}
	done, err := l.Run(c.ctx)
	c.status("")
	if err != nil {
		return toGoOn(err)
	}
	name := filepath.Join(l.Folder, crawl.Repositories)
	if l.json {
		return writeJSON(c.data(), struct {
			File string `json:"file"`
			crawl.Listed
		}{name, done})
	}
	_, err = fmt.Fprintf(c.stdout, "%s: %d repositories on %d pages, %d of them unchanged\n", name,
		done.Found, done.Pages, done.Unchanged)
	if err == nil && done.LeftOut > 0 {
		c.note("%d repositories are left out: their name is not OWNER/NAME, or no commit is named",
			done.LeftOut)
	}
	return err
}

// toGoOn makes an error that another run may not have one with the status for that.
func toGoOn(err error) error {
	var broken *hub.Error
	if errors.Is(err, hub.ErrBudget) || errors.As(err, &broken) && broken.Again {
		return fmt.Errorf("%w: %w; run it again to go on", errUnread, err)
	}
	return err
}

var hubFetchCommand = command{
	name: "fetch", args: "REPOSITORIES.jsonl", takes: arity{1, 1, "a manifest of repositories"},
	files: vectorFiles,
	short: "fetch the templates of repositories, and nothing else",
	long: `The manifest is that of "assay hub list". Beside it the command writes each distinct
template once, as templates/DIGEST.jinja, and manifest.jsonl, which "assay survey" takes. Small files
are read whole, of a model file only the header. A repository at the commit at which it was read
before is not asked for, and content that is known by its etag is not read.

A repository that may not be read, or has a broken file, is counted and is no failure.

` + politeHelp,
	setup: func(flags *flagSet) func(*call) error {
		f := hubFetching{}
		flags.BoolVar(&f.All, "all", false, "read the header of every model file, and not only of "+
			"the one that `assay pull` takes")
		flags.IntVar(&f.Jobs, "jobs", 4, "read `N` repositories at a time")
		flags.BoolVar(&f.json, "json", false, "print JSON")
		f.remote = politeFlags(flags)
		return f.run
	},
}

type hubFetching struct {
	crawl.Fetch
	*remote
	json bool
}

func (f *hubFetching) run(c *call) error {
	if f.Jobs < 1 || f.Jobs > 64 {
		return usageError{errors.New("--jobs must be 1 to 64")}
	}
	f.List = c.args[0]
	var err error
	if f.Client, err = f.client(c); err != nil {
		return err
	}
	if c.showsStatus() {
		f.Show = func(done int) {
			if done%16 == 0 {
				c.status(fmt.Sprintf("repositories read %d", done))
			}
		}
	}
	done, err := f.Run(c.ctx)
	c.status("")
	if err != nil {
		return toGoOn(err)
	}
	if err := f.print(c, done); err != nil {
		return err
	}
	if done.Failed > 0 {
		return fmt.Errorf("%w: %d repositories could not be read; run it again. The first: %w",
			errUnread, done.Failed, done.Why)
	}
	return nil
}

func (f *hubFetching) print(c *call, done crawl.Fetched) error {
	name := filepath.Join(filepath.Dir(f.List), crawl.Manifest)
	if f.json {
		return writeJSON(c.data(), struct {
			File string `json:"file"`
			crawl.Fetched
		}{name, done})
	}
	_, err := fmt.Fprintf(c.stdout, "%s: %d templates in %d places\n%d repositories: %d read now, "+
		"%d without a template, %d may not be read, %d broken or gone, %d failed\n", name,
		done.Templates, done.Places, done.Repositories, done.Read, done.Bare, done.Denied,
		done.Broken, done.Failed)
	return err
}
