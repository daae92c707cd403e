package growth

import (
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
)

// setting is values of variables that a template reads. The empty one leaves all of them out.
type setting []ordered.Member

func (s setting) String() string {
	text := ""
	for i, m := range s {
		between := ", "
		if i == 0 {
			between = " and "
		}
		text += between + m.Key + " = " + m.Value.String()
	}
	return text
}

// settings are ways to set the switches of a template: all combinations of their values where these
// are few, else one switch at a time, and all of them. A switch is any variable
// that the template reads beside those that each request has. Its values are true, false and the
// texts that it is compared with. A template that names no number that is large has nothing to
// compare a size with, and none of its switches is set.
func settings(s *probe.Subject) []setting {
	if !slices.ContainsFunc(Numbers(s), func(n int) bool { return n >= LeastNumber }) {
		return nil
	}
	values := SwitchesOf(s)
	all := []setting{nil}
	combined := 1
	for _, v := range values {
		combined *= len(v) + 1 // or it is not there
		if combined > mostSettings {
			break
		}
	}
	if combined <= mostSettings {
		for _, v := range values {
			for _, set := range slices.Clone(all) {
				for _, m := range v {
					all = append(all, append(slices.Clip(set), m))
				}
			}
		}
		return all[1:]
	}
	all = nil
	longest := 0
	for _, v := range values {
		longest = max(longest, len(v))
	}
	for i := range longest { // all switches at once, and each of them
		var set setting
		for _, v := range values {
			set = append(set, v[min(i, len(v)-1)])
		}
		all = append(all, set)
	}
	for i := range longest {
		for _, v := range values {
			if i < len(v) {
				all = append(all, setting{v[i]})
			}
		}
	}
	return all[:min(len(all), mostSettings)]
}

// SwitchesOf returns the values to try of each switch of the template under check.
func SwitchesOf(s *probe.Subject) [][]ordered.Member {
	return Switches(s.Template.ChatTemplate().Names(), s.Flow().Compared())
}

// Switches returns the values to try of each switch of a template: names are the variables that it
// reads, and compared has the literals that it compares them with.
func Switches(names []string, compared map[string][]flow.Literal) [][]ordered.Member {
	var all [][]ordered.Member
	for _, name := range names {
		if slices.Contains(given, name) || len(all) == mostSwitches {
			continue
		}
		values := []ordered.Member{ordered.MemberOf(name, ordered.Boolean(true)),
			ordered.MemberOf(name, ordered.Boolean(false))}
		for _, l := range compared[name] {
			i, err := strconv.Atoi(l.Text)
			switch {
			case len(values) == 2+mostTexts:
			case !l.IsNum:
				values = append(values, ordered.MemberOf(name, ordered.Str(l.Text)))
			case err == nil:
				values = append(values, ordered.MemberOf(name, ordered.Int(i)))
			}
		}
		all = append(all, values)
	}
	return all
}

// mostTexts is how many texts that a switch is compared with are tried.
const mostTexts = 3

// given are the variables that each request has, or the dimensions set.
var given = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token",
	"pad_token", "unk_token"}

// Numbers returns the whole numbers that a template names, without those that indent JSON and those
// that it compares with switches alone.
func Numbers(s *probe.Subject) []int {
	all := s.Flow().Numbers(given)
	return all[:min(len(all), mostNumbers)]
}
