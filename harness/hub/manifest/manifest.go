// Package manifest reads lists of templates to judge, and divides the work into shards.
//
// # Model
//
// A manifest is a file of JSON lines, each an [Entry]: a place, such as a repository of the Hub,
// and the template that it holds, by digest. Many places may hold the same template. The file is
// named by its own digest, so that results say which list they are of. In a manifest of models each
// place holds a model file instead; in one of repositories it has the names of files that may hold
// templates.
//
// A [Shard] is a part of the work. An entry belongs to a shard by the digest of its template and by
// nothing else: no template is judged in two shards, and an entry that is added or removed moves no
// other. [Auto] asks the scheduler that started the process which shard it is.
//
// # Errors
//
// [Read] returns an error with the line of the first entry that cannot be used.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package manifest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/report/safefile"
)

// The kinds of entries. All entries of a manifest are of one kind.
const (
	Template   = "template"   // a place that holds a chat template
	Model      = "model"      // a model file
	Repository = "repository" // a repository, of which nothing was read yet
)

// maxLine bounds a line of a manifest, in bytes.
const maxLine = 64 << 10

// Entry is one place and its template.
type Entry struct {
	What     string `json:"what"`               // [Template], [Model] or [Repository]
	Where    string `json:"where"`              // OWNER/NAME on the Hub, or a path
	Revision string `json:"revision,omitempty"` // the commit at which it was read
	// Digest is the SHA-256 of the template's text, or of the model file, in hexadecimal. A
	// repository has none.
	Digest string `json:"digest,omitempty"`
	// File names a Jinja file, or a configuration or model with the template's name after a #; for
	// a model, its file. Relative names start at the manifest's folder. If it is empty, a template
	// is in templates/DIGEST.jinja, and a model is at Where.
	File      string   `json:"file,omitempty"`
	Downloads int64    `json:"downloads,omitempty"` // in the last 30 days, as the Hub counts them
	Base      string   `json:"base,omitempty"`      // the entry of the model that it was made from
	Gated     string   `json:"gated,omitempty"`     // of a repository: "auto" or "manual"
	Files     []string `json:"files,omitempty"`     // of a repository: those that may hold templates
}

// Path returns the name under which the template or model is opened, for a manifest in a folder or
// a bucket.
func (e Entry) Path(folder string) string {
	switch {
	case e.File == "" && e.What == Model:
		return within(folder, e.Where)
	case e.File == "":
		return storage.Join(folder, "templates/"+e.Digest+".jinja")
	}
	return within(folder, e.File)
}

// within returns a name joined to a folder or a bucket; an absolute name stays as it is.
func within(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return storage.Join(folder, name)
}

// Check returns an error that says why the entry cannot be used in a manifest of a kind, nil if it
// can.
func (e Entry) Check(what string) error {
	switch {
	case e.What != what && e.What == Repository:
		return fmt.Errorf("what is %q, expected %q: `assay hub fetch` makes a manifest of "+
			"templates from one of repositories", Repository, what)
	case e.What != what:
		return fmt.Errorf("what is %.80q, expected %q", e.What, what)
	case e.Where == "":
		return errors.New("where is missing: it names the repository or the path")
	case what == Repository && e.Digest != "":
		return errors.New("digest is given, but a repository has none")
	case what == Repository && e.Revision == "":
		return errors.New("revision is missing: it is the commit to read")
	case what != Repository && len(e.Files) > 0:
		return errors.New("files are given, but only a repository has them")
	case what != Repository && !IsDigest(e.Digest):
		return fmt.Errorf("digest is %.80q, expected a SHA-256 in 64 hexadecimal digits", e.Digest)
	case e.Downloads < 0:
		return errors.New("downloads is negative")
	case path.Clean("/"+e.File) != "/"+e.File && e.File != "" && !filepath.IsAbs(e.File):
		return fmt.Errorf("file is %.80q, expected a path within the manifest's folder", e.File)
	}
	return nil
}

// Digest returns the name of a text: its SHA-256 in hexadecimal.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// IsDigest reports whether a text is a name that [Digest] gives.
func IsDigest(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == text
}

// Read calls take for each entry of a manifest of one kind, in order, and returns the manifest's
// digest and the number of entries. Memory does not grow with the file. An error of take ends it.
func Read(r io.Reader, what string, take func(Entry) error) (digest string, entries int,
	err error) {
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(r, sum))
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var e Entry
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		err := d.Decode(&e)
		if err == nil && d.More() {
			err = errors.New("there is more after the object")
		}
		if err == nil {
			err = e.Check(what)
		}
		if err != nil {
			return "", 0, fmt.Errorf("line %d: %w", n, err)
		}
		entries++
		if err := take(e); err != nil {
			return "", 0, err
		}
	}
	if err := lines.Err(); err != nil {
		return "", 0, fmt.Errorf("line %d: %w", n+1, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), entries, nil
}

// Keep writes a template into the folder or the bucket of a manifest, under the name that
// [Entry.Path] gives to an entry without a file, unless it is there.
func Keep(ctx context.Context, files *storage.Store, folder, text string) (digest string,
	err error) {
	digest = Digest(text)
	name := Entry{Digest: digest}.Path(folder)
	if found, err := files.Exists(ctx, name); found || err != nil {
		return digest, err
	}
	return digest, files.Write(ctx, name, safefile.Text(text))
}

// Write writes entries as a manifest.
func Write(w io.Writer, entries []Entry) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, e := range entries {
		if err := out.Encode(e); err != nil {
			return err
		}
	}
	return nil
}
