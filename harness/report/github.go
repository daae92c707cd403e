package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/visible"
)

// GitHub shows ten annotations of each level for a step and a summary of one mebibyte; the rest is
// cut, and counted.
const (
	maxAnnotations = 10
	maxSummary     = 1 << 20 // bytes
	maxSummaryRow  = 300     // bytes of a result's text in the summary's table
	maxAnnotation  = 4096    // bytes of an annotation's text; a runner takes 64 KiB, a person less
)

// Runners end a command at the end of the line, and read commands anywhere in the log, so texts are
// made visible first and then escaped as the runner wants it.
var escapeData = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
var escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",",
	"%2C")

// word describes how a result went, in a word for tables.
func word(res *rule.Result) string {
	if res.Status == rule.Unjudged {
		return res.Status.String()
	}
	return res.Level().String()
}

// annotated is the title of an annotation, which stands at its place: the name, the rule, and the
// place in a part of the file.
func (c cause) annotated() string {
	name := c.Name
	if (c.Rule == "" || c.Place.File == "") && c.Name != c.Suite {
		name = strings.TrimSpace(c.Suite + " " + c.Name)
	}
	if c.Rule != "" {
		name += " [" + c.rules() + "]"
	}
	if c.Place.Part != "" {
		name += " (" + c.Place.Part + ")"
	}
	if c.Status == rule.Unjudged {
		name += " not judged"
	}
	if c.times > 1 {
		name += fmt.Sprintf(" (%d times)", c.times)
	}
	return name
}

// Annotations writes GitHub's workflow commands for failures and findings of a severity and worse,
// the worst first, one for all findings with one cause.
func (r *Report) Annotations(w io.Writer, least rule.Severity) error {
	r = r.bounded()
	b := bufio.NewWriter(w)
	levels := [...]string{"notice", "warning", "error"}
	causes := r.causes()
	for level := rule.Error; ; level-- {
		n := 0
		for _, c := range causes {
			if !c.News() || c.Level() != level {
				continue
			}
			if n++; n > maxAnnotations {
				continue
			}
			fmt.Fprintf(b, "::%s %stitle=%s::%s\n", levels[level], properties(c.Place),
				escapeProperty.Replace(visible.Line(c.annotated())),
				escapeData.Replace(source.Cut(visible.Text(c.Text), maxAnnotation)))
		}
		if n > maxAnnotations {
			fmt.Fprintf(b, "and %d more of the level %s\n", n-maxAnnotations, levels[level])
		}
		if level == least {
			return b.Flush()
		}
	}
}

// properties are a place as annotations have it.
func properties(p rule.Place) string {
	if p.File == "" {
		return ""
	}
	s := "file=" + escapeProperty.Replace(visible.Line(p.File)) + ","
	if p.Line > 0 {
		s += fmt.Sprintf("line=%d,", p.Line)
	}
	if p.Col > 0 {
		s += fmt.Sprintf("col=%d,", p.Col)
	}
	return s
}

// Summary writes a step summary in GitHub's Markdown: the counts and the conclusions, then a table
// of failures and findings of a severity and worse. Written is how many bytes the step has in its
// summary already.
func (r *Report) Summary(w io.Writer, least rule.Severity, written int) error {
	r = r.bounded()
	var b strings.Builder
	fmt.Fprintf(&b, "### assay %s: %s\n\n", cell(r.Command), r.Line())
	table, left := false, 0
	for _, line := range r.Conclusions {
		if row := "* " + cell(line) + "\n"; written+b.Len()+len(row) <= maxSummary/2 {
			b.WriteString(row)
		}
	}
	if len(r.Conclusions) > 0 {
		b.WriteByte('\n')
	}
	for i := range r.Results {
		res := &r.Results[i]
		if !res.News() || res.Level() < least {
			continue
		}
		if !table {
			b.WriteString("| | item | |\n| --- | --- | --- |\n")
			table = true
		}
		row := fmt.Sprintf("| %s | %s | %s |\n", word(res), cell(title(res)), cell(res.Text))
		if written+b.Len()+len(row) > maxSummary-100 {
			left++
			continue
		}
		b.WriteString(row)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", left)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell makes a text fit for a table: one line, nothing that Markdown or HTML would take for its
// own.
func cell(s string) string {
	s, more, cut := strings.Cut(visible.Text(s), "\n")
	if len(s) > maxSummaryRow {
		s = strings.ToValidUTF8(s[:maxSummaryRow], "")
		cut, more = true, "..."
	}
	s = strings.NewReplacer("\\", `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`).Replace(s)
	if cut && more != "" {
		s += " ..."
	}
	return s
}
