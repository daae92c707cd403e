package config

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/rule"
)

// Schema returns the JSON Schema of assay.toml, for editors: the settings that [Vocabulary.Parse]
// takes and their words.
func (v *Vocabulary) Schema() ordered.Value {
	properties := ordered.Pairs()
	for i := range settings {
		s := &settings[i]
		properties = properties.With(s.name, v.schema(s).With("description", ordered.Str(s.about)))
	}
	return ordered.Pairs("$schema", "http://json-schema.org/draft-07/schema#",
		"title", "The settings of assay check, in "+FileName, "type", "object",
		"additionalProperties", false, "properties", properties)
}

// schema is the schema of a setting's value.
func (v *Vocabulary) schema(s *setting) ordered.Value {
	switch s.shape {
	case truth:
		return ordered.Pairs("type", "boolean")
	case word:
		return v.strings(s.of)
	case words:
		return v.lists(s.of)
	case wordLists:
		return ordered.Pairs("type", "object", "additionalProperties", v.lists(s.of))
	}
	return ordered.Pairs("type", "object", "propertyNames", v.strings(s.keys),
		"additionalProperties", v.strings(s.of))
}

func (v *Vocabulary) lists(of vocable) ordered.Value {
	return ordered.Pairs("type", "array", "items", v.strings(of))
}

// strings is the schema of a word: one of its names, or for the beginnings of ids a pattern, too.
func (v *Vocabulary) strings(of vocable) ordered.Value {
	if of.names == nil {
		return ordered.Pairs("type", "string", "minLength", 1)
	}
	one := ordered.Pairs("enum", ordered.ListOf(of.names(v), ordered.Str))
	if of.what != ruleWord.what {
		return one
	}
	pattern := "^(" + initials(v.Rules) + ")[0-9]{0,2}$"
	return ordered.Pairs("anyOf",
		ordered.ArrayOf(one, ordered.Pairs("type", "string", "pattern", pattern)))
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
