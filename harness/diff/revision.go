package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/report"
)

// comparison is one aspect by which revisions are compared.
type comparison = rule.Check[*pair, rule.Place]

// finder takes the changes of an aspect: where in the new revision, and a sentence, with evidence
// on further lines.
type finder = rule.Finder[rule.Place]

// group is the column of all aspects.
const group = "diff"

// comparisons has all aspects in the order of their ids. Severity is the class: error is breaking,
// warning risky, note safe.
var comparisons = []*comparison{
	{Rule: rule.Rule{ID: "D001", Name: "no-longer-compiles", Severity: rule.Error,
		Short: "The new revision does not compile, or " +
			"renders nothing.", Damage: "Every request fails.", Fix: "The message has the place."},
		Group: group, Find: compiles},
	{Rule: rule.Rule{ID: "D002", Name: "capability-lost", Severity: rule.Error,
		Short: "A capability is gone.", Damage: "Requests that worked are refused, " +
			"or lose a part.", Fix: "Bring it back, or " +
			"say so to users."}, Group: group, Find: capsLost},
	{Rule: rule.Rule{ID: "D003", Name: "capability-gained", Severity: rule.Note,
		Short: "A capability is new.", Damage: "None.", Fix: "Nothing to do."}, Group: group,
		Find: capsGained},
	{Rule: rule.Rule{ID: "D004", Name: "format-changed", Severity: rule.Error,
		Short: "The spelling of answers has changed: markers, modes, fields or ids.",
		Damage: "Parsers made for the old revision do not read the new one; a model trained " +
			"on the old spelling sees another one.",
		Fix: "Keep the spelling that the model " +
			"was trained on."}, Group: group, Find: formatChanged},
	{Rule: rule.Rule{ID: "D005", Name: "format-spacing-changed", Severity: rule.Warning,
		Short:  "Only white space beside markers has changed.",
		Damage: "The model sees other tokens than in training; strict parsers fail.",
		Fix: "Keep the white space, unless the " +
			"old one was wrong."}, Group: group, Find: spacingChanged},
	{Rule: rule.Rule{ID: "D006", Name: "generation-prompt-changed", Severity: rule.Error,
		Short: "The generation prompt has changed, or the end of the message before it.",
		Damage: "The answer starts in another state: with reasoning open or closed, or without " +
			"the model's role.",
		Fix: "Keep it, or change the servers that rely on it " +
			"at the same time."}, Group: group, Find: flawsOf(ended)},
	{Rule: rule.Rule{ID: "D007", Name: "prompt-refused", Severity: rule.Error,
		Short: "A conversation that was " +
			"rendered is refused.", Damage: "Requests that worked " +
			"end in an error.", Fix: "Render it."}, Group: group, Find: promptRefused},
	{Rule: rule.Rule{ID: "D008", Name: "prompt-changed", Severity: rule.Warning,
		Short:  "The prompt of a conversation has changed.",
		Damage: "Answers change; cached prefixes are lost.",
		Fix:    "Read the difference and decide."}, Group: group, Find: promptChanged},
	{Rule: rule.Rule{ID: "D009", Name: "prompt-accepted", Severity: rule.Note,
		Short: "A conversation that was " +
			"refused is rendered.", Damage: "None.", Fix: "Nothing to do."}, Group: group,
		Find: promptAccepted},
	{Rule: rule.Rule{ID: "D010", Name: "parse-changed", Severity: rule.Error,
		Short:  "An output is read as another message.",
		Damage: "Outputs of existing models mean something else after the change.",
		Fix:    "Keep the format compatible."}, Group: group, Find: parseChanged},
	{Rule: rule.Rule{ID: "D011", Name: "grammar-changed", Severity: rule.Warning,
		Short:  "The grammars of the two revisions have different languages.",
		Damage: "Constrained decoding forces another spelling.",
		Fix:    "Read the sample and decide."}, Group: group, Find: grammarChanged},
	{Rule: rule.Rule{ID: "D012", Name: "error-introduced", Severity: rule.Error,
		Short: "The automatic checks find an error " +
			"that was not there.", Damage: "See the rule that it names.",
		Fix: "See the rule that it names."}, Group: group, Find: introduced(rule.Error)},
	{Rule: rule.Rule{ID: "D013", Name: "warning-introduced", Severity: rule.Warning,
		Short: "The automatic checks warn of something " +
			"that was not there.", Damage: "See the rule that it names.",
		Fix: "See the rule that it names."}, Group: group, Find: introduced(rule.Warning)},
	{Rule: rule.Rule{ID: "D014", Name: "finding-mended", Severity: rule.Note,
		Short: "The automatic checks no longer " +
			"find something.", Damage: "None.", Fix: "Nothing to do."}, Group: group, Find: mended},
	{Rule: rule.Rule{ID: "D015", Name: "part-no-longer-written", Severity: rule.Error,
		Short:  "A part of a request is no longer written into the prompt.",
		Damage: "The model does not see it, and goes on as if it had not been said.",
		Fix:    "Write the part, or say so to users."}, Group: group, Find: flawsOf(lost)},
	{Rule: rule.Rule{ID: "D018", Name: "part-changed", Severity: rule.Error,
		Short:  "A part of a request is written twice, in another spelling or elsewhere.",
		Damage: "The model sees what nobody said, or as if somebody else had said it.",
		Fix:    "Write the part once, as it was said and where."}, Group: group,
		Find: flawsOf(doubled, respelled, moved)},
	{Rule: rule.Rule{ID: "D019", Name: "frame-changed", Severity: rule.Error,
		Short: "What stands around the parts of a request has changed: a marker, an end, a " +
			"separator, a header, a line feed, or the requests for which a fixed text is written.",
		Damage: "The model sees turns, calls or lists of a form that it was not trained on.",
		Fix:    "Write what the old revision writes there."}, Group: group,
		Find: flawsOf(framed, spaced, condition)},
}

// oldBroken is the rule of an edit whose old revision does not compile; no other rule has something
// to compare then.
var oldBroken = comparison{Rule: rule.Rule{ID: "D016", Name: "old-does-not-compile",
	Severity: rule.Note,
	Short: "The old revision does not compile, so there is nothing " +
		"to compare with.", Damage: "None: it was broken before.",
	Fix: "`assay check` judges the new " +
		"revision alone."}, Group: group, Find: func(p *pair, find finder) {
	find(rule.Place{}, "the old revision does not compile, so there is nothing to "+
		"compare with: %w", p.err)
}}

// notCompared is the rule of an edit that the limits kept from being compared. All that was found
// until then may be due to renders that were refused, so nothing else is reported.
var notCompared = comparison{Rule: rule.Rule{ID: Incomplete, Name: "not-compared",
	Severity: rule.Error,
	Short:    "The limits ended the look at one of the two revisions, so they were not compared.",
	Damage: "Nobody knows the effect of the edit: the template loops, or is meant to keep its " +
		"reader busy.",
	Fix: "Look for loops over loops. An honest template takes some ten thousand steps; " +
		"--limit total=N allows more, for both revisions together."},
	Group: group, Find: func(p *pair, find finder) {
		if err := p.incomplete(); err != nil {
			find(rule.Place{}, "the two have their limits together, and met one: %w", err)
		}
	}}

// Incomplete is the rule of an edit that was not compared.
const Incomplete = "D017"

// incomplete returns why the look at a revision is incomplete, nil where it is not.
func (p *pair) incomplete() error {
	return cmp.Or(p.before.Exhausted(), p.source.Exhausted())
}

// OfFindings are the rules about findings of the automatic checks. Whoever runs those as well has
// no need of them.
var OfFindings = []string{"D012", "D013", "D014"}

// Rules returns the declarations of all aspects.
func Rules() []rule.Rule {
	return append(rule.Declared(comparisons), oldBroken.Rule, notCompared.Rule)
}

// Book has every aspect: docs/reference/change-rules.md.
func Book() *rule.Book {
	return &rule.Book{
		Title: "Rules for changes of templates",
		Intro: "The rules of `assay diff` and `assay check --base`; [gate.md](../gate.md) describes " +
			"how to run them. " +
			"An error is a breaking change and fails, a warning is a risky one, a note a safe one.",
		Rules: Rules(),
	}
}

// pair is two revisions while they are compared.
type pair struct {
	was, is  *engine.Template
	before   subject.Source // of the old one
	source   subject.Source // of the new one
	err      error          // why it does not compile
	cases    []families.Case
	formats  [2]string
	respaced bool                    // the formats differ in white space only
	changed  bool                    // they differ in more
	findings func() [2][]rule.Result // of the automatic checks
	talks    func() []talk
	flaws    func() [flaws]flawed
}

// Compare compares two revisions. Cases are recorded outputs of the family; there may be none.
// Where the limits ended the look at one of them, the only result is that they were not compared.
func Compare(was, is subject.Source, cases []families.Case) []rule.Result {
	p := &pair{cases: cases, before: was, source: is}
	accepted := check.Suppressed(was.Text) // it cannot silence findings that it introduces
	o := check.Options{Accepted: &accepted, Requests: true}
	p.findings = sync.OnceValue(func() [2][]rule.Result {
		return ofBoth(was, is, func(s subject.Source) []rule.Result { return check.Template(s, o) })
	})
	return p.results()
}

func (p *pair) results() []rule.Result {
	results := p.compare()
	if p.incomplete() != nil {
		return notCompared.Run(p, scope(p.source.File, p.source, NotCompared))
	}
	return results
}

func (p *pair) compare() []rule.Result {
	was, is := p.before, p.source
	if p.was, p.err = was.Compile(); p.err != nil {
		return oldBroken.Run(p, scope(was.File, is, Class(rule.Note)))
	}
	p.is, p.err = is.Compile()
	if p.err == nil {
		p.compareFormats()
	}
	p.talks, p.flaws = sync.OnceValue(p.renderTalks), sync.OnceValue(p.findFlaws)
	var results []rule.Result
	for i, c := range comparisons {
		if p.err != nil && i > 0 {
			break
		}
		results = append(results, c.Run(p, scope(is.File, is, Class(c.Severity)))...)
	}
	return results
}

// scope is that of a comparison, whose findings begin with the class of the change.
func scope(file string, is subject.Source, class string) rule.Scope[rule.Place] {
	return rule.Scope[rule.Place]{Suite: is.Name, File: file,
		Place: func(at rule.Place, err error) (rule.Place, string) {
			at.File = cmp.Or(at.File, file)
			return at, class + ": " + err.Error()
		}}
}

// Class is the word for the severity of a change.
func Class(s rule.Severity) string {
	return [...]string{"safe", "risky", "breaking"}[s]
}

// excerpt shows two texts where they part.
func excerpt(was, is string) string {
	return report.Sides("was", was, "is", is)
}

// The classes of differences beside those of changes.
const (
	Identical   = "identical"
	WhiteSpace  = "white space"
	Unseen      = "not observable"
	Broken      = "neither can be used" // there is nothing to compare
	NotCompared = "not compared"        // the limits ended the look at one of them
)

// Difference is how two templates of one model differ.
type Difference struct {
	Class   string        // one of those above, or "safe", "risky", "breaking"
	Changes []rule.Result // the observable changes, the worst first
}

// Between classes how two templates differ, by the class of the worst change from one to the other.
// Equal texts with other special tokens may differ as well. A template that does not compile
// differs from one that does in a way that breaks.
func Between(was, is subject.Source) Difference {
	if was.Same(is) {
		return Difference{Class: Identical}
	}
	if _, err := was.Compile(); err != nil {
		was, is = is, was
	}
	return Change(was, is)
}

// Change classes the edit that makes one template of another, by the class of the worst change. An
// edit that mends a template which did not compile is safe.
func Change(was, is subject.Source) Difference {
	if was.Same(is) {
		return Difference{Class: Identical}
	}
	d := Difference{Class: Unseen}
	if strings.Join(strings.Fields(was.Text), "") == strings.Join(strings.Fields(is.Text), "") {
		d.Class = WhiteSpace
	}
	for _, res := range Compare(was, is, nil) {
		if res.Status != rule.Passed {
			d.Changes = append(d.Changes, res)
		}
	}
	_, err1 := was.Compile()
	_, err2 := is.Compile()
	switch {
	case Incomparable(d.Changes):
		d.Class = NotCompared
		return d
	case err1 != nil && err2 != nil:
		return Difference{Class: Broken}
	}
	slices.SortStableFunc(d.Changes,
		func(a, b rule.Result) int { return cmp.Compare(b.Severity, a.Severity) })
	if len(d.Changes) > 0 {
		d.Class = Class(d.Changes[0].Severity)
	}
	return d
}

// Incomparable reports whether results of [Compare] tell that the two were not compared.
func Incomparable(results []rule.Result) bool {
	return slices.ContainsFunc(results,
		func(res rule.Result) bool { return res.Rule == Incomplete })
}

// Lines lists the changes, a line for each rule: class, rule and the first that it found, without
// the evidence.
func (d Difference) Lines() []string {
	var lines []string
	for i, res := range d.Changes {
		same := func(r rule.Result) bool { return r.Rule == res.Rule }
		if slices.ContainsFunc(d.Changes[:i], same) {
			continue
		}
		class := Class(res.Severity)
		if res.Rule == Incomplete {
			class = NotCompared
		}
		text, _, _ := strings.Cut(strings.TrimPrefix(res.Text, class+": "), "\n")
		line := fmt.Sprintf("%s %s %s: %s", class, res.Rule, res.Name, text)
		more := 0
		for _, r := range d.Changes[i+1:] {
			if same(r) {
				more++
			}
		}
		if more > 0 {
			line += fmt.Sprintf(" (and %d more)", more)
		}
		lines = append(lines, line)
	}
	return lines
}

// Conclusion sums the results of [Compare] up in a line: the class of the worst change and the
// names of all, the worst first, or that nothing changed.
func Conclusion(was, is subject.Source, results []rule.Result) string {
	from := was.Name + " and " + is.Name
	if was.Same(is) {
		return Identical + ": " + from + " are the same template"
	}
	var changes []rule.Result
	for _, res := range results {
		switch {
		case res.Rule == oldBroken.ID:
			return NotCompared + ": " + was.Name + " does not compile"
		case res.Rule == Incomplete:
			return NotCompared + ": the limits ended the look at " + from
		case res.Status != rule.Passed:
			changes = append(changes, res)
		}
	}
	if changes == nil {
		return Unseen + ": " + from + " do the same"
	}
	return summed(changes)
}

// summed is the class of the worst of changes, and the names of all, the worst first.
func summed(changes []rule.Result) string {
	slices.SortStableFunc(changes,
		func(a, b rule.Result) int { return cmp.Compare(b.Level(), a.Level()) })
	var names []string
	for _, res := range changes {
		if !slices.Contains(names, res.Name) {
			names = append(names, res.Name)
		}
	}
	return Class(changes[0].Level()) + ": " + strings.Join(names, ", ")
}
