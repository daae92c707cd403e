package engines

import (
	"encoding/json"
	"strings"

	"github.com/goassay/assay/harness/report"
)

// pageCell is a family in an engine, as the page shows it.
type pageCell struct {
	Text, Class string
	ID          int // of the details; -1 where there are none
}

// pageDetail is the detail that a cell opens.
type pageDetail struct {
	Family, Engine, Parser string
	Cases                  []pageCase
}

type pageCase struct {
	Case, About, Verdict, Text, Cut, Output, Chunks, Vars, Want, Got string
}

// HTML returns one page that stands alone: the table, where a cell opens its cases with the output,
// the message wanted, the engine's, and the cut that showed the difference.
func (m *Matrix) HTML() string {
	type row struct {
		Family string
		Cells  []pageCell
	}
	type table struct {
		Title, About string
		Engines      []string
		Rows         []row
	}
	var view struct {
		Tables  []table
		Details []pageDetail
	}
	for _, part := range parts {
		cells, families, engines, versions := m.cells(part)
		if len(engines) == 0 {
			continue
		}
		t := table{Title: part.title, About: part.about}
		for _, e := range engines {
			t.Engines = append(t.Engines, e+" "+versions[e])
		}
		for _, f := range families {
			r := row{Family: f}
			for _, e := range engines {
				tally := cells[[2]string{f, e}]
				cell := pageCell{Text: tally.String(), Class: tally.class(), ID: -1}
				if tally == nil {
					cell.Text = "not run"
				} else if len(tally.worst) > 0 {
					cell.ID = len(view.Details)
					view.Details = append(view.Details, detailOf(f, e, tally))
				}
				r.Cells = append(r.Cells, cell)
			}
			t.Rows = append(t.Rows, r)
		}
		view.Tables = append(view.Tables, t)
	}
	var b strings.Builder
	text, err := files.ReadFile("page.html")
	if err == nil {
		err = report.Page(string(text)).Execute(&b, view)
	}
	if err != nil {
		panic("engines: page: " + err.Error()) // the template is ours
	}
	return b.String()
}

// class is how the page colours a cell.
func (t *tally) class() string {
	switch {
	case t == nil:
		return ""
	case t.unsupported == t.cases:
		return "none"
	case t.right == t.cases:
		return "good"
	case t.fault == 0:
		return "fair"
	}
	return "bad"
}

func detailOf(family, engine string, t *tally) pageDetail {
	d := pageDetail{Family: family, Engine: engine}
	if t.parser != (Parser{}) {
		d.Parser = "tool " + t.parser.Tool + ", reasoning " + t.parser.Reasoning
	}
	show := func(v any) string {
		var b strings.Builder
		out := json.NewEncoder(&b)
		out.SetEscapeHTML(false)
		out.SetIndent("", " ")
		if err := out.Encode(v); err != nil {
			return err.Error()
		}
		return b.String()
	}
	for _, r := range t.worst {
		verdict := string(r.Verdict)
		if r.Kind != "" {
			verdict += ": " + r.Kind
		}
		c := pageCase{Case: r.Case, About: r.About, Verdict: verdict, Text: r.Text,
			Cut: string(r.Cut), Output: r.Output}
		if r.Chunks != nil {
			c.Chunks = strings.Join(r.Chunks, "│")
		}
		if r.Want != nil {
			c.Want = show(r.Want)
		}
		if r.Got != nil {
			c.Got = show(r.Got)
		}
		if r.Cut == prompt {
			c.Vars, c.Want, c.Got = string(r.Vars), r.WantPrompt, r.GotPrompt
		}
		d.Cases = append(d.Cases, c)
	}
	return d
}
