package reach

import (
	"strings"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// PartKind is the kind of a part of a template.
type PartKind uint8

// The kinds of parts.
const (
	LoopBody    PartKind = iota // the body of a loop
	BranchBody                  // what stands under a condition
	LaterBodies                 // the branches after a condition
	ValueBefore                 // x in "x if test else y"
	ValueAfter                  // y
	MacroBody                   // a macro
)

// Part is a part of a template that no request reaches.
type Part struct {
	Kind PartKind
	Off  int    // the loop, the condition, or the macro
	Why  string // of a macro, its name
}

// Outermost returns the outermost parts of a template that no request reaches, as its proofs say.
// It leaves out the parts that a careful author writes though nothing leads to them: those under a
// condition that asks for types alone, those that only refuse a request, and those of another day.
func Outermost(src *source.Source, proofs map[Outcome]string) []Part {
	tree, err := syntax.Parse(src)
	if err != nil || len(proofs) == 0 {
		return nil
	}
	u := &unreached{proofs: proofs}
	u.body(tree.Body)
	return append(u.parts, u.unused...)
}

// unreached goes through a tree.
type unreached struct {
	proofs        map[Outcome]string
	parts, unused []Part
}

func (u *unreached) find(kind PartKind, n syntax.Node, why string) {
	u.parts = append(u.parts, Part{kind, n.Offset(), why})
}

// never reports whether an outcome is proven to be out of reach, and why. The clock's outcomes are
// reached on another day.
func (u *unreached) never(kind flow.SiteKind, n syntax.Node, o flow.Outcome) (string, bool) {
	why, ok := u.proofs[Outcome{Kind: kind, Off: n.Offset(), Outcome: o}]
	return why, ok && why != Clock
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
		if why, ok := u.never(flow.SiteFor, n, flow.Entered); ok {
			u.find(LoopBody, n, why)
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
			u.unused = append(u.unused, Part{MacroBody, n.Offset(), n.Name})
			return
		}
	case *syntax.Cond:
		u.visit(n.Test)
		never, no := u.never(flow.SiteCond, n, flow.True)
		always, yes := u.never(flow.SiteCond, n, flow.False)
		switch {
		case no && !guards(n.Test):
			u.find(ValueBefore, n.Test, never)
		case yes && n.Else != nil && !guards(n.Test):
			u.find(ValueAfter, n.Test, always)
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
	kind := flow.SiteIf
	for i, b := range append([]*syntax.If{n}, n.Elif...) {
		u.visit(b.Test)
		why, never := u.never(kind, b, flow.True)
		if !never {
			u.body(b.Body)
		} else if !guards(b.Test) && !raises(b.Body) {
			u.find(BranchBody, b.Test, why)
		}
		if why, always := u.never(kind, b, flow.False); always {
			rest := n.Else
			for _, later := range n.Elif[min(i, len(n.Elif)):] {
				rest = append(rest[:len(rest):len(rest)], later.Body...)
			}
			if !never && !guards(b.Test) && !raises(rest) {
				u.find(LaterBodies, b.Test, why)
			}
			return
		}
		kind = flow.SiteElif
	}
	u.body(n.Else)
}

// uncalled reports whether nothing calls a macro: no decision in it is reached for that reason. A
// macro without decisions has no proofs, and is left alone.
func (u *unreached) uncalled(n *syntax.Macro) bool {
	for n := range syntax.All(n) {
		for _, kind := range []flow.SiteKind{flow.SiteIf, flow.SiteCond, flow.SiteFor} {
			for _, o := range kind.Outcomes() {
				if why, ok := u.never(kind, n, o); ok && strings.HasPrefix(why, Uncalled) {
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
