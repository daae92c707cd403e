package check

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// fidelityRules ask that text arrives as it was.
var fidelityRules = []lookout{
	{Rule: rule.Rule{ID: "A067", Name: "text-changed", Severity: rule.Warning,
		Short: "A text reaches the prompt with something changed inside it.",
		Damage: "Code loses its indentation or blank lines, a path its backslashes; the " +
			"model quotes a text that nobody wrote.",
		Fix: "Write texts as they are; strip at " +
			"most their edges."}, Group: groupLint, Find: checkChanged},
	{Rule: rule.Rule{ID: "A068", Name: "python-printed", Severity: rule.Warning,
		Short: "Arguments or tools are printed as Python writes values, although the calls of " +
			"the format are JSON.",
		Damage: "The model reads {'city': None, 'now': True} and answers in kind: no parser of JSON takes it.",
		Fix:    "Print values with tojson."}, Group: groupLint, Find: checkPython},
}

// checkChanged compares a text with its form in the prompt: as it is, as JSON writes it, or in
// escapes, which are A029's.
func checkChanged(s *Subject, find finder) {
	if !s.heard(find) {
		return
	}
	seen := map[sort]bool{}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		var found map[origin]int
		for _, l := range t.leaves() {
			if l.Part != conversation.Content && l.Part != conversation.Argument &&
				l.Part != conversation.Description && l.Part != conversation.Reasoning || l.Coded ||
				t.shows(l.Text) {
				continue
			}
			if found == nil {
				found = t.origins()
			}
			at, there := found[originOf(l)]
			of := sort{lost{l, t}.kind(), l.Part}
			if !there || seen[of] || t.escapes(l) {
				continue
			}
			seen[of] = true
			find(t.at(at), "%s is changed: %s became "+
				"%s\nconversation: %s", subjectOf(lost{l, t}), jsonString(l.Text),
				jsonString(t.written(l.Path)), t.Name)
		}
	}
}

// written is all text of a prompt that came from a path.
func (t *talked) written(path string) string {
	var b strings.Builder
	at := 0
	for _, r := range t.o.Runs {
		if r.Path == path && r.Role == jinja.FromValue {
			b.WriteString(t.text[at : at+r.Len])
		}
		at += r.Len
	}
	return b.String()
}

// escapes reports whether a leaf is written in a code that has escapes of its own.
func (t *talked) escapes(l conversation.Leaf) bool {
	for _, r := range t.o.Runs {
		if r.Path == l.Path && r.Role == jinja.FromValue && r.Codec != jinja.Plain {
			return true
		}
	}
	return false
}

// doublyQuoted reports whether the template itself writes keys around the arguments of a call as
// JSON does.
func (s *Subject) doublyQuoted() bool {
	history, ok := s.spelled()
	return ok && slices.ContainsFunc(history.pieces, func(p piece) bool { return p.quote == '"' })
}

// checkSpellings compares the two forms of arguments: what is JSON in one of them, or in the object
// around them, is JSON in the other.
func (s *Subject) checkSpellings(find finder) {
	object, err := s.withArguments(objectArguments)
	const python = `{'city': 'CITYNEEDLE'`
	if err != nil || !object.has(python) {
		return
	}
	text, err := s.withArguments(stringArguments)
	switch {
	case err == nil && text.has(`{"city": "CITYNEEDLE"`):
		find(object.of(python), "arguments that come as an object are printed as Python does, and "+
			"those that come as text as JSON: %s", object.quote(python))
	case s.doublyQuoted():
		find(object.of(python), "arguments are printed as Python does, in an object that is JSON "+
			"otherwise: %s", object.quote(python))
	}
}

func checkPython(s *Subject, find finder) {
	if s.Template.Caps().ToolCalls {
		s.checkSpellings(find)
	}
	arguments := true // where the format has no code of its own
	for _, c := range s.Template.Analysis().Format.Calls {
		python := c.Body.Kind > format.BodyTagged || c.Object != nil && c.Object.Quote == '\''
		if python && !s.doublyQuoted() {
			return // calls are as Python writes them, and so may tools be
		}
		arguments = arguments && c.Body.Codec == (format.Codec{})
	}
	if !s.heard(find) {
		return
	}
	seen := map[where]bool{}
	for _, t := range s.talks() {
		if t.err != nil {
			continue
		}
		at := 0
		for _, r := range t.o.Runs {
			printed := r.Path == "tools" || strings.HasPrefix(r.Path, "tools[") ||
				arguments && strings.Contains(r.Path, ".arguments")
			if printed && r.Codec == jinja.Python && r.Role == jinja.Structure {
				if w, ok := t.o.Trace.WriteAt(at); ok && !seen[where(w.Off)] {
					seen[where(w.Off)] = true
					find(where(w.Off), "%s is printed as Python does: "+
						"%s\nconversation: %s", r.Path, report.Quote(t.text, at), t.Name)
				}
			}
			at += r.Len
		}
	}
}
