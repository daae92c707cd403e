// Package templates looks at the chat templates of a model: which there are, which of them each
// inference engine takes, how they differ, and the faults in that.
//
// # Model
//
// A [Survey] joins the knowledge of others: engine/model/modeldir which templates a folder holds
// and who takes which, harness/check the rules about that (A050 and those after it),
// harness/diff how two templates differ. Every template that is not equal to one before it is
// compared with the first one of its name, or else with the one that is taken for requests without
// tools.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package templates

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/diff"
)

// Survey is the knowledge about a model's templates.
type Survey struct {
	*subject.Model
	Templates   []Template // in the order of Model.Templates
	Picks       []modeldir.Pick
	Differences []Difference
	Findings    []rule.Result // of the rules about models, those that passed left out
}

// Template is a template with the gate's verdict.
type Template struct {
	modeldir.Template
	SHA256   string // of its text, hex
	Compiled *engine.Template
	Err      error // why it cannot be used, or why the gate rejects it
}

// Difference describes how the template To differs from the template From; both are indices.
type Difference struct {
	From, To int
	diff.Difference
}

// Differ is [diff.Between] as [check.Options] take it.
func Differ(was, is subject.Source) (class, evidence string) {
	d := diff.Between(was, is)
	if len(d.Changes) == 0 {
		return "", ""
	}
	return d.Class, strings.Join(d.Lines(), "\n")
}

// Of surveys a model.
func Of(m *subject.Model) *Survey {
	s := &Survey{Model: m, Picks: m.Picks()}
	for i, t := range m.Templates {
		sum := sha256.Sum256([]byte(t.Text))
		template := Template{Template: t, SHA256: hex.EncodeToString(sum[:])}
		if template.Compiled, template.Err = m.Sources[i].Compile(); template.Err == nil {
			template.Err = template.Compiled.Gate().Err()
		}
		s.Templates = append(s.Templates, template)
	}
	differ := newMemo(m)
	for to := range s.Templates {
		if from := s.base(to); from != to {
			s.Differences = append(s.Differences, Difference{from, to, differ.between(from, to)})
		}
	}
	for _, res := range check.ModelOnly(m, check.Options{Differ: differ.sources}) {
		if res.Status != rule.Passed {
			s.Findings = append(s.Findings, res)
		}
	}
	return s
}

// base is the template that one is compared with: an equal one before it, the first one of its
// name, or the one that is taken for requests without tools.
func (s *Survey) base(of int) int {
	t := s.Templates[of]
	same := func(b Template) bool { return b.Text == t.Text && b.BOS == t.BOS && b.EOS == t.EOS }
	if at := slices.IndexFunc(s.Templates, same); at < of {
		return at
	}
	if at := slices.IndexFunc(s.Templates,
		func(b Template) bool { return b.Name == t.Name }); at < of {
		return at
	}
	for _, p := range s.Picks {
		if at := p.Plain.Template; at >= 0 {
			return at
		}
	}
	return 0
}

// memo remembers differences, which take a tenth of a second each.
type memo struct {
	model *subject.Model
	known map[[2]int]diff.Difference
}

func newMemo(m *subject.Model) *memo { return &memo{m, map[[2]int]diff.Difference{}} }

func (m *memo) between(from, to int) diff.Difference {
	d, ok := m.known[[2]int{from, to}]
	if !ok {
		d = diff.Between(m.model.Sources[from], m.model.Sources[to])
		m.known[[2]int{from, to}] = d
	}
	return d
}

// sources is Differ, remembered.
func (m *memo) sources(was, is subject.Source) (class, evidence string) {
	at := func(name string) int {
		return slices.IndexFunc(m.model.Sources,
			func(s subject.Source) bool { return s.Name == name })
	}
	d := m.between(at(was.Name), at(is.Name))
	if len(d.Changes) == 0 {
		return "", ""
	}
	return d.Class, strings.Join(d.Lines(), "\n")
}

// OK reports whether no finding is an error.
func (s *Survey) OK() bool {
	return !slices.ContainsFunc(s.Findings,
		func(r rule.Result) bool { return r.Status == rule.Failed })
}

// String returns the survey as lines "name: value"; evidence is indented. The findings are not
// among them: package report writes those.
func (s *Survey) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, name+": "+format+"\n", args...)
	}
	for _, t := range s.Templates {
		verdict := "gate: pass"
		if t.Err != nil {
			first, _, _ := strings.Cut(t.Err.Error(), "\n")
			verdict = "gate: fail: " + source.Printable(first)
		}
		line("template", "%s, %s, %d "+
			"bytes, sha256 %s, %s", t.ID, source.Printable(t.Name), len(t.Text), t.SHA256, verdict)
	}
	for _, t := range s.Tokens {
		if t.BOS != "" || t.EOS != "" {
			line("tokens", "%s, bos %q, eos %q", source.Printable(t.File), t.BOS, t.EOS)
		}
	}
	if len(s.Unread) > 0 {
		line("unread", "%d other model files", len(s.Unread))
	}
	for _, p := range s.Picks {
		if p.Plain == p.Tools {
			line("takes", "%s: %s", p, s.choice(p.Plain))
			continue
		}
		line("takes", "%s: %s", p, s.choice(p.Plain))
		line("takes", "%s, for tools: %s", p, s.choice(p.Tools))
	}
	for _, d := range s.Differences {
		line("differs", "%s from %s: %s", s.Templates[d.To].ID, s.Templates[d.From].ID, d.Class)
		for _, change := range d.Lines() {
			fmt.Fprintf(&b, "    %s\n", change)
		}
	}
	return b.String()
}

func (s *Survey) choice(c modeldir.Choice) string {
	text := "none"
	if c.Template >= 0 {
		text = s.Templates[c.Template].ID
	}
	if c.Why != "" {
		text += " (" + c.Why + ")"
	}
	return text
}

// Value returns the survey as JSON.
func (s *Survey) Value() ordered.Value {
	tokens := ordered.ListOf(s.Tokens, func(t modeldir.Tokens) ordered.Value {
		return ordered.Pairs("file", text(t.File), "bos", textOrNull(t.BOS),
			"eos", textOrNull(t.EOS))
	})
	loaders := ordered.ListOf(s.Picks, func(p modeldir.Pick) ordered.Value {
		return ordered.Pairs("loader", text(p.Loader), "of", textOrNull(p.Of),
			"plain", s.choiceValue(p.Plain), "tools", s.choiceValue(p.Tools))
	})
	differences := ordered.ListOf(s.Differences, func(d Difference) ordered.Value {
		changes := ordered.ListOf(d.Changes, func(c rule.Result) ordered.Value {
			return ordered.Pairs("rule", text(c.Rule), "name", text(c.Name), "text", text(c.Text))
		})
		return ordered.Pairs("from", text(s.Templates[d.From].ID), "to", text(s.Templates[d.To].ID),
			"class", text(d.Class), "changes", changes)
	})
	findings := ordered.ListOf(s.Findings, func(f rule.Result) ordered.Value {
		return ordered.Pairs("rule", text(f.Rule), "name", text(f.Name),
			"severity", text(f.Severity.String()), "place", text(f.Place.String()),
			"text", text(f.Text))
	})
	return ordered.Pairs("type", "model_templates", "path", text(s.Path),
		"templates", ordered.ListOf(s.Templates, Template.value), "tokens", tokens,
		"unread", ordered.ListOf(s.Unread, text), "loaders", loaders, "differences", differences,
		"findings", findings)
}

func (t Template) value() ordered.Value {
	caps, reason := ordered.Value{}, ordered.Value{}
	capable, gate := false, "pass"
	if t.Compiled != nil {
		caps = t.Compiled.Caps().Value()
		capable = t.Compiled.Gate().ToolCapable()
	}
	if t.Err != nil {
		gate, reason = "fail", text(t.Err.Error())
	}
	return ordered.Pairs("id", text(t.ID), "file", text(t.File), "name", text(t.Name),
		"sha256", text(t.SHA256), "bytes", len(t.Text), "bos", textOrNull(t.BOS),
		"eos", textOrNull(t.EOS), "tool_capable", capable, "gate", gate, "reason", reason,
		"caps", caps)
}

func (s *Survey) choiceValue(c modeldir.Choice) ordered.Value {
	id := ordered.Value{}
	if c.Template >= 0 {
		id = text(s.Templates[c.Template].ID)
	}
	return ordered.Pairs("template", id, "why", textOrNull(c.Why))
}

func text(s string) ordered.Value { return ordered.Str(strings.ToValidUTF8(s, "\uFFFD")) }

func textOrNull(s string) ordered.Value {
	if s == "" {
		return ordered.Value{}
	}
	return text(s)
}
