package survey

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/hub/manifest"
)

// maxText bounds the text of a finding, in bytes.
const maxText = 300

// Judge judges templates.
type Judge struct {
	Folder string // of the manifest, or its bucket's URL: relative names start there
	// Open opens a template by name; nil: as [subject.Open] does.
	Open    func(name string) (subject.Source, error)
	Options check.Options  // for the checks
	Engine  engine.Options // for each line: the template and those that it is compared with
}

// Line makes the line of a task. The end of ctx ends its renders. The findings of an earlier census
// stay.
func (j *Judge) Line(ctx context.Context, t *Task) Line {
	line := t.Line
	o := j.Engine.Together() // one bound for the template and all that it is compared with
	src, err := j.open(ctx, line.Entries[0], o)
	if err != nil {
		line.Verdict, line.Why, line.Findings, line.Format = Unread, cut(err.Error()), nil, ""
	} else if line.Verdict == "" {
		j.judge(&line, src)
	}
	for i := range line.Against {
		c := &line.Against[i]
		if class, known := t.known[c.Digest]; known {
			c.Class = class
			continue
		}
		was, missing := j.open(ctx, c.other, o)
		if c.Class = Unread; err == nil && missing == nil {
			c.Class = differ(c.With, was, src)
		}
	}
	return line
}

// differ classes a difference. From the base it is one that two models have side by side; from the
// survey before it is a change, and may mend.
func differ(with string, was, is subject.Source) string {
	if with == Before {
		return diff.Change(was, is).Class
	}
	return diff.Between(was, is).Class
}

// open reads the template of an entry, and compares its digest with the entry's.
func (j *Judge) open(ctx context.Context, e manifest.Entry, o engine.Options) (subject.Source,
	error) {
	open := j.Open
	if open == nil {
		open = func(name string) (subject.Source, error) {
			return subject.Open(name, strings.NewReader(""))
		}
	}
	src, err := open(e.Path(j.Folder))
	if err != nil {
		return src, err
	}
	if found := manifest.Digest(src.Text); found != e.Digest {
		return src, fmt.Errorf("the file holds the text %.16s, expected %.16s", found, e.Digest)
	}
	return subject.With(ctx, []subject.Source{src}, o)[0], nil
}

func (j *Judge) judge(line *Line, src subject.Source) {
	bad := ""
	for _, res := range check.Template(src, j.Options) {
		if res.Status == rule.Passed || res.Status == rule.Known {
			continue
		}
		f := Finding{Rule: res.Rule, Severity: res.Severity.String(), Line: res.Place.Line,
			Text: cut(res.Text)}
		if res.Status == rule.Unjudged {
			f.Text = cut("not judged: " + res.Text)
		}
		line.Findings = append(line.Findings, f)
		if res.Bad() && bad == "" {
			bad = f.Text
		}
	}
	t, err := src.Compile()
	if err != nil {
		line.Verdict, line.Why = Fail, cut(err.Error())
		return
	}
	if a := t.Analysis(); a != nil {
		document := formatjson.Write(formatjson.Document{Format: a.Format})
		line.Format = manifest.Digest(document.String())
	}
	gate := t.Gate()
	switch {
	case t.Exhausted() != nil:
		line.Verdict, line.Why = NotJudged, cut(t.Exhausted().Error())
	case gate.Unverified != nil && errors.Is(gate.Unverified, engine.ErrUnverified):
		line.Verdict, line.Why = Fail, cut(gate.Unverified.Error())
	case bad != "":
		line.Verdict, line.Why = Fail, bad
	case gate.Incapable != nil:
		line.Verdict, line.Why = NoTools, cut(gate.Incapable.Error())
	default:
		line.Verdict = Pass
	}
}

// cut returns the first line of a text, within maxText.
func cut(text string) string {
	text, _, _ = strings.Cut(strings.ToValidUTF8(text, "\ufffd"), "\n")
	return source.Cut(text, maxText)
}
