package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/report/safefile"
)

// Find returns the names below a folder that [Open] takes: templates, model folders and files, and
// the model files that a cache names by their digests, as Ollama does.
func Find(dir string) ([]string, error) {
	found, err := subject.Find(dir)
	if err != nil && !errors.Is(err, subject.ErrNoTemplate) {
		return nil, err
	}
	names := append(found.Templates, found.Models...)
	var blobs []string
	linked := map[string]bool{} // the files that a link of the folder leads to: those are found
	walked := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil: // an unreadable folder is not ours to judge
		case d.Type()&fs.ModeSymlink != 0:
			if to, err := os.Readlink(path); err == nil {
				linked[filepath.Base(to)] = true
			}
		case d.Type().IsRegular() && isBlob(path) && isGGUF(path):
			blobs = append(blobs, path)
		}
		return nil
	})
	names = append(names, slices.DeleteFunc(blobs, func(path string) bool {
		return linked[filepath.Base(path)]
	})...)
	if names == nil {
		return nil, errors.Join(err, walked)
	}
	return names, walked
}

// isBlob reports whether a file is named by its digest: a program that finds other contents there
// takes the file for broken.
func isBlob(path string) bool {
	name := strings.TrimPrefix(filepath.Base(path), "sha256-")
	return (len(name) == 64 || len(name) == 40) && strings.Trim(name, "0123456789abcdef") == ""
}

// isGGUF reports whether a file begins as a model file does.
func isGGUF(path string) bool {
	f, err := safefile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "GGUF"
}

// Open opens the templates of a name, each text once. Those of a model folder are returned beside
// the error of its files that cannot be read.
func Open(name string, stdin io.Reader) ([]subject.Source, error) {
	if isBlob(name) && isGGUF(name) {
		dir, file := filepath.Split(name)
		folder, err := modeldir.ReadGGUF(os.DirFS(filepath.Clean(dir+".")), file)
		if err != nil {
			return nil, err
		}
		return subject.NewModel(name, dir, folder).Distinct(), nil
	}
	if subject.IsModel(name) {
		m, err := subject.OpenModel(name)
		if err != nil {
			return nil, err
		}
		for _, p := range m.Problems {
			err = errors.Join(err, p)
		}
		return m.Distinct(), err
	}
	return subject.OpenAll(name, stdin)
}

// maxAnswer bounds what a server may answer, in bytes.
const maxAnswer = 8 << 20

// get asks a server for a text.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if len(text) > maxAnswer {
		err = fmt.Errorf("GET %s: the answer has more than %d bytes", url, maxAnswer)
	}
	return text, err
}

// Serving asks a server for the templates that it uses, by llama-server's /props: for that of its
// one model, or for those of the models that /v1/models lists and that are loaded.
func Serving(ctx context.Context, client *http.Client, address string) ([]subject.Source, error) {
	base := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1"), "/")
	ask := func(path string) (ordered.Value, error) {
		text, err := get(ctx, client, base+path)
		if err != nil {
			return ordered.Value{}, err
		}
		return ordered.ParseString(string(text))
	}
	var all []subject.Source
	add := func(name, query string) error {
		answer, err := ask("/props" + query)
		for _, which := range []string{"", "_tool_use"} {
			if text := answer.At("chat_template" + which).Text(); text != "" {
				all = append(all, subject.New(name+strings.Replace(which, "_", "#", 1), text))
			}
		}
		return err
	}
	err := add(address, "")
	if unreached := new(url.Error); all != nil || errors.As(err, &unreached) {
		return all, err
	}
	files := "the model's files"
	models, _ := ask("/v1/models") // an error, here and of a model that is not loaded: no template
	for _, m := range models.At("data").Items() {
		id := m.At("id").Text()
		files += ", of " + id
		_ = add(address+"#"+id, "?autoload=false&model="+url.QueryEscape(id))
	}
	if all == nil {
		return nil, fmt.Errorf("GET %s/props: the server does not show its template; give %s, or "+
			"hf: and the name on the Hub", base, files)
	}
	return all, nil
}
