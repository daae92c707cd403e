package observe

import (
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja"
)

// callIDs finds which ids of calls the template takes, and which of them it writes as they are. The
// ids are tried on a call and its result together, since a template may look at either.
//
// A set is one of lengths and of characters, so that a template that looks at anything else, such
// as a prefix, has a set that is too large. Where the ids that are usual elsewhere are all taken as
// they are, nothing else is tried.
func (o *Observer) callIDs() {
	if o.Turns.Called == nil || o.Facts.Needs.NameInID {
		return
	}
	base := o.Observe(o.Turns.Called.Probe.With(func(p *Probe) { p.Answered = true }))
	if base.Err != nil {
		base = o.Turns.Called
	}
	l := idLab{Observer: o, base: base,
		paths: []string{base.Probe.AnswerPath() + ".tool_calls[0].id",
			base.Probe.path(2) + ".tool_call_id"}}
	if !base.Trace.Read(l.paths[0]) && !base.Trace.Read(l.paths[1]) {
		return
	}
	if l.kept(usualID) && l.kept(usualID[:1]) {
		return
	}
	o.Facts.IDs.Taken = l.set(l.taken)
	o.Facts.IDs.Kept = l.set(l.kept)
}

// usualID is longer than the ids that servers are known to make, and has all of their characters.
const usualID = "Call-_.:ABDEFGHIJKLMNOPQRSTUVWXYZbcdefghijkmnopqrstuvwxyz0123456789"

// idLab tries ids on a conversation with a call and, where the template takes one, its result.
type idLab struct {
	*Observer
	base  *Rendering
	paths []string // of the ids
}

func (l *idLab) with(id string) *Rendering {
	return l.Observe(l.base.Probe.With(func(p *Probe) {
		p.Calls = append([]Call(nil), p.Calls...)
		p.Calls[0].ID = id
	}))
}

// taken reports whether the template renders the conversation with an id.
func (l *idLab) taken(id string) bool { return refusal(l.with(id)) == nil }

// refusal returns the error with which a template refuses a conversation; a limit is none.
func refusal(r *Rendering) error {
	if r.Err == nil || jinja.Class(r.Err) == "LimitError" {
		return nil
	}
	return r.Err
}

// kept reports whether the template writes an id wherever it writes the probes' own, as it is.
func (l *idLab) kept(id string) bool {
	r := l.with(id)
	if r.Err != nil {
		return refusal(r) == nil // a limit says nothing
	}
	for _, path := range l.paths {
		own := l.base.From(path)
		if strings.Contains(own, l.base.Probe.Calls[0].ID) &&
			r.From(path) != strings.ReplaceAll(own, l.base.Probe.Calls[0].ID, id) {
			return false
		}
	}
	return true
}

// maxID is the length up to which ids are tried; a template that takes one so long takes any.
const maxID = len(usualID)

// set returns the set of the ids that are fit, of which the probes' own is one.
func (l *idLab) set(fit func(id string) bool) (s format.IDs) {
	own := l.base.Probe.Calls[0].ID
	long := strings.Repeat(own, maxID/len(own)+1)
	s.Min = len(own)
	for s.Min > 1 && fit(own[:s.Min-1]) {
		s.Min--
	}
	if s.Min == 1 {
		s.Min = 0
	}
	if !fit(long[:maxID]) {
		s.Max = len(own)
		for step := 1; step > 0; { // the lengths up to the greatest are all fit
			if n := s.Max + step; n < maxID && fit(long[:n]) {
				s.Max, step = n, 2*step
			} else {
				step /= 2
			}
		}
	}
	all := true
	for _, class := range idClasses {
		if l.stands(class.members, own, fit) {
			s.Characters += class.name
		} else {
			all = false
		}
	}
	if all || !s.Has(own) { // where it has not, more than the characters is looked at
		s.Characters = ""
	}
	return s
}

// idClasses are the characters that ids are known to be made of, in the order of ASCII. So '-'
// stands first, where it is no range.
var idClasses = []struct{ name, members string }{
	{"-", "-"}, {".", "."}, {"0-9", "0123456789"}, {":", ":"},
	{"A-Z", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, {"_", "_"}, {"a-z", "abcdefghijklmnopqrstuvwxyz"},
}

// stands reports whether ids with the characters of a class, after a letter, are fit.
func (l *idLab) stands(members, own string, fit func(id string) bool) bool {
	for members != "" {
		n := min(len(members), len(own)-1)
		if !fit(own[:1] + members[:n] + own[1+n:]) {
			return false
		}
		members = members[n:]
	}
	return true
}
