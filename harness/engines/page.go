package engines

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"strings"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

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
	Case, About, Verdict, Text, Cut, Output, Chunks, Want, Got string
}

// HTML returns one page that stands alone: the table, where a cell opens its cases with the output,
// the message wanted, the engine's, and the cut that showed the difference.
func (m *Matrix) HTML() string {
	cells, families, engines, versions := m.cells()
	type row struct {
		Family string
		Cells  []pageCell
	}
	var view struct {
		Engines []string
		Rows    []row
		Details []pageDetail
	}
	for _, e := range engines {
		view.Engines = append(view.Engines, e+" "+versions[e])
	}
	for _, f := range families {
		r := row{Family: f}
		for _, e := range engines {
			t := cells[[2]string{f, e}]
			cell := pageCell{Text: t.String(), ID: -1}
			switch {
			case t == nil:
				cell.Text = "not run"
			case t.unsupported == t.cases:
				cell.Class = "none"
			case t.right == t.cases:
				cell.Class = "good"
			case t.fault == 0:
				cell.Class = "fair"
			default:
				cell.Class = "bad"
			}
			if t != nil && len(t.worst) > 0 {
				cell.ID = len(view.Details)
				view.Details = append(view.Details, detailOf(f, e, t))
			}
			r.Cells = append(r.Cells, cell)
		}
		view.Rows = append(view.Rows, r)
	}
	var b strings.Builder
	if err := page.Execute(&b, view); err != nil {
		panic("engines: page: " + err.Error()) // the template is ours
	}
	return b.String()
}

func detailOf(family, engine string, t *tally) pageDetail {
	d := pageDetail{Family: family, Engine: engine,
		Parser: "tool " + t.parser.Tool + ", reasoning " + t.parser.Reasoning}
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
		d.Cases = append(d.Cases, c)
	}
	return d
}
