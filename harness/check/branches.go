package check

import (
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/harness/reach"
	"github.com/goassay/assay/harness/rule"
)

// branchRules look at the branches of a template's tree.
var branchRules = []lookout{
	{Rule: rule.Rule{ID: "A138", Name: "branch-unreachable", Severity: rule.Note,
		Short: "No request reaches a branch, a loop or a macro of the template.",
		Damage: "It was written for requests that exist; they take another branch, and nobody " +
			"is told.",
		Fix: "Mend the condition, or remove the branch."}, Group: groupLint, Find: checkReached},
	{Rule: rule.Rule{ID: "A139", Name: "branch-empty", Severity: rule.Note,
		Short: "A condition or a loop has nothing in it.",
		Damage: "The text or the statement that belongs there is missing, and nobody " +
			"is told.",
		Fix: "Write it, or turn the condition around; a comment in the branch tells that nothing " +
			"is meant."}, Group: groupLint, Find: checkEmptied},
}

// unreached goes through a tree and reports the outermost parts that no request reaches.
type unreached struct {
	proofs map[reach.Outcome]string
	find   finder
	unused []*syntax.Macro
}

// never reports whether an outcome is proven to be out of reach, and why. The clock's outcomes are
// reached on another day.
func (u *unreached) never(kind jinja.SiteKind, n syntax.Node, o jinja.Outcome) (string, bool) {
	why, ok := u.proofs[reach.Outcome{Kind: kind, Off: n.Offset(), Outcome: o}]
	return why, ok && why != reach.Clock
}

func checkReached(s *Subject, find finder) {
	tree, _ := s.parsed()
	u := &unreached{proofs: s.Source.Unreachable(), find: find}
	if len(u.proofs) == 0 {
		return
	}
	u.body(tree.Body)
	if len(u.unused) > 0 {
		var names []string
		for _, m := range u.unused {
			names = append(names, m.Name)
		}
		find(where(u.unused[0].Offset()), "nothing that is reached calls %s %s",
			map[bool]string{true: "the macro", false: "the macros"}[len(names) == 1],
			strings.Join(names, ", "))
	}
}

func (u *unreached) body(all []syntax.Stmt) {
	for _, n := range all {
		u.visit(n)
	}
}

func (u *unreached) visit(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.If:
		u.branches(n)
		return
	case *syntax.For:
		u.visit(n.Iter)
		if why, ok := u.never(jinja.SiteFor, n, jinja.Entered); ok {
			u.find(where(n.Offset()), "this loop is never entered: %s", why)
		} else {
			if n.Test != nil {
				u.visit(n.Test)
			}
			u.body(n.Body)
		}
		u.body(n.Else)
		return
	case *syntax.Macro:
		if u.uncalled(n) {
			u.unused = append(u.unused, n)
			return
		}
	case *syntax.Cond:
		u.visit(n.Test)
		never, no := u.never(jinja.SiteCond, n, jinja.True)
		always, yes := u.never(jinja.SiteCond, n, jinja.False)
		switch {
		case no && !guards(n.Test):
			u.find(where(n.Test.Offset()), "the value before this is never taken: %s", never)
		case yes && n.Else != nil && !guards(n.Test):
			u.find(where(n.Test.Offset()), "the value after else is never taken: %s", always)
		case !no && !yes:
			u.visit(n.Then)
			if n.Else != nil {
				u.visit(n.Else)
			}
		}
		return
	}
	for _, c := range syntax.Children(n) {
		u.visit(c)
	}
}

// branches goes through the branches of an if.
func (u *unreached) branches(n *syntax.If) {
	kind := jinja.SiteIf
	for i, b := range append([]*syntax.If{n}, n.Elif...) {
		u.visit(b.Test)
		why, never := u.never(kind, b, jinja.True)
		if !never {
			u.body(b.Body)
		} else if !guards(b.Test) && !raises(b.Body) {
			u.find(where(b.Test.Offset()), "this branch is never taken: %s", why)
		}
		if why, always := u.never(kind, b, jinja.False); always {
			rest := n.Else
			for _, later := range n.Elif[min(i, len(n.Elif)):] {
				rest = append(rest[:len(rest):len(rest)], later.Body...)
			}
			if !never && !guards(b.Test) && !raises(rest) {
				u.find(where(b.Test.Offset()), "the branches after this one are never taken: %s",
					why)
			}
			return
		}
		kind = jinja.SiteElif
	}
	u.body(n.Else)
}

// uncalled reports whether nothing calls a macro: no decision in it is reached for that reason. A
// macro without decisions has no proofs, and is left alone.
func (u *unreached) uncalled(n *syntax.Macro) bool {
	for n := range syntax.All(n) {
		for _, kind := range []jinja.SiteKind{jinja.SiteIf, jinja.SiteCond, jinja.SiteFor} {
			for _, o := range kind.Outcomes() {
				if why, ok := u.never(kind, n, o); ok && strings.HasPrefix(why, reach.Uncalled) {
					return true
				}
			}
		}
	}
	return false
}

// guards reports whether a condition asks for nothing but types, and whether something is there: a
// careful author asks that also where the answer is known.
func guards(n syntax.Expr) bool {
	switch n := n.(type) {
	case *syntax.Test:
		switch n.Name {
		case "defined", "undefined", "none", "string", "mapping", "iterable", "sequence",
			"number", "boolean", "integer", "float", "true", "false":
			return true
		}
	case *syntax.Unary:
		return n.Op == "not" && guards(n.X)
	case *syntax.Logic:
		return guards(n.X) && guards(n.Y)
	}
	return false
}

// raises reports whether statements only refuse a request, which an author writes where nothing
// should lead to; or do nothing at all.
func raises(body []syntax.Stmt) bool {
	for _, s := range body {
		o, ok := s.(*syntax.Output)
		if !ok {
			return false
		}
		for _, part := range o.Parts {
			switch part := part.(type) {
			case *syntax.Const:
				if strings.TrimSpace(part.Text) != "" {
					return false
				}
			case *syntax.Call:
				if !syntax.IsName(part.Func, "raise_exception") {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// checkEmptied looks for an if and a loop without a statement, a text or a comment where these
// belong. A chain of several conditions may well skip one of its cases.
func checkEmptied(s *Subject, find finder) {
	text := s.Template.ChatTemplate().Source.Text
	tree, spans := s.parsed()
	for n := range tree.All() {
		var bodies [][]syntax.Stmt
		switch n := n.(type) {
		case *syntax.If:
			if n.Elif == nil {
				bodies = [][]syntax.Stmt{n.Body, n.Else}
			}
		case *syntax.For:
			bodies = [][]syntax.Stmt{n.Body, n.Else}
		}
		if bodies != nil {
			tags := spans.Tags(n.(syntax.Stmt))
			for i := range len(tags) - 1 {
				between := text[tags[i].To:tags[i+1].From]
				if len(bodies[i]) == 0 && strings.TrimSpace(between) == "" {
					find(where(tags[i].From), "there is nothing between this and the next "+
						"statement, %s", jsonString(text[tags[i+1].From:tags[i+1].To]))
				}
			}
		}
	}
}
