package check

import (
	"errors"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// modelLookout is a rule about a model as a whole with the function that looks for its fault.
type modelLookout = rule.Check[*modelSubject, struct{}]

// modelFinder takes the findings of a rule about a model: a sentence, with evidence on further
// lines. Errors in it say where.
type modelFinder func(format string, args ...any)

// anywhere makes of a function whose findings have no place but those of errors one that a lookout
// has.
func anywhere(look func(*modelSubject, modelFinder)) func(*modelSubject, rule.Finder[struct{}]) {
	return func(s *modelSubject, find rule.Finder[struct{}]) {
		look(s, func(format string, args ...any) { find(struct{}{}, format, args...) })
	}
}

// modelRules are the rules about a model. None of them can be suppressed in a template.
var modelRules = slices.Concat(takenRules, vocabularyRules, responseRules)

// takenRules ask which template is taken by whom.
var takenRules = []modelLookout{
	{Rule: rule.Rule{ID: "A050", Name: "loaders-disagree", Severity: rule.Warning,
		Short: "Inference engines take templates from this model that do not do the same.",
		Damage: "A fix in chat_template.jinja never reaches those who read " +
			"tokenizer_config.json or an older GGUF; a model tested with one engine " +
			"fails in another.",
		Fix: "Keep one template: in chat_template.jinja, with named ones " +
			"in additional_chat_templates; convert GGUF files again, or `assay retemplate` them."},
		Group: groupLint, Find: anywhere(checkLoaders)},
	{Rule: rule.Rule{ID: "A051", Name: "tools-template-not-taken", Severity: rule.Warning,
		Short: "For requests with tools an engine takes a template without tool support, though " +
			"the model has one with it.",
		Damage: "The model is never told of its tools there, and the gate rejects a model that " +
			"works elsewhere.",
		Fix: "Make the default template support tools, or put the one that does where " +
			"that engine looks."}, Group: groupLint, Find: anywhere(checkToolsTaken)},
	{Rule: rule.Rule{ID: "A052", Name: "template-file-unusable", Severity: rule.Error,
		Short:  "A file that holds chat templates cannot be read, or contradicts another one.",
		Damage: "Engines refuse to load the model, or go on silently with another template.",
		Fix:    "The message has the place and the expectation."},
		Group: groupLint, Find: anywhere(checkFiles)},
	{Rule: rule.Rule{ID: "A053", Name: "template-missing", Severity: rule.Error,
		Short:  "The model has no chat template.",
		Damage: "Chat requests are refused, or answered with a template of another model.",
		Fix: "Add the template that the model was trained with: chat_template.jinja, or " +
			"`assay retemplate` for a GGUF."}, Group: groupLint, Find: anywhere(checkMissing)},
	{Rule: rule.Rule{ID: "A054", Name: "loader-finds-none", Severity: rule.Warning,
		Short: "An engine finds no template that it can take, though the model has some.",
		Damage: "Requests are refused there, or the engine falls back to a built-in template " +
			"that the model was not trained with.",
		Fix: "Let one template be the default one, " +
			"in chat_template.jinja."}, Group: groupLint, Find: anywhere(checkFound)},
	{Rule: rule.Rule{ID: "A055", Name: "special-tokens-differ", Severity: rule.Warning,
		Short: "Two files of the model give different texts for the BOS or EOS token.",
		Damage: "The same template renders different prompts, and an engine does not stop where " +
			"the model does.",
		Fix: "Make them equal; a GGUF has to be " +
			"converted again."}, Group: groupLint, Find: anywhere(checkTokens)},
}

// modelSubject is a model while it is checked.
type modelSubject struct {
	*subject.Model
	picks   []modeldir.Pick
	options Options
}

// Model runs the rules about a model, and those about templates on each of its templates, once
// where several are equal.
func Model(m *subject.Model, o Options) []rule.Result {
	all := ModelOnly(m, o)
	for _, src := range Distinct(m) {
		all = append(all, Template(src, o)...)
	}
	return all
}

// Distinct are the templates of a model, each once where several are equal.
func Distinct(m *subject.Model) []subject.Source {
	var all []subject.Source
	for _, src := range m.Sources {
		if !slices.ContainsFunc(all, func(s subject.Source) bool { return same(s, src) }) {
			all = append(all, src)
		}
	}
	return all
}

// ModelOnly runs the rules about a model, without looking for faults of its templates.
func ModelOnly(m *subject.Model, o Options) []rule.Result { return modelResults(m, o, modelRules) }

func modelResults(m *subject.Model, o Options, rules []modelLookout) []rule.Result {
	s := &modelSubject{m, m.Picks(), o}
	var all []rule.Result
	scope := rule.Scope[struct{}]{Suite: m.Path, File: m.Path, Place: s.place}
	for i := range rules {
		if o.runs(rules[i].ID) {
			all = append(all, rules[i].Run(s, scope)...)
		}
	}
	return all
}

// same reports whether two sources have the same text and the same special tokens.
func same(a, b subject.Source) bool { return a.Text == b.Text && a.BOS == b.BOS && a.EOS == b.EOS }

// place is the file that an error is about, with the place there, and the rest of its message; else
// the model.
func (s *modelSubject) place(_ struct{}, err error) (rule.Place, string) {
	for _, at := range positioned(err, nil) {
		if at.Src != nil {
			return rule.At(at.Src.Name, at.Src, at.Off),
				strings.Replace(err.Error(), at.Error(), at.Msg, 1)
		}
	}
	var problem modeldir.Problem
	if errors.As(err, &problem) {
		return rule.Place{File: problem.File}, err.Error()
	}
	return rule.Place{File: s.Path}, err.Error()
}

// disagreement is two templates that are taken for the same requests, and by whom the second one
// is.
type disagreement struct {
	first, second int
	loaders       []string
}

func checkLoaders(s *modelSubject, find modelFinder) {
	var found [2][]disagreement
	for kind := range found {
		found[kind] = s.disagreements(kind == 1)
	}
	for kind, requests := range [...]string{"for requests without tools",
		"for requests with tools"} {
		for _, d := range found[kind] {
			equal := func(o disagreement) bool {
				return o.first == d.first && o.second == d.second &&
					slices.Equal(o.loaders, d.loaders)
			}
			if slices.ContainsFunc(found[1-kind], equal) {
				if kind == 1 {
					continue
				}
				requests = "for all requests"
			}
			class, evidence := s.options.Differ(s.Sources[d.first], s.Sources[d.second])
			if class != "" {
				find("%s %s takes %s, "+
					"and %s %s: %s\n%s", requests, s.picks[0], s.Templates[d.first].ID,
					strings.Join(d.loaders, ", "),
					s.Templates[d.second].ID, class, evidence)
			}
		}
	}
}

// disagreements compares the loaders' choices with that of the first one that takes any.
func (s *modelSubject) disagreements(tools bool) []disagreement {
	var found []disagreement
	first := -1
	for _, p := range s.picks {
		at := choice(p, tools).Template
		switch {
		case at < 0:
		case first < 0:
			first = at
		case at != first && !same(s.Sources[at], s.Sources[first]):
			i := slices.IndexFunc(found,
				func(d disagreement) bool { return same(s.Sources[d.second], s.Sources[at]) })
			if i < 0 {
				i = len(found)
				found = append(found, disagreement{first: first, second: at})
			}
			found[i].loaders = append(found[i].loaders, p.String())
		}
	}
	return found
}

func choice(p modeldir.Pick, tools bool) modeldir.Choice {
	if tools {
		return p.Tools
	}
	return p.Plain
}

// gate asks the gate about a template; one that does not compile is rejected.
func gate(src subject.Source) error {
	t, err := src.Compile()
	if err != nil {
		return err
	}
	return t.Gate().Err()
}

func checkToolsTaken(s *modelSubject, find modelFinder) {
	able := slices.IndexFunc(s.Sources, func(src subject.Source) bool { return gate(src) == nil })
	if able < 0 {
		return
	}
	for _, p := range s.picks {
		if at := p.Tools.Template; at >= 0 && gate(s.Sources[at]) != nil {
			find("%s takes %s, and %s is the one that "+
				"supports tools%s", p, s.Templates[at].ID, s.Templates[able].ID, because(p.Tools))
		}
	}
}

// because is the rule after a choice, for the end of a sentence.
func because(c modeldir.Choice) string {
	if c.Why == "" {
		return ""
	}
	return " (" + c.Why + ")"
}

func checkFiles(s *modelSubject, find modelFinder) {
	for _, p := range s.Problems {
		find("%w", p)
	}
	if why := s.Conflict(); why != "" {
		find("%s", why)
	}
}

func checkMissing(s *modelSubject, find modelFinder) {
	if len(s.Templates) > 0 {
		return
	}
	if len(s.Unread) > 0 {
		find("nothing that was read has one; %d model files were not read", len(s.Unread))
		return
	}
	find("neither %s, %s nor "+
		"a GGUF has one%s", modeldir.JinjaFile, modeldir.TokenizerConfig, s.Hint())
}

func checkFound(s *modelSubject, find modelFinder) {
	if len(s.Templates) == 0 {
		return // A053 says so
	}
	for _, p := range s.picks {
		// A processor may leave the template to its tokenizer, and who converts has no model file
		// yet.
		if p.Loader == modeldir.TransformersProcessor ||
			p.Of == modeldir.Conversion && len(s.Models) > 0 {
			continue
		}
		switch {
		case p.Plain.Template < 0 && p.Tools.Template < 0:
			find("%s: %s", p, p.Plain.Why)
		case p.Plain.Template < 0:
			find("%s, for requests without tools: %s", p, p.Plain.Why)
		case p.Tools.Template < 0:
			find("%s, for requests with tools: %s", p, p.Tools.Why)
		}
	}
}

func checkTokens(s *modelSubject, find modelFinder) {
	for _, token := range []struct {
		name string
		of   func(modeldir.Tokens) string
	}{{"BOS", func(t modeldir.Tokens) string { return t.BOS }},
		{"EOS", func(t modeldir.Tokens) string { return t.EOS }}} {
		first, text := "", ""
		for _, t := range s.Tokens {
			switch is := token.of(t); {
			case is == "":
			case text == "":
				first, text = t.File, is
			case is != text:
				find("%s is %q in %s and %q in %s", token.name, text, first, is, t.File)
			}
		}
	}
}
