package manifest_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/hub/manifest"
)

var digest = manifest.Digest("a template")

func TestRead(t *testing.T) {
	good := `{"what":"template","where":"a/b","digest":"` + digest + `"}` + "\n"
	var where []string
	sum, n, err := manifest.Read(strings.NewReader(good+"\n"+good), manifest.Template,
		func(e manifest.Entry) error {
			where = append(where, e.Where)
			return nil
		})
	if err != nil || n != 2 || len(where) != 2 || sum != manifest.Digest(good+"\n"+good) {
		t.Errorf("%d entries %q, digest %s, error %v", n, where, sum, err)
	}
	line := func(members string) string { return good + "{" + members + "}" }
	for _, c := range []struct{ text, want string }{
		{"[]", "line 1: "},
		{good + "{", "line 2: "},
		{good + good[:len(good)-1] + "{}", "line 2: there is more after the object"},
		{line(`"what":"poem"`), `line 2: what is "poem", expected "template"`},
		{line(`"what":"template"`), "line 2: where is missing"},
		{line(`"what":"template","where":"a","digest":"xyz"`), `digest is "xyz"`},
		{line(`"what":"template","where":"a","digest":"` + digest + `","file":"../x"`),
			"within the manifest's folder"},
		{line(`"what":"template","where":"a","digest":"` + digest + `","downloads":-1`),
			"downloads is negative"},
		{line(`"what":"template","were":"a"`), `unknown field "were"`},
		{strings.Repeat("x", 1<<17), "line 1: bufio.Scanner: token too long"},
	} {
		_, _, err := manifest.Read(strings.NewReader(c.text), manifest.Template,
			func(manifest.Entry) error {
				return nil
			})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error %v, expected %q", c.text, err, c.want)
		}
	}
}

// TestShards demands that every key is in one shard, that shards are about equal, and that the
// shard of a key depends on nothing but the key.
func TestShards(t *testing.T) {
	const keys, of = 6_400, 64
	var sizes [of]int
	for i := range keys {
		in := 0
		for part := 1; part <= of; part++ {
			if (manifest.Shard{Part: part, Of: of}).Has(fmt.Sprint("key ", i)) {
				in++
				sizes[part-1]++
			}
		}
		if in != 1 {
			t.Fatalf("key %d is in %d shards", i, in)
		}
	}
	for part, n := range sizes {
		if n < 60 || n > 140 {
			t.Errorf("shard %d has %d of %d keys", part+1, n, keys)
		}
	}
}

func TestAuto(t *testing.T) {
	for _, c := range []struct {
		env   string
		count int
		want  string // a shard or an error
	}{
		{"JOB_COMPLETION_INDEX=0", 4, "1/4"},
		{"JOB_COMPLETION_INDEX=3", 4, "4/4"},
		{"JOB_COMPLETION_INDEX=3", 0, "Kubernetes does not tell how many shards there are"},
		{"JOB_COMPLETION_INDEX=4", 4, "JOB_COMPLETION_INDEX is 4, which is none of 4 shards"},
		{"JOB_COMPLETION_INDEX=x", 4, `JOB_COMPLETION_INDEX is "x", expected a number`},
		{"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=5", 0, "3/3"},
		{"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=5 " +
			"SLURM_ARRAY_TASK_STEP=2", 0, "3/3"},
		{"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=5 " +
			"SLURM_ARRAY_TASK_STEP=2", 0, "SLURM_ARRAY_TASK_ID is 8, which is none of 3 shards"},
		{"SLURM_ARRAY_TASK_ID=1", 0,
			"SLURM_ARRAY_TASK_ID is set and SLURM_ARRAY_TASK_COUNT is not"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=2", 0, "1/2"},
		{"CI_NODE_INDEX=2 CI_NODE_TOTAL=2", 2, "2/2"},
		{"CI_NODE_INDEX=2 CI_NODE_TOTAL=2", 3, "--shards is 3, and CI_NODE_TOTAL is 2"},
		{"CI_NODE_INDEX=0 CI_NODE_TOTAL=2", 0, "CI_NODE_INDEX is 0"},
		{"BUILDKITE_PARALLEL_JOB=1 BUILDKITE_PARALLEL_JOB_COUNT=2", 0, "2/2"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=2 JOB_COMPLETION_INDEX=0", 0,
			"both Kubernetes and GitLab say which shard this is"},
		{"", 2, "no scheduler says which shard this is"},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		shard, err := manifest.Auto(func(name string) string { return env[name] }, c.count)
		got := shard.String()
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s, %d: %s, expected %s", c.env, c.count, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"what":"template","where":"a/b","digest":"` + digest + `"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var entries []manifest.Entry
		_, n, err := manifest.Read(strings.NewReader(text), manifest.Template,
			func(e manifest.Entry) error {
				entries = append(entries, e)
				return nil
			})
		if err != nil {
			return
		}
		if n != len(entries) {
			t.Errorf("%d entries, and %d were handed on", n, len(entries))
		}
		if err := manifest.Write(io.Discard, entries); err != nil {
			t.Error(err)
		}
	})
}
