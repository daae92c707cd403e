package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/harness/rule"
)

// assignedRules follow a template's variables from the places that set them to those that read
// them.
var assignedRules = []lookout{
	{Rule: rule.Rule{ID: "A126", Name: "set-in-vain", Severity: rule.Warning,
		Short: "A variable is set after the places that read it, in a loop at whose end the " +
			"value is lost, or where the request gives it, over that value.",
		Damage: "The places before see the old value, or none: a text is not cleaned, a flag is " +
			"never set, a part is written in its raw form; the request's value is lost.",
		Fix: "Set the variable before it is read, and only where it is not defined; carry a value " +
			"out of a loop by namespace()."},
		Group: groupLint, Find: checkAssigned},
	{Rule: rule.Rule{ID: "A144", Name: "state-never-changes", Severity: rule.Warning,
		Short: "A field of a namespace is read and never set, and a variable of its name is set " +
			"instead.",
		Damage: "A counter stays at its first value, a flag is never raised: what depends on it " +
			"never happens, or always does.",
		Fix: "Set the field: {% set ns.field = ... %}."},
		Group: groupLint, Find: checkState},
}

// region is a part of a template with variables of its own: the body of a loop, say.
type region struct {
	above *region
	loop  bool
	macro bool // it runs when it is called, and not where it stands
}

// within reports whether a region is another one, or lies in it.
func (r *region) within(other *region) bool {
	for ; r != nil; r = r.above {
		if r == other {
			return true
		}
	}
	return false
}

// called reports whether a region is, or lies in, one that runs when it is called.
func (r *region) called() bool { return r.caller() != nil }

// caller is the innermost region around that runs when it is called; nil: none.
func (r *region) caller() *region {
	for ; r != nil; r = r.above {
		if r.macro {
			return r
		}
	}
	return nil
}

// arm is a branch of an if: only one of them runs.
type arm struct {
	of    *syntax.If
	index int
}

// touch is a place that reads or sets a variable, or a field of a namespace: "ns.field".
type touch struct {
	name  string
	sets  bool
	off   int
	order int // in which places are evaluated
	in    *region
	arms  []arm
	by    syntax.Stmt // the statement
	test  *syntax.If  // in whose condition a variable is read
}

// apart reports whether two places never run both.
func (t *touch) apart(other *touch) bool {
	for _, a := range t.arms {
		for _, b := range other.arms {
			if a.of == b.of && a.index != b.index {
				return true
			}
		}
	}
	return false
}

// wherever reports whether a place runs wherever another one does.
func (t *touch) wherever(other *touch) bool {
	return len(t.arms) <= len(other.arms) && slices.Equal(t.arms, other.arms[:len(t.arms)])
}

// guards reports whether a place reads the variable in a condition under which it is set.
func (t *touch) guards(set *touch) bool {
	return t.test != nil && slices.ContainsFunc(set.arms, func(a arm) bool {
		return a.of == t.test
	})
}

// follower notes the places of a template that read and set variables, in the order in which
// they are evaluated.
type follower struct {
	touches []*touch
	in      *region
	arms    []arm
	by      syntax.Stmt
	test    *syntax.If
	asked   map[string]bool // whether they are defined: a request may bring them
}

// follow goes through the template.
func (s *Subject) follow() *follower {
	f := &follower{in: &region{}, asked: map[string]bool{}}
	tree, _ := s.parsed()
	f.body(tree.Body)
	return f
}

func (f *follower) note(name string, sets bool, at syntax.Node) {
	f.touches = append(f.touches, &touch{name: name, sets: sets, off: at.Offset(),
		order: len(f.touches), in: f.in, arms: slices.Clone(f.arms), by: f.by, test: f.test})
}

// expression notes the variables that an expression reads.
func (f *follower) expression(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Name:
		f.note(n.Name, false, n)
	case *syntax.Attr:
		f.expression(n.X)
		if x, ok := n.X.(*syntax.Name); ok {
			f.note(x.Name+"."+n.Name, false, n)
		}
	case *syntax.Item:
		f.expression(n.X)
		f.expression(n.Index)
		x, name := n.X.(*syntax.Name)
		if c, ok := n.Index.(*syntax.Const); ok && name && c.Kind == syntax.String {
			f.note(x.Name+"."+c.Text, false, n)
		}
	default:
		f.ask(n)
		for _, child := range syntax.Children(n) {
			f.expression(child)
		}
	}
}

// ask notes variables of which a template asks whether they are there.
func (f *follower) ask(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Test:
		if x, ok := n.X.(*syntax.Name); ok && (n.Name == "defined" || n.Name == "undefined") {
			f.asked[x.Name] = true
		}
	case *syntax.Filter:
		if x, ok := n.X.(*syntax.Name); ok && (n.Name == "default" || n.Name == "d") {
			f.asked[x.Name] = true
		}
	}
}

// target notes that an assignment or a loop sets its target.
func (f *follower) target(x syntax.Node) {
	switch x := x.(type) {
	case *syntax.Name:
		f.note(x.Name, true, x)
	case *syntax.AttrTarget:
		f.note(x.Name+"."+x.Attr, true, x)
	default:
		for _, child := range syntax.Children(x) {
			f.target(child)
		}
	}
}

// inside follows statements that have variables of their own.
func (f *follower) inside(r region, before func(), body []syntax.Stmt) {
	r.above = f.in
	f.in = &r
	before()
	f.body(body)
	f.in = r.above
}

func (f *follower) body(body []syntax.Stmt) {
	for _, s := range body {
		f.by = s
		f.statement(s)
	}
}

func (f *follower) statement(s syntax.Stmt) {
	none := func() {}
	switch s := s.(type) {
	case *syntax.If:
		branch := func(i int, test syntax.Expr, body []syntax.Stmt) {
			if test != nil {
				f.by, f.test = s, s
				f.expression(test)
				f.test = nil
			}
			f.arms = append(f.arms, arm{s, i})
			f.body(body)
			f.arms = f.arms[:len(f.arms)-1]
		}
		branch(0, s.Test, s.Body)
		for i, elif := range s.Elif {
			branch(i+1, elif.Test, elif.Body)
		}
		branch(len(s.Elif)+1, nil, s.Else)
	case *syntax.For:
		f.expression(s.Iter)
		f.inside(region{loop: true}, func() {
			f.target(s.Target)
			if s.Test != nil {
				f.expression(s.Test)
			}
		}, s.Body)
		f.body(s.Else)
	case *syntax.Macro:
		f.note(s.Name, true, s)
		f.inside(region{macro: true}, func() { f.params(s.Params) }, s.Body)
	case *syntax.CallBlock:
		f.expression(s.Call)
		f.inside(region{macro: true}, func() { f.params(s.Params) }, s.Body)
	case *syntax.With:
		for _, v := range s.Values {
			f.expression(v)
		}
		f.inside(region{}, func() {
			for _, x := range s.Targets {
				f.target(x)
			}
		}, s.Body)
	case *syntax.Assign:
		f.expression(s.Value)
		f.target(s.Target)
	case *syntax.AssignBlock:
		f.inside(region{}, none, s.Body)
		f.by = s
		if s.Filter != nil {
			f.expression(s.Filter)
		}
		f.target(s.Target)
	case *syntax.FilterBlock:
		f.expression(s.Filter)
		f.inside(region{}, none, s.Body)
	case *syntax.Generation:
		f.body(s.Body)
	case *syntax.Import:
		f.note(s.Target, true, s)
	case *syntax.FromImport:
		for _, name := range s.Names {
			f.note(name.As, true, s)
		}
	default:
		for _, child := range syntax.Children(s) {
			if inner, ok := child.(syntax.Stmt); ok {
				f.body([]syntax.Stmt{inner})
			} else {
				f.expression(child)
			}
		}
	}
}

func (f *follower) params(p syntax.Params) {
	for _, d := range p.Defaults {
		f.expression(d)
	}
	for _, name := range p.Params {
		f.target(name)
	}
}

// checkAssigned goes through the places that set a variable.
func checkAssigned(s *Subject, find finder) {
	s.checkOverwritten(find)
	f := s.followed()
	sets, reads := map[string][]*touch{}, map[string][]*touch{}
	var names []string
	for _, t := range f.touches {
		if !t.sets {
			reads[t.name] = append(reads[t.name], t)
			continue
		}
		if sets[t.name] == nil {
			names = append(names, t.name)
		}
		sets[t.name] = append(sets[t.name], t)
	}
	given := map[string]bool{}
	for _, t := range s.talks() {
		for _, m := range s.Template.ChatTemplate().Vars(t.in).Members() {
			given[m.Key] = true
		}
	}
	for _, name := range names {
		v := variable{name: name, sets: sets[name], reads: reads[name]}
		if len(v.sets)*len(v.reads) > maxPairs {
			continue
		}
		fields := map[int]bool{}
		for _, read := range v.reads {
			fields[read.order-1] = true
		}
		for _, all := range reads[base(name)] {
			if !fields[all.order] {
				v.whole = max(v.whole, all.order)
			}
		}
		for _, set := range v.sets {
			if early := v.tooLate(set); early != nil {
				find(where(set.off), "%s is set after the last place that reads it, at %s",
					name, s.line(early.off))
			} else if late := v.lost(set); late != nil {
				find(where(set.off), "%s is set in a loop, at whose end the value is lost; it is "+
					"read at %s", name, s.line(late.off))
			}
		}
		if read, set := v.early(); read != nil && !given[name] && !f.asked[name] {
			find(where(read.off), "%s is read before it is set, at %s", name, s.line(set.off))
		}
	}
}

// checkOverwritten looks for a variable that is set, whatever else holds, where the request gives
// it, and that nothing sets before.
func (s *Subject) checkOverwritten(find finder) {
	tree, _ := s.parsed()
	set := map[string]bool{}
	for n := range tree.All() {
		if n, ok := n.(*syntax.If); ok && n.Elif == nil {
			name, is := definedness(n.Test)
			body := n.Body
			if !is {
				body = n.Else
			}
			if name != "" && !set[name] && overwrites(body, name) {
				find(where(n.Offset()), "where the request gives %s, another value is set over it",
					name)
			}
		}
		for _, name := range syntax.Assigned(n) {
			set[name] = true
		}
		if m, ok := n.(*syntax.Macro); ok {
			for _, p := range m.Params.Params {
				set[p.Name] = true
			}
		}
	}
}

// definedness reads a condition that asks for nothing but whether a variable is defined; "": it is
// another one.
func definedness(x syntax.Expr) (name string, is bool) {
	switch x := x.(type) {
	case *syntax.Unary:
		if x.Op == "not" {
			name, is = definedness(x.X)
			return name, !is
		}
	case *syntax.Test:
		if n, ok := x.X.(*syntax.Name); ok && (x.Name == "defined" || x.Name == "undefined") {
			return n.Name, x.Name == "defined"
		}
	}
	return "", false
}

// overwrites reports whether statements set a variable, in whichever branch, before they read it.
func overwrites(body []syntax.Stmt, name string) bool {
	for _, st := range body {
		if n, ok := st.(*syntax.If); ok && n.Else != nil && !reads(n.Test, name) {
			all := overwrites(n.Body, name) && overwrites(n.Else, name)
			for _, e := range n.Elif {
				all = all && !reads(e.Test, name) && overwrites(e.Body, name)
			}
			if all {
				return true
			}
		}
		if n, ok := st.(*syntax.Assign); ok && !reads(n.Value, name) &&
			slices.Contains(syntax.Assigned(n), name) {
			return true
		}
		if reads(st, name) {
			return false
		}
	}
	return false
}

// reads reports whether a variable's name is anywhere in a part of a template.
func reads(n syntax.Node, name string) bool {
	for n := range syntax.All(n) {
		if n, ok := n.(*syntax.Name); ok && n.Name == name {
			return true
		}
	}
	return false
}

// base is the namespace of a field; "" for a variable.
func base(name string) string {
	for i := range len(name) {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return ""
}

// line shows a place of the template.
func (s *Subject) line(off int) string {
	at := s.Template.ChatTemplate().Source.Position(off)
	return fmt.Sprintf("line %d, column %d", at.Line, at.Col)
}

// variable is a variable, or a field of a namespace, with the places that touch it.
type variable struct {
	name        string
	sets, reads []*touch
	whole       int // where the namespace of a field is last handed on as a whole, to a macro say
}

// maxPairs bounds the places of a variable that are compared; people's templates have a few hundred
// pairs.
const maxPairs = 1 << 14

func (v variable) field() bool { return base(v.name) != "" }

// sees reports whether a place may read the value that another one sets.
func (v variable) sees(read, set *touch) bool {
	switch {
	case v.field():
		return read.in.called() || read.order > set.order && !read.apart(set) ||
			sameLoop(read.in, set.in)
	case !read.in.within(set.in):
		return false
	}
	return read.in.called() && !set.in.called() || read.order > set.order && !read.apart(set)
}

// sameLoop reports whether a loop has both regions: what one iteration sets the next one may read.
func sameLoop(a, b *region) bool {
	for ; a != nil; a = a.above {
		if a.loop && b.within(a) {
			return true
		}
	}
	return false
}

// tooLate returns the last place that reads a variable before it is set, where none reads it
// afterwards.
func (v variable) tooLate(set *touch) *touch {
	if _, ok := set.by.(*syntax.Assign); !ok || v.field() && set.in.called() {
		return nil
	}
	var early *touch
	for _, read := range v.reads {
		switch {
		case v.sees(read, set) && read.test != nil && v.adds(set) && !sameLoop(read.in, set.in):
		case v.sees(read, set) || read.guards(set):
			return nil
		case read.by == set.by || read.apart(set) || read.order > set.order ||
			!v.field() && !read.in.within(set.in):
		default:
			early = read
		}
	}
	if v.whole > set.order {
		return nil
	}
	return early
}

// adds reports whether a place adds to a variable after a statement has written it: a condition may
// still ask for it, and its text is never written.
func (v variable) adds(set *touch) bool {
	itself, written := false, false
	for _, read := range v.reads {
		_, output := read.by.(*syntax.Output)
		itself = itself || read.by == set.by
		written = written || output && read.order < set.order && !read.apart(set)
	}
	return itself && written
}

// lost returns a place that reads a variable after a loop in which it is set, where nothing in the
// loop reads that value.
func (v variable) lost(set *touch) *touch {
	if _, ok := set.by.(*syntax.Assign); !ok || v.field() || !set.in.loop {
		return nil
	}
	outside := slices.ContainsFunc(v.sets, func(other *touch) bool {
		return other.in != set.in && set.in.within(other.in) && other.order < set.order
	})
	var late *touch
	for _, read := range v.reads {
		if v.sees(read, set) {
			return nil
		}
		if outside && read.order > set.order && set.in.above.within(read.in) && !read.apart(set) &&
			late == nil {
			late = read
		}
	}
	return late
}

// early returns a place that reads a variable before any place has set it, and the first one that
// does so wherever the other one reads. A request's variable may get another value under
// conditions.
func (v variable) early() (read, set *touch) {
	if v.field() {
		return nil, nil
	}
	for _, r := range v.reads {
		before := slices.ContainsFunc(v.sets, func(s *touch) bool {
			return r.in.within(s.in) && (s.order < r.order && !s.apart(r) ||
				s.in.caller() != r.in.caller()) // or before the call
		})
		if before {
			continue
		}
		for _, s := range v.sets {
			_, assigned := s.by.(*syntax.Assign)
			if assigned && s.order > r.order && r.by != s.by && r.in.within(s.in) &&
				s.wherever(r) {
				return r, s
			}
		}
	}
	return nil, nil
}

// checkState goes through the fields of namespaces that nothing sets after the namespace is made.
func checkState(s *Subject, find finder) {
	f := s.followed()
	sets, reads := map[string]*touch{}, map[string]*touch{}
	made := map[string]bool{} // fields with which a namespace is made
	for _, t := range f.touches {
		if assign, ok := t.by.(*syntax.Assign); t.sets && ok {
			if call, ok := newNamespace(assign.Value); ok {
				for _, field := range call.Keywords {
					made[t.name+"."+field.Name] = true
				}
				continue
			}
		}
		of := reads
		if t.sets {
			of = sets
		}
		if of[t.name] == nil {
			of[t.name] = t
		}
	}
	for _, t := range f.touches {
		ns := base(t.name)
		if t.sets || !made[t.name] || reads[t.name] != t || sets[t.name] != nil {
			continue
		}
		for _, name := range []string{strings.TrimPrefix(t.name, ns+"."), ns} {
			if set := sets[name]; set != nil && (name == ns && set.by == t.by ||
				name != ns && reads[name] == nil) {
				find(where(set.off), "%s is set and %s is read, at %s, which nothing sets",
					name, t.name, s.line(t.off))
				return
			}
		}
	}
}

// newNamespace returns the call where an expression makes a namespace.
func newNamespace(x syntax.Expr) (*syntax.Call, bool) {
	call, ok := x.(*syntax.Call)
	return call, ok && syntax.IsName(call.Func, "namespace")
}
