package report

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/visible"
)

// The JUnit form that CI systems agree on: a suite for each of ours, a case for each result.
// Findings below an error are kept as the output of a case that passed; known failures are skipped
// cases, whose message is the reason. A check for errors that was not judged is a case with an
// error, a lesser one a skipped case.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Tests   int          `xml:"tests,attr"`
		Fails   int          `xml:"failures,attr"`
		Errors  int          `xml:"errors,attr"`
		Skips   int          `xml:"skipped,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name   string      `xml:"name,attr"`
		Tests  int         `xml:"tests,attr"`
		Fails  int         `xml:"failures,attr"`
		Errors int         `xml:"errors,attr"`
		Skips  int         `xml:"skipped,attr"`
		Cases  []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as JUnit XML. Texts are made visible, which leaves nothing that XML 1.0
// cannot carry.
func (r *Report) JUnit(w io.Writer) error {
	r = r.bounded()
	all := junitSuites{Name: visible.Line("assay " + r.Command)}
	suites := map[string]int{}
	for i := range r.Results {
		res := &r.Results[i]
		at, ok := suites[res.Suite]
		if !ok {
			at = len(all.Suites)
			suites[res.Suite] = at
			all.Suites = append(all.Suites, junitSuite{Name: visible.Line(res.Suite)})
		}
		all.Suites[at].add(res)
	}
	for i := range all.Suites {
		all.Tests += all.Suites[i].Tests
		all.Fails += all.Suites[i].Fails
		all.Errors += all.Suites[i].Errors
		all.Skips += all.Suites[i].Skips
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(res *rule.Result) {
	c := junitCase{Class: visible.Line(res.Suite), Name: visible.Line(res.Name),
		File: visible.Line(res.Place.File), Line: res.Place.Line}
	head, _, _ := strings.Cut(res.Text, "\n")
	message := &junitMessage{Message: visible.Text(head), Type: visible.Line(res.Rule),
		Text: visible.Text(res.Text)}
	if res.Status == rule.Unjudged {
		message.Message = "not judged: " + message.Message
	}
	switch {
	case res.Status == rule.Failed:
		c.Failure = message
		s.Fails++
	case res.Bad():
		c.Error = message
		s.Errors++
	case res.Status == rule.Known || res.Status == rule.Unjudged:
		c.Skipped = message
		s.Skips++
	case res.Status == rule.Found:
		c.Out = visible.Text(res.Rule + " " + res.Text)
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
