package audit

import (
	"context"
	"encoding/json"
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

// Open opens the templates of a name, each text once.
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
		return m.Distinct(), nil
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

// Serving asks a server for the templates that it uses, by llama-server's /props: for the one model
// that it has, or for each of those that /v1/models lists and that are loaded.
func Serving(ctx context.Context, client *http.Client, address string) ([]subject.Source, error) {
	base := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1"), "/")
	all, err := props(ctx, client, base+"/props", address)
	if unreached := new(url.Error); all != nil || errors.As(err, &unreached) {
		return all, err
	}
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if text, listed := get(ctx, client, base+"/v1/models"); listed == nil {
		_ = json.Unmarshal(text, &models) // an answer that lists none
	}
	var ids []string
	for _, m := range models.Data {
		of, _ := props(ctx, client, base+"/props?autoload=false&model="+url.QueryEscape(m.ID),
			address+"#"+m.ID)
		all, ids = append(all, of...), append(ids, m.ID)
	}
	switch {
	case all != nil:
		return all, nil
	case ids != nil:
		return nil, fmt.Errorf("%w: the server does not show its template; give the files of %s "+
			"instead, or hf: before the name on the Hub", err, strings.Join(ids, ", "))
	}
	return nil, fmt.Errorf("%w: the server does not show its template; give the model's files "+
		"instead", err)
}

// props reads the templates in an answer of /props, and names them.
func props(ctx context.Context, client *http.Client, address, name string) ([]subject.Source,
	error) {
	text, err := get(ctx, client, address)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Template string `json:"chat_template"`
		ToolUse  string `json:"chat_template_tool_use"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("GET %s: %w", address, err)
	}
	if answer.Template == "" {
		return nil, fmt.Errorf("GET %s: there is no chat_template in the answer", address)
	}
	all := []subject.Source{subject.New(name, answer.Template)}
	if answer.ToolUse != "" {
		all = append(all, subject.New(name+"#tool_use", answer.ToolUse))
	}
	return all, nil
}
