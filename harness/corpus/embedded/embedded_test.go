package embedded_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/harness/corpus/embedded"
)

var texts = map[string]string{
	"a.txt": strings.Repeat("text ", 100), "b/empty": "", "b/c/d.json": "{}",
}

// TestFS reads files that are stored as they are, and compressed, as any tree of files.
func TestFS(t *testing.T) {
	for name, store := range map[string]func(string) []byte{
		"plain":      func(text string) []byte { return []byte(text) },
		"compressed": compressed,
	} {
		t.Run(name, func(t *testing.T) {
			stored := fstest.MapFS{}
			for name, text := range texts {
				stored[name] = &fstest.MapFile{Data: store(text)}
			}
			files := embedded.FS{Stored: stored}
			if err := fstest.TestFS(files, "a.txt", "b/empty", "b/c/d.json"); err != nil {
				t.Error(err)
			}
			for name, want := range texts {
				if got, err := files.ReadFile(name); err != nil || string(got) != want {
					t.Errorf("%s is %q, %v; want %q", name, got, err, want)
				}
			}
		})
	}
}

// TestDamaged names the file that cannot be read.
func TestDamaged(t *testing.T) {
	text := compressed("text")
	files := embedded.FS{Stored: fstest.MapFS{"a": &fstest.MapFile{Data: text[:len(text)-1]}}}
	if _, err := files.Open("a"); err == nil || !strings.Contains(err.Error(), "file a: unexpected EOF") {
		t.Errorf("a file that is cut: %v", err)
	}
}

func compressed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
