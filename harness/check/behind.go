package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/repair"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// maxBehind bounds how many broken expressions of a template are replaced one after the other.
const maxBehind = 3

// behind adds to the results of a template what stands behind an expression in which all requests
// of a kind end: the template is judged again with the expression replaced, so that one fault hides
// no other.
func behind(s *probe.Subject, results []rule.Result) []rule.Result {
	var hidden []stretch
	alone := s.Options
	alone.Renderer = nil // another one may not take what was put in place of the expression
	for range maxBehind {
		site, ok := repair.Past(s.Source, end(s, results))
		if !ok {
			return results
		}
		note := fmt.Sprintf("line %d fails first: this was found after replacing %s there",
			probe.PlaceAt(s.Source, site.Off).Line, short(site.Text))
		for _, span := range site.Spans {
			hidden = append(hidden, stretch{probe.PlaceAt(s.Source, span.From),
				probe.PlaceAt(s.Source, span.To)})
		}
		var next *probe.Subject
		var found, judged []rule.Result
		for i, past := range site.Past {
			again := newSubject(past, alone)
			seen := look(again)
			more := fresh(slices.Clone(seen), results, hidden)
			if past.Exhausted() != nil {
				return results
			}
			if i == 0 {
				next, found, judged = again, more, seen
				continue
			}
			found = slices.DeleteFunc(found, func(one rule.Result) bool {
				return !slices.ContainsFunc(more, func(other rule.Result) bool {
					return one.Same(&other)
				})
			})
			if len(found) == 0 {
				break
			}
		}
		results = settle(results, judged)
		for _, one := range found {
			one.Add(note)
			results = insert(results, one)
		}
		s = next
	}
	return results
}

// stretch is a part of a template, from one place up to another.
type stretch struct{ from, to rule.Place }

// has reports whether a place is in the stretch.
func (h stretch) has(p rule.Place) bool {
	after := func(a, b rule.Place) bool {
		return a.Line > b.Line || a.Line == b.Line && a.Col >= b.Col
	}
	return p.Part == h.from.Part && after(p, h.from) && after(h.to, p)
}

// short is the text of an expression in a line.
func short(text string) string {
	const most = 60
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return "`" + text + "`"
}

// fresh are the findings among the results of another look that are not among the results so far,
// and are not about a place that was replaced. The proof of a format is void where a text is not
// the template's own.
func fresh(again, results []rule.Result, hidden []stretch) []rule.Result {
	return slices.DeleteFunc(again, func(one rule.Result) bool {
		return !one.IsFinding() || ofProof(one) ||
			slices.ContainsFunc(hidden, func(h stretch) bool { return h.has(one.Place) }) ||
			slices.ContainsFunc(results, func(known rule.Result) bool {
				return known.Same(&one) || known.IsFinding() && known.Rule == one.Rule &&
					known.Place.Line > 0 && known.Place == one.Place
			})
	})
}

// ofProof reports whether a result is about the format that a template shows.
func ofProof(r rule.Result) bool {
	return r.Group != probe.GroupCompile && r.Group != rule.Lint
}

// settle takes the reasons why rules could not be judged out of the results of those that another
// look judges. The proof of a format stays as it was: it is void there.
func settle(results, again []rule.Result) []rule.Result {
	settled := make([]rule.Result, 0, len(results))
	for i, r := range results {
		same := func(o rule.Result) bool { return o.Rule == r.Rule }
		switch at := slices.IndexFunc(again, same); {
		case r.Status != rule.Unjudged || at < 0 || ofProof(r) ||
			slices.ContainsFunc(again, func(o rule.Result) bool {
				return same(o) && o.Status == rule.Unjudged
			}):
			settled = append(settled, r)
		case i == 0 || !same(results[i-1]):
			r.Status, r.Severity, r.Text = rule.Passed, rule.Note, ""
			r.Place = rule.Place{File: r.Place.File}
			settled = append(settled, r)
		}
	}
	return settled
}

// insert puts a finding behind the results of its rule.
func insert(results []rule.Result, one rule.Result) []rule.Result {
	at := len(results)
	for i, known := range results {
		if known.Rule == one.Rule {
			at = i + 1
		}
	}
	if at > 0 && results[at-1].Rule == one.Rule && results[at-1].Status == rule.Passed {
		results[at-1] = one
		return results
	}
	return slices.Insert(results, at, one)
}

// end is the error in which a template ends on all requests of a kind, or on all that a rule wants
// to know: one that a finding is about, where there is one, so that none is passed over. nil: there
// is none. What the template words itself is no such error.
func end(s *probe.Subject, results []rule.Result) error {
	ends := []error{s.Err}
	if s.Template != nil {
		if ends = s.Rules.Reasons(); s.Options.Only == nil {
			ends = append(ends, ended(s)...)
		}
	}
	ends = slices.DeleteFunc(ends, func(err error) bool { return !planless(s, err) })
	first := slices.IndexFunc(ends, func(err error) bool {
		at, _ := probe.Place(s.Source, err)
		return slices.ContainsFunc(results, func(r rule.Result) bool {
			return r.IsFinding() && r.Place == at
		})
	})
	if len(ends) == 0 {
		return nil
	}
	return ends[max(0, first)]
}

// ended are the errors in which most conversations with a message of a kind end, where none with
// one renders.
func ended(s *probe.Subject) (ends []error) {
	alive := map[conversation.Kind]bool{}
	places := map[conversation.Kind]map[int]int{} // how often each kind ends at a place
	for _, t := range prompts.All.Of(s) {
		at := (*source.Error)(nil)
		for _, k := range t.Kinds {
			alive[k] = alive[k] || t.Err == nil
			if places[k] == nil {
				places[k] = map[int]int{}
			}
			if errors.As(t.Err, &at) {
				places[k][at.Off]++
			}
		}
	}
	for _, t := range prompts.All.Of(s) {
		at := (*source.Error)(nil)
		if !errors.As(t.Err, &at) {
			continue
		}
		if slices.ContainsFunc(t.Kinds, func(k conversation.Kind) bool {
			most := slices.Max(slices.Collect(maps.Values(places[k])))
			return !alive[k] && places[k][at.Off] == most
		}) {
			ends = append(ends, t.Err)
		}
	}
	return ends
}

// planless reports whether an error has a place in a template, which did not mean to raise it.
func planless(s *probe.Subject, err error) bool {
	var at *source.Error
	return errors.As(err, &at) && at.Src != nil && at.Src.Name == s.Source.Name &&
		!probe.Worded(err)
}
