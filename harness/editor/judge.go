package editor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/baseline"
	"github.com/goassay/assay/harness/check/config"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/clients"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
)

// finding is a result at its place in a document.
type finding struct {
	from, to int
	res      rule.Result
	also     [][2]int // other places that it names
}

// moved returns findings after an edit that put n bytes in the place of the text from from up to
// to: without those that the edit touches.
func moved(findings []finding, from, to, n int) []finding {
	var kept []finding
	for _, f := range findings {
		switch {
		case f.to <= from:
		case f.from >= to:
			f.from, f.to = f.from+n-(to-from), f.to+n-(to-from)
		default:
			continue
		}
		f.also = nil
		kept = append(kept, f)
	}
	return kept
}

// judge is how the templates of a document are checked, as its settings have it.
type judge struct {
	settings *config.Settings
	filter   *config.Filter
	options  check.Options
	clients  []clients.Client
	baseline *baseline.Baseline
	base     *Base
	excluded bool
}

// read reads a file as the client has it.
func (s *server) read(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		if d.path == name {
			return []byte(d.text.string), nil
		}
	}
	return os.ReadFile(name)
}

// judge finds the settings of a document. The error is that of wrong settings, with which the
// defaults count.
func (s *server) judge(path string) (*judge, error) {
	var wrong error
	finder := &config.Finder{Vocabulary: s.words, Read: s.read,
		Name:  func(file string) string { return file },
		Wrong: func(err error) { wrong = errors.Join(wrong, err) }}
	of, err := finder.For(path, false)
	if err != nil {
		return nil, err
	}
	j := &judge{settings: of, options: s.options.Check}
	if commit := of.Base; commit != "" && s.options.Base != nil {
		if j.base, err = s.options.Base(commit); err == nil {
			finder = &config.Finder{Vocabulary: s.words, Read: j.base.Read, Name: finder.Name,
				Wrong: func(error) {}}
			j.settings, err = finder.For(path, false)
		}
		if err != nil {
			return nil, err
		}
	}
	j.filter = j.settings.Filter(s.words.Rules)
	j.options.Only = j.settings.Chosen(s.words.Rules)
	_, j.excluded = j.settings.Excludes(path)
	for _, client := range clients.All() {
		if slices.Contains(j.settings.Clients, config.AllClients) ||
			slices.Contains(j.settings.Clients, client.Name) {
			j.clients = append(j.clients, client)
		}
	}
	if file := j.settings.BaselineFile(); file != "" && j.base == nil {
		var text []byte
		if text, err = s.read(file); err == nil {
			j.baseline, err = baseline.Parse(source.New(file, string(text)), s.words.Rules)
		}
	}
	return j, errors.Join(wrong, err)
}

// static runs the rules that only read the templates.
func (j *judge) static(parts []part) []finding {
	o := j.options
	o.Only = slices.DeleteFunc(check.Static(), func(id string) bool { return !j.options.Runs(id) })
	var all []finding
	for _, p := range parts {
		all = append(all, p.findings(j.told(check.Template(p.src, o)))...)
	}
	return all
}

// whole runs all rules.
func (j *judge) whole(ctx context.Context, d *look) []finding {
	var all []finding
	var sources []subject.Source
	for _, p := range d.parts {
		sources = append(sources, p.src)
		all = append(all, p.findings(j.told(j.results(ctx, p.src)))...)
	}
	if j.settings.RequireTools && len(sources) > 0 {
		all = append(all, d.parts[0].findings(j.told(check.ToolCapable(sources, j.options)))...)
	}
	if folder, err := modeldir.ReadConfig(filepath.Base(d.path), d.text.string); err == nil &&
		filepath.Ext(d.path) == ".json" {
		m := subject.NewModel(d.path, filepath.Dir(d.path), folder)
		m = m.With(ctx, engine.Options{Limits: d.limits}.Together())
		for _, res := range j.told(check.Response(m, j.options)) {
			from := at(d.text.string, res.Place.Line, res.Place.Col)
			all = append(all, finding{from: from, to: extent(d.text.string, from), res: res})
		}
	}
	return all
}

// results are those of all rules on a template. Where there is a base, what its revision has, too,
// is no news, and its suppressions count.
func (j *judge) results(ctx context.Context, src subject.Source) []rule.Result {
	if j.base == nil {
		return j.all(src, j.options)
	}
	was, o := j.base.Open(src), j.options
	o.Accepted = new([]string)
	if was == nil {
		return j.all(src, o)
	}
	*o.Accepted = check.Suppressed(was.Text)
	results, before := j.all(src, o), j.all(was.Limited(ctx, engine.Limits{}), o)
	for i := range before {
		before[i].Suite = src.Name
	}
	rule.Settle(results, before, "The base has it, too.")
	return results
}

// all runs all rules on a template.
func (j *judge) all(src subject.Source, o check.Options) []rule.Result {
	found := check.Template(src, o)
	if len(j.clients) > 0 {
		found = append(found, check.Clients(src, o, j.clients)...)
	}
	return found
}

// told returns the results that somebody is to see.
func (j *judge) told(results []rule.Result) []rule.Result {
	results = j.filter.Apply(results)
	if j.baseline != nil {
		j.baseline.Settle(results)
	}
	return slices.DeleteFunc(rule.Join(results),
		func(res rule.Result) bool { return !res.News() || res.Old })
}

// findings places results in the document.
func (p part) findings(results []rule.Result) []finding {
	var all []finding
	for _, res := range results {
		line, col := res.Place.Position()
		off := at(p.src.Text, line, col)
		f := finding{from: p.in(off), to: p.in(underlined(p.src.Text, off, res.Place)), res: res}
		for _, m := range named.FindAllStringSubmatch(res.Text, -1) {
			line, _ := strconv.Atoi(m[1])
			col, _ := strconv.Atoi(m[2])
			off := at(p.src.Text, line, col)
			f.also = append(f.also, [2]int{p.in(off), p.in(extent(p.src.Text, off))})
		}
		all = append(all, f)
	}
	return all
}

// underlined returns where the stretch of a template ends that the excerpt of a place underlines.
func underlined(text string, off int, place rule.Place) int {
	cells := strings.Count(place.Excerpt[strings.LastIndexByte(place.Excerpt, '\n')+1:], "^")
	if cells < 2 {
		return extent(text, off)
	}
	for _, r := range text[off:] {
		if cells -= source.RuneCells(r); cells < 0 || r == '\n' {
			break
		}
		off += utf8.RuneLen(r)
	}
	return off
}

// named matches another place of the template in the text of a finding.
var named = regexp.MustCompile(`\bline (\d+), column (\d+)\b`)

// extent returns where the thing ends that begins at a place of a template: a tag, on its line, a
// word, or a character.
func extent(text string, off int) int {
	rest := text[off:]
	line, _, _ := strings.Cut(rest, "\n")
	for open, shut := range map[string]string{"{%": "%}", "{{": "}}", "{#": "#}"} {
		if strings.HasPrefix(rest, open) {
			if i := strings.Index(line, shut); i > 0 {
				return off + i + len(shut)
			}
			return off + len(strings.TrimRight(line, " \t\r"))
		}
	}
	if n := len(rest) - len(strings.TrimLeftFunc(rest, isWord)); n > 0 {
		return off + n
	}
	_, n := utf8.DecodeRuneInString(rest)
	return off + n
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// diagnostics are findings as the protocol has them.
func diagnostics(uri string, t text, findings []finding) []diagnostic {
	all := make([]diagnostic, 0, len(findings))
	for _, f := range findings {
		d := diagnostic{Range: t.span(f.from, f.to), Severity: severityOf(&f.res), Code: f.res.Rule,
			Source: "assay", Message: visible.Text(strings.TrimSpace(f.res.Text))}
		if f.res.Rule != "" {
			d.Description = &codeDescription{report.Manual(f.res.Rule)}
		}
		for _, other := range f.also {
			d.Related = append(d.Related, related{location{uri, t.span(other[0], other[1])},
				"named by " + f.res.Name})
		}
		all = append(all, d)
	}
	return all
}

func severityOf(res *rule.Result) int {
	switch {
	case res.Status == rule.Unjudged:
		return severityInformation
	case res.Level() == rule.Error:
		return severityError
	case res.Level() == rule.Warning:
		return severityWarning
	}
	return severityHint
}
