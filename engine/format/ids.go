package format

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// IDs is a set of ids of calls: those that a template takes and writes as they are (T7). The zero
// value is the set of all.
//
// A grammar writes no id outside of the set, since the template would refuse the model's own answer
// as a part of the next prompt. A parser reads any id all the same.
type IDs struct {
	// Characters are the ASCII characters of an id, as ranges and single ones: "-0-9A-Z_a-z". A '-'
	// stands first. Empty: any.
	Characters string
	Min, Max   int // of the length in characters; 0: no bound
}

// IsZero reports whether the set is that of all ids.
func (s IDs) IsZero() bool { return s == IDs{} }

// Has reports whether an id is in the set. An empty id is in no set but that of all ids.
func (s IDs) Has(id string) bool {
	if s.IsZero() {
		return true
	}
	if n := utf8.RuneCountInString(id); n < max(s.Min, 1) || s.Max > 0 && n > s.Max {
		return false
	}
	for i := range len(id) {
		if !s.HasByte(id[i]) {
			return false
		}
	}
	return true
}

// HasByte reports whether a byte stands in ids of the set.
func (s IDs) HasByte(c byte) bool {
	if s.Characters == "" {
		return true
	}
	for rest := s.Characters; rest != ""; {
		last := rest[0]
		n := 1
		if len(rest) > 2 && rest[1] == '-' {
			last, n = rest[2], 3
		}
		if rest[0] <= c && c <= last {
			return true
		}
		rest = rest[n:]
	}
	return false
}

// Check returns an error where the set is written otherwise than it must be.
func (s IDs) Check() error {
	for i := range len(s.Characters) {
		if c := s.Characters[i]; c <= ' ' || c > '~' || strings.IndexByte(`]\^"'`, c) >= 0 {
			return fmt.Errorf("expected characters such as 0-9A-Za-z, found %q", c)
		}
	}
	for rest := s.Characters; rest != ""; {
		switch {
		case len(rest) > 2 && rest[1] == '-' && rest[2] < rest[0]:
			return fmt.Errorf("the range %s is backwards", rest[:3])
		case len(rest) > 2 && rest[1] == '-':
			rest = rest[3:]
		default:
			rest = rest[1:]
		}
	}
	if s.Min < 0 || s.Max < 0 || s.Max > 0 && s.Max < s.Min {
		return fmt.Errorf("no id has %d characters at least and %d at most", s.Min, s.Max)
	}
	return nil
}

// String returns the length and the characters: "9 characters of 0-9A-Za-z", "1 to 40 characters",
// "any".
func (s IDs) String() string {
	if s.IsZero() {
		return "any"
	}
	text := "characters"
	switch {
	case s.Max > 0 && s.Max == s.Min:
		text = fmt.Sprintf("%d characters", s.Max)
	case s.Max > 0:
		text = fmt.Sprintf("%d to %d characters", max(s.Min, 1), s.Max)
	case s.Min > 1:
		text = fmt.Sprintf("%d or more characters", s.Min)
	}
	if s.Characters != "" {
		text += " of " + s.Characters
	}
	return text
}
