package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/verify"
)

// ErrToolsUnsupported is why a template is not tool-capable.
var ErrToolsUnsupported = caps.ErrToolsUnsupported

// ErrUnverified is why a template fails at the gate though it is tool-capable, and why Prepare
// refuses a request.
var ErrUnverified = errors.New("the output format is not verified")

// Verdict is the gate's judgement of a template. Tool-capable is a property of it: it describes
// tools, and replays calls so that some answer with calls is read back. The verdict is pass or
// fail: only a template that is tool-capable and verified passes (E26, E28).
type Verdict struct {
	// Incapable is why the template is not tool-capable; nil: it is. It wraps
	// [ErrToolsUnsupported].
	Incapable error
	// Unverified is why the template is not verified: a shape of answer fails, nothing is proven,
	// or something could not be judged. It wraps [ErrUnverified]; nil: all that it writes is proven
	// (E32).
	Unverified error
}

// ToolCapable reports whether the template describes tools and replays calls that can be read.
func (v Verdict) ToolCapable() bool { return v.Incapable == nil }

// Pass reports whether the template is tool-capable and verified.
func (v Verdict) Pass() bool { return v.Err() == nil }

// Err returns why the template fails, nil where it passes.
func (v Verdict) Err() error {
	if v.Incapable != nil {
		return v.Incapable
	}
	return v.Unverified
}

// String returns "pass", or "fail: " and every reason, in one line.
func (v Verdict) String() string {
	var why []string
	for _, err := range []error{v.Incapable, v.Unverified} {
		if err != nil {
			why = append(why, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	if why == nil {
		return "pass"
	}
	return "fail: " + strings.Join(why, "; ")
}

// Tools says in a line whether the template is tool-capable: "yes"; "yes, but " and why it is not
// verified; or "no, " and why.
func (v Verdict) Tools() string {
	says := func(answer string, why error) string {
		return answer + ", " + strings.ReplaceAll(why.Error(), "\n", " ")
	}
	switch {
	case v.Incapable != nil:
		return says("no", v.Incapable)
	case v.Unverified != nil:
		return strings.Replace(says("yes", v.Unverified), ", ", ", but ", 1)
	}
	return "yes"
}

// Gate judges the template: its capabilities, and the proofs of its format ([Template.Verify]).
// Whoever wants to know whether a template may serve tools asks here.
func (t *Template) Gate() Verdict {
	v := Verdict{Incapable: t.caps.ToolCapable()}
	p := t.proved()
	if v.Incapable == nil && p.unread != nil {
		v.Incapable = fmt.Errorf("%w: no answer with calls is read back: %w", ErrToolsUnsupported,
			p.unread)
	}
	// A shape with calls that fails counts for every template, one that proves nothing for those
	// that are said to replay calls.
	if v.Unverified = p.plain; v.Unverified == nil && (v.ToolCapable() || !p.report.OK()) {
		v.Unverified = p.calls
	}
	return v
}

// proofs are the results of verification.
type proofs struct {
	report *verify.Report
	// plain is why answers are not proven to be read, those with calls left aside, calls why those
	// with calls are not; each wraps [ErrUnverified] where it is not nil.
	plain, calls error
	unread       error // why no answer with calls is read back
	joined       bool  // no array among arguments is told from a string
}

// prove verifies the template.
func (t *Template) prove() proofs {
	p := proofs{report: verify.Verify(t.chat, t.caps, t.Analysis(), t.plans.generator(t, false))}
	exhausted := t.Exhausted()
	unproven := func(calls bool) error {
		if exhausted != nil {
			return fmt.Errorf("%w: not judged: %w", ErrUnverified, exhausted)
		}
		if err := p.report.Proven(calls); err != nil {
			return fmt.Errorf("%w: %w", ErrUnverified, err)
		}
		return nil
	}
	p.joined = slices.ContainsFunc(p.report.Shapes,
		func(s verify.Shape) bool { return s.Note == verify.Joined })
	p.plain, p.calls = unproven(false), unproven(true)
	if exhausted == nil {
		p.unread = p.report.Unread()
	}
	return p
}

// proven refuses a request whose answers the format is not proven to read (E11). Its decision
// depends on the template and its arguments, never on earlier calls.
func (t *Template) proven(r chat.Request, o PrepareOptions) error {
	if o.Insist {
		return nil
	}
	calls := len(r.Tools) > 0 && r.ToolChoice.Mode != chat.ChoiceNone && len(o.Fallbacks) == 0
	switch p := t.proved(); {
	case calls && p.calls != nil:
		return fmt.Errorf("%w; allow a fallback spelling of calls by name, or insist", p.calls)
	case p.plain != nil:
		return fmt.Errorf("%w; insist to take it as it is", p.plain)
	case calls && p.joined:
		if where := verify.ArrayIn(r.Tools); where != "" {
			return fmt.Errorf("%w: %s may be an array, which the template writes as it writes a "+
				"string; insist to read it as a string", ErrUnverified, where)
		}
	}
	return nil
}
