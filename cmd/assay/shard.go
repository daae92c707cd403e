package main

import (
	"errors"
	"io"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/manifest"
)

// sharding has the flags that choose a part of the work.
type sharding struct {
	manifest.Shard
	auto   bool // ask the scheduler
	shards int  // how many there are, for a scheduler that does not tell
}

// autoShard is the value of --shard that asks the scheduler.
const autoShard = "auto"

func (s *sharding) declare(flags *flagSet) {
	flags.Var(s, "shard", "do part `I/N` of the work, each template by its digest, or auto: the "+
		"part that Kubernetes, Slurm, GitLab or Buildkite assigns; `assay report` puts the "+
		"parts together")
	flags.IntVar(&s.shards, "shards", 0, "how many parts there are, `N`, where the scheduler of "+
		"--shard auto does not tell")
}

func (s *sharding) String() string { return "" }

// Type implements pflag.Value.
func (s *sharding) Type() string { return "shard" }

func (s *sharding) Set(text string) (err error) {
	if s.auto = text == autoShard; s.auto {
		return nil
	}
	s.Shard, err = manifest.ParseShard(text)
	return err
}

// choose asks the scheduler where the flags say so. It comes before any use of the shard.
func (s *sharding) choose(c *call) (err error) {
	switch {
	case s.shards < 0:
		return errors.New("--shards must not be negative")
	case !s.auto && s.shards != 0:
		return errors.New("--shards counts the parts of --shard auto, which is not given")
	case s.auto:
		if s.Shard, err = manifest.Auto(c.getenv, s.shards); err != nil {
			return errors.New("--shard auto: " + err.Error())
		}
	}
	return nil
}

// take returns the part of the work that is the shard's. The key of an item is the digest of its
// template, or a name of its own.
func take[T any](s sharding, items []T, key func(T) string) []T {
	if s.Of == 0 {
		return items
	}
	return lists.Filter(items, func(item T) bool { return s.Has(key(item)) })
}

// contents names a file or model folder by the digests of its templates. One that cannot
// be opened is named by itself, and by standard input nothing but itself can be meant.
func contents(name string) string {
	if name == "-" {
		return name
	}
	sources, err := held(name, strings.NewReader(""))
	if err != nil {
		return name
	}
	digests := lists.Map(sources, func(src subject.Source) string {
		return manifest.Digest(src.Text)
	})
	return strings.Join(digests, " ")
}

// held returns the templates that a file or model folder holds, those of a model under each name.
func held(name string, stdin io.Reader) ([]subject.Source, error) {
	if !subject.IsModel(name) {
		return subject.OpenAll(name, stdin)
	}
	m, err := subject.OpenModel(name)
	if err != nil {
		return nil, err
	}
	return m.Sources, nil
}
