//go:build cloud

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goassay/assay/harness/testkit/double/storagetest"
)

// cloud is a bucket of S3 on loopback, with the credentials for it.
type cloud struct {
	*storagetest.Server
	t       *testing.T
	address string // of the server
	query   string // of URLs
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	s := &storagetest.Server{Expected: "Credential=AKIATESTKEY/"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "AKIATESTKEY",
		"AWS_SECRET_ACCESS_KEY": "the-secret-key", "AWS_SESSION_TOKEN": "the-session-token",
		"AWS_REGION": "eu-central-1", "AWS_CONFIG_FILE": os.DevNull, "AWS_MAX_ATTEMPTS": "1",
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CA_BUNDLE": ""} {
		t.Setenv(name, value)
	}
	return &cloud{s, t, server.URL, "?use_path_style=true&endpoint=" + url.QueryEscape(server.URL)}
}

// at is the URL of an object or a folder.
func (c *cloud) at(name string) string { return "s3://bucket/" + name + c.query }

// run runs the command line, demands its status, and returns its output.
func (c *cloud) run(status int, args ...string) string {
	c.t.Helper()
	stdout, stderr, got := assay("", args...)
	if got != status {
		c.t.Fatalf("%q: status %d, want %d\n%s%s", args, got, status, stdout, stderr)
	}
	for _, secret := range []string{"AKIATESTKEY", "the-secret-key", "the-session-token",
		"Authorization", "use_path_style"} {
		if strings.Contains(stdout+stderr, secret) {
			c.t.Errorf("%q prints %s:\n%s%s", args, secret, stdout, stderr)
		}
	}
	return stdout + stderr
}

// objects returns the objects of a folder, by their names.
func (c *cloud) objects(folder string) map[string]string {
	found := map[string]string{}
	for name, text := range c.Objects() {
		if name, ok := strings.CutPrefix(name, "bucket/"+folder+"/"); ok {
			found[name] = text
		}
	}
	return found
}

// TestBucketsPage runs the commands that docs/scale.md has for buckets.
func TestBucketsPage(t *testing.T) {
	c := newCloud(t)
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "corpus/hermes"),
		os.DirFS("../../corpus/hermes")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("AWS_ENDPOINT_URL_S3", c.address)
	n := 0
	for line := range strings.Lines(string(page)) {
		if command, ok := strings.CutPrefix(line, "    assay "); ok {
			c.run(exitOK, strings.Fields(command)...)
			n++
		}
	}
	if n < 5 {
		t.Errorf("the page has %d commands", n)
	}
	for _, name := range []string{"site/index.html", "check.html", "monday.jsonl"} {
		if c.Objects()["lab/"+name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
}

// only is the text of the one file or object that there is.
func only(t *testing.T, all map[string]string) string {
	t.Helper()
	for _, text := range all {
		if len(all) == 1 {
			return text
		}
	}
	t.Fatalf("there are %d, want one", len(all))
	return ""
}

// TestBuckets surveys a manifest in a bucket, in shards, one of which is killed while its results
// are on their way, and demands the bytes that a survey of the same folder on the disk has.
func TestBuckets(t *testing.T) {
	c := newCloud(t)
	var folders []string
	for _, family := range []string{"hermes", "gpt-oss", "llama-3", "plain", "qwen3"} {
		folders = append(folders, "../../corpus/"+family)
	}
	dir := t.TempDir()
	c.run(exitOK, append([]string{"manifest", "--store", dir}, folders...)...)
	c.run(exitOK, append([]string{"manifest", "--store", c.at("hub")}, folders...)...)
	c.run(exitOK, append([]string{"manifest", "--store", c.at("hub")}, folders...)...)
	for name, text := range c.objects("hub") {
		if here, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(here) != text {
			t.Errorf("%s is not what --store writes into a folder: %v", name, err)
		}
	}
	manifest := c.at("hub/manifest.jsonl")

	results := filepath.Join(dir, "results")
	c.run(exitOK, "survey", filepath.Join(dir, "manifest.jsonl"), "--out", results)
	names, err := filepath.Glob(results + "/*.jsonl")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	c.run(exitOK, "survey", manifest, "--out", c.at("whole/"))
	if only(t, c.objects("whole")) != whole {
		t.Error("the survey in a bucket is not that in a folder")
	}

	const shards = 3
	for i := 1; i <= shards; i++ {
		args := []string{"survey", manifest, "--out", c.at("parts"), "--shard",
			fmt.Sprintf("%d/%d", i, shards)}
		if i == 2 {
			c.killed(linked(t, dir), args)
		}
		c.run(exitOK, args...)
	}
	day := func(date string) string {
		return c.run(exitOK, "report", "--merge", c.at("parts"), "--out", c.at("merged.jsonl"),
			"--table", c.at("places.jsonl"), "--site", c.at("site"), "--date", date)
	}
	if day("2026-01-30") != day("2026-01-31") {
		t.Error("merging again prints something else")
	}
	if c.Objects()["bucket/merged.jsonl"] != whole {
		t.Error("the merged shards are not the whole")
	}
	if n := strings.Count(c.Objects()["bucket/places.jsonl"], "\n"); n < len(folders) {
		t.Errorf("the table has %d rows", n)
	}
	if n := strings.Count(c.objects("site")["history.jsonl"], "\n"); n != 2 {
		t.Errorf("the site's history has %d days, want 2", n)
	}
	asked := len(c.Asked())
	c.run(exitOK, "survey", manifest, "--since", c.at("merged.jsonl"), "--out", c.at("again"))
	if only(t, c.objects("again")) != whole {
		t.Error("a survey since this one is not the same")
	}
	c.run(exitOK, "check", "--manifest", manifest)
	if len(c.Asked()) == asked {
		t.Error("the bucket was not asked")
	}

	for name := range c.objects("parts") {
		if strings.Contains(name, ".2-of-") {
			c.Remove("bucket/parts/" + name)
		}
	}
	if out := c.run(exitUsage, "report", "--merge", c.at("parts")); !strings.HasSuffix(out,
		"of 3 shards of the manifest "+whole[strings.Index(whole, `"manifest":"`)+12:][:16]+
			" these are missing: 2\n") {
		t.Errorf("a missing shard: %s", out)
	}
	c.run(exitUsage, "survey", c.at("hub/none.jsonl"))
	c.run(exitUsage, "report", "--merge", c.at("nothing/"))
}

// killed runs the program until it sends its results, kills it there, and demands that nothing of
// them appears.
func (c *cloud) killed(program string, args []string) {
	c.t.Helper()
	before := len(c.objects("parts"))
	cmd := exec.Command(program, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var sent atomic.Bool
	c.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		sent.Store(true)
		cmd.Process.Kill()
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	defer func() { c.Fault = nil }()
	if err := cmd.Run(); err == nil || !sent.Load() {
		c.t.Fatalf("it was not killed: %v\n%s", err, out.String())
	}
	if n := len(c.objects("parts")); n != before {
		c.t.Errorf("a shard that was killed left %d objects", n-before)
	}
}

// TestBucketFails demands status 3 where another try may help, and 2 where it is no help.
func TestBucketFails(t *testing.T) {
	c := newCloud(t)
	c.run(exitOK, "manifest", "--store", c.at("hub"), "../../corpus/hermes")
	fail := func(part string, status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, part) {
				w.WriteHeader(status)
			}
			return strings.Contains(r.URL.Path, part)
		}
	}
	survey := []string{"survey", c.at("hub/manifest.jsonl"), "--out", c.at("results")}
	for _, f := range []struct {
		part         string
		http, status int
	}{
		{"manifest.jsonl", 503, exitRetry}, {"templates/", 503, exitRetry},
		{"results/", 503, exitRetry}, {"manifest.jsonl", 403, exitUsage},
		{"templates/", 404, exitRetry}, {"results/", 403, exitUsage},
	} {
		c.Fault = fail(f.part, f.http)
		c.run(f.status, survey...)
	}
	c.Fault = fail("templates/", 503)
	c.run(exitRetry, "check", "--manifest", c.at("hub/manifest.jsonl"))
	c.Fault = nil
	c.run(exitOK, survey...)
	c.run(exitOK, "report", "--merge", c.at("results"))
}
