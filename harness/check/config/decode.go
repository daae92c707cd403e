package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/config/document"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/spelling"
)

// shape is what the value of a setting is.
type shape uint8

const (
	truth     shape = iota
	word            // a string
	words           // a list of strings
	wordLists       // a table of such lists
	wordWords       // a table of strings
)

// setting is a setting as data, for the decoder and for the schema.
type setting struct {
	name, about string
	shape       shape
	of          vocable // its strings, or those of its lists
	keys        vocable // of a table
	take        func(*Settings, *document.Value)
}

// vocable is a kind of words: what they are called, which there are, and how they are judged.
type vocable struct {
	what  string                         // "a rule"
	names func(*Vocabulary) []string     // nil: any
	right func(*Vocabulary, string) bool // nil: one of names
}

var (
	ruleWord = vocable{what: "a rule (an id, the beginning of one, a name, or all)",
		names: (*Vocabulary).named,
		right: func(v *Vocabulary, word string) bool {
			return slices.ContainsFunc(v.Rules,
				func(r rule.Rule) bool { return Selects(word, r) > 0 })
		}}
	oneRule = vocable{what: "the id or the name of a rule", names: (*Vocabulary).named,
		right: func(v *Vocabulary, word string) bool { _, ok := v.rule(word); return ok }}
	pattern = vocable{what: "a pattern of paths, such as vendor/** or *.j2",
		right: func(_ *Vocabulary, word string) bool {
			return word != "" && doublestar.ValidatePattern(word)
		}}
	severityWord = vocable{what: "a severity", names: severities}
	failWord     = vocable{what: "a severity or " + Never,
		names: func(v *Vocabulary) []string { return append(severities(v), Never) }}
	engineWord = vocable{what: "an engine",
		names: func(v *Vocabulary) []string { return v.Engines },
		right: func(v *Vocabulary, word string) bool {
			return slices.ContainsFunc(v.Engines,
				func(name string) bool { return strings.EqualFold(name, word) })
		}}
	clientWord = vocable{what: "a client", names: func(v *Vocabulary) []string { return v.Clients }}
	formatWord = vocable{what: "a form of the report",
		names: func(v *Vocabulary) []string { return v.Formats }}
	nonempty = vocable{right: func(_ *Vocabulary, word string) bool { return word != "" }}
)

func severities(*Vocabulary) []string {
	return []string{rule.Error.String(), rule.Warning.String(), rule.Note.String()}
}

// rule returns the rule of an id, in any case, or of a name.
func (v *Vocabulary) rule(word string) (rule.Rule, bool) {
	book := rule.Book{Rules: v.Rules}
	return book.Lookup(word)
}

// settings has every setting, in the order of the documents.
var settings = []setting{
	{name: "select", shape: words, of: ruleWord,
		about: "The rules that run; all where it is missing.",
		take:  func(s *Settings, v *document.Value) { s.Select = texts(v) }},
	{name: "ignore", shape: words, of: ruleWord,
		about: "The rules whose findings are left out. A rule that select names more closely stays.",
		take:  func(s *Settings, v *document.Value) { s.Ignore = texts(v) }},
	{name: "per-file-ignores", shape: wordLists, of: ruleWord, keys: pattern,
		about: "The rules whose findings are left out of some files, by patterns of paths.",
		take: func(s *Settings, v *document.Value) {
			for _, k := range v.Keys {
				s.PerFileIgnores = append(s.PerFileIgnores, FileIgnores{k.Name, texts(k.Value)})
			}
		}},
	{name: "exclude", shape: words, of: pattern,
		about: "Patterns of files and folders that are not judged.",
		take:  func(s *Settings, v *document.Value) { s.Exclude = texts(v) }},
	{name: "severities", shape: wordWords, of: severityWord, keys: oneRule,
		about: "The severities of rules, where they are not the rules' own.",
		take: func(s *Settings, v *document.Value) {
			s.Severities = map[string]rule.Severity{}
			for _, k := range v.Keys {
				var severity rule.Severity
				if severity.UnmarshalText([]byte(k.Value.Text)) == nil {
					s.Severities[k.Name] = severity
				}
			}
		}},
	{name: "engines", shape: words, of: engineWord,
		about: "The engines that the templates are for; all where it is missing.",
		take:  func(s *Settings, v *document.Value) { s.Engines = texts(v) }},
	{name: "clients", shape: words, of: clientWord,
		about: "The clients whose requests are tried; all stands for every client.",
		take:  func(s *Settings, v *document.Value) { s.Clients = texts(v) }},
	{name: "base", shape: word, of: nonempty,
		about: "The commit of git to compare with: only what is new since then fails.",
		take:  func(s *Settings, v *document.Value) { s.Base = v.Text }},
	{name: "baseline", shape: word, of: nonempty,
		about: "The file of accepted findings that --write-baseline writes, by its path from here.",
		take:  func(s *Settings, v *document.Value) { s.Baseline = v.Text }},
	{name: "require-tools", shape: truth,
		about: "Fail where no template of an argument is tool-capable and verified.",
		take:  func(s *Settings, v *document.Value) { s.RequireTools = v.True }},
	{name: "format", shape: word, of: formatWord,
		about: "The form of the report.",
		take:  func(s *Settings, v *document.Value) { s.Format = v.Text }},
	{name: "fail-on", shape: word, of: failWord,
		about: "The least severity that fails the check.",
		take:  func(s *Settings, v *document.Value) { s.FailOn = v.Text }},
}

// texts are the strings of a list.
func texts(list *document.Value) []string {
	return lists.Map(list.Items, func(item *document.Value) string { return item.Text })
}

// Names returns the names of all settings.
func Names() []string {
	return lists.Map(settings, func(s setting) string { return s.name })
}

// Parse reads the text of a settings file; ok is false for a pyproject.toml that says nothing of
// this program. The error is a [source.Error], or [Errors].
func (v *Vocabulary) Parse(src *source.Source) (s *Settings, ok bool, err error) {
	root, err := document.Parse(src)
	if err != nil {
		return nil, true, err
	}
	s = &Settings{File: src.Name, origins: map[string]string{}}
	if strings.HasSuffix(src.Name, Pyproject) {
		if root = root.Field("tool"); root != nil {
			root = root.Field("assay")
		}
		if root == nil {
			return nil, false, nil
		}
	}
	d := &decoder{Vocabulary: v, src: src}
	d.table(s, root)
	if len(d.wrong) > 0 {
		return nil, true, d.wrong
	}
	return s, true, nil
}

// decoder reads settings, and gathers those that are wrong.
type decoder struct {
	*Vocabulary
	src   *source.Source
	wrong Errors
}

func (d *decoder) errorf(off int, format string, args ...any) {
	d.wrong = append(d.wrong, source.Errorf(d.src, off, format, args...))
}

// table reads the table with all settings.
func (d *decoder) table(s *Settings, v *document.Value) {
	if !d.is(v, document.Table, "tool.assay", "a table of settings") {
		return
	}
	for _, k := range v.Keys {
		i := slices.IndexFunc(settings, func(s setting) bool { return s.name == k.Name })
		if i < 0 {
			near := spelling.Meant(k.Name, Names())
			if near == "" {
				near = "; expected one of " + strings.Join(Names(), ", ")
			}
			d.errorf(k.Off, "there is no setting %q%s", k.Name, near)
			continue
		}
		if before := len(d.wrong); d.value(&settings[i], k.Value) && len(d.wrong) == before {
			settings[i].take(s, d.canonical(&settings[i], k.Value))
			s.origins[k.Name] = fmt.Sprintf("%s:%d", d.src.Name, d.src.Position(k.Off).Line)
		}
	}
}

// value judges the value of a setting, and reports whether it has the right shape.
func (d *decoder) value(s *setting, v *document.Value) bool {
	switch s.shape {
	case truth:
		return d.is(v, document.Truth, s.name, string(document.Truth))
	case word:
		return d.word(s.name, v, s.of)
	case words:
		return d.list(s.name, v, s.of)
	}
	kind := "a table from " + s.keys.what + " to a list of strings"
	if s.shape == wordWords {
		kind = "a table from " + s.keys.what + " to " + s.of.what
	}
	if !d.is(v, document.Table, s.name, kind) {
		return false
	}
	for _, k := range v.Keys {
		d.right(s.name, k.Name, k.Off, s.keys)
		if name := s.name + "." + k.Name; s.shape == wordLists {
			d.list(name, k.Value, s.of)
		} else {
			d.word(name, k.Value, s.of)
		}
	}
	return true
}

// canonical gives the keys of severities the ids of their rules.
func (d *decoder) canonical(s *setting, v *document.Value) *document.Value {
	if s.shape == wordWords {
		for i := range v.Keys {
			r, _ := d.rule(v.Keys[i].Name)
			v.Keys[i].Name = r.ID
		}
	}
	return v
}

// is reports whether a value is of a kind, and notes an error where it is not.
func (d *decoder) is(v *document.Value, kind document.Kind, name, expected string) bool {
	if v.Kind != kind {
		d.errorf(v.Off, "%s is %s, expected %s", name, v.Kind, expected)
	}
	return v.Kind == kind
}

func (d *decoder) word(name string, v *document.Value, of vocable) bool {
	expected := "a string"
	if of.what != "" {
		expected = of.what
	}
	return d.is(v, document.Text, name, expected) && d.right(name, v.Text, v.Off, of)
}

func (d *decoder) list(name string, v *document.Value, of vocable) bool {
	if !d.is(v, document.List, name, "a list of strings, each "+of.what) {
		return false
	}
	all := true
	for _, item := range v.Items {
		all = d.word(name, item, of) && all
	}
	return all
}

// right reports whether a word is one of a kind, and notes an error where it is not.
func (d *decoder) right(name, text string, off int, of vocable) bool {
	err := d.Vocabulary.wrong(name, text, of)
	if err != nil {
		d.errorf(off, "%v", err)
	}
	return err == nil
}

// wrong returns an error where a word is not one of a kind.
func (v *Vocabulary) wrong(name, text string, of vocable) error {
	var names []string
	if of.names != nil {
		names = of.names(v)
	}
	if of.right != nil && of.right(v, text) || of.right == nil && slices.Contains(names, text) {
		return nil
	}
	expected := of.what
	switch {
	case expected == "":
		expected = "a string that is not empty"
	case len(names) > 0 && len(names) < 20:
		expected += " (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Errorf("%s: expected %s, found %q%s", name, expected, text,
		spelling.Meant(text, names))
}
