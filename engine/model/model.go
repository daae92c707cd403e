// Package model judges model files by their chat templates, on the disk and on the Hub, without
// loading them.
//
// # Model
//
// [Inspect] reads the header of a file, [InspectHub] that of a file on the Hub; both end in
// [Judge], which compiles the templates that are in it and asks the gate (E26). [Pull] fetches a
// model and lets it into the cache only where the gate accepts it. A [Model] prints its findings as
// text and as JSON.
//
// The rooms of this one read bytes and compile nothing: package gguf has model files, hub the
// Hugging Face Hub and the cache that other programs share, modeldir the templates of model
// folders, filelock locks between programs.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Model is a model file, judged by its chat templates without loading it.
type Model struct {
	Info      *gguf.Info
	Templates []Template // in the order of Info.Templates
	// Judged is the template that the gate looked at: the one for tools where the model has one,
	// else the default one (E26). It is nil where there is neither, and its Compiled is nil where
	// it does not compile.
	Judged *Template
	// Rejection is the gate's reason to reject the model; nil: it accepts it. It wraps
	// [ErrNoTemplate], engine.ErrToolsUnsupported, engine.ErrUnverified, or the template's own
	// error.
	Rejection error
}

// Template is a chat template of a model.
type Template struct {
	gguf.Template
	SHA256   string           // of its text, hex
	Compiled *engine.Template // nil where Err is not
	Err      error            // why it cannot be used
}

// ErrNoTemplate is why the gate rejects a model without a chat template. There is no stand-in for
// one (E26).
var ErrNoTemplate = errors.New("no chat template")

// Title returns the template's name, "default" for the one without.
func (t *Template) Title() string {
	if t.Name == "" {
		return "default"
	}
	return t.Name
}

// Judge compiles a model's templates with its special tokens and asks the gate. They have the
// limits together. The context is that of [engine.Compile].
func Judge(ctx context.Context, info *gguf.Info, o engine.Options) *Model {
	m := &Model{Info: info, Templates: make([]Template, len(info.Templates))}
	o = o.Together()
	for i, t := range info.Templates {
		m.Templates[i] = compileTemplate(ctx, t, info, o)
	}
	for i := range m.Templates {
		t := &m.Templates[i]
		if t.Name == gguf.ToolUse || t.Name == "" && m.Judged == nil {
			m.Judged = t
		}
	}
	switch {
	case m.Judged == nil && len(m.Templates) > 0:
		m.Rejection = fmt.Errorf("%w: neither a default one nor one "+
			"named %q, only %s", ErrNoTemplate, gguf.ToolUse, strings.Join(m.names(), ", "))
	case m.Judged == nil:
		m.Rejection = ErrNoTemplate
	case m.Judged.Err != nil:
		m.Rejection = fmt.Errorf("the %s chat template "+
			"cannot be used: %w", m.Judged.Title(), m.Judged.Err)
	default:
		m.Rejection = m.Judged.Compiled.Gate().Err()
	}
	return m
}

// maxTemplate is the size of the largest template that is compiled, in bytes. The largest in public
// use have some 30 kB.
const maxTemplate = 4 << 20

// compileTemplate compiles one template. An empty one is none.
func compileTemplate(ctx context.Context, t gguf.Template, info *gguf.Info,
	o engine.Options) Template {
	sum := sha256.Sum256([]byte(t.Text))
	m := Template{Template: t, SHA256: hex.EncodeToString(sum[:])}
	switch {
	case len(t.Text) > maxTemplate:
		m.Err = fmt.Errorf("it has %d bytes, expected at most %d", len(t.Text), maxTemplate)
	case strings.TrimSpace(t.Text) == "":
		m.Err = fmt.Errorf("%w: it is empty", ErrNoTemplate)
	case !utf8.ValidString(t.Text):
		m.Err = errors.New("it is not valid UTF-8")
	default:
		m.Compiled, m.Err = engine.Compile(ctx, engine.Source{Name: m.Title(), Text: t.Text,
			BOS: info.BOS.Text, EOS: info.EOS.Text}, o)
		if m.Err == nil {
			m.Err = m.Compiled.Exhausted()
		}
	}
	return m
}

func (m *Model) names() []string {
	names := make([]string, len(m.Templates))
	for i := range m.Templates {
		names[i] = m.Templates[i].Title()
	}
	return names
}

// SupportsTools reports whether the gate accepts the model.
func (m *Model) SupportsTools() bool { return m.Rejection == nil }

// Inspect reads and judges the model at a path, the first part of it where it is split; the parts
// beside it are counted in. It reads headers only. A rejected model is no error.
func Inspect(ctx context.Context, path string, o engine.Options) (*Model, error) {
	return inspect(ctx, path, func(path string) (*gguf.File, io.Closer, error) {
		r, f, err := gguf.OpenFile(path)
		return f, r, err
	}, o)
}

// opener opens a model file, or a part of one, by its name. The errors carry the name.
type opener func(name string) (*gguf.File, io.Closer, error)

// inspect reads and judges a model.
func inspect(ctx context.Context, name string, open opener, o engine.Options) (*Model, error) {
	f, r, err := open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := f.Info()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if info.Split.No > 0 {
		hint := "its first part"
		if first, ok := gguf.PartName(name, 0, info.Split.Count); ok {
			hint = first
		}
		return nil, fmt.Errorf("%s is part %d of %d and has no "+
			"metadata; look at %s", name, info.Split.No+1, info.Split.Count, hint)
	}
	if info.Split.Count > 1 {
		addParts(info, name, len(f.Tensors), open)
	}
	return Judge(ctx, info, o), nil
}

// addParts adds the parameters of a model's other parts, and returns their faults.
func addParts(info *gguf.Info, first string, tensors int, open opener) {
	problem := func(format string, args ...any) {
		info.Problems = append(info.Problems, fmt.Sprintf(format, args...))
	}
	for no := uint64(1); no < info.Split.Count; no++ {
		name, ok := gguf.PartName(first, no, info.Split.Count)
		if !ok {
			problem("the model has %d parts, but the file's name does not end "+
				"in -00001-of-%05d.gguf, so the others "+
				"cannot be found", info.Split.Count, info.Split.Count)
			return
		}
		f, r, err := open(name)
		if err != nil {
			problem("part %d of %d: %v", no+1, info.Split.Count, err)
			continue
		}
		part, err := f.Info()
		r.Close()
		if err == nil && (part.Split.No != no || part.Split.Count != info.Split.Count) {
			err = fmt.Errorf("%s is part %d of %d by its own header", filepath.Base(name), part.Split.No+1, part.Split.Count)
		}
		if err != nil {
			problem("part %d of %d: %v", no+1, info.Split.Count, err)
			continue
		}
		info.Parameters += part.Parameters
		tensors += len(f.Tensors)
	}
	if total := info.Split.Tensors; total > 0 && total != uint64(tensors) {
		problem("%d tensors were found, expected %d", tensors, total)
	}
}

// ChatFormat names the shape in which the judged template spells tool calls; "" where none can be
// used. It is information: the gate does not look at it.
func (m *Model) ChatFormat() string {
	if m.Judged == nil || m.Judged.Err != nil {
		return ""
	}
	return m.Judged.Compiled.Analysis().Format.Shape()
}

// Value returns the model info as JSON.
func (m *Model) Value() ordered.Value {
	i := m.Info
	_, toolUse := i.Template(gguf.ToolUse)
	members := []ordered.Member{
		{Key: "type", Value: ordered.Str("model_info")},
		{Key: "supports_tools", Value: ordered.Boolean(m.SupportsTools())},
		{Key: "caps", Value: ordered.Value{}},
		{Key: "tool_capable", Value: ordered.Boolean(m.Judged != nil && m.Judged.Err == nil && m.Judged.Compiled.Gate().ToolCapable())},
		{Key: "chat_format", Value: stringOrNull(m.ChatFormat())},
		{Key: "has_tool_use_template", Value: ordered.Boolean(toolUse)},
		{Key: "architecture", Value: stringOrNull(i.Architecture)},
		{Key: "n_params", Value: number(i.Parameters)},
		{Key: "name", Value: stringOrNull(i.Name)},
		{Key: "context_length", Value: number(i.ContextLength)},
		{Key: "file_type", Value: stringOrNull(i.FileType)},
		{Key: "tokenizer", Value: ordered.Pairs("model", stringOrNull(i.Tokenizer),
			"bos", tokenValue(i.BOS), "eos", tokenValue(i.EOS))},
		{Key: "split", Value: ordered.Pairs("part", number(i.Split.No+1),
			"count", number(max(i.Split.Count, 1)))},
		{Key: "templates", Value: ordered.ArrayOf(m.templateValues()...)},
		{Key: "analysis", Value: ordered.Value{}},
		{Key: "gate", Value: m.verdict()},
		{Key: "problems", Value: texts(i.Problems)},
	}
	if m.Judged != nil && m.Judged.Err == nil {
		f := m.Judged.Compiled.Analysis().Format
		members[2].Value = m.Judged.Compiled.Caps().Value()
		members[14].Value = ordered.Pairs("reasoning", f.Reasoning.Mode.String(),
			"content", f.Content.Mode.String(), "calls", f.Shape())
	}
	return ordered.ObjectOf(members...)
}

func (m *Model) templateValues() []ordered.Value {
	values := make([]ordered.Value, len(m.Templates))
	for i := range m.Templates {
		t := &m.Templates[i]
		members := []ordered.Member{
			{Key: "name", Value: ordered.Str(t.Title())},
			{Key: "sha256", Value: ordered.Str(t.SHA256)},
			{Key: "bytes", Value: ordered.Int(len(t.Text))},
			{Key: "judged", Value: ordered.Boolean(t == m.Judged)},
		}
		if t.Err != nil {
			members = append(members,
				ordered.Member{Key: "error", Value: ordered.Str(valid(t.Err.Error()))})
		} else {
			members = append(members,
				ordered.Member{Key: "tool_capable",
					Value: ordered.Boolean(t.Compiled.Gate().ToolCapable())})
		}
		values[i] = ordered.ObjectOf(members...)
	}
	return values
}

func (m *Model) verdict() ordered.Value {
	verdict, reason := "pass", ordered.Value{}
	if m.Rejection != nil {
		verdict, reason = "fail", ordered.Str(valid(m.Rejection.Error()))
	}
	return ordered.Pairs("verdict", verdict, "reason", reason)
}

// Verdict returns "pass", or "fail: " and why the gate rejects the model.
func (m *Model) Verdict() string {
	if m.Rejection == nil {
		return "pass"
	}
	return "fail: " + m.Rejection.Error()
}

func tokenValue(t gguf.Token) ordered.Value {
	id, add := ordered.Value{}, ordered.Value{}
	if t.ID >= 0 {
		id = ordered.Num(strconv.FormatInt(t.ID, 10))
	}
	if t.Said {
		add = ordered.Boolean(t.Add)
	}
	return ordered.Pairs("id", id, "text", stringOrNull(t.Text), "add", add)
}

func number(n uint64) ordered.Value { return ordered.Num(strconv.FormatUint(n, 10)) }

func stringOrNull(s string) ordered.Value {
	if s == "" {
		return ordered.Value{}
	}
	return ordered.Str(valid(s))
}

func texts(list []string) ordered.Value {
	return ordered.ListOf(list, func(s string) ordered.Value { return ordered.Str(valid(s)) })
}

// valid makes a text from a model fit for JSON.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// String returns the model info as lines "name: value", absent fields left out, the gate's verdict
// last.
func (m *Model) String() string {
	i := m.Info
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%s: "+format+"\n", append([]any{name}, args...)...)
	}
	named := func(name, value string) {
		if value != "" {
			line(name, "%s", source.Printable(value))
		}
	}
	named("architecture", i.Architecture)
	named("name", i.Name)
	line("n_params", "%d", i.Parameters)
	if i.ContextLength > 0 {
		line("context_length", "%d", i.ContextLength)
	}
	named("file_type", i.FileType)
	named("tokenizer", i.Tokenizer)
	for _, t := range []struct {
		name  string
		token gguf.Token
	}{{"bos", i.BOS}, {"eos", i.EOS}} {
		if t.token.ID >= 0 {
			line(t.name, "%d %q%s", t.token.ID, t.token.Text,
				map[bool]string{true: ", added to prompts"}[t.token.Add])
		}
	}
	if i.Split.Count > 1 {
		line("split", "part %d of %d", i.Split.No+1, i.Split.Count)
	}
	for k := range m.Templates {
		t := &m.Templates[k]
		line("template", "%s, %d bytes, sha256 %s%s", source.Printable(t.Title()), len(t.Text),
			t.SHA256, map[bool]string{true: ", judged"}[t == m.Judged])
		if t.Err != nil {
			line("template", "%s fails: %s", source.Printable(t.Title()),
				source.Printable(t.Err.Error()))
		}
	}
	if m.Judged != nil && m.Judged.Err == nil {
		f := m.Judged.Compiled.Analysis().Format
		b.WriteString(m.Judged.Compiled.Caps().String())
		line("tool-capable", "%s", source.Printable(m.Judged.Compiled.Gate().Tools()))
		line("reasoning", "%s", f.Reasoning.Mode)
		line("content", "%s", f.Content.Mode)
		line("chat_format", "%s", f.Shape())
	}
	for _, p := range i.Problems {
		line("problem", "%s", source.Printable(p))
	}
	line("gate", "%s", source.Printable(m.Verdict()))
	return b.String()
}
