package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/rule"
)

// fieldRules look at the names of the fields that a template reads from a request.
var fieldRules = []lookout{
	{Rule: rule.Rule{ID: "A081", Name: "field-misspelt", Severity: rule.Warning,
		Short: "The template looks up a field that no request has, and that is spelt nearly as " +
			"one that requests have.",
		Damage: "The field's value never reaches the prompt, and jinja2 reports nothing: a " +
			"field that is absent is empty text.",
		Fix: "Spell the field as the protocol does."}, Group: groupLint, Find: checkFields},
}

// protocol has the names of the protocol's fields, and of those that servers and templates have in
// common beside it; a name that differs from one of them by a letter is a slip.
var protocol = []string{
	"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "enable_thinking",
	"thinking", "reasoning_effort", "documents", "tool_choice",
	"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "reasoning",
	"text", "type", "image_url", "input_audio", "refusal",
	"function", "arguments", "id", "description", "parameters", "properties", "required",
	"enum", "items", "strict", "default", "nullable", "title",
	"additionalProperties", "format", "minimum", "maximum", "anyOf", "oneOf", "allOf", "const",
	"return", "returns", "response", "output", "result",
}

// ofMessages are the names of the protocol that messages have.
var ofMessages = []string{"role", "content", "tool_calls", "tool_call_id", "name",
	"reasoning_content", "reasoning", "thinking", "refusal"}

// ofMessage matches the path of a field of a message.
var ofMessage = regexp.MustCompile(`^messages\[\d+\]\.\w+$`)

// roles are the protocol's roles.
var roles = []string{"system", "developer", "user", "assistant", "tool"}

func checkFields(s *Subject, find finder) {
	s.checkRoleNames(find)
	present := map[string]bool{} // names that some request has
	for _, t := range s.talks() {
		note(present, s.Template.ChatTemplate().Vars(t.in))
	}
	read := map[string]bool{} // names that the template finds or asks for
	type slip struct{ name, meant string }
	seen := map[slip]bool{}
	for _, t := range s.talks() {
		for _, r := range t.o.Trace.Reads() {
			read[lastKey(r.Path)] = true
		}
	}
	for _, t := range s.talks() {
		for _, r := range t.o.Trace.Reads() {
			name := lastKey(r.Path)
			if !r.Missing || r.Value || name == "" || present[name] || slices.Contains(protocol,
				name) {
				continue
			}
			names := protocol
			if ofMessage.MatchString(r.Path) {
				names = ofMessages
			}
			for _, meant := range names {
				this := slip{name, meant}
				if seen[this] || !slipped(name, meant) || len(meant) < 4 ||
					read[meant] && (isPlural(name, meant) || isPlural(meant, name)) {
					continue
				}
				seen[this] = true
				find(where(r.First), "%s is looked up, and no request has it; %s is nearly the "+
					"same\nconversation: %s", r.Path, meant, t.Name)
			}
		}
	}
}

// checkRoleNames looks for a role that is compared with a text which is spelt nearly as a role of
// the protocol; a plural is a name of its own.
func (s *Subject) checkRoleNames(find finder) {
	compared := map[string]string{} // texts, and the first conversation that compares each
	for _, t := range s.talks() {
		for _, c := range t.o.Trace.Comparisons() {
			if _, known := compared[c.Literal]; !known && (c.Op == "==" || c.Op == "!=") &&
				ofMessage.MatchString(c.Path) && lastKey(c.Path) == "role" {
				compared[c.Literal] = t.Name
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(compared)) {
		for _, meant := range roles {
			if slipped(name, meant) && !isPlural(name, meant) {
				find(s.literal(name), "a role is compared with %q, which no message has; %s is "+
					"nearly the same\nconversation: %s", name, meant, compared[name])
			}
		}
	}
}

// literal is where a text first stands as a literal.
func (s *Subject) literal(text string) where {
	tree, _ := s.parsed()
	for n := range tree.All() {
		if c, ok := n.(*syntax.Const); ok && c.Kind == syntax.String && c.Text == text {
			return where(c.Offset())
		}
	}
	return nowhere
}

// note notes the names of all members in a value.
func note(names map[string]bool, v ordered.Value) {
	for _, m := range v.Members() {
		names[m.Key] = true
		note(names, m.Value)
	}
	for _, item := range v.Items() {
		note(names, item)
	}
}

// lastKey is the name that a path ends in, "" where it ends in an index.
func lastKey(path string) string {
	if strings.HasSuffix(path, "]") {
		return ""
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}

// slipped reports whether a name is another one with a letter left out, a letter too many, or two
// letters exchanged.
func slipped(name, meant string) bool {
	if len(name)+1 == len(meant) {
		return without(meant, name)
	}
	if len(meant)+1 == len(name) {
		return without(name, meant)
	}
	if len(name) != len(meant) || name == meant {
		return false
	}
	i := 0
	for name[i] == meant[i] {
		i++
	}
	return i+1 < len(name) && name[i] == meant[i+1] && name[i+1] == meant[i] &&
		name[i+2:] == meant[i+2:]
}

// isPlural reports whether name is singular with an "s" more.
func isPlural(name, singular string) bool {
	stem, ok := strings.CutSuffix(name, "s")
	return ok && stem == singular
}

// without reports whether long is short with one letter more.
func without(long, short string) bool {
	i := len(source.CommonPrefix(long, short))
	return long[i+1:] == short[i:]
}
