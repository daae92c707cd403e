package capability

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

// A Convention is the way in which a program or a catalogue writes what a model can do.
type Convention struct {
	Name string
	// Of returns a record's part that the convention has words for, as an object.
	Of func(*Record) ordered.Value
}

// Conventions are the known ones: LM Studio's model.yaml, the answer of Ollama's /api/show, an
// entry of models.dev, and keys that are proposed for GGUF files (docs/formats.md).
var Conventions = []Convention{{"lmstudio", lmStudio}, {"ollama", ollama},
	{"models.dev", modelsDev}, {"gguf", gguf}}

// reasons reports whether the model's reasoning is spelled by the template.
func (r *Record) reasons() bool { return r.Reasoning.Mode != "none" }

// sees reports whether a part of a sort leaves something in the prompt.
func (r *Record) sees(sort string) bool {
	for kind := range r.Content.Types {
		if SortOf(kind) == sort {
			return true
		}
	}
	return false
}

// inputs are the kinds of input, in models.dev's words.
func (r *Record) inputs() []string {
	all := []string{"text"}
	for _, sort := range []string{"image", "audio", "video"} {
		if r.sees(sort) {
			all = append(all, sort)
		}
	}
	if r.sees("file") {
		all = append(all, "pdf")
	}
	return all
}

func lmStudio(r *Record) ordered.Value {
	var fields []ordered.Value
	if s := r.Reasoning.Switch; s != nil && !slices.ContainsFunc(s.Values,
		func(v ordered.Value) bool { return v.Kind() != ordered.Bool }) {
		fields = append(fields, ordered.Pairs("key", "enableThinking",
			"displayName", "Enable Thinking",
			"description", "Controls whether the model reasons before it answers",
			"type", "boolean", "defaultValue", s.Default.Bool(),
			"effects", ordered.ArrayOf(ordered.Pairs("type", "setJinjaVariable",
				"variable", s.Variable))))
	}
	reasoning := ordered.Boolean(r.reasons())
	if r.Reasoning.Switch != nil {
		reasoning = ordered.Str("mixed")
	}
	v := ordered.Pairs("metadataOverrides", ordered.Pairs("domain", "llm",
		"trainedForToolUse", r.ToolCapable, "vision", r.sees("image"), "reasoning", reasoning))
	if fields != nil {
		v = v.With("customFields", ordered.ArrayOf(fields...))
	}
	return v
}

func ollama(r *Record) ordered.Value {
	can := []string{"completion"}
	for _, c := range []struct {
		name string
		is   bool
	}{{"tools", r.ToolCapable}, {"thinking", r.reasons()},
		{"vision", r.sees("image")}} {
		if c.is {
			can = append(can, c.name)
		}
	}
	v := ordered.Pairs("capabilities", can)
	s := r.Reasoning.Effort
	if s == nil || len(s.Values) == 0 {
		s = r.Reasoning.Switch
	}
	if s != nil {
		v = v.With("thinking", ordered.Pairs("values", s.Values, "default", s.Default))
	}
	return v
}

func modelsDev(r *Record) ordered.Value {
	inputs := r.inputs()
	return ordered.Pairs("attachment", len(inputs) > 1, "reasoning", r.reasons(),
		"tool_call", r.ToolCapable, "modalities", ordered.Pairs("input", inputs,
			"output", []string{"text"}))
}

func gguf(r *Record) ordered.Value {
	const prefix = "tokenizer.chat." // below tokenizer.chat_template stand named templates
	all := []ordered.Member{
		ordered.MemberOf(prefix+"tools", ordered.Boolean(r.ToolCapable)),
		ordered.MemberOf(prefix+"parallel_calls", ordered.Boolean(r.Tools.Parallel)),
		ordered.MemberOf(prefix+"system", ordered.Boolean(r.Roles["system"] == Written)),
		ordered.MemberOf(prefix+"input", ordered.ListOf(r.inputs(), ordered.Str)),
		ordered.MemberOf(prefix+"reasoning", ordered.Str(r.Reasoning.Mode)),
		ordered.MemberOf(prefix+"stops", ordered.ListOf(r.Stops, ordered.Str)),
	}
	for _, s := range []struct {
		name string
		of   *Switch
	}{{"reasoning_switch", r.Reasoning.Switch}, {"reasoning_effort", r.Reasoning.Effort},
		{"reasoning_keep", r.Reasoning.Keep}} {
		if s.of == nil {
			continue
		}
		var values []string
		for _, v := range s.of.Values {
			values = append(values, strings.Trim(v.String(), `"`))
		}
		preset := "" // leaving it out differs from all values
		if !s.of.Default.IsNull() {
			preset = strings.Trim(s.of.Default.String(), `"`)
		}
		all = append(all, ordered.MemberOf(prefix+s.name, ordered.Str(s.of.Variable)),
			ordered.MemberOf(prefix+s.name+".values", ordered.ListOf(values, ordered.Str)),
			ordered.MemberOf(prefix+s.name+".default", ordered.Str(preset)))
	}
	return ordered.ObjectOf(all...)
}
