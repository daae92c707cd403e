package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/hub/fleet"
	"github.com/goassay/assay/harness/hub/results"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/serve/live"
)

// runFleet puts the shard's models of a manifest through the battery, one after the other, and
// returns how many could not be read.
func (r *liveRun) runFleet(c *call) (unread int, err error) {
	shard := r.output.shard
	if r.output.shard = (sharding{}); r.out == "" && shard.Of > 1 {
		return 0, errors.New("--out names the folder for the shard's results")
	}
	f, err := c.files.Open(c.ctx, r.manifest)
	if err != nil {
		return 0, err
	}
	plan, err := fleet.NewPlan(f, shard.Shard, version())
	f.Close()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", storage.Shown(r.manifest), err)
	}
	tasks := plan.Tasks
	run := func(w io.Writer) error {
		return results.Write(w, plan.Header, func() (fleet.Line, error) {
			if len(tasks) == 0 {
				return fleet.Line{}, io.EOF
			}
			line := tasks[0]
			tasks = tasks[1:]
			err := r.member(c, &line)
			if line.Outcome == fleet.Unread {
				unread++
			}
			return line, err
		})
	}
	name := ""
	if r.out != "" {
		name = storage.Join(r.out, plan.Name())
	}
	err = c.into(name, run)
	return unread, err
}

// member runs a model of a fleet. Its error ends the run; that of a model is a result.
func (r *liveRun) member(c *call, line *fleet.Line) error {
	where := line.Entries[0].Where
	found, err := r.battery(c, line)
	if interrupted := c.ctx.Err(); interrupted != nil {
		return interrupted
	}
	var rejected *failure
	switch {
	case err == nil:
		line.Outcome = fleet.Ran
	case line.Outcome == fleet.Unread:
		line.Fail(fleet.Unread, err)
	case errors.As(err, &rejected):
		line.Fail(fleet.Rejected, err)
	default:
		line.Fail(fleet.Failed, err)
	}
	line.Add(found)
	for _, res := range found {
		res.Suite = where + " " + res.Suite
		r.results = append(r.results, res)
	}
	if err != nil {
		res := rule.Result{Suite: where, Group: "model", Name: line.Outcome, Status: rule.Failed,
			Severity: rule.Error, Text: line.Why}
		if line.Outcome == fleet.Unread {
			res.Status, res.Severity = rule.Unjudged, rule.Warning
		}
		r.results = append(r.results, res)
	}
	return nil
}

// battery loads a model and runs it with each template.
func (r *liveRun) battery(c *call, line *fleet.Line) ([]rule.Result, error) {
	entry := line.Entries[0]
	name := entry.Path(storage.Dir(r.manifest))
	path, done, err := c.files.Local(c.ctx, name)
	if err != nil {
		line.Outcome = fleet.Unread
		return nil, err
	}
	defer done()
	digest, err := live.FileSHA256(path)
	if err == nil && digest != line.Digest {
		err = fmt.Errorf("%s is the file %.16s, expected %.16s", storage.Shown(name), digest,
			line.Digest)
	}
	if err != nil {
		line.Outcome = fleet.Unread
		return nil, err
	}
	sources, err := r.sources(c, path)
	if err != nil {
		return nil, err
	}
	m, p, err := r.load(c.ctx, c, path, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	s := r.sampling
	line.Provenance = &fleet.Provenance{Device: p.Device, LlamaCpp: p.Version, FileType: p.FileType,
		Assay: version(), Seed: s.seed, Temperature: s.temperature, TopK: s.topK, TopP: s.topP,
		MinP: s.minP, Context: r.context.Size, GPULayers: r.layers}
	if record := r.record; record != "" {
		r.record = filepath.Join(record, line.Digest[:16])
		defer func() { r.record = record }()
	}
	var found []rule.Result
	for _, s := range sources {
		some, err := r.one(c.ctx, c, s, m, p)
		if err != nil {
			return found, err
		}
		found = append(found, some...)
	}
	return found, nil
}
