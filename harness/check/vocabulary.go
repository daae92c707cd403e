package check

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
)

// vocabularyRules compare a model's template with its tokeniser, where one is at hand.
var vocabularyRules = []modelLookout{
	{Rule: rule.Rule{ID: "A100", Name: "bos-by-both", Severity: rule.Warning,
		Short: "The template writes BOS, and the tokeniser adds one of its own accord.",
		Damage: "Prompts begin with two BOS tokens, which the model never saw, wherever text is " +
			"tokenised as usual.",
		Fix: "Let one of them do it: leave bos_token out of the template, or set " +
			"add_bos_token to false.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkBOSByBoth))},
	{Rule: rule.Rule{ID: "A101", Name: "bos-by-none", Severity: rule.Warning,
		Short:  "The model has a BOS token; neither the template nor the tokeniser writes it.",
		Damage: "The model was trained with it, and answers worse without.",
		Fix:    "Begin the template with bos_token.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkBOSByNone))},
	{Rule: rule.Rule{ID: "A102", Name: "end-is-no-stop", Severity: rule.Error,
		Short: "The token that ends a turn is none of those at which a generation stops.",
		Damage: "Answers do not end: the model goes on with turns that it makes up, " +
			"up to the limit.",
		Fix: "Add its id to eos_token_id in generation_config.json; in a GGUF set the " +
			"end-of-turn token.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkEndStops))},
	{Rule: rule.Rule{ID: "A103", Name: "stop-ends-no-turn", Severity: rule.Warning,
		Short:  "No token at which a generation stops ends a turn in the template.",
		Damage: "Training with the template teaches nobody to stop.",
		Fix:    "Write the token at the end of the model's turns.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkStopsEnd))},
	{Rule: rule.Rule{ID: "A104", Name: "marker-in-pieces", Severity: rule.Warning,
		Short:  "A marker falls into several tokens, and a special token is spelled nearly alike.",
		Damage: "The model was trained with the one token and reads the other text as text.",
		Fix:    "Spell the marker as the tokeniser does.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkMarkerPieces))},
	{Rule: rule.Rule{ID: "A105", Name: "header-merges", Severity: rule.Note,
		Short: "The header of an answer ends in text that a tokeniser may join with the answer's.",
		Damage: "The first token of an answer in training is one that a prompt cannot be " +
			"continued with.",
		Fix: "End the header with a special token or a line feed.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkHeaderMerges))},
	{Rule: rule.Rule{ID: "A106", Name: "token-unknown", Severity: rule.Warning,
		Short: "The template writes text that looks like a special token, and the vocabulary " +
			"has no such token.",
		Damage: "It falls into pieces that the model has hardly seen, and anybody's text " +
			"may spell them.",
		Fix: "Add the token to the tokeniser, or write one that it has.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkUnknownTokens))},
	{Rule: rule.Rule{ID: "A107", Name: "ends-disagree", Severity: rule.Warning,
		Short: "The tokeniser's EOS is none of the tokens at which generation_config.json stops.",
		Damage: "Engines that read one of the files stop where those that read the " +
			"other one go on.",
		Fix: "Add the id of eos_token to eos_token_id in generation_config.json.",
	}, Group: groupLint, Find: anywhere(withVocabulary(checkEndsDisagree))},
}

// tokenised is a template of a model with the model's vocabulary.
type tokenised struct {
	*engine.Template
	v      *engine.Vocabulary
	name   string
	prompt string
}

// withVocabulary makes of a function one for a model that has a vocabulary; where there is none, or
// no template that compiles, it finds nothing.
func withVocabulary(look func(*tokenised, modelFinder)) func(*modelSubject, modelFinder) {
	return func(s *modelSubject, find modelFinder) {
		v, err := tokenizer.Vocabulary(s.Path)
		if err != nil || len(v.Tokens()) == 0 {
			return
		}
		for _, src := range Distinct(s.Model) {
			t, err := src.Compile()
			if err != nil {
				continue
			}
			prompt, err := t.Render(standard.Battery()[0].Request)
			if err == nil {
				look(&tokenised{t, v, src.Name, prompt.Text}, find)
			}
		}
	}
}

func checkBOSByBoth(t *tokenised, find modelFinder) {
	if bos := t.v.BOS; bos != "" && t.v.AddsBOS != nil && *t.v.AddsBOS &&
		strings.HasPrefix(t.prompt, bos) {
		find("%s begins prompts with %q, which the tokeniser adds as well", t.name, bos)
	}
}

func checkBOSByNone(t *tokenised, find modelFinder) {
	if bos := t.v.BOS; bos != "" && t.v.AddsBOS != nil && !*t.v.AddsBOS &&
		!strings.HasPrefix(t.prompt, bos) {
		find("%s begins prompts without %q, and the tokeniser does not add it", t.name, bos)
	}
}

// ends returns the added tokens with which the template ends a turn.
func (t *tokenised) ends() (ids []int, texts []string) {
	for _, end := range t.Analysis().Format.End {
		if found := t.v.Scan(strings.Trim(end, format.Space)); len(found) > 0 {
			ids, texts = append(ids, found[0].ID), append(texts, found[0].Text)
		}
	}
	return ids, texts
}

func checkEndStops(t *tokenised, find modelFinder) {
	ids, texts := t.ends()
	if len(t.v.Stops) == 0 || len(ids) == 0 || slices.Contains(t.v.Stops, ids[0]) {
		return
	}
	find(
		"%s ends turns with %q, token %d; generations stop at %v",
		t.name,
		texts[0],
		ids[0],
		t.v.Stops,
	)
}

func checkStopsEnd(t *tokenised, find modelFinder) {
	const answer = "SECONDNEEDLE"
	prompt, err := t.Render(chat.Request{NoGeneration: true, Messages: []ordered.Value{
		chat.MessageOf("user", ordered.Str("FIRSTNEEDLE")),
		chat.MessageOf("assistant", ordered.Str(answer)),
	}})
	_, rest, written := strings.Cut(prompt.Text, answer)
	if err != nil || !written || len(t.v.Stops) == 0 {
		return
	}
	stops := func(m vocab.Match) bool { return slices.Contains(t.v.Stops, m.ID) }
	if ids, _ := t.ends(); !slices.ContainsFunc(t.v.Scan(rest), stops) &&
		(len(ids) == 0 || slices.Contains(t.v.Stops, ids[0])) {
		find("%s writes %q after an answer; generations stop at %v", t.name, rest, t.v.Stops)
	}
}

// bare is a marker without its easily mistaken characters.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" |｜_▁-", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

func checkMarkerPieces(t *tokenised, find modelFinder) {
	seen := map[string]bool{}
	t.Analysis().Format.Literals(func(literal string) string {
		text := strings.Trim(literal, format.Space)
		if _, known := t.v.Find(text); known || seen[text] || len(t.v.Scan(text)) > 0 ||
			bare(text) == "" {
			return literal
		}
		seen[text] = true
		for _, token := range t.v.Tokens() {
			if token.Special && bare(token.Text) == bare(text) {
				find("%s writes %q, and the vocabulary has the token %q", t.name, text, token.Text)
			}
		}
		return literal
	})
}

func checkHeaderMerges(t *tokenised, find modelFinder) {
	header := t.Analysis().Format.Header
	tail := header
	if found := t.v.Scan(header); len(found) > 0 {
		tail = header[found[len(found)-1].End():]
	}
	if tail != "" && !strings.HasSuffix(tail, "\n") {
		find("the header of %s ends in %q", t.name, tail)
	}
}

func checkUnknownTokens(t *tokenised, find modelFinder) {
	seen := map[string]bool{}
	for _, mark := range [...][2]string{{"<|", "|>"}, {"<｜", "｜>"}} {
		rest := t.prompt
		for {
			_, after, ok := strings.Cut(rest, mark[0])
			inner, next, shut := strings.Cut(after, mark[1])
			if !ok || !shut {
				break
			}
			rest = next
			text := mark[0] + inner + mark[1]
			if strings.ContainsAny(inner, " \n<>|｜") || seen[text] {
				continue
			}
			seen[text] = true
			if _, known := t.v.Find(text); !known {
				find("%s writes %q, which is no token of the vocabulary", t.name, text)
			}
		}
	}
}

func checkEndsDisagree(t *tokenised, find modelFinder) {
	eos, ok := t.v.Find(t.v.EOS)
	if ok && len(t.v.Stops) > 0 && !slices.Contains(t.v.Stops, eos.ID) {
		find("eos_token is %q, token %d; generations stop at %v", eos.Text, eos.ID, t.v.Stops)
	}
}
