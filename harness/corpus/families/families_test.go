package families_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/harness/corpus/families"
)

const hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // of the empty file

func corpusOf(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

func TestLoad(t *testing.T) {
	c, err := families.Load(corpusOf(
		"families.txt", "b: second\n\tv.jinja differs in supports_tools, keys: a fault: of its "+
			"own\na: first\n\tw.jinja\n",
		"vendor.lock", "# lock\n"+hash+"  b  v.jinja\n"+hash+"  a  w.jinja\n",
		"known.txt", "it is so\n\tv.jinja A012\n",
		"a/template.jinja", "x", "a/case.txtar", "", "c/template.jinja", "y"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range c.Families {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "a b c" {
		t.Errorf("families %q", got)
	}
	a, _ := c.Family("a")
	if !a.Own || a.About != "first" || len(a.Cases) != 1 || a.Vendors[0].SHA256 != hash {
		t.Errorf("family a is %+v", a)
	}
	b, _ := c.Family("b")
	if v := b.Vendors[0]; v.Name != "v.jinja" ||
		!slices.Equal(v.Differs, []string{"supports_tools", "keys"}) ||
		v.Why != "a fault: of its own" {
		t.Errorf("the vendor template of b is %+v", v)
	}
	if c.Known["v.jinja A012"] != "it is so" {
		t.Errorf("known failures are %v", c.Known)
	}
	if _, err := families.ReadVendor(corpusOf("w.jinja", ""), a.Vendors[0]); err != nil {
		t.Error(err)
	}
	_, err = families.ReadVendor(corpusOf("w.jinja", "changed"), a.Vendors[0])
	if err == nil || !strings.Contains(err.Error(), "w.jinja is not the one that "+
		"vendor.lock:3 pins") {
		t.Errorf("a changed vendor template: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	const list = "a: first\n\tv.jinja\n"
	for _, c := range []struct{ name, families, lock, want string }{
		{"no about", "a\n\tv.jinja\n", "", `families.txt:1: expected a heading "family: a sentence about it", found "a"`},
		{"no reason", "a: first\n\tv.jinja differs in keys\n", "", `families.txt:2: expected "file" or "file differs in name, name: the reason"`},
		{"no difference", "a: first\n\tv.jinja keys: so\n", "", `families.txt:2: expected "file" or "file differs in name`},
		{"no lock", list, "# empty\n", "vendor.lock does not have v.jinja as a template of the family a"},
		{"other family", list, hash + " b v.jinja\n", "vendor.lock does not have v.jinja as a template of the family a"},
		{"not listed", list, hash + " a v.jinja\n" + hash + " a w.jinja\n", "vendor.lock:2 has w.jinja, which families.txt does not list"},
		{"bad line", list, "v.jinja\n", `vendor.lock:1: expected "sha256 family file", found "v.jinja"`},
	} {
		_, err := families.Load(corpusOf("families.txt", c.families, "vendor.lock", c.lock))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// FuzzLoad reads any lists of a corpus.
func FuzzLoad(f *testing.F) {
	f.Add("b: second\n\tv.jinja\na: first\n\tw.jinja\n", "# lock\n"+hash+"  b  v.jinja\n"+hash+"  a  w.jinja\n",
		"it is so\n\tv.jinja A012\n")
	f.Add("a: \n\t../x\n", hash+" a ../x\n", "")
	f.Add("a: first\n\tv.jinja\na: again\n\tw.jinja", "", "\x00")
	f.Fuzz(func(t *testing.T, list, lock, known string) {
		c, err := families.Load(corpusOf("families.txt", list, "vendor.lock", lock, "known.txt",
			known, "a/template.jinja", "x"))
		if err != nil {
			return
		}
		for _, f := range c.Families {
			for _, v := range f.Vendors {
				if len(v.SHA256) != len(hash) || v.Family != f.Name {
					t.Errorf("%q, %q: %+v", list, lock, v)
				}
				if _, err := families.ReadVendor(corpusOf(), v); err == nil {
					t.Errorf("%q was read, and is not there", v.Name)
				}
			}
		}
	})
}
