// Command advise drafts records of known faults (package advisory) from pairs of texts.
//
//	go run ./harness/testkit/measure/advise -out FOLDER -first N < PAIRS
//	go run ./harness/testkit/measure/advise -index FILE
//
// A pair is a line of JSON: the files of the faulty and the mended text, with what a person says of
// them. The program adds what is computed: digests, the rule that finds the fault, the engines that
// show it, witnesses, and the excerpt. A pair is left out, with the reason, where no rule has an
// error or a warning that the mended text ends, or where no request shows the difference.
//
// The excerpt is where the two prompts first part: a person moves it where the fault stands
// elsewhere, and adds the engines whose clients spell the request in another way.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed" // requests
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
	"github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/edit/mutate"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/hub/audit"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
)

func main() {
	out := flag.String("out", "", "write the records into this `FOLDER`")
	first := flag.Int("first", 1, "the `NUMBER` of the first record")
	day := flag.String("day", "2026-01-01", "the `DAY` on which they are published")
	index := flag.String("index", "", "write the index of the published records into this `FILE`, "+
		"and draft none")
	flag.Parse()
	log := visible.NewMessages(os.Stderr)
	if err := run(os.Stdin, log, *index, *out, *day, *first); err != nil {
		fmt.Fprintln(log, "advise:", err)
		os.Exit(1)
	}
}

// writeIndex writes the index of the published records.
func writeIndex(name string) error {
	records, err := advisory.Load(corpus.FS, audit.Folder)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := advisory.NewIndex(records).Write(&text); err != nil {
		return err
	}
	return os.WriteFile(name, text.Bytes(), 0o666)
}

// pair is a line of the input.
type pair struct {
	Faulty     string               `json:"faulty"` // files
	Mended     string               `json:"mended"` // "": as `assay fix` mends the text
	Summary    string               `json:"summary"`
	Details    string               `json:"details"`
	Affected   []advisory.Affected  `json:"affected"`
	References []advisory.Reference `json:"references"`
	Where      string               `json:"where"` // who publishes the mended text
	Survey     *advisory.Survey     `json:"survey"`
	Rule       string               `json:"rule"` // "": the first that the mended text ends
	// Requests show what the summary says; none: those of the rule's findings do.
	Requests []ordered.Value `json:"requests"`
}

func run(in io.Reader, log io.Writer, index, out, day string, no int) error {
	if index != "" {
		return writeIndex(index)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p pair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return err
		}
		r, err := draft(p)
		if err != nil {
			fmt.Fprintf(log, "%s: %v\n", p.Faulty, err)
			continue
		}
		r.SchemaVersion, r.ID = "1.7.5", fmt.Sprintf("x_ASSAY-%s-%04d", day[:4], no)
		r.Published, r.Modified = day+"T00:00:00Z", day+"T00:00:00Z"
		no++
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, r.ID+".json"), text.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return lines.Err()
}

// draft makes a record of a pair.
func draft(p pair) (*advisory.Record, error) {
	text, err := os.ReadFile(p.Faulty)
	if err != nil {
		return nil, err
	}
	faulty := subject.New(filepath.Base(p.Faulty), string(text))
	r := &advisory.Record{Summary: p.Summary, Details: p.Details, Affected: p.Affected,
		References: p.References}
	t := &r.Template
	t.Text, t.Survey = advisory.DigestsOf(faulty.Text), p.Survey
	patched := fix.Mend(context.Background(), faulty, fix.Options{}, check.Options{})
	mended := subject.New("mended", patched.Text)
	if p.Mended != "" {
		text, err := os.ReadFile(p.Mended)
		if err != nil {
			return nil, err
		}
		mended = subject.New("mended", string(text))
		t.Fixed = &advisory.Fixed{Digests: advisory.DigestsOf(mended.Text), Where: p.Where}
	}
	_, was := mutate.Check(faulty)
	_, is := mutate.Check(mended)
	ended := was.More(is)
	if p.Rule != "" && slices.Contains(ended, p.Rule) {
		ended = []string{p.Rule}
	}
	if len(ended) == 0 {
		return nil, errors.New("no rule sees that the mended text ends a fault")
	}
	for _, declared := range check.Rules() {
		if slices.Contains(ended, declared.ID) && (t.Rule == "" || declared.Severity > t.Severity) {
			t.Rule, t.Severity = declared.ID, declared.Severity
		}
	}
	t.Fixable = slices.ContainsFunc(patched.Patches, func(p fix.Patch) bool {
		return slices.ContainsFunc(p.Gone, func(g fix.Gone) bool { return g.Rule == t.Rule })
	})
	if p.Requests == nil {
		only := check.Options{Only: []string{t.Rule}, Requests: true}
		for _, found := range check.Template(faulty, only) {
			if found.Request != nil {
				p.Requests = append(p.Requests, ordered.MustParse(string(found.Request)))
			}
		}
	}
	return r, witness(t, faulty, mended, p.Requests)
}

// common has requests beside those that are spelled unusually.
//
//go:embed common.jsonl
var common string

// requests returns all that witnesses are chosen from.
func requests() (all []ordered.Value) {
	for _, s := range append(sent.Plain(), sent.All()...) {
		all = append(all, s.Sent)
	}
	for text := range strings.Lines(common) {
		all = append(all, ordered.MustParse(text))
	}
	return all
}

// difference is a request of which the two texts make different prompts in some views.
type difference struct {
	advisory.Witness
	views []string
}

// witness adds the witnesses, the engines, and the excerpt. The smallest of the telling requests
// comes first: of a broad mend a smaller one may show another difference than the fault.
func witness(t *advisory.Template, faulty, mended subject.Source, telling []ordered.Value) error {
	was, err := advisory.NewRenders(context.Background(), faulty, engine.Limits{})
	if err != nil {
		return err
	}
	is, err := advisory.NewRenders(context.Background(), mended, engine.Limits{})
	if err != nil {
		return err
	}
	served, err := faulty.Compile()
	if err != nil {
		return err
	}
	shown, _ := compare(served.ChatTemplate(), was, is, telling)
	others, controls := compare(served.ChatTemplate(), was, is, requests())
	shown = append(shown[:min(1, len(shown))], others...)
	if len(shown) == 0 {
		return errors.New("no request shows the difference")
	}
	t.Witnesses = []advisory.Witness{shown[0].Witness}
	// A prompt says more than that there is none, and a long one more than a short one.
	for _, d := range slices.Backward(shown[1:]) {
		if d.Faulty != advisory.Refused {
			t.Witnesses = append(t.Witnesses, d.Witness)
			break
		}
	}
	for _, d := range controls[:min(2, len(controls))] {
		t.Witnesses = append(t.Witnesses, d.Witness)
	}
	if t.Engines = shown[0].views; len(t.Engines) == len(view.Views()) {
		t.Engines = []string{"all"}
	}
	a, b := prompt(was, shown[0].Witness), prompt(is, shown[0].Witness)
	at := report.Parting(a, b)
	t.Excerpt = advisory.Excerpt{Faulty: around(a, at), Fixed: around(b, at)}
	return nil
}

// compare returns the requests of which two texts make different prompts, and those of which they
// make the same, both the smallest first.
func compare(served *chattemplate.Template, was, is *advisory.Renders, all []ordered.Value) (shown,
	controls []difference) {
	for _, request := range all {
		var d difference
		for _, v := range view.Views() {
			in, err := v.Serve(served).Input(request)
			if err != nil {
				continue
			}
			w := advisory.Witness{Variables: variables(in)}
			w.Faulty, w.Fixed = was.Outcome(w.Variables), is.Outcome(w.Variables)
			switch {
			case w.Faulty == "" || w.Fixed == "":
			case w.Faulty != w.Fixed:
				if d.views = append(d.views, v.String()); len(d.views) == 1 {
					d.Witness = w
				}
			case w.Faulty != advisory.Refused && len(d.views) == 0 && v.Engine == "transformers" &&
				v.Releases == "":
				controls = append(controls, difference{Witness: w})
			}
		}
		if len(d.views) > 0 {
			shown = append(shown, d)
		}
	}
	for _, list := range [][]difference{shown, controls} {
		slices.SortStableFunc(list, func(a, b difference) int {
			return cmp.Compare(len(a.Variables), len(b.Variables))
		})
	}
	return shown, controls
}

// variables returns an input as the variables of a template.
func variables(in chattemplate.Input) json.RawMessage {
	v := view.RequestOf(in).With("add_generation_prompt", ordered.Boolean(in.Generate))
	for _, m := range in.Kwargs { // one of the template's variables has precedence
		v = v.With(m.Key, m.Value)
	}
	return json.RawMessage(v.String())
}

// prompt returns the prompt for a witness, or why there is none.
func prompt(r *advisory.Renders, w advisory.Witness) string {
	text, err := r.Prompt(w.Variables)
	if err != nil {
		text, _, _ = strings.Cut(err.Error(), "\n")
		_, text, _ = strings.Cut(text, ":") // the file's name says nothing
		return "(no prompt: line " + text + ")"
	}
	return text
}

// around returns what stands around an offset of a text.
func around(text string, at int) string {
	return strings.ToValidUTF8(text[max(0, at-60):min(len(text), at+100)], "")
}
