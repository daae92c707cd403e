package proof

import (
	"fmt"
	"math/rand"
	"slices"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/corpus/split"
)

// SampleNotParsed is the rule A007: a sentence of the grammar is not parsed as calls.
var SampleNotParsed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A007", Name: "sample-not-parsed", Severity: rule.Error, Harm: rule.Misread,
		Short:  "A tool call that the grammar allows is not parsed as a tool call.",
		Damage: "The server holds the model to the grammar, and the client gets a call as content.",
		Fix:    "This is a bug of Assay's parser: please report it with the template.",
	},
	Group: probe.GroupGrammar,
	Find:  checkSamples,
}

// failedCall reports whether a shape with calls failed.
func failedCall(s verify.Shape) bool { return s.Tools && s.Verdict == verify.Failed }

// samples is the number of sentences that are drawn from a grammar.
const samples = 16

func checkSamples(s *probe.Subject, find probe.Finder) {
	if i := slices.IndexFunc(s.Template.Verify().Shapes, failedCall); i >= 0 {
		probe.Unjudged(find, fmt.Errorf("calls are not read back as the template writes "+
			"them: %s", s.Template.Verify().Shapes[i].Name))
		return
	}
	if !s.Template.Analysis().HasCalls() && len(s.Options.Fallbacks) == 0 {
		return
	}
	plan, err := plan(s, codegen.Options{Tools: verify.Tools(), Parallel: true,
		Choice: chat.ToolChoice{Mode: chat.ChoiceRequired}})
	if err != nil {
		find(probe.Nowhere, "no grammar can be made for calls: %w", err)
		return
	}
	grammar, err := plan.Grammar()
	if err != nil {
		find(probe.Nowhere, "no grammar can be made for calls: %w", err)
		return
	} else if grammar == nil {
		find(probe.Nowhere, "no grammar can be made for calls")
		return
	}
	choices := rand.New(rand.NewSource(0))
	sampler, err := gbnf.NewSampler(grammar, choices)
	for seed := range int64(samples) {
		text := ""
		if choices.Seed(seed); err == nil {
			text, err = sampler.Sample()
		}
		if err != nil {
			find(probe.Nowhere, "the grammar for calls makes no call (sample %d): %w", seed, err)
			return
		}
		if answer := split.Feed(stream.NewParser(plan), text, nil,
			chat.FinishStop); answer.Finish != chat.FinishToolCalls {
			find(turn(s, verify.Shape{Tools: true}),
				"a tool call that the grammar allows is not read as one (sample %d)\nthe model "+
					"writes: %q\nit is read as: %s", seed, text, answer.Message.Value())
			return
		}
	}
}
