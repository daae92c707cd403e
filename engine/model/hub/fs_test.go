package hub_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
)

func TestFS(t *testing.T) {
	f := start(t)
	big := model(t, "{{ messages }}", 10, 2<<20)
	for name, data := range map[string][]byte{"config.json": []byte("{}"), "m.gguf": big,
		"additional_chat_templates/a.jinja":   []byte("a"),
		"additional_chat_templates/b/c.jinja": []byte("c"), "README.md": []byte("# m")} {
		f.Repo("o/m").Put(name, data)
	}
	c := f.client(nil)
	fsys := c.FS(context.Background(), f.repo(c, "o/m", ""))
	if err := fstest.TestFS(fsys, "config.json", "m.gguf", "additional_chat_templates/a.jinja",
		"additional_chat_templates/b/c.jinja", "README.md"); err != nil {
		t.Error(err)
	}
	f.Requests()

	// A piece in the middle costs a piece.
	m, err := fsys.Open("m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	piece := make([]byte, 100)
	if n, err := m.(io.ReaderAt).ReadAt(piece, 1<<20); n != 100 || err != nil ||
		string(piece) != string(big[1<<20:1<<20+100]) {
		t.Errorf("%d bytes, %v", n, err)
	}
	for _, r := range f.Requests() {
		if r.Host == "storage" && !strings.HasPrefix(r.Range, "bytes=1048576-") {
			t.Errorf("asked %s", r)
		}
	}

	// Errors are those of the client, and those of file systems.
	if _, err := fs.ReadFile(fsys, "none.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := fs.ReadFile(fsys, "../config.json"); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	f.Fault(fakehub.Fault{Kind: "corrupt", On: "config.json"})
	var of *hub.Error
	if _, err := fs.ReadFile(fsys, "config.json"); !errors.As(err, &of) {
		t.Error(err)
	}
}
