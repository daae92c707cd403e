package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// lockVersion is the version of the lock files that are written.
const lockVersion = 1

// Lock identifies a model, to the byte.
type Lock struct {
	Version    int              `json:"version"`
	Repository string           `json:"repository"`
	Revision   string           `json:"revision"` // the revision that was asked for; for people
	Commit     string           `json:"commit"`
	Files      []LockedFile     `json:"files"`     // the parts in order
	Templates  []LockedTemplate `json:"templates"` // as the model has them
}

// LockedFile is a file of a [Lock].
type LockedFile struct {
	File   string `json:"file"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// LockedTemplate is a chat template of a [Lock].
type LockedTemplate struct {
	Name   string `json:"name"` // "default" of the one without
	SHA256 string `json:"sha256"`
	Judged bool   `json:"judged"` // the gate looked at this one
}

// ParseLock reads a lock file.
func ParseLock(text []byte) (*Lock, error) {
	l := new(Lock)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf("not a lock file: %w", err)
	}
	switch {
	case l.Version != lockVersion:
		return nil, fmt.Errorf("a lock file of version %d, expected %d", l.Version, lockVersion)
	case !validRepo(l.Repository):
		return nil, fmt.Errorf("repository %q: expected OWNER/NAME", l.Repository)
	case !isHex(l.Commit, 40):
		return nil, fmt.Errorf("commit %q: expected 40 hexadecimal digits", l.Commit)
	case len(l.Files) == 0:
		return nil, fmt.Errorf("a lock file without a file")
	}
	for _, f := range l.Files {
		if !validPath(f.File) || f.Size < 0 || !isHex(f.SHA256, 64) {
			return nil, fmt.Errorf("file %q: expected a path, a size and a SHA-256", f.File)
		}
	}
	return l, nil
}

// Text returns the lock file.
func (l *Lock) Text() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		panic(err) // not reached: all fields are plain
	}
	return b.Bytes()
}

// lockOf notes the fetched files; paths are where the files are now.
func lockOf(r *Repo, files []File, paths []string) (*Lock, error) {
	l := &Lock{Version: lockVersion, Repository: r.ID, Revision: r.Revision, Commit: r.Commit,
		Templates: []LockedTemplate{}}
	for i, f := range files {
		sum := f.SHA256
		if sum == "" {
			var err error
			if sum, err = fileSum(paths[i]); err != nil {
				return nil, err
			}
		}
		l.Files = append(l.Files, LockedFile{f.Name, f.Size, sum})
	}
	return l, nil
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// promised returns the lock's files, and compares the listing with the lock.
func (l *Lock) promised(c *Client, r *Repo) ([]File, error) {
	var files []File
	var differences []string
	for _, want := range l.Files {
		f, ok := r.Find(want.File)
		if !ok {
			differences = append(differences, want.File+" is not there")
			continue
		}
		if f.Size >= 0 && f.Size != want.Size {
			differences = append(differences,
				fmt.Sprintf("%s has %d bytes, locked are %d", want.File, f.Size, want.Size))
		}
		if f.SHA256 != "" && f.SHA256 != want.SHA256 {
			differences = append(differences, fmt.Sprintf("%s has the SHA-256 "+
				"%s, locked is %s", want.File, f.SHA256, want.SHA256))
		}
		files = append(files, f)
	}
	return files, l.differs(c, differences)
}

func (l *Lock) differs(c *Client, differences []string) error {
	if len(differences) == 0 {
		return nil
	}
	return c.failf(ErrMismatch, l.Repository+" at "+l.Commit, "not what was locked: %s",
		strings.Join(differences, "; "))
}

// CheckTemplates compares a model's templates with the lock's.
func (l *Lock) CheckTemplates(c *Client, found []LockedTemplate) error {
	var differences []string
	for i := range max(len(found), len(l.Templates)) {
		switch {
		case i >= len(found):
			differences = append(differences,
				fmt.Sprintf("there is no template %s", plain(l.Templates[i].Name)))
		case i >= len(l.Templates):
			differences = append(differences,
				fmt.Sprintf("template %s is not locked", plain(found[i].Name)))
		case found[i] != l.Templates[i]:
			differences = append(differences, fmt.Sprintf("template %d is %s with the SHA-256 "+
				"%s, locked is %s with %s",
				i+1, plain(found[i].Name), found[i].SHA256, plain(l.Templates[i].Name),
				plain(l.Templates[i].SHA256)))
		}
	}
	return l.differs(c, differences)
}
