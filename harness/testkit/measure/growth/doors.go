package main

import (
	"slices"

	"github.com/goassay/assay/engine"
)

// doors returns all readers of foreign input, with the generators of their inputs.
func doors() []door {
	all := []door{
		{"check", true, templateGenerators, checked},
		{"caps", true, templateGenerators, compiled(func(*engine.Template) error { return nil })},
		{"analysis", true, templateGenerators, compiled(analysed)},
		{"verify",
			true,
			templateGenerators,
			compiled(func(t *engine.Template) error { t.Verify(); return nil })},
		{"diff", true, templateGenerators, revised},
		{"fix", true, templateGenerators, mended},
		{"train", true, templateGenerators, trained},
		{"train --keep", true, slices.Concat(templateGenerators, prompts), keptTurns},
		{"coverage", true, templateGenerators, compiled(explored)},
		{"page", true, templateGenerators, viewed},
		{"emit", true, templateGenerators, compiled(emitted)},
		{"schema", false, schemas, spelled},
		{"answer", false, schemas, answered},
	}
	for i, family := range kinds {
		all = append(all, door{"tool of " + family, i > 1, schemas, offered(family)},
			door{"tools of " + family, i > 1, toolLists, offeredAll(family)},
			door{"grammars of a tool of " + family, i > 0, schemas,
				spelledTool(family, grammarForms)},
			door{"grammars of tools of " + family, i > 0, toolLists,
				spelledTools(family, grammarForms)},
			door{"structural tag of a tool of " + family, true, schemas,
				spelledTool(family, tagForms)},
			door{"structural tag of tools of " + family, true, toolLists,
				spelledTools(family, tagForms)},
			door{larkDoor + "a tool of " + family, i > 0, schemas, spelledTool(family, larkForms)},
			door{larkDoor + "tools of " + family, i > 0, toolLists,
				spelledTools(family, larkForms)},
			door{"output of " + family, i > 1, outputs, parsed(family)})
	}
	all = append(all, wireDoors()...)
	return append(all,
		door{"json", false, documents, decoded},
		door{"grammar", false, grammars, matched},
		door{"request", false, requests, requested},
		door{"model", false, models, inspected},
		door{"folder", false, folders, surveyed},
		door{"vector", false, vectors, verified},
		door{"script", false, scripts, scripted},
		door{"line of pipe", false, requestsOfPrograms, answeredLine},
		door{"format", false, documentsOfFormats, read},
		door{"vocabulary", false, vocabularies, vocabulary},
		door{"tokens", false, tokenLists, tokenised},
		door{"report", false, reports, reported},
		door{"results", false, surveyResults, summarised},
		door{"readings", false, readings, picked},
		door{"lock", false, locks, locking},
		door{"repository", false, repositories, chosen},
		door{"listing", false, listings, listed},
		door{"parts of a model", false, parts, joined},
	)
}

// larkDoor begins the names of the doors whose costs are bounded as a whole, and grow faster than
// the input up to there.
const larkDoor = "lark of "

// kinds are families whose arguments are spelled in different ways: as JSON, tagged, nested, as
// keyword arguments and as a dict.
var kinds = []string{"hermes", "qwen3-coder", "minimax-m3", "lfm2", "gemma-4"}
