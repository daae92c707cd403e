package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goassay/assay/harness/testkit/command"
)

// TestManyFiles gives commands a folder of 100,000 files in a hundred folders, one of them a
// template. Each finds it, in bounded time and memory: make hostile.
func TestManyFiles(t *testing.T) {
	if !*whole {
		t.Skip("make hostile runs it")
	}
	dir := t.TempDir()
	for i := range 100 {
		folder := filepath.Join(dir, fmt.Sprint("folder", i))
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for j := range 1000 {
			name := fmt.Sprint("file", j, []string{".txt", ".json", ".jsonl.bak", ""}[j%4])
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	const template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}" +
		"{% if add_generation_prompt %}<|assistant|>{% endif %}"
	if err := os.WriteFile(filepath.Join(dir, "folder50", "t.jinja"), []byte(template),
		0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"check", "--format", "brief"}, 0}, {[]string{"audit"}, 0},
		{[]string{"manifest"}, 0}, {[]string{"fix"}, 0}, {[]string{"verify"}, 2},
	} {
		s := spend(t, command.Path(t), nil, nil, append(c.args, dir)...)
		t.Logf("%s: %v, %d MiB", c.args[0], s.took, s.resident>>20)
		if s.status != c.status || s.took > maxTime || s.resident > 128<<20 || len(s.out) > 4<<10 {
			t.Errorf("%s: status %d, %v of the processor, %d MiB: %.2000s", c.args[0], s.status,
				s.took, s.resident>>20, s.out)
		}
	}
}
