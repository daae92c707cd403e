package vector

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/corpus/outline"
	"github.com/goassay/assay/harness/report/safefile"
)

// modelsList is the name of the list, in a folder of templates, of the models that each template
// belongs to: an outline (package outline) whose headings are templates and whose items are
// repositories, such as "owner/name".
const modelsList = "models.txt"

// Templates finds the templates that vectors name, in several folders.
type Templates struct {
	folders []fs.FS
	index   func() (*index, error)
}

// index knows the templates of all folders by their other names. The first folder that has a name
// wins.
type index struct {
	digests map[string]string // SHA-256 of the text in hexadecimal -> path
	models  map[string]string // repository in lower case -> path
	names   map[string]string // a file's name in lower case, without its extension -> path
}

// NewTemplates returns the templates of folders, which are looked through in order.
func NewTemplates(folders ...fs.FS) *Templates {
	t := &Templates{folders: folders}
	t.index = sync.OnceValues(t.read)
	return t
}

// text returns a template by its path in one of the folders.
func (t *Templates) text(name string) (string, error) {
	if t == nil {
		return "", fmt.Errorf("the template %s is needed; --templates says "+
			"where templates are", name)
	}
	for _, folder := range t.folders {
		text, err := readFile(folder, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return string(text), err
		}
	}
	return "", fmt.Errorf("no folder of --templates has %s", name)
}

// readFile reads a regular file: opening a pipe waits for its other end.
func readFile(folder fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(folder, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: safefile.ErrIrregular}
	}
	return fs.ReadFile(folder, name)
}

// find returns the path of the template with a digest, else of the one that belongs to the first of
// the models that has one: by a folder's list, or by a file whose name is the repository's, with
// "-" for "/" or without the owner.
func (t *Templates) find(digest string, models []string) (string, error) {
	if t == nil {
		return "", errors.New("a template is needed; --templates says where templates are")
	}
	x, err := t.index()
	if err != nil {
		return "", err
	}
	if name, ok := x.digests[digest]; ok {
		return name, nil
	}
	for _, model := range models {
		model = strings.ToLower(model)
		if name, ok := x.models[model]; ok {
			return name, nil
		}
		for _, file := range []string{strings.ReplaceAll(model, "/", "-"), path.Base(model)} {
			if name, ok := x.names[file]; ok {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("no folder of --templates has "+
		"the template of %s", strings.Join(models, " or "))
}

func (t *Templates) read() (*index, error) {
	x := &index{map[string]string{}, map[string]string{}, map[string]string{}}
	for _, folder := range t.folders {
		if err := x.files(folder); err != nil {
			return nil, err
		}
		if err := x.list(folder); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *index) files(folder fs.FS) error {
	return fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".jinja" {
			return err
		}
		text, err := readFile(folder, name)
		if err != nil {
			return err
		}
		// A repository's file may end with a line feed that its tokenizer_config.json has not.
		trimmed := strings.TrimRight(string(text), "\n")
		for _, spelling := range []string{string(text), trimmed, trimmed + "\n"} {
			digest := sha256.Sum256([]byte(spelling))
			put(x.digests, hex.EncodeToString(digest[:]), name)
		}
		put(x.names, strings.ToLower(strings.TrimSuffix(path.Base(name), ".jinja")), name)
		return nil
	})
}

func (x *index) list(folder fs.FS) error {
	text, err := readFile(folder, modelsList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	src := source.New(modelsList, string(text))
	groups, err := outline.Parse(src)
	for _, g := range groups {
		for _, item := range g.Items {
			put(x.models, strings.ToLower(item.Text), g.Head)
		}
	}
	return err
}

func put(m map[string]string, key, name string) {
	if _, ok := m[key]; !ok {
		m[key] = name
	}
}
