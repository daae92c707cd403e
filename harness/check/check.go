package check

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/rules"
	"github.com/goassay/assay/harness/check/rules/account"
	"github.com/goassay/assay/harness/check/rules/calls"
	clientrules "github.com/goassay/assay/harness/check/rules/clients"
	"github.com/goassay/assay/harness/check/rules/compile"
	"github.com/goassay/assay/harness/check/rules/conditions"
	"github.com/goassay/assay/harness/check/rules/content"
	"github.com/goassay/assay/harness/check/rules/encoders"
	"github.com/goassay/assay/harness/check/rules/history"
	"github.com/goassay/assay/harness/check/rules/inputs"
	"github.com/goassay/assay/harness/check/rules/lists"
	"github.com/goassay/assay/harness/check/rules/markers"
	"github.com/goassay/assay/harness/check/rules/model"
	"github.com/goassay/assay/harness/check/rules/notation"
	"github.com/goassay/assay/harness/check/rules/program"
	"github.com/goassay/assay/harness/check/rules/proof"
	"github.com/goassay/assay/harness/check/rules/reasoning"
	"github.com/goassay/assay/harness/check/rules/requests"
	"github.com/goassay/assay/harness/check/rules/rounds"
	"github.com/goassay/assay/harness/check/rules/suppression"
	"github.com/goassay/assay/harness/check/rules/turns"
	"github.com/goassay/assay/harness/check/rules/values"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/clients"
)

// templateRules are the rules that run on every template, in the order in which they run and
// report.
var templateRules = inOrder(slices.Concat(account.Rules, calls.Rules, compile.Rules,
	conditions.Rules, content.Rules, history.Rules, inputs.Rules, lists.Rules, markers.Rules,
	notation.Rules, program.Rules, proof.Rules, reasoning.Rules, requests.Rules, rounds.Rules,
	suppression.Rules, turns.Rules, values.Rules))

// last has the rules that need the results of all others: whether a suppression was needed, and
// whether the renders met their limit.
var last = []*probe.Rule{suppression.SuppressionInvalid, suppression.SuppressionUnused,
	compile.TooCostly}

// inOrder sorts rules as they run: by their ids, with the last ones at the end.
func inOrder(rules []*probe.Rule) []*probe.Rule {
	slices.SortFunc(rules, func(a, b *probe.Rule) int {
		return cmp.Or(cmp.Compare(slices.Index(last, a), slices.Index(last, b)),
			strings.Compare(a.ID, b.ID))
	})
	return rules
}

// Groups returns the groups in the order of the columns.
func Groups() []string {
	return []string{probe.GroupCompile, probe.GroupVerify, probe.GroupStream, probe.GroupLeak,
		probe.GroupGrammar, rule.Lint}
}

// Rules returns the declarations of all rules, in the order of their ids.
func Rules() []rule.Rule {
	all := slices.Concat(rule.Declared(templateRules), rule.Declared(model.Rules),
		rule.Declared(clientrules.Rules), rule.Declared(encoders.Rules),
		[]rule.Rule{compile.ToolsRequired.Rule})
	slices.SortFunc(all, func(a, b rule.Rule) int { return strings.Compare(a.ID, b.ID) })
	for i := range all {
		all[i].Example = rules.Examples()[all[i].ID]
	}
	return all
}

// Options control how a template is checked.
type Options = probe.Options

// Template runs all rules on a template, and again behind what hides a part of it. A rule gives one
// result that passed, or one for each finding. Options that name rules leave out the results of the
// others: what hides a part of the template is for all of them to find. Rules that only read a
// template run alone.
func Template(src subject.Source, o Options) []rule.Result {
	whole := o
	if slices.ContainsFunc(o.Only, func(id string) bool { return !slices.Contains(Static(), id) }) {
		whole.Only = nil
	}
	s := newSubject(src, whole)
	return slices.DeleteFunc(behind(s, look(s)), func(r rule.Result) bool {
		return !o.Runs(r.Rule) && (r.Rule != probe.TooCostly || !r.IsFinding())
	})
}

// Finder returns a function that reports whether a rule finds its fault in a template, by that rule
// alone: what hides a part of the template is seen where it keeps a rule that was asked for from
// judging. What several rules want to know of the template is found once.
func Finder(src subject.Source) func(id string) bool {
	once := sync.OnceValue(func() *probe.Subject { return newSubject(src, Options{}) })
	return func(id string) bool {
		s := once()
		s.Options.Only = []string{id}
		results := look(s)
		if slices.ContainsFunc(results, func(r rule.Result) bool {
			return r.Status == rule.Unjudged
		}) {
			results = behind(s, results)
		}
		return slices.ContainsFunc(results, func(r rule.Result) bool {
			return r.Rule == id && r.IsFinding()
		})
	}
}

// look runs all rules on a template as it is.
func look(s *probe.Subject) []rule.Result {
	o := s.Options
	var results []rule.Result
	for _, r := range templateRules {
		if s.Template != nil && s.Template.Exhausted() != nil {
			break // the later ones would be void, too
		}
		switch {
		case !o.Runs(r.ID) || s.Template == nil && r.Group != probe.GroupCompile:
		case r.Sized && o.Known != nil:
			for _, res := range o.Known {
				if res.Rule == r.ID {
					results = append(results, res)
				}
			}
		default:
			results = append(results, s.Rules.Run(r)...)
		}
	}
	if s.Template == nil || s.Template.Exhausted() == nil {
		return results
	}
	results = nil // the findings are due to renders that were refused
	for _, r := range templateRules {
		switch {
		case r == compile.TooCostly: // whatever was asked for, else nothing would tell
			results = append(results, s.Rules.Run(r)...)
		case !o.Runs(r.ID):
		case r.Group == probe.GroupCompile:
			results = append(results, s.Rules.Run(r)...)
		default:
			results = append(results, s.Rules.Unjudged(r, probe.Nowhere, probe.ErrCut)...)
		}
	}
	return results
}

// newSubject returns a template to be checked by all rules.
func newSubject(src subject.Source, o Options) *probe.Subject {
	s := probe.New(src, o, templateRules)
	s.Standing = standing
	return s
}

// standing tells what a suppression of a rule does.
func standing(id string) probe.Standing {
	named := func(r rule.Rule) bool { return r.ID == id }
	switch i := slices.IndexFunc(templateRules, func(r *probe.Rule) bool { return r.ID == id }); {
	case slices.ContainsFunc(rule.Declared(model.Rules), named):
		return probe.OfModel
	case id == compile.ToolsRequired.ID:
		return probe.Unsuppressible
	case i < 0:
		return probe.Unknown
	case templateRules[i].Unsuppressible:
		return probe.Unsuppressible
	}
	return probe.Suppressible
}

// Suppressed returns the rules that the comments of a template suppress. In a gate, a new revision
// may suppress those rules that the accepted one suppresses ([Options].Accepted).
func Suppressed(text string) []string {
	var ids []string
	for _, sup := range probe.SuppressionsIn(text, nil) {
		if sup.Reason != "" {
			ids = append(ids, sup.Rule)
		}
	}
	return ids
}

// Static returns the ids of the rules that only read a template, and render nothing.
func Static() []string {
	var ids []string
	for _, r := range templateRules {
		if r.Static {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// ToolCapable runs the rule that demands support of tools on one of the templates that come
// together: the first that passes the gate, else the first.
func ToolCapable(together []subject.Source, o Options) []rule.Result {
	i := slices.IndexFunc(together, func(src subject.Source) bool {
		t, err := src.Compile()
		return err == nil && t.Gate().Pass()
	})
	s := probe.New(together[max(0, i)], o, []*probe.Rule{compile.ToolsRequired})
	return s.Rules.Run(compile.ToolsRequired)
}

// Clients runs the rules about clients on a template.
func Clients(src subject.Source, o Options, of []clients.Client) []rule.Result {
	s := probe.New(src, o, clientrules.Rules)
	s.Clients = of
	return run(s, clientrules.Rules)
}

// run runs rules that are not those of every template. A template that does not compile has none.
func run(s *probe.Subject, rules []*probe.Rule) (results []rule.Result) {
	for _, r := range rules {
		if s.Options.Runs(r.ID) && s.Template != nil {
			results = append(results, s.Rules.Run(r)...)
		}
	}
	return results
}

// OfClients reports whether a rule runs only on the requests of clients.
func OfClients(id string) bool {
	return slices.ContainsFunc(clientrules.Rules, func(r *probe.Rule) bool { return r.ID == id })
}

// Encoder writes prompts without a template; Encoded is its answer.
type (
	Encoder = probe.Encoder
	Encoded = probe.Encoded
)

// Counts are the conversations of [Against] by how their prompts compare.
type Counts = encoders.Counts

// Against holds a template to an encoder, and counts the conversations. Where the model's special
// tokens are not known, the template gets the encoder's.
func Against(src subject.Source, o Options, e Encoder) ([]rule.Result, Counts) {
	if bos, eos := e.Tokens(); src.StandIns && bos != "" {
		src = src.WithTokens(bos, eos)
	}
	s := probe.New(src, o, encoders.Rules)
	if s.Encoder = e; s.Template == nil {
		return nil, Counts{}
	}
	return run(s, encoders.Rules), encoders.Compared.Of(s).Counts
}

// TurnsOf learns how a template frames its turns, as rule A058 does. The error is that of a
// template that does not compile.
func TurnsOf(src subject.Source, o Options) (*turns.Turns, error) {
	s := newSubject(src, o)
	return turns.Of(s), s.Err
}
