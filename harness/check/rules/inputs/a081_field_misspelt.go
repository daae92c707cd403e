package inputs

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// FieldMisspelt is the rule A081: the template looks up a field that no request has, and that is
// spelt nearly as one that requests have.
var FieldMisspelt = &probe.Rule{
	Rule: rule.Rule{
		ID: "A081", Name: "field-misspelt", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template reads a misspelt member, which no request has.",
		Damage: "The value never reaches the prompt, and jinja2 reports nothing: a missing " +
			"member is empty text.",
		Fix: "Spell the member as the API does.",
	},
	Find: checkFields,
}

// ofMessages are the names of the protocol that messages have.
var ofMessages = []string{"role", "content", "tool_calls", "tool_call_id", "name",
	"reasoning_content", "reasoning", "thinking", "refusal"}

// ofMessage matches the path of a field of a message.
var ofMessage = regexp.MustCompile(`^messages\[\d+\]\.\w+$`)

func checkFields(s *probe.Subject, find probe.Finder) {
	checkRoleNames(s, find)
	present := map[string]bool{} // names that some request has
	for _, t := range prompts.All.Of(s) {
		note(present, s.Template.ChatTemplate().Vars(t.In))
	}
	read := map[string]bool{} // names that the template finds or asks for
	type slip struct{ name, meant string }
	seen := map[slip]bool{}
	for _, t := range prompts.All.Of(s) {
		for _, r := range t.Seen.Trace.Reads() {
			read[lastKey(r.Path)] = true
		}
	}
	for _, t := range prompts.All.Of(s) {
		for _, r := range t.Seen.Trace.Reads() {
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
				find(probe.Offset(r.First),
					"%s is read, and no request has it; %s may be meant\nrequest: %s",
					r.Path, meant, t.Name)
			}
		}
	}
}

// checkRoleNames looks for a role that is compared with a text which is spelt nearly as a role of
// the protocol; a plural is a name of its own.
func checkRoleNames(s *probe.Subject, find probe.Finder) {
	compared := map[string]string{} // texts, and the first conversation that compares each
	for _, t := range prompts.All.Of(s) {
		for _, c := range t.Seen.Trace.Comparisons() {
			if _, known := compared[c.Literal]; !known && (c.Op == "==" || c.Op == "!=") &&
				ofMessage.MatchString(c.Path) && lastKey(c.Path) == "role" {
				compared[c.Literal] = t.Name
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(compared)) {
		for _, meant := range probe.Roles {
			if slipped(name, meant) && !isPlural(name, meant) {
				find(literal(s, name), "a role is compared with %q, which no message has; %s "+
					"may be meant\nrequest: %s", name, meant, compared[name])
			}
		}
	}
}

// literal is where a text first stands as a literal.
func literal(s *probe.Subject, text string) probe.Where {
	for c := range s.Flow().Strings() {
		if c.Quoted && c.Text == text {
			return probe.Offset(c.Off)
		}
	}
	return probe.Nowhere
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
