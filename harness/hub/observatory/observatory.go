// Package observatory shows the results of a survey: as a table of places, for other programs, and
// as a static site, for people.
//
// # Model
//
// A [Row] is a place with everything that the census knows of it; [NewTable] writes rows as JSON
// lines or Parquet, while the lines come, so that memory does not grow with them. [Site] makes the
// pages of a [survey.Summary]: the state, the families of formats, the publishers, the findings
// with the downloads that they reach, and the drift. A site has a history, a [Day] for each survey
// that was published, in a file beside the pages, which the next publication reads.
//
// # Errors
//
// A history that cannot be read is an error. Texts of strangers are escaped and cut.
//
// # Specifications followed
//
// Parquet by github.com/parquet-go/parquet-go: https://parquet.apache.org/docs/file-format/. It is
// a tenth of the command, so that only the edition for large collections has it (the tag cloud).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package observatory

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/hub/survey"
)

// Row is a place.
type Row struct {
	Where     string   `json:"where" parquet:"where"`
	Owner     string   `json:"owner" parquet:"owner,dict"`
	Revision  string   `json:"revision" parquet:"revision"`
	Downloads int64    `json:"downloads" parquet:"downloads"`
	Digest    string   `json:"digest" parquet:"digest,dict"`
	Verdict   string   `json:"verdict" parquet:"verdict,dict"`
	Why       string   `json:"why" parquet:"why,dict"`
	Format    string   `json:"format" parquet:"format,dict"` // its digest
	Base      string   `json:"base" parquet:"base,dict"`
	FromBase  string   `json:"from_base" parquet:"from_base,dict"`     // how it differs; "": not at all
	Before    string   `json:"from_before" parquet:"from_before,dict"` // from the survey before
	Errors    []string `json:"errors" parquet:"errors,list"`           // the rules of its findings
	Warnings  []string `json:"warnings" parquet:"warnings,list"`
	Notes     []string `json:"notes" parquet:"notes,list"`
}

// rowsOf returns the places of a line.
func rowsOf(line survey.Line) []Row {
	found := map[string][]string{}
	for _, f := range line.Findings {
		if !slices.Contains(found[f.Severity], f.Rule) {
			found[f.Severity] = append(found[f.Severity], f.Rule)
		}
	}
	rules := func(severity string) []string {
		return append([]string{}, found[severity]...) // an empty list in JSON, not null
	}
	classes := map[[2]string]string{}
	for _, c := range line.Against {
		for _, where := range c.Where {
			classes[[2]string{c.With, where}] = c.Class
		}
	}
	var rows []Row
	for _, e := range line.Entries {
		owner, _, _ := strings.Cut(e.Where, "/")
		rows = append(rows, Row{Where: e.Where, Owner: owner, Revision: e.Revision,
			Downloads: e.Downloads, Digest: line.Digest, Verdict: line.Verdict, Why: line.Why,
			Format: line.Format, Base: e.Base, FromBase: classes[[2]string{survey.Base, e.Where}],
			Before: classes[[2]string{survey.Before, e.Where}], Errors: rules("error"),
			Warnings: rules("warning"), Notes: rules("note")})
	}
	return rows
}

// Table writes rows.
type Table struct {
	add   func([]Row) error
	close func() error
}

// NewTable returns a table of JSON lines, or of Parquet where the name of the file ends in
// ".parquet", which only a program for large collections writes ([Parquet]).
func NewTable(w io.Writer, name string) (*Table, error) {
	if strings.HasSuffix(name, ".parquet") {
		return newParquet(w)
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return &Table{close: func() error { return nil }, add: func(rows []Row) error {
		for _, row := range rows {
			if err := out.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// Add adds the places of a line.
func (t *Table) Add(line survey.Line) error { return t.add(rowsOf(line)) }

// Close writes the rest.
func (t *Table) Close() error { return t.close() }
