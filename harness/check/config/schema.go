package config

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/rule"
)

// Schema returns the JSON Schema of assay.toml, for editors: the settings that [Vocabulary.Parse]
// takes and their words.
func (v *Vocabulary) Schema() ordered.Value {
	properties := object()
	for i := range settings {
		s := &settings[i]
		properties = properties.With(s.name, v.schema(s).With("description", ordered.Str(s.about)))
	}
	return object("$schema", ordered.Str("http://json-schema.org/draft-07/schema#"),
		"title", ordered.Str("The settings of assay check, in "+FileName),
		"type", ordered.Str("object"),
		"additionalProperties", ordered.Boolean(false),
		"properties", properties)
}

// schema is the schema of a setting's value.
func (v *Vocabulary) schema(s *setting) ordered.Value {
	switch s.shape {
	case truth:
		return object("type", ordered.Str("boolean"))
	case word:
		return v.strings(s.of)
	case words:
		return v.lists(s.of)
	case wordLists:
		return object("type", ordered.Str("object"), "additionalProperties", v.lists(s.of))
	}
	return object("type", ordered.Str("object"), "propertyNames", v.strings(s.keys),
		"additionalProperties", v.strings(s.of))
}

func (v *Vocabulary) lists(of vocable) ordered.Value {
	return object("type", ordered.Str("array"), "items", v.strings(of))
}

// strings is the schema of a word: one of its names, or for the beginnings of ids a pattern, too.
func (v *Vocabulary) strings(of vocable) ordered.Value {
	if of.names == nil {
		return object("type", ordered.Str("string"), "minLength", ordered.Int(1))
	}
	one := object("enum", ordered.ListOf(of.names(v), ordered.Str))
	if of.what != ruleWord.what {
		return one
	}
	return object("anyOf", ordered.ArrayOf(one,
		object("type", ordered.Str("string"), "pattern", ordered.Str("^("+initials(v.Rules)+
			")[0-9]{0,2}$"))))
}

// initials are the letters that ids of rules begin with, as alternatives of a pattern.
func initials(rules []rule.Rule) string {
	letters := ""
	for _, r := range rules {
		if first := r.ID[:1]; letters == "" || letters[len(letters)-1:] != first {
			if letters != "" {
				letters += "|"
			}
			letters += first
		}
	}
	return letters
}

// object is an object of names and values by turns.
func object(pairs ...any) ordered.Value {
	o := ordered.ObjectOf()
	for i := 0; i+1 < len(pairs); i += 2 {
		o = o.With(pairs[i].(string), pairs[i+1].(ordered.Value))
	}
	return o
}
