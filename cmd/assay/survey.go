package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/fleet"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/observatory"
	"github.com/goassay/assay/harness/hub/results"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/hub/survey"
	"github.com/goassay/assay/harness/hub/templates"
	"github.com/goassay/assay/harness/serve/live"
)

var manifestCommand = command{
	group: many, name: "manifest", args: "TEMPLATE|DIR...", takes: arity{1, -1, "a template"},
	files: templateFiles,
	short: "list templates, folders and models as a manifest",
	long: `A manifest is what "assay survey" judges: JSON lines, each with a place and the digest of the template that
it holds. Folders are searched as "assay check" does. Without --store names are relative to the folder in which the command runs, so that
is where the manifest belongs. docs/scale.md has the members of a line.`,
	setup: func(flags *flagSet) func(*call) error {
		store, models := "", false
		flags.StringVar(&store, "store", "", "copy each template to `DIR`/templates, under its "+
			"digest, and write DIR/manifest.jsonl, so that a later survey can compare with what "+
			"was there; DIR may be in a bucket")
		flags.BoolVar(&models, "models", false, "list model files, with the digest of each, for "+
			"`assay live --manifest`")
		return func(c *call) error {
			if models && store != "" {
				return usageError{errors.New("--store copies templates, not models")}
			}
			if models {
				return c.models()
			}
			return c.manifest(store)
		}
	},
}

// manifest lists templates; a store that is not empty gets copies of them.
func (c *call) manifest(store string) error {
	names, err := c.found(c.args)
	if err != nil {
		return err
	}
	var entries []manifest.Entry
	for _, name := range names {
		sources, err := held(name, c.stdin)
		if err != nil {
			return err
		}
		for _, src := range sources {
			e := manifest.Entry{What: manifest.Template, Where: filepath.ToSlash(src.Name),
				Digest: manifest.Digest(src.Text)}
			if store == "" {
				e.File = e.Where
			} else if _, err := manifest.Keep(c.ctx, &c.files, store, src.Text); err != nil {
				return err
			}
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b manifest.Entry) int {
		return cmp.Compare(a.Where, b.Where)
	})
	write := func(w io.Writer) error { return manifest.Write(w, entries) }
	if store != "" {
		return c.files.Write(c.ctx, storage.Join(store, "manifest.jsonl"), write)
	}
	return write(c.data())
}

// models lists model files.
func (c *call) models() error {
	var entries []manifest.Entry
	for _, name := range c.args {
		err := filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
			base := filepath.Base(file)
			if err != nil || d.IsDir() || len(modeldir.Sources([]string{base})) == 0 ||
				modeldir.MaxSize(base) > 0 {
				return err // of a split model the first part stands for all
			}
			digest, err := live.FileSHA256(file)
			entries = append(entries, manifest.Entry{What: manifest.Model,
				Where: filepath.ToSlash(file), Digest: digest})
			return errors.Join(err, c.ctx.Err())
		})
		if err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return errors.New("there is no model file, *.gguf")
	}
	slices.SortStableFunc(entries, func(a, b manifest.Entry) int {
		return cmp.Compare(a.Where, b.Where)
	})
	return manifest.Write(c.data(), entries)
}

var surveyCommand = command{
	group: many, name: "survey", args: "MANIFEST", takes: arity{1, 1, "a manifest"},
	short: "judge each template of a manifest once, and report by the places that hold it",
	long: `Each distinct template is judged as "assay check --untrusted" does, and compared with that of the model that
its place was made from. The results are JSON lines, a line for each template, in a file of DIR whose name says of which manifest and shard
it is; a shard that runs again replaces its own. "assay report --merge" joins the files of all shards.

With --since the results of an earlier survey are taken over where neither template nor program changed, and each place whose template did is
called safe, risky or breaking.

The status is 3 where a template could not be read: everything else was judged, and another try may help. docs/scale.md has the formats, and
how schedulers run it. The manifest, FILE and DIR may be in a bucket, such as
s3://bucket/hub/manifest.jsonl.`,
	setup: func(flags *flagSet) func(*call) error {
		s := surveying{}
		flags.StringVar(&s.out, "out", "", "write the results to a file in `DIR`, which is made")
		flags.StringVar(&s.since, "since", "", "`FILE` with the results of an earlier survey")
		s.shard.declare(flags)
		s.limits = limitFlag(flags, untrusted)
		return s.run
	},
}

// surveyMemory is the memory, in bytes, from which on the collector works harder: many shards run
// beside each other on one machine.
const surveyMemory = 96 << 20

// surveying holds the flags of the command.
type surveying struct {
	out, since string
	shard      sharding
	limits     *limits
}

func (s *surveying) run(c *call) error {
	if err := s.shard.choose(c); err != nil {
		return err
	}
	if s.out == "" && s.shard.Of > 1 {
		return errors.New("--out names the folder for the shard's results")
	}
	if s.limits.memory == 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(surveyMemory))
	}
	name := c.args[0]
	plan, err := survey.NewPlan(func() (io.ReadCloser, error) { return c.files.Open(c.ctx, name) },
		s.shard.Shard, version())
	if err != nil {
		return fmt.Errorf("%s: %w", storage.Shown(name), err)
	}
	if s.since != "" {
		if err := c.since(plan, s.since); err != nil {
			return fmt.Errorf("--since %s: %w", storage.Shown(s.since), err)
		}
	}
	summary := survey.NewSummary(plan.Header)
	judge := &survey.Judge{Folder: storage.Dir(name), Open: c.template,
		Options: check.Options{Differ: templates.Differ, Accepted: new([]string)},
		Engine:  engine.Options{Limits: s.limits.Limits}}
	name = ""
	if s.out != "" {
		name = storage.Join(s.out, plan.Name())
	}
	if err := c.into(name, func(w io.Writer) error {
		return s.judge(c, plan, judge, summary, w)
	}); err != nil {
		return err
	}
	if err := summary.Text(c.stdout); err != nil {
		return err
	}
	return unread(summary)
}

// unread is an error where templates could not be read.
func unread(s *survey.Summary) error {
	if n := s.Unread(); n > 0 {
		return fmt.Errorf("%w: %d of %d templates could not be read; run it again",
			errUnread, n, s.All.Templates)
	}
	return nil
}

// template opens a template of a manifest.
func (c *call) template(name string) (subject.Source, error) {
	all, err := c.templates(name)
	if err != nil {
		return subject.Source{}, err
	}
	return all[0], nil
}

// templates opens those of a file, or the one of an object in a bucket.
func (c *call) templates(name string) ([]subject.Source, error) {
	if !storage.InBucket(name) {
		return subject.OpenAll(name, c.stdin)
	}
	r, err := c.files.Open(c.ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	src, err := subject.Read(storage.Shown(name), r)
	return []subject.Source{src}, err
}

// since takes over the findings of an earlier survey.
func (c *call) since(plan *survey.Plan, name string) error {
	f, err := c.files.Open(c.ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return plan.Since(f)
}

// judge judges the templates of a plan on all cores, and writes their lines in order.
func (s *surveying) judge(c *call, plan *survey.Plan, judge *survey.Judge, summary *survey.Summary,
	w io.Writer) error {
	lines := make(chan survey.Line)
	written := make(chan error, 1)
	go func() {
		written <- results.Write(w, plan.Header, func() (survey.Line, error) {
			line, more := <-lines
			if !more {
				return line, io.EOF
			}
			return line, nil
		})
		for range lines { // where writing failed
		}
	}()
	step, end := c.progress("templates", len(plan.Tasks))
	done := 0
	judged := func(t *survey.Task) survey.Line { return judge.Line(c.ctx, t) }
	err := batch.Run(c.ctx, batch.Slice(plan.Tasks), judged, func(line survey.Line) {
		summary.Add(line)
		lines <- line
		if done++; step != nil {
			step(done)
		}
	})
	close(lines)
	end()
	return errors.Join(err, <-written)
}

// merge joins the results of shards, and sums them up.
func (o *merging) merge(c *call) error {
	if (o.site == "") != (o.date == "") {
		return usageError{errors.New("--site and --date go together")}
	}
	names, err := o.resultFiles(c)
	if err != nil {
		return err
	}
	var files []*results.Reader
	for _, name := range names {
		f, err := c.files.Open(c.ctx, name)
		if err != nil {
			return err
		}
		defer f.Close()
		r, err := results.NewReader(f, "")
		if err != nil {
			return fmt.Errorf("%s: %w", storage.Shown(name), err)
		}
		files = append(files, r)
	}
	for i, name := range names {
		names[i] = storage.Shown(name)
	}
	if len(files) > 0 && files[0].Header.Results == results.Fleet {
		return o.mergeFleet(c, files, names)
	}
	return o.mergeSurvey(c, files, names)
}

// merged writes the joined results, and hands each line on.
func merged[T results.Line](c *call, o *merging, header results.Header, next func() (T, error),
	take func(T) error) error {
	return c.into(o.out, func(out io.Writer) error {
		return results.Write(out, header, func() (T, error) {
			var line T
			if err := c.ctx.Err(); err != nil {
				return line, err
			}
			line, err := next()
			if err == nil {
				err = take(line)
			}
			return line, err
		})
	})
}

// mergeFleet joins the results of models, and prints their table.
func (o *merging) mergeFleet(c *call, files []*results.Reader, names []string) error {
	if o.table+o.site != "" {
		return errors.New("--table and --site are for the results of `assay survey`")
	}
	header, next, err := results.Merge[fleet.Line](files, names, o.partial)
	if err != nil {
		return err
	}
	var table fleet.Table
	err = merged(c, o, header, next, func(line fleet.Line) error {
		table.Count(line)
		return nil
	})
	if err == nil {
		err = table.Text(c.stdout)
	}
	switch {
	case err != nil:
		return err
	case table.Unread() > 0:
		return fmt.Errorf("%w: %d models could not be read; run it again", errUnread,
			table.Unread())
	case !table.OK():
		return errFailed
	}
	return nil
}

// mergeSurvey joins the results of templates, and sums them up.
func (o *merging) mergeSurvey(c *call, files []*results.Reader, names []string) error {
	header, next, err := results.Merge[survey.Line](files, names, o.partial)
	if err != nil {
		return err
	}
	summary := survey.NewSummary(header)
	err = c.into(o.table, func(rows io.Writer) error {
		table, err := observatory.NewTable(rows, o.table)
		if err != nil {
			return fmt.Errorf("--table: %w", err)
		}
		err = merged(c, o, header, next, func(line survey.Line) error {
			summary.Add(line)
			return table.Add(line)
		})
		return errors.Join(err, table.Close())
	})
	if err != nil {
		return err
	}
	if o.site != "" {
		site := observatory.Site{Folder: o.site, Date: o.date, Summary: summary,
			Rules: check.Rules()}
		if err := site.Write(c.ctx, &c.files); err != nil {
			return fmt.Errorf("--site: %w", err)
		}
	}
	if err := summary.Text(c.stdout); err != nil {
		return err
	}
	return unread(summary)
}

// into writes a file, or nothing where it has no name.
func (c *call) into(name string, write func(io.Writer) error) error {
	if name == "" {
		return write(io.Discard)
	}
	return c.files.Write(c.ctx, name, write)
}

// merging holds the flags of "assay report --merge".
type merging struct {
	on, partial bool
	out, table  string
	site, date  string
}

// resultFiles returns the arguments, with the files of folders in their place.
func (*merging) resultFiles(c *call) ([]string, error) {
	var names []string
	for _, arg := range c.args {
		folder, err := c.files.IsFolder(c.ctx, arg)
		if err != nil {
			return nil, err
		}
		if !folder {
			names = append(names, arg)
			continue
		}
		found, err := c.files.List(c.ctx, arg, ".jsonl")
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no results, *.jsonl", storage.Shown(arg))
		}
		names = append(names, found...)
	}
	return names, nil
}
