package observatory

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/hub/survey"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/safefile"
)

// historyFile is the file of the days, in the site's folder.
const historyFile = "history.jsonl"

// The limits of a site.
const (
	mostRows = 500    // of a table of a page
	mostDays = 10_000 // of a history
)

// Day is a survey in a history.
type Day struct {
	Date      string                  `json:"date"` // such as 2026-01-31
	Version   string                  `json:"version"`
	Manifest  string                  `json:"manifest"`
	All       survey.Count            `json:"all"`
	Verdicts  map[string]survey.Count `json:"verdicts"`
	Drift     map[string]survey.Count `json:"drift,omitempty"` // from the survey before, by class
	FromBases map[string]survey.Count `json:"from_bases,omitempty"`
}

// Site is a site to publish.
type Site struct {
	Folder  string
	Date    string // of the survey
	Summary *survey.Summary
	Rules   []rule.Rule // explained beside their findings
}

//go:embed page.html
var pageText string

// tab is a page of the site.
type tab struct {
	File, Title string
	Tables      []table
}

// table is a table of a page.
type table struct {
	ID, Title, Note string
	Columns         []column
	Rows            [][]cell
	Left            int // rows that are left out
}

type column struct {
	Name   string
	Number bool
}

// cell is a text or a number.
type cell struct {
	Text   string
	Number bool
	Class  string
	Link   string // on the Hub: OWNER/NAME
}

// Write writes the pages and adds the day to the history; a day that is there is replaced.
func (s *Site) Write(ctx context.Context, files *storage.Store) error {
	if _, err := time.Parse(time.DateOnly, s.Date); err != nil {
		return fmt.Errorf("the date is %q, expected one such as 2026-01-31", s.Date)
	}
	days, err := s.history(ctx, files)
	if err != nil {
		return err
	}
	write := func(name, text string) error {
		return files.Write(ctx, storage.Join(s.Folder, name), safefile.Text(text))
	}
	tabs := []tab{s.state(), s.families(), s.publishers(), s.findings(), s.drift(days)}
	page := report.Page(pageText)
	for i, t := range tabs {
		var b bytes.Buffer
		err := page.Execute(&b, struct {
			Tabs    []tab
			Here    tab
			Index   int
			Date    string
			Version string
			All     survey.Count
		}{tabs, t, i, s.Date, s.Summary.Header.Version, s.Summary.All})
		if err != nil {
			return err
		}
		if err := write(t.File, b.String()); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	for _, day := range days {
		line, err := json.Marshal(day)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return write(historyFile, b.String())
}

// history returns the days in order, this one among them.
func (s *Site) history(ctx context.Context, files *storage.Store) ([]Day, error) {
	name := storage.Join(s.Folder, historyFile)
	var text []byte
	f, err := files.Open(ctx, name)
	if err == nil {
		text, err = io.ReadAll(f)
		f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	name = storage.Shown(name)
	today := s.day()
	days := []Day{today}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var day Day
		if err := json.Unmarshal(line, &day); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if day.Date != today.Date {
			days = append(days, day)
		}
	}
	slices.SortStableFunc(days, func(a, b Day) int { return cmp.Compare(a.Date, b.Date) })
	return days[max(0, len(days)-mostDays):], nil
}

func (s *Site) day() Day {
	day := Day{Date: s.Date, Version: s.Summary.Header.Version, All: s.Summary.All,
		Manifest: s.Summary.Header.Manifest, Verdicts: map[string]survey.Count{},
		Drift: map[string]survey.Count{}, FromBases: map[string]survey.Count{}}
	for verdict, c := range s.Summary.Verdicts {
		day.Verdicts[verdict] = *c
	}
	for key, c := range s.Summary.Classes {
		if key[0] == survey.Before {
			day.Drift[key[1]] = *c
		} else {
			day.FromBases[key[1]] = *c
		}
	}
	return day
}

func word(text string) cell { return cell{Text: text} }

func number(n int64) cell {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "\u202f" + digits[at:]
	}
	return cell{Text: digits, Number: true}
}

func numbers(c *survey.Count) []cell {
	return []cell{number(int64(c.Templates)), number(int64(c.Places)), number(c.Downloads)}
}

// share is the part of all downloads, in per cent.
func (s *Site) share(downloads int64) cell {
	if s.Summary.All.Downloads == 0 {
		return cell{Text: "", Number: true}
	}
	return cell{Text: fmt.Sprintf("%.1f%%",
		100*float64(downloads)/float64(s.Summary.All.Downloads)), Number: true}
}

var counts = []column{{"Templates", true}, {"Places", true}, {"Downloads", true}, {"Share", true}}

// counted makes a table of counts, those with the most downloads first.
func counted[K comparable](s *Site, t table, of map[K]*survey.Count, name func(K) string,
	cells func(K) []cell) table {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b K) int {
		return cmp.Or(cmp.Compare(of[b].Downloads, of[a].Downloads),
			cmp.Compare(of[b].Places, of[a].Places), cmp.Compare(name(a), name(b)))
	})
	t.Columns = append(t.Columns, counts...)
	for _, key := range keys[:min(mostRows, len(keys))] {
		row := append(cells(key), numbers(of[key])...)
		t.Rows = append(t.Rows, append(row, s.share(of[key].Downloads)))
	}
	t.Left = len(keys) - len(t.Rows)
	return t
}

// classed is a cell with a word of judgement.
func classed(text string) cell {
	class := map[string]string{survey.Pass: "good", "safe": "good", "risky": "warn",
		survey.NotJudged: "warn", survey.Unread: "warn", survey.Fail: "bad", "breaking": "bad",
		diff.NotCompared: "warn", "error": "bad", "warning": "warn"}[text]
	return cell{Text: text, Class: class}
}

func self(text string) string { return text }

func (s *Site) state() tab {
	verdicts := counted(s, table{ID: "verdicts", Title: "Verdicts", Columns: []column{{"Verdict",
		false}},
		Note: "Pass: an engine can read every answer, with tools. No tools: the template has none. " +
			"Fail: answers are not proven to be read, or a check found an error."},
		s.Summary.Verdicts, self, func(v string) []cell { return []cell{classed(v)} })
	return tab{"index.html", "State", []table{verdicts, s.classes("bases",
		"Differences from the base model", survey.Base), s.classes("days",
		"Differences from the survey before", survey.Before)}}
}

// classes is the table of the differences from one side.
func (s *Site) classes(id, title, with string) table {
	of := map[string]*survey.Count{}
	for key, c := range s.Summary.Classes {
		if key[0] == with {
			of[key[1]] = c
		}
	}
	return counted(s, table{ID: id, Title: title, Columns: []column{{"Difference", false}}}, of,
		self,
		func(class string) []cell { return []cell{classed(class)} })
}

func (s *Site) families() tab {
	t := counted(s, table{ID: "formats", Title: "Families of formats",
		Columns: []column{{"Most loaded place", false}, {"Format", false}},
		Note: "Templates with one format spell answers alike: one parser reads them. The Hub's most " +
			"loaded place of each names it."},
		s.Summary.Formats, self, func(digest string) []cell {
			return []cell{hubCell(s.Summary.First[digest]), word(digest[:min(16, len(digest))])}
		})
	return tab{"families.html", "Families", []table{t}}
}

func (s *Site) publishers() tab {
	none := new(survey.Count)
	t := counted(s, table{ID: "publishers", Title: "Publishers",
		Columns: []column{{"Publisher", false}, {"Places that fail", true}, {"Their downloads",
			true}},
		Note: "A place fails unless its verdict is pass or no tools."},
		s.Summary.Publishers, self, func(owner string) []cell {
			blamed := s.Summary.Blamed[owner]
			if blamed == nil {
				blamed = none
			}
			return []cell{word(source.Cut(owner, maxName)), number(int64(blamed.Places)),
				number(blamed.Downloads)}
		})
	return tab{"publishers.html", "Publishers", []table{t}}
}

func (s *Site) findings() tab {
	t := counted(s, table{ID: "findings", Title: "Findings",
		Columns: []column{{"Rule", false}, {"Severity", false}, {"Finding", false}},
		Note:    "The downloads are those of the places whose template has the finding."},
		s.Summary.Rules, func(f survey.Finding) string { return f.Rule + f.Severity },
		func(f survey.Finding) []cell {
			short := ""
			for _, r := range s.Rules {
				if r.ID == f.Rule {
					short = r.Short
				}
			}
			return []cell{word(f.Rule), classed(f.Severity), word(short)}
		})
	return tab{"findings.html", "Findings", []table{t}}
}

func (s *Site) drift(days []Day) tab {
	history := table{ID: "history", Title: "Surveys", Note: "Places by verdict, and those whose " +
		"template changed since the survey before, by the class of the change.",
		Columns: []column{{"Date", false}, {"Places", true}, {"Pass", true}, {"No tools", true},
			{"Fail", true}, {"Safe", true}, {"Risky", true}, {"Breaking", true},
			{"Downloads of breaking", true}}}
	for _, day := range slices.Backward(days) {
		if len(history.Rows) == mostRows {
			history.Left++
			continue
		}
		places := func(c survey.Count) cell { return number(int64(c.Places)) }
		history.Rows = append(history.Rows, []cell{word(day.Date), places(day.All),
			places(day.Verdicts[survey.Pass]), places(day.Verdicts[survey.NoTools]),
			places(day.Verdicts[survey.Fail]), places(day.Drift["safe"]),
			places(day.Drift["risky"]),
			places(day.Drift["breaking"]), number(day.Drift["breaking"].Downloads)})
	}
	changes := table{ID: "changes", Title: "Changes",
		Note: "Places whose template is another one " +
			"than at the survey before, or than the base model's: breaking ones first, by downloads.",
		Columns: []column{{"Place", false}, {"Compared with", false}, {"Difference", false},
			{"Downloads", true}}}
	for _, c := range s.Summary.Changes {
		changes.Rows = append(changes.Rows, []cell{hubCell(c.Where), word(c.With), classed(c.Class),
			number(c.Downloads)})
	}
	return tab{"drift.html", "Drift", []table{history, changes}}
}

// maxName bounds the name of a place that is shown, in bytes.
const maxName = 120

// onHub matches a place of the Hub: a repository, or a file in it after a #.
var onHub = regexp.MustCompile(`^([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:#|$)`)

// hubCell is a place, with a link where it is one of the Hub's.
func hubCell(where string) cell {
	c := word(source.Cut(where, maxName))
	if m := onHub.FindStringSubmatch(where); m != nil {
		c.Link = m[1]
	}
	return c
}
