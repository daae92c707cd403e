package survey_test

import (
	"bytes"
	"fmt"
	"github.com/goassay/assay/harness/hub/results"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/survey"
)

const turns = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// folder writes templates that differ by one word, and returns the entries that hold them.
func folder(t *testing.T, words ...string) (string, []manifest.Entry) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "templates"), 0o777); err != nil {
		t.Fatal(err)
	}
	var entries []manifest.Entry
	for i, word := range words {
		text := strings.ReplaceAll(turns, "im_", word+"_")
		digest := manifest.Digest(text)
		if err := os.WriteFile(filepath.Join(dir, "templates", digest+".jinja"), []byte(text),
			0o666); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, manifest.Entry{What: manifest.Template, Digest: digest,
			Where: fmt.Sprintf("owner/model-%d", i), Downloads: int64(i)})
	}
	return dir, entries
}

// opened returns the manifest of entries, as often as it is asked for.
func opened(t *testing.T, entries []manifest.Entry) func() (io.ReadCloser, error) {
	t.Helper()
	var text bytes.Buffer
	if err := manifest.Write(&text, entries); err != nil {
		t.Fatal(err)
	}
	return func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text.Bytes())), nil
	}
}

// judged judges the part of a shard, and returns its file.
func judged(t *testing.T, dir string, entries []manifest.Entry, shard manifest.Shard,
	since string) string {
	t.Helper()
	plan, err := survey.NewPlan(opened(t, entries), shard, "1")
	if err != nil {
		t.Fatal(err)
	}
	if since != "" {
		if err := plan.Since(strings.NewReader(since)); err != nil {
			t.Fatal(err)
		}
	}
	judge := survey.Judge{Folder: dir}
	tasks := plan.Tasks
	var out strings.Builder
	err = results.Write(&out, plan.Header, func() (survey.Line, error) {
		if len(tasks) == 0 {
			return survey.Line{}, io.EOF
		}
		task := tasks[0]
		tasks = tasks[1:]
		return judge.Line(t.Context(), task), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// merged joins files, named by their numbers.
func merged(t *testing.T, partial bool, files ...string) (string, error) {
	t.Helper()
	var readers []*results.Reader
	var names []string
	for i, text := range files {
		r, err := results.NewReader(strings.NewReader(text), results.Survey)
		if err != nil {
			t.Fatal(err)
		}
		readers, names = append(readers, r), append(names, fmt.Sprint("file ", i))
	}
	header, next, err := results.Merge[survey.Line](readers, names, partial)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = results.Write(&out, header, next)
	return out.String(), err
}

// TestMerge demands that shards, however they are put together, make the file of one process.
func TestMerge(t *testing.T) {
	dir, entries := folder(t, "a", "b", "c", "d", "e", "f", "g", "a", "b")
	whole := judged(t, dir, entries, manifest.Shard{}, "")
	if n := strings.Count(whole, "\n"); n != 8 {
		t.Fatalf("%d lines, expected a header and 7 templates:\n%s", n, whole)
	}
	var parts []string
	for i := 1; i <= 4; i++ {
		parts = append(parts, judged(t, dir, entries, manifest.Shard{Part: i, Of: 4}, ""))
	}
	all, err := merged(t, false, parts[2], parts[0], parts[3], parts[1])
	if err != nil || all != whole {
		t.Fatalf("error %v, and\n%s\nis not\n%s", err, all, whole)
	}
	left, err1 := merged(t, true, parts[3], parts[0])
	right, err2 := merged(t, true, parts[1], parts[2])
	if all, err = merged(t, false, right, left); err != nil || err1 != nil || err2 != nil ||
		all != whole {
		t.Errorf("errors %v, %v, %v, and in pairs\n%s\nis not\n%s", err, err1, err2, all, whole)
	}
	again, err := merged(t, false, whole)
	if err != nil || again != whole {
		t.Errorf("error %v: a whole file merges to\n%s", err, again)
	}

	other := judged(t, dir, entries[1:], manifest.Shard{Part: 2, Of: 4}, "")
	thirds := judged(t, dir, entries, manifest.Shard{Part: 2, Of: 3}, "")
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{parts[0], parts[2]}, "these are missing: 2, 4"},
		{[]string{parts[0], other}, "file 1 is of the manifest "},
		{[]string{parts[0], thirds}, "file 1 is of 3 shards, and file 0 of 4"},
		{[]string{parts[0], parts[1], parts[0]}, "file 0 and file 2 both have shard 1 of 4"},
		{[]string{parts[0], strings.Replace(parts[1], `"version":"1"`, `"version":"2"`, 1)},
			"file 1 was made by version 2, and file 0 by 1"},
		{nil, "there are no results"},
	} {
		if _, err := merged(t, false, c.files...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, expected %q", err, c.want)
		}
	}
}

// TestSince demands that an earlier census is taken over where nothing changed, and that a place
// whose template did is compared with it.
func TestSince(t *testing.T) {
	dir, entries := folder(t, "a", "b", "c")
	before := judged(t, dir, entries[:2], manifest.Shard{}, "")
	marked := strings.ReplaceAll(before, `"why":"chat`, `"why":"taken over; chat`)
	entries[1].Digest = entries[2].Digest
	entries = entries[:2]
	got := judged(t, dir, entries, manifest.Shard{}, marked)
	for _, want := range []string{
		`"why":"taken over; `,
		`"against":[{"with":"before",`,
		`"where":["owner/model-1"]`,
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("expected %s once:\n%s", want, got)
		}
	}
	var header results.Header
	r, err := results.NewReader(strings.NewReader(got), results.Survey)
	if err != nil {
		t.Fatal(err)
	}
	header = r.Header
	summary := survey.NewSummary(header)
	for line, err := results.Next[survey.Line](r); err != io.EOF; line,
		err = results.Next[survey.Line](r) {
		if err != nil {
			t.Fatal(err)
		}
		summary.Add(line)
	}
	if n := len(summary.Changes); n != 1 || summary.Changes[0].Where != "owner/model-1" {
		t.Errorf("changes %v", summary.Changes)
	}

	other := strings.Replace(marked, `"version":"1"`, `"version":"0"`, 1)
	if got := judged(t, dir, entries, manifest.Shard{}, other); strings.Contains(got,
		"taken over") {
		t.Errorf("findings of another version were taken over:\n%s", got)
	}
}

// TestBase demands that a template is compared with that of its base, which another shard has.
func TestBase(t *testing.T) {
	dir, entries := folder(t, "a", "b", "a")
	entries[1].Base, entries[2].Base = "owner/model-0", "owner/model-0"
	got := judged(t, dir, entries, manifest.Shard{}, "")
	want := `"against":[{"with":"base","digest":"` + entries[0].Digest + `","class":"`
	if strings.Count(got, want) != 1 || strings.Count(got, `"with"`) != 1 {
		t.Errorf("expected %s once:\n%s", want, got)
	}
}

// TestUnread demands that a template that is not there, or another one, keeps no other from being
// judged.
func TestUnread(t *testing.T) {
	dir, entries := folder(t, "a", "b", "c")
	if err := os.Remove(entries[0].Path(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(entries[1].Path(dir), []byte("another"), 0o666); err != nil {
		t.Fatal(err)
	}
	got := judged(t, dir, entries, manifest.Shard{}, "")
	if n := strings.Count(got, `"verdict":"unread"`); n != 2 {
		t.Errorf("%d templates are unread, expected 2:\n%s", n, got)
	}
	if !strings.Contains(got, "the file holds the text ") {
		t.Errorf("nothing is said of another text:\n%s", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(`{"results":"survey","format":2,"version":"1","manifest":"ab","entries":1,"of":1,"parts":[1]}` + "\n" +
		`{"digest":"ab","verdict":"pass","entries":[{"what":"template","where":"a","digest":"ab"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := results.NewReader(strings.NewReader(text), results.Survey)
		if err != nil {
			return
		}
		summary := survey.NewSummary(r.Header)
		for line, err := results.Next[survey.Line](r); err == nil; line,
			err = results.Next[survey.Line](r) {
			summary.Add(line)
		}
		if err := summary.Text(io.Discard); err != nil {
			t.Error(err)
		}
	})
}

// TestHostileResults reads files of results that nobody wrote in good faith: each is refused with
// the line and the member that is wrong, before anything is made of it.
func TestHostileResults(t *testing.T) {
	digest := manifest.Digest("a")
	header := `{"results":"survey","format":2,"version":"1","manifest":"` + digest +
		`","entries":1,"of":1,"parts":[1]}` + "\n"
	line := `{"digest":"` + digest + `","verdict":"pass","format":"` + digest + `","entries":[` +
		`{"what":"template","where":"a","digest":"` + digest + `","file":"a.jinja"}]}` + "\n"
	for _, c := range []struct{ part, was, is, want string }{
		{"", "", "", ""},
		{"header", digest, "../../owned", "line 1: manifest"},
		{"header", `"of":1`, `"of":1000000000000000`, "line 1: of"},
		{"header", `"of":1`, `"of":-1`, "line 1: of"},
		{"header", `"entries":1`, `"entries":-1`, "line 1: entries"},
		{"header", `"entries":1`, `"entries":0`, "line 2: the lines have 1 places"},
		{"header", `"entries":1`, `"entries":2`, "the lines have 1 places, and the manifest has 2"},
		{"header", `[1]`, "[" + strings.Repeat("1,", 100_000) + "1]", "line 1: of"},
		{"line", `"format":"` + digest, `"format":"x`, "line 2: format"},
		{"line", `"format":"` + digest, `"format":"../../owned`, "line 2: format"},
		{"line", `"pass"`, `"<script>"`, "line 2: verdict"},
		{"line", `{"digest":"` + digest, `{"digest":"../../owned`, "line 2: the digest"},
		{"line", `"a","digest":"` + digest, `"a","digest":"x`, "line 2: digest"},
		{"line", `"a.jinja"`, `"../a.jinja"`, "line 2: file"},
		{"line", `"template"`, `"model"`, "line 2: what"},
		{"line", `"verdict"`, strings.Repeat("[", 1<<20), "line 2: "},
	} {
		h, l := header, line
		if c.part == "header" {
			h = strings.Replace(h, c.was, c.is, 1)
		} else {
			l = strings.Replace(l, c.was, c.is, 1)
		}
		r, err := results.NewReader(strings.NewReader(h+l), results.Survey)
		if err == nil {
			_, err = results.Next[survey.Line](r)
		}
		if err == nil {
			if _, err = results.Next[survey.Line](r); err == io.EOF {
				err = nil
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil ||
			!strings.HasPrefix(err.Error(), c.want) || len(err.Error()) > 400) {
			t.Errorf("%s %.40s: %.500v, want %q", c.part, c.is, err, c.want)
		}
	}
}
