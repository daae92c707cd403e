package report

import (
	"slices"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
)

// Names and texts of strangers have any length; a report shows so many bytes of them.
const (
	maxName   = 300
	maxText   = 16 << 10
	maxDetail = 256 << 10
)

// bounded returns the report as every form shows it: without the rest of texts that are too long.
// The report itself where none is.
func (r *Report) bounded() *Report {
	long := func(res rule.Result) bool {
		changed := res
		return cutResult(&changed)
	}
	cutLine := func(line string) bool { return len(line) > maxText }
	if !slices.ContainsFunc(r.Results, long) && !slices.ContainsFunc(r.Conclusions, cutLine) &&
		len(r.Verdict) <= maxText {
		return r
	}
	short := *r
	short.Results, short.Conclusions = Shown(r.Results), slices.Clone(r.Conclusions)
	for i := range short.Conclusions {
		cut(&short.Conclusions[i], maxText)
	}
	cut(&short.Verdict, maxText)
	return &short
}

// Shown returns results without the rest of texts that are too long, as every report has them.
func Shown(results []rule.Result) []rule.Result {
	short := slices.Clone(results)
	for i := range short {
		cutResult(&short[i])
	}
	return short
}

// cutResult cuts the texts of a result, and reports whether one was too long.
func cutResult(res *rule.Result) bool {
	long := false
	for _, text := range []*string{&res.Suite, &res.Group, &res.Name, &res.Rule, &res.Place.File,
		&res.Place.Part} {
		long = cut(text, maxName) || long
	}
	long = cut(&res.Place.Excerpt, maxName) || long
	long = cut(&res.Text, maxText) || long
	if !slices.ContainsFunc(res.Details,
		func(d rule.Detail) bool {
			return len(d.Prompt) > maxDetail || len(d.Output) > maxDetail
		}) {
		return long
	}
	res.Details = slices.DeleteFunc(slices.Clone(res.Details),
		func(d rule.Detail) bool { return len(d.Prompt) > maxDetail || len(d.Output) > maxDetail })
	return true
}

// cut cuts a text to a number of bytes, and describes how many are left out.
func cut(text *string, limit int) bool {
	if len(*text) <= limit {
		return false
	}
	*text = source.Cut(*text, limit)
	return true
}
