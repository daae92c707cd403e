package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
)

// normalizer turns nodes into schemas. A schema is made for a set of nodes that must all hold, and
// memoized by the set, so that recursion ends: there are finitely many sets. Schemas of properties
// and items are queued. The alternatives of a union are made at once, since a union that contains
// itself says nothing.
type normalizer struct {
	reader *reader
	memo   map[string]*work // of sets of several nodes; a node alone has its own
	works  int
	merged int // properties that were merged with a schema that does not declare them
	queue  []*work
	free   *node // allows anything
}

type work struct {
	nodes  []*node
	schema *Schema
	state  workState
}

type workState uint8

const (
	queued workState = iota
	open
	done
)

// run returns the schema of the roots, which must all hold, with everything that it needs.
func (n *normalizer) run(roots []*node) *Schema {
	s := n.want(roots)
	for len(n.queue) > 0 {
		w := n.queue[0]
		n.queue = n.queue[1:]
		if w.state == queued {
			n.make(w)
		}
	}
	filterNested(s)
	return s
}

func (n *normalizer) work(nodes []*node) *work {
	if len(nodes) == 1 {
		nd := nodes[0].behind()
		if nd.work == nil {
			nd.work = n.newWork([]*node{nd})
		}
		return nd.work
	}
	nodes = slices.Clone(nodes)
	for i, nd := range nodes {
		nodes[i] = nd.behind()
	}
	slices.SortFunc(nodes, func(a, b *node) int { return a.id - b.id })
	if nodes = slices.Compact(nodes); len(nodes) == 1 {
		return n.work(nodes)
	}
	var key strings.Builder
	for _, nd := range nodes {
		key.WriteString(strconv.Itoa(nd.id))
		key.WriteByte(' ')
	}
	w := n.memo[key.String()]
	if w == nil {
		w = n.newWork(nodes)
		n.memo[key.String()] = w
	}
	return w
}

func (n *normalizer) newWork(nodes []*node) *work {
	at := nodes[0].path
	if n.works++; n.works > MaxNodes {
		fail(at, "merging allOf and references makes more than %d schemas", MaxNodes)
	}
	return &work{nodes: nodes, schema: &Schema{at: at, notes: n.reader.notes}}
}

// behind follows the references from a node that has nothing else, and returns the node it stands
// for.
func (nd *node) behind() *node {
	for range MaxNodes { // collect reports a cycle of references
		if !nd.empty || nd.target == nil || len(nd.all) > 0 || len(nd.any) > 0 {
			break
		}
		nd = nd.target
	}
	return nd
}

// want returns the schema of a set of nodes, to be made later.
func (n *normalizer) want(nodes []*node) *Schema {
	w := n.work(nodes)
	if w.state == queued {
		n.queue = append(n.queue, w)
	}
	return w.schema
}

// maxUnionNesting bounds how deep unions nest in each other, in levels.
const maxUnionNesting = 1000

// make fills in a schema.
func (n *normalizer) make(w *work) { n.makeAt(w, 0) }

func (n *normalizer) makeAt(w *work, depth int) {
	at := w.nodes[0].path
	if w.state == open {
		fail(at, "the schema refers to itself without anything in between, so it says nothing")
	}
	if depth > maxUnionNesting {
		fail(at, "anyOf nests deeper than %d levels", maxUnionNesting)
	}
	w.state = open
	cores, groups := collect(w.nodes)
	if len(groups) == 0 {
		n.leaf(w.schema, cores)
	} else {
		n.union(w.schema, cores, groups, depth)
	}
	w.state = done
}

// collect follows the references and the allOf of nodes that must all hold. It returns those with
// keywords of their own, and the groups of which one node each must hold.
func collect(nodes []*node) (cores []*node, groups [][]*node) {
	if nd := nodes[0]; len(nodes) == 1 && len(nd.all) == 0 && nd.target == nil {
		if nd.empty {
			nodes = nil
		}
		return nodes, nd.any
	}
	const (
		inside = iota + 1
		finished
	)
	seen := map[*node]int{}
	var collect func(nd *node)
	collect = func(nd *node) {
		switch seen[nd] {
		case inside:
			fail(nd.path, "the schema refers to itself without anything in between, so "+
				"it says nothing")
		case finished:
			return
		}
		seen[nd] = inside
		if !nd.empty {
			cores = append(cores, nd)
		}
		groups = append(groups, nd.any...)
		for _, sub := range nd.all {
			collect(sub)
		}
		if nd.target != nil {
			collect(nd.target)
		}
		seen[nd] = finished
	}
	for _, nd := range nodes {
		collect(nd)
	}
	return cores, groups
}

// union makes the alternatives: each has one node of every group, and the keywords beside the
// groups.
func (n *normalizer) union(s *Schema, cores []*node, groups [][]*node, depth int) {
	base := lists.Map(cores, n.bare)
	choices := [][]*node{base}
	for _, group := range groups {
		var next [][]*node
		for _, choice := range choices {
			for _, alt := range group {
				next = append(next, append(slices.Clone(choice), alt))
			}
		}
		if choices = next; len(choices) > MaxAlternatives {
			fail(s.at, "the alternatives of anyOf and oneOf combine "+
				"to more than %d", MaxAlternatives)
		}
	}
	for _, choice := range choices {
		w := n.work(choice)
		if w.state != done {
			n.makeAt(w, depth+1)
		}
		s.add(w.schema)
	}
	if len(s.Alts) > MaxAlternatives {
		fail(s.at, "more than %d alternatives", MaxAlternatives)
	}
	s.settle()
}

// bare returns a node with only the keywords of another.
func (n *normalizer) bare(nd *node) *node {
	if nd.target == nil && len(nd.all) == 0 && len(nd.any) == 0 {
		return nd
	}
	if nd.bare == nil {
		nd.bare = n.reader.fresh()
		nd.bare.path, nd.bare.kw = nd.path, nd.kw
	}
	return nd.bare
}

// leaf merges keywords that must all hold.
func (n *normalizer) leaf(s *Schema, cores []*node) {
	s.MaxLength, s.MaxItems, s.MaxProperties = -1, -1, -1
	types, about := AnyType, TypeSet(0)
	var items []*node
	longest := 0
	for _, core := range cores {
		kw := &core.kw
		if kw.never {
			types = 0
			s.declared = true
		}
		if kw.types != 0 {
			types &= kw.types
			s.declared = true
		}
		about |= kw.about
		if kw.enum != nil {
			s.Enum = restrict(s.Enum, kw.enum)
		}
		s.MinLength, s.MaxLength = max(s.MinLength, kw.minLength),
			smaller(s.MaxLength, kw.maxLength)
		s.MinItems, s.MaxItems = max(s.MinItems, kw.minItems), smaller(s.MaxItems, kw.maxItems)
		s.MinProperties, s.MaxProperties = max(s.MinProperties, kw.minProps),
			smaller(s.MaxProperties, kw.maxProps)
		s.MinItemsGiven = s.MinItemsGiven || kw.minItemsGiven
		s.Patterns = append(s.Patterns, kw.patterns...)
		if s.Format == "" {
			s.Format = kw.format
		}
		if kw.minimum != nil && kw.minimum.Value != nil {
			s.Minimum = tighter(s.Minimum, kw.minimum, true)
		}
		if kw.maximum != nil && kw.maximum.Value != nil {
			s.Maximum = tighter(s.Maximum, kw.maximum, false)
		}
		if kw.items != nil {
			items = append(items, kw.items)
		}
		longest = max(longest, len(kw.prefix))
	}
	if !s.declared && about != 0 {
		types &= about
	}
	s.types = types
	if len(items) > 0 {
		s.Items = n.want(items)
	}
	for i := range longest {
		var nodes []*node
		for _, core := range cores {
			if kw := &core.kw; i < len(kw.prefix) {
				nodes = append(nodes, kw.prefix[i])
			} else if kw.items != nil {
				nodes = append(nodes, kw.items)
			}
		}
		s.Prefix = append(s.Prefix, n.want(nodes))
	}
	n.object(s, cores)
	if s.Enum != nil {
		s.filter(&validator{shallow: true})
	} else if s.MaxLength >= 0 && s.MinLength > s.MaxLength {
		s.types &^= String
	}
}

// object merges the keywords about objects.
func (n *normalizer) object(s *Schema, cores []*node) {
	var additional []*node
	var names []string
	at := map[string]int{}
	for _, core := range cores {
		kw := &core.kw
		for _, p := range kw.properties {
			if _, ok := at[p.name]; !ok {
				at[p.name] = len(names)
				names = append(names, p.name)
			}
		}
		for _, p := range kw.patternProperties {
			s.PatternProperties = append(s.PatternProperties,
				PatternProperty{p.pattern, n.want([]*node{p.schema})})
		}
		if kw.additional != nil {
			additional = append(additional, kw.additional)
		}
	}
	for _, core := range cores {
		for _, name := range core.kw.required {
			if _, ok := at[name]; !ok {
				at[name] = len(names)
				names = append(names, name)
			}
		}
	}
	if len(additional) > 0 {
		s.Additional = n.want(additional)
	}
	if len(names) == 0 {
		return
	}
	s.Properties = make([]Property, len(names))
	nodes := make([][]*node, len(names))
	for _, core := range cores {
		kw := &core.kw
		for _, p := range kw.properties {
			i := at[p.name]
			nodes[i] = append(nodes[i], p.schema)
		}
		for _, name := range kw.required {
			s.Properties[at[name]].Required = true
		}
		if len(kw.patternProperties) > 0 || kw.additional != nil {
			n.others(kw, names, nodes)
		}
	}
	for i, name := range names {
		s.Properties[i].Name = name
		if len(nodes[i]) == 0 {
			s.Properties[i].Schema = n.want([]*node{n.anything()})
		} else {
			s.Properties[i].Schema = n.want(nodes[i])
		}
	}
}

// others adds what the keywords demand of the named properties that they do not declare themselves.
func (n *normalizer) others(kw *keywords, names []string, nodes [][]*node) {
	own := make(map[string]bool, len(kw.properties))
	for _, p := range kw.properties {
		own[p.name] = true
	}
	for i, name := range names {
		if own[name] {
			continue
		}
		if n.merged++; n.merged > MaxMerged {
			fail(n.reader.root, "more than %d properties that one part of allOf declares and "+
				"another does not", MaxMerged)
		}
		matched := false
		for _, p := range kw.patternProperties {
			if ok, _ := p.pattern.Match(name); ok {
				nodes[i], matched = append(nodes[i], p.schema), true
			}
		}
		if !matched && kw.additional != nil {
			nodes[i] = append(nodes[i], kw.additional)
		}
	}
}

// anything returns the node that allows anything.
func (n *normalizer) anything() *node {
	if n.free == nil {
		n.free = n.reader.fresh()
		n.free.path, n.free.empty = n.reader.root, true
	}
	return n.free
}

func smaller(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// filter keeps the values of an enum that satisfy the other keywords of the leaf about the value
// itself. A shallow validator leaves what is inside arrays and objects to [filterNested]. A value
// that takes too many steps stays.
func (s *Schema) filter(v *validator) {
	declared := s.types
	if !s.declared {
		declared = AnyType
	}
	var types TypeSet
	kept := []ordered.Value{}
	for _, value := range s.Enum {
		t := TypeOf(value)
		probe := *s
		probe.Enum = nil
		if declared.Has(t) && (v.leaf(&probe, value, nil) == nil || v.steps > MaxSteps) {
			if kept = append(kept, value); t == fraction {
				t = Number
			}
			types |= t
		}
	}
	s.Enum, s.types = kept, types
}

// filterNested drops the arrays and objects of enums that the schemas of their items and properties
// do not allow, once these are made, and the alternatives that have no value left.
func filterNested(root *Schema) {
	seen := map[*Schema]bool{}
	var visit func(s *Schema)
	visit = func(s *Schema) {
		if seen[s] {
			return
		}
		seen[s] = true
		s.children(visit)
		if s.Enum != nil && s.types&(Array|Object) != 0 {
			s.filter(&validator{})
		}
		if alts := s.Alts; slices.ContainsFunc(alts, (*Schema).IsNever) {
			s.Alts, s.types = nil, 0
			for _, alt := range alts {
				s.add(alt)
			}
			s.settle()
		}
	}
	visit(root)
}

// markRecursive finds the schemas that contain themselves (Tarjan's strongly connected components).
func markRecursive(root *Schema) {
	type info struct{ index, low int }
	infos := map[*Schema]*info{}
	var stack []*Schema
	onStack := map[*Schema]bool{}
	var visit func(s *Schema) *info
	visit = func(s *Schema) *info {
		in := &info{len(infos), len(infos)}
		infos[s] = in
		stack = append(stack, s)
		onStack[s] = true
		s.children(func(c *Schema) {
			if c == s {
				s.recursive = true
			}
			if known := infos[c]; known == nil {
				in.low = min(in.low, visit(c).low)
			} else if onStack[c] {
				in.low = min(in.low, known.index)
			}
		})
		if in.low == in.index {
			i := slices.Index(stack, s)
			for _, member := range stack[i:] {
				onStack[member] = false
				member.recursive = member.recursive || len(stack)-i > 1
			}
			stack = stack[:i]
		}
		return in
	}
	visit(root)
}

func (s *Schema) children(visit func(*Schema)) {
	for _, c := range s.Alts {
		visit(c)
	}
	for _, c := range s.Prefix {
		visit(c)
	}
	for _, p := range s.Properties {
		visit(p.Schema)
	}
	for _, p := range s.PatternProperties {
		visit(p.Schema)
	}
	if s.Items != nil {
		visit(s.Items)
	}
	if s.Additional != nil {
		visit(s.Additional)
	}
}
