package script

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/safefile"
)

// run is the state of one script.
type run struct {
	suite   *Suite
	variant Variant
	source  subject.Source // the variant's template
	// limited gives other templates the limits and the one budget that they share
	limited func(subject.Source) subject.Source

	template  *engine.Template
	request   *chat.Request
	fallbacks []string
	plan      *engine.Plan // of template, request and fallbacks; nil until it is needed
	answer    split.Answer // of the last parse

	updates map[string]string // file in the archive -> new text
}

type runKey struct{}

func runOf(ts *testscript.TestScript) *run { return ts.Value(runKey{}).(*run) }

// other returns a template that is not the variant's.
func (r *run) other(name, text string) subject.Source {
	return r.limited(subject.New(name, text))
}

// own reports whether the script runs with a template of its own rather than a vendor's.
func (r *run) own() bool { return r.variant.Vendor == nil }

// prepared returns the plan of the request.
func (r *run) prepared(ts *testscript.TestScript) *engine.Plan {
	r.needRequest(ts)
	if r.plan == nil {
		plan, err := r.template.Prepare(*r.request,
			engine.PrepareOptions{Insist: true, Fallbacks: r.fallbacks})
		ts.Check(err)
		r.plan = plan
	}
	return r.plan
}

func (r *run) needTemplate(ts *testscript.TestScript) {
	if r.template == nil {
		ts.Fatalf("no template yet; a script starts with `template NAME`")
	}
}

func (r *run) needRequest(ts *testscript.TestScript) {
	r.needTemplate(ts)
	if r.request == nil {
		ts.Fatalf("no request yet; `request FILE` reads one")
	}
}

// text reads a file of the script without the line feed at its end.
func text(ts *testscript.TestScript, name string) string {
	return strings.TrimSuffix(ts.ReadFile(name), "\n")
}

// expect compares a text with that of a file, or keeps it for the file when the suite updates.
func (r *run) expect(ts *testscript.TestScript, name, got string) {
	want := text(ts, name)
	if got == want {
		return
	}
	if line := report.ConflictMarker(want); line > 0 {
		ts.Fatalf("%s:%d: a conflict marker; choose a side", name, line)
	}
	if r.suite.Update {
		r.updates[name] = got
		return
	}
	ts.Fatalf("%s differs from the finding\n%s", name,
		diff.Diff(name, []byte(want+"\n"), "found", []byte(got+"\n")))
}

// updating keeps cases that share a file from writing it at the same time.
var updating sync.Mutex

// writeUpdates rewrites a case with the texts that were found, unless it failed otherwise. For a
// case of a kind they go into the family's outputs, even where the kind itself has the expectation:
// the diff shows it, and a person decides for all families.
func (r *run) writeUpdates(t testscript.T, file string) {
	if failed, ok := t.(interface{ Failed() bool }); len(r.updates) == 0 || !ok || failed.Failed() {
		return
	}
	updating.Lock()
	defer updating.Unlock()
	origin, before := r.suite.Corpus.Origin(file), ""
	if origin.Kind != "" {
		before = origin.Kind + "/"
	}
	file = filepath.Join(r.suite.Dir, filepath.FromSlash(origin.File))
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.updates)) {
		put(archive, before+name, before, []byte(r.updates[name]+"\n"))
	}
	updated := txtar.Format(archive)
	if again := txtar.Parse(updated); len(again.Files) != len(archive.Files) {
		t.Fatal(file, ": the text that was found has a line that looks like a header of txtar, "+
			"and cannot stand in a script")
	}
	if err := safefile.Write(file, safefile.Text(string(updated))); err != nil {
		t.Fatal(err)
	}
}

// put replaces a file of an archive, or adds it after the last one whose name begins with before.
func put(archive *txtar.Archive, name, before string, data []byte) {
	after := len(archive.Files)
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data = data
			return
		}
		if strings.HasPrefix(archive.Files[i].Name, before) {
			after = i + 1
		}
	}
	archive.Files = slices.Insert(archive.Files, after, txtar.File{Name: name, Data: data})
}
