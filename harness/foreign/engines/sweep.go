package engines

import (
	"context"
	"strings"

	"github.com/goassay/assay/harness/corpus/families"
)

// Sweep puts the cases of a corpus to engines.
type Sweep struct {
	Corpus    *families.Corpus
	Only      string     // families whose name contains it; "": all
	Emitted   bool       // nothing but the objects that assay emits, to engines that take them
	Published *Published // gets the engines' readings of templates; nil: nothing does
	Date      string     // of the readings, as 2026-01-31
	// Done takes the results of a family.
	Done func(family string, choice Choice, results []Result) error
}

// Run puts the cases to an engine.
func (s *Sweep) Run(ctx context.Context, a *Adapter) error {
	if s.Published != nil && a.Parses() {
		s.Published.Begin(a.Description, s.Date)
	}
	for i := range s.Corpus.Families {
		f := &s.Corpus.Families[i]
		if !strings.Contains(f.Name, s.Only) || len(f.Cases) == 0 {
			continue
		}
		choice, results, err := s.family(ctx, a, f)
		if err == nil {
			err = s.Done(f.Name, choice, results)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Sweep) family(ctx context.Context, a *Adapter, f *families.Family) (choice Choice,
	results []Result, err error) {
	t, cases, err := CorpusCases(s.Corpus, f)
	take := func(res Result) { results = append(results, res) }
	if err == nil && !s.Emitted && a.Parses() {
		if choice, err = a.Pick(ctx, t); err == nil {
			if s.Published != nil {
				s.Published.Add(a.Engine, f.Name, t, choice)
			}
			err = a.Run(ctx, t, cases, choice, take)
		}
	}
	if err == nil && !s.Emitted && a.Renders {
		var prompts []Prompt
		if prompts, err = CorpusPrompts(t, f.Name, cases); err == nil {
			err = a.RunPrompts(ctx, t, prompts, take)
		}
	}
	if err == nil && a.TakesResponseTemplate {
		err = a.RunEmitted(ctx, t, cases, take)
	}
	return choice, results, err
}
