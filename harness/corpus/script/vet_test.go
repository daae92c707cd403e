package script

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/families"
)

func TestVet(t *testing.T) {
	const (
		unknown   = "unknown command"
		condition = "unknown condition"
		outside   = "may be outside"
		variable  = "no variables"
	)
	for _, c := range []struct{ script, want string }{
		{"template a\n! caps tools\n[vendor] gate\n[!vendor] skip 'it''s so' # why\n", ""},
		{"\t'template' a\r\n", ""},
		{"stop '$'\n", ""},
		{strings.Repeat("# so\n", 10_000), ""},
		{strings.Repeat("# so\n", 10_001), "more than 10000"},
		{"exec sh -c true\n", unknown},
		{"'[unix ]' exec sh -c true\n", condition},
		{"'[vendor ]' exec sh\n", unknown},
		{"'[ ! vendor]' ! 'exec' sh\n", unknown},
		{"[vendor] '[!vendor]' exec sh\n", unknown},
		{"'ex'ec sh -c '#'\n", unknown},
		{"gate'#'\n", unknown},
		{"ex''ec sh\n", unknown},
		{"''exec sh\n", unknown},
		{"'' sh\n", "without a name"},
		{"[exec:sh] gate\n", condition},
		{"[live] gate\n", condition},
		{"[]\n", "without a command"},
		{"!\n", "without a command"},
		{"? gate\n", unknown},
		{"grep '' /etc/passwd\n", unknown},
		{"cmp a b\n", unknown},
		{"env X=exec\n", unknown},
		{"$X sh\n", variable},
		{"template ${WORK}\n", variable},
		{"request '$X'\n", outside},
		{"request ../r\n", outside},
		{"request '..'/r\n", outside},
		{"request /r\n", outside},
		{"request 'a\\..\\..\\r'\n", outside},
		{"request 'C:\\r'\n", outside},
		{"request a/../../r\n", outside},
		{"request ''\n", outside},
		{"cp a /tmp/b\n", unknown},
		{"mv a ../b\n", unknown},
		{"symlink a -> /etc/passwd\n", unknown},
		{"mkdir a\n", unknown},
		{"cd ..\n", unknown},
		{"rm -r /\n", unknown},
		{"chmod 777 a\n", unknown},
		{"stdin a\n", unknown},
		{"ttyin a\n", unknown},
		{"unix2dos /etc/hosts\n", unknown},
		{"unquote ../a\n", unknown},
		{"cmpenv a b\n", unknown},
		{"wait\n", unknown},
		{"kill\n", unknown},
		{"exec sh &name&\n", unknown},
		{"[!vendor] [!exec:sh] gate\n", condition},
		{"[!!vendor] gate\n", condition},
		{"[GOOS:linux] gate\n", condition},
		{"[vendor]'' sh\n", unknown},
		{"\u00a0gate\n", unknown},
		{"gate\v\n", unknown},
		{"gate\f'x'\n", unknown},
		{"gate\n-- /x --\n", "outside"},
		{"gate\n-- a\\..\\..\\x --\n", "outside"},
		{"gate\n--   ../../x   --\n", "outside"},
		{"gate\n-- ${HOME}/x --\n", "outside"},
		{"gate\n-- a/../../x --\r\n", "outside"},
		{"request 'r\n", "not closed"},
		{"gate\n-- $WORK/x --\n", "outside"},
		{"gate\n-- ../x --\n", "outside"},
		{"gate\n-- x --\n-- x --\n", "twice"},
		{"gate\n-- x --\r\n-- x --\r\n", "twice"},
		{"exec sh\n-- x --\r\n", unknown},
		{"gate\n-- --\n", "without a name"},
		{"gate\n-- --\r\n", "without a name"},
		{"gate\n-- --", "without a name"},
	} {
		_, err := readArchive("c.txtar", c.script)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.script, err, c.want)
		}
	}
}

// TestOpen refuses scripts that a link brings into the corpus.
func TestOpen(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.WriteFile(elsewhere+"/secret.txtar", []byte("gate\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere+"/secret.txtar", dir+"/c.txtar"); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := open(root.FS(), "c.txtar"); err == nil ||
		!strings.Contains(err.Error(), "escapes") {
		t.Errorf("a link that leads out of the corpus: %v", err)
	}
	if _, err := open(fstest.MapFS{"c.txtar": &fstest.MapFile{Data: []byte("gate\n")}},
		"c.txtar"); err != nil {
		t.Error(err)
	}
}

// FuzzVet runs each script that may run by testscript itself, with commands that do nothing but
// remember: it runs the commands that were read, with their arguments, in their order, and none of
// its own but the borrowed ones.
func FuzzVet(f *testing.F) {
	for _, text := range []string{
		"template a\nrequest r\n! caps tools # no\n-- r --\n{}\n", "'[vendor ]' gate\n[!vendor] " +
			"gate\n'[unix ]' exec sh\n",
		"fallback 'a b' 'it''s' x'y'z\nskip 'so'\ngate\n", "stop\ngate\n", "'ex'ec sh\n$X y\n", "gate\r\n#\n\t#x\n-- a --\r\n-- b --\n",
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		archive, err := readArchive("c.txtar", text)
		if err != nil {
			return
		}
		var want []string
		for line := range strings.Lines(string(archive.Comment)) {
			s, err := readLine(strings.TrimSuffix(line, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if s.Name == "" || slices.Contains(s.Conditions, "!vendor") {
				continue
			}
			if slices.Contains(borrowed, s.Name) {
				break
			}
			want = append(want, fmt.Sprintf("%t %q %q", s.Negated, s.Name, s.Args))
		}
		var got []string
		remember := map[string]func(*testscript.TestScript, bool, []string){}
		for name := range commands {
			remember[name] = func(_ *testscript.TestScript, neg bool, args []string) {
				got = append(got, fmt.Sprintf("%t %q %q", neg, name, args))
			}
		}
		file := filepath.Join(dir, "c.txtar")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		top := &recorder{}
		ready := false
		top.guard(func() {
			testscript.RunT(top, testscript.Params{
				Files: []string{file}, Cmds: remember, RequireUniqueNames: true,
				Condition: func(string) (bool, error) { return true, nil },
				Setup:     func(*testscript.Env) error { ready = true; return nil },
			})
		})
		if ready && !slices.Equal(got, want) { // not ready: a file that is a folder, too
			t.Errorf("%q\nread as "+
				"%q\nruns    %q\n%s", text, want, got, top.children[0].log.String())
		}
	})
}

// TestLimits runs scripts with templates of their own that would take minutes: the suite's limits
// bound all of them together.
func TestLimits(t *testing.T) {
	const (
		slow = "{% for a in range(9999) %}{% for b in range(9) %}{% endfor %}{% endfor %}"
		n    = 40
	)
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "template t%d.jinja\n! gate\n", i)
	}
	for i := range n {
		fmt.Fprintf(&text, "-- t%d.jinja --\n%s%d\n", i, slow, i)
	}
	loaded, err := families.Load(fstest.MapFS{
		"a/template.jinja": &fstest.MapFile{Data: []byte("{{ messages }}")},
		"a/c.txtar":        &fstest.MapFile{Data: []byte(text.String())},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := Suite{Corpus: loaded, Limits: engine.Limits{TotalSteps: 300_000}}
	v := s.Variants()[0]
	src, err := s.Source(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.Results(t.Context(), v, src, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Status != rule.Failed ||
		!strings.Contains(results[0].Text, "more steps than allowed") {
		t.Errorf("%+v", results)
	}
}
