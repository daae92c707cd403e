// Package families reads a corpus: its families, the vendors' templates, and the known failures.
//
// # Terminology
//
// A family is one output format in full. Its own template is <family>/template.jinja of the corpus.
// families.txt lists its vendor templates, which are files in a directory outside the repository;
// vendor.lock pins their SHA-256.
//
// A kind of case (one call, two calls, ...) is kinds/KIND.txtar: a script, and the request and the
// message for each setting. <family>/outputs.txtar has a family's outputs for the kinds. Together
// they make the case FAMILY/KIND.txtar, which is not on disk but can be read through [Corpus].FS. A
// script in a family's folder is a case of that family alone.
//
// # Errors
//
// A list that cannot be parsed gives an error with its file and line. A vendor template whose bytes
// differ from those that vendor.lock pins gives an error with both hashes.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package families

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/corpus/outline"
)

// OwnTemplate is the file name of a family's own template.
const OwnTemplate = "template.jinja"

// Family is one output format with its templates and cases.
type Family struct {
	Name    string
	About   string   // a sentence about it
	Own     bool     // the corpus has a folder with a template for it
	Cases   []string // the scripts, paths in the corpus, sorted
	Vendors []Vendor // sorted
}

// Vendor is a vendor's template as families.txt and vendor.lock describe it.
type Vendor struct {
	Name   string // file name
	Family string
	SHA256 string // hex
	Line   int    // of vendor.lock, which pins it
	// the names of the lines in which it may differ from the family's own template (package
	// equivalence)
	Differs []string
	Why     string // the reason for that
}

// Corpus is a corpus in memory: its families, sorted by name, and the known failures.
type Corpus struct {
	// FS has the corpus' files, and each case that a kind makes for a family, FAMILY/KIND.txtar.
	FS       fs.FS
	Families []Family
	Known    map[string]string // of known.txt: "template check" -> reason
	Kinds    *Kinds            // nil where no family has an outputs file

	outputs map[string]*family // of each family that has some
}

// Load reads a corpus: families.txt, vendor.lock, known.txt and the folders. A corpus without
// families.txt is a folder of families without vendor templates.
func Load(fsys fs.FS) (*Corpus, error) {
	c := &Corpus{FS: fsys, outputs: map[string]*family{}}
	if err := c.readFamilies(); err != nil {
		return nil, err
	}
	if err := c.readLock(); err != nil {
		return nil, err
	}
	if err := c.readFolders(); err != nil {
		return nil, err
	}
	if err := c.readKnown(); err != nil {
		return nil, err
	}
	c.FS = composed{fsys, c}
	slices.SortFunc(c.Families, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// Family returns a family by name.
func (c *Corpus) Family(name string) (*Family, bool) {
	for i := range c.Families {
		if c.Families[i].Name == name {
			return &c.Families[i], true
		}
	}
	return nil, false
}

// Text returns the source of a family's own template.
func (c *Corpus) Text(family string) (string, error) {
	text, err := fs.ReadFile(c.FS, family+"/"+OwnTemplate)
	return string(text), err
}

func (c *Corpus) readFamilies() error {
	text, err := fs.ReadFile(c.FS, "families.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	src := source.New("families.txt", string(text))
	groups, err := outline.Parse(src)
	if err != nil {
		return err
	}
	for _, g := range groups {
		name, about, ok := strings.Cut(g.Head, ": ")
		if !ok {
			return fmt.Errorf("families.txt:%d: expected a heading \"family: a sentence "+
				"about it\", found %q", g.Line, g.Head)
		}
		f := Family{Name: name, About: about}
		for _, item := range g.Items {
			v, err := parseVendor(item)
			if err != nil {
				return err
			}
			v.Family = name
			f.Vendors = append(f.Vendors, v)
		}
		c.Families = append(c.Families, f)
	}
	return nil
}

// parseVendor reads a line "file", or "file differs in name, name: the reason".
func parseVendor(item outline.Item) (Vendor, error) {
	name, rest, ok := strings.Cut(item.Text, " ")
	if !ok {
		return Vendor{Name: name}, nil
	}
	names, is := strings.CutPrefix(rest, "differs in ")
	names, why, has := strings.Cut(names, ": ")
	if !is || !has || why == "" {
		return Vendor{}, fmt.Errorf("families.txt:%d: expected \"file\" or \"file differs "+
			"in name, name: the reason\", found %q", item.Line, item.Text)
	}
	return Vendor{Name: name, Differs: strings.Split(names, ", "), Why: why}, nil
}

// readLock adds the hashes, and checks that vendor.lock and families.txt list the same templates.
func (c *Corpus) readLock() error {
	text, err := fs.ReadFile(c.FS, "vendor.lock")
	if errors.Is(err, fs.ErrNotExist) && len(c.Families) == 0 {
		return nil
	} else if err != nil {
		return err
	}
	locked := map[string]Vendor{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || len(fields[0]) != 2*sha256.Size {
			return fmt.Errorf("vendor.lock:%d: expected \"sha256 family "+
				"file\", found %q", number, strings.TrimSpace(line))
		}
		locked[fields[2]] = Vendor{SHA256: fields[0], Family: fields[1], Line: number}
	}
	for i := range c.Families {
		for j := range c.Families[i].Vendors {
			v := &c.Families[i].Vendors[j]
			lock, ok := locked[v.Name]
			if !ok || lock.Family != v.Family {
				return fmt.Errorf("vendor.lock does not have %s as a template of the family %s, "+
					"which families.txt does; run `make lock`", v.Name, v.Family)
			}
			v.SHA256, v.Line = lock.SHA256, lock.Line
			delete(locked, v.Name)
		}
	}
	for name, lock := range locked {
		return fmt.Errorf("vendor.lock:%d has %s, which families.txt does not list; "+
			"run `make lock`", lock.Line, name)
	}
	return nil
}

func (c *Corpus) readFolders() error {
	entries, err := fs.ReadDir(c.FS, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == kindsFolder ||
			e.Name() == advisoriesFolder {
			continue
		}
		if _, err := fs.Stat(c.FS, e.Name()+"/"+OwnTemplate); err != nil {
			return fmt.Errorf("the folder %s has no %s; every folder of a corpus "+
				"but %s is a family",
				e.Name(), OwnTemplate, kindsFolder)
		}
		cases, err := c.readCases(e.Name())
		if err != nil {
			return err
		}
		f, ok := c.Family(e.Name())
		if !ok {
			c.Families = append(c.Families, Family{Name: e.Name()})
			f = &c.Families[len(c.Families)-1]
		}
		f.Own, f.Cases = true, cases
	}
	return nil
}

// readCases returns the cases of a family: its scripts, and those that its outputs make.
func (c *Corpus) readCases(name string) ([]string, error) {
	cases, err := fs.Glob(c.FS, name+"/*"+scriptEnding)
	if err != nil {
		return nil, err
	}
	at := slices.Index(cases, name+"/"+Outputs)
	if at < 0 {
		return cases, nil
	}
	cases = slices.Delete(cases, at, at+1)
	if c.Kinds == nil {
		if c.Kinds, err = ReadKinds(c.FS); err != nil {
			return nil, err
		}
	}
	archive, err := readArchive(c.FS, name+"/"+Outputs)
	if err != nil {
		return nil, err
	}
	f, err := c.Kinds.readOutputs(name, archive)
	if err != nil {
		return nil, err
	}
	c.outputs[name] = f
	for _, file := range f.cases() {
		if slices.Contains(cases, file) {
			return nil, fmt.Errorf("%s: %s/%s has a case of this name already", file, name, Outputs)
		}
		cases = append(cases, file)
	}
	slices.Sort(cases)
	return cases, nil
}

// readKnown reads known.txt: under each reason, "template check".
func (c *Corpus) readKnown() error {
	text, err := fs.ReadFile(c.FS, "known.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	c.Known, err = outline.Reasons(source.New("known.txt", string(text)))
	return err
}

// ReadVendor reads a vendor's template from the vendors' directory and checks its bytes.
func ReadVendor(dir fs.FS, v Vendor) (string, error) {
	text, err := fs.ReadFile(dir, v.Name)
	if err != nil {
		return "", fmt.Errorf("vendor template: %w; `make deps` fetches them", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != v.SHA256 {
		return "", fmt.Errorf("vendor template %s is not the one that vendor.lock:%d pins: "+
			"SHA-256 is %x, want %s", v.Name, v.Line, sum, v.SHA256)
	}
	return string(text), nil
}
