package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shard is a part of the work: Part, counted from 1, of Of parts. The zero value is all of it.
type Shard struct{ Part, Of int }

// ParseShard reads a shard that is written I/N.
func ParseShard(text string) (Shard, error) {
	part, of, _ := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(part)
	n, err2 := strconv.Atoi(of)
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return Shard{}, fmt.Errorf("expected I/N with 1 <= I <= N")
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string {
	if s.Of == 0 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.Part, s.Of)
}

// Has reports whether a key is the shard's: the digest of a template, or any name.
func (s Shard) Has(key string) bool {
	if s.Of <= 1 {
		return true
	}
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Of) == uint64(s.Part-1)
}

// scheduler is one that runs a command many times, and tells each process by variables of the
// environment which it is.
type scheduler struct {
	name         string
	index, count string // the variables; count empty: it tells no number
	first        int    // the smallest index, unless a variable says otherwise
	min, step    string // variables; empty: there are none
}

// The schedulers, by their documentation: Kubernetes' Indexed Jobs, Slurm's job arrays, GitLab's
// and Buildkite's parallel jobs.
var schedulers = []scheduler{
	{name: "Kubernetes", index: "JOB_COMPLETION_INDEX"},
	{name: "Slurm", index: "SLURM_ARRAY_TASK_ID", count: "SLURM_ARRAY_TASK_COUNT",
		min: "SLURM_ARRAY_TASK_MIN", step: "SLURM_ARRAY_TASK_STEP"},
	{name: "GitLab", index: "CI_NODE_INDEX", count: "CI_NODE_TOTAL", first: 1},
	{name: "Buildkite", index: "BUILDKITE_PARALLEL_JOB", count: "BUILDKITE_PARALLEL_JOB_COUNT"},
}

// Auto returns the shard that the environment assigns to this process. A count that is not 0 is
// the number of shards, which Kubernetes does not tell; where the scheduler tells one too, they
// must be equal.
func Auto(getenv func(string) string, count int) (Shard, error) {
	var found []scheduler
	var names []string
	for _, s := range schedulers {
		names = append(names, s.index)
		if getenv(s.index) != "" {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return Shard{}, fmt.Errorf("no scheduler says which shard this is: none of %s is set",
			strings.Join(names, ", "))
	case len(found) > 1:
		return Shard{}, fmt.Errorf("both %s and %s say which shard this is (%s, %s); give I/N",
			found[0].name, found[1].name, found[0].index, found[1].index)
	}
	return found[0].shard(getenv, count)
}

func (s scheduler) shard(getenv func(string) string, count int) (Shard, error) {
	number := func(name string, unset int) (int, error) {
		if name == "" || getenv(name) == "" {
			return unset, nil
		}
		n, err := strconv.Atoi(getenv(name))
		if err != nil {
			return 0, fmt.Errorf("%s is %q, expected a number", name, getenv(name))
		}
		return n, nil
	}
	index, err1 := number(s.index, 0)
	first, err2 := number(s.min, s.first)
	step, err3 := number(s.step, 1)
	of, err4 := number(s.count, count)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return Shard{}, err
	}
	switch {
	case of == 0 && s.count != "":
		return Shard{}, fmt.Errorf("%s is set and %s is not", s.index, s.count)
	case of == 0:
		return Shard{}, fmt.Errorf("%s does not tell how many shards there are: --shards N does",
			s.name)
	case count != 0 && count != of:
		return Shard{}, fmt.Errorf("--shards is %d, and %s is %d", count, s.count, of)
	case step < 1:
		return Shard{}, fmt.Errorf("%s is %d, expected at least 1", s.step, step)
	}
	part := (index-first)/step + 1
	if (index-first)%step != 0 || part < 1 || part > of {
		return Shard{}, fmt.Errorf("%s is %d, which is none of %d shards that count from %d",
			s.index, index, of, first)
	}
	return Shard{part, of}, nil
}
