package conversation

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
)

// searcher looks for conversations that reach more outcomes.
type searcher struct {
	*Exploration
	most    int
	rand    *rand.Rand
	model   *flow.Model
	shape   *flow.Shape
	sites   map[flow.Decision]int
	pool    []tried
	reached map[[2]int]int // how many of the pool reached an outcome
	prove   func() map[reach.Outcome]string
}

// tried is a conversation that was rendered.
type tried struct {
	Conversation
	cover    jinja.Coverage
	followed *followed // once it is wanted
}

// done reports whether there is nothing left to find, or nothing to find it with.
func (s *searcher) done() bool {
	if s.Renders >= s.most {
		return true
	}
	for i, site := range s.Template.Sites() {
		for _, o := range site.Kind.Outcomes() {
			if s.wanted(i, o) {
				return false
			}
		}
	}
	return true
}

// wanted reports whether an outcome counts, is unreached, and may be within reach.
func (s *searcher) wanted(site int, o flow.Outcome) bool {
	if o == flow.Empty || s.Coverage.Reached(site, o) {
		return false
	}
	at := s.Template.Sites()[site]
	_, proven := s.Proofs[reach.Outcome{Kind: at.Kind, Off: at.Off, Outcome: o}]
	return !proven
}

// enough is how many conversations that reach an outcome are kept in the pool.
const enough = 3

// try renders a conversation and keeps it where it reaches something new. One that reaches
// something that few did goes into the pool, from which others are made.
func (s *searcher) try(c Conversation) bool {
	s.Renders++
	var one jinja.Coverage
	// a refusal reaches something, too
	_, err := s.Template.Cover(c.Input(s.Bound), &one, &s.Coverage)
	s.ended(c, err)
	rare := len(s.pool) < enough
	for i, site := range s.Template.Sites() {
		for _, o := range site.Kind.Outcomes() {
			if key := [2]int{i, int(o)}; one.Reached(i, o) && s.reached[key] < enough {
				s.reached[key]++
				rare = true
			}
		}
	}
	if rare {
		s.pool = append(s.pool, tried{Conversation: c, cover: one})
	}
	if !s.Coverage.Add(&one) {
		return false
	}
	s.Conversations = append(s.Conversations, c)
	return true
}

// target is an outcome that is still unreached, of a decision that is reached.
type target struct {
	site    int
	outcome flow.Outcome
	slice   *slice
	in      *flow.Branch
	from    int            // the pool up to here was looked at
	queue   []Conversation // to look at next, nearest first
	todo    []change       // changes of the conversation that is looked at
	now     Conversation
	later   []pending       // the less likely ones of conversations that were looked at
	seen    map[string]bool // the ways that the condition was read
}

// pending is a conversation with changes of it that are still to be tried.
type pending struct {
	Conversation
	changes []change
}

// change is another value at a path.
type change struct {
	path string
	to   value
}

const (
	turn      = 24 // how many changes are tried of a target before it is another one's turn
	samePlace = 2  // how many places of a pattern are changed in a conversation
	maxQueue  = 16 // how many conversations of a target wait at most
	maxPlaces = 48 // of how many patterns
	draws     = 64 // how many conversations are drawn by the template's shape in a round
	perTarget = 6  // and how many more for each target
	more      = 16 // how many more for each that reaches something
)

// search gives each target its turn, again and again. A target looks first at single values that
// its condition, and the statements that it depends on, read; a conversation in which the condition
// is then read in another way is looked at in turn. Where this comes to an end, it goes on with
// conversations that differ at random.
func (s *searcher) search() {
	s.sites = map[flow.Decision]int{}
	for i, site := range s.Template.Sites() {
		s.sites[site.Decision()] = i
	}
	targets := map[[2]int]*target{}
	found := 0 // how many targets there were in the last round
	for round := 0; ; round++ {
		if round == 1 { // an outcome that is found at once needs no proof
			if s.Proofs = s.prove(); s.done() {
				return
			}
		}
		for left := draws + perTarget*found; left > 0; left-- {
			if s.try(s.drawn()) {
				left += more
			}
			if s.done() {
				return
			}
		}
		found = 0
		for site, kind := range s.Template.Sites() {
			for _, o := range kind.Kind.Outcomes() {
				in := s.model.BranchOf(kind.Decision())
				if !s.wanted(site, o) || !s.near(site, in) {
					continue
				}
				key := [2]int{site, int(o)}
				t := targets[key]
				if t == nil {
					t = &target{site: site, outcome: o, slice: s.slice(kind.Decision()), in: in,
						seen: map[string]bool{}}
					targets[key] = t
				}
				found++
				for range turn {
					if s.step(t); s.done() {
						return
					}
					if s.Coverage.Reached(site, o) {
						break
					}
				}
			}
		}
		if found == 0 {
			return
		}
	}
}

// near reports whether a conversation reached the decision, or at least where it stands.
func (s *searcher) near(site int, in *flow.Branch) bool {
	for _, o := range s.Template.Sites()[site].Kind.Outcomes() {
		if s.Coverage.Reached(site, o) {
			return true
		}
	}
	return !in.Macro && (!in.Decided() || s.Coverage.Reached(s.sites[in.Decision], in.Outcome))
}

// step makes one render for a target.
func (s *searcher) step(t *target) {
	if s.rand.IntN(2) == 0 {
		s.try(s.shuffled(t))
		return
	}
	for len(t.todo) > 0 {
		c := t.todo[0]
		t.todo = t.todo[1:]
		changed, ok := t.now.with(c.path, c.to)
		if !ok {
			continue
		}
		s.look(t, changed)
		return
	}
	if len(t.queue) == 0 {
		s.refill(t)
	}
	if len(t.queue) > 0 {
		t.now, t.queue = t.queue[0], t.queue[1:]
		f := s.follow(t.now)
		t.seen[f.way(t.slice)] = true
		likely, others := s.changes(t, f)
		t.todo, t.later = likely, append(t.later, pending{t.now, others})
		return
	}
	if len(t.later) > 0 {
		t.now, t.todo, t.later = t.later[0].Conversation, t.later[0].changes, t.later[1:]
		return
	}
	s.try(s.shuffled(t))
}

// refill queues conversations of the pool, those first in which more of the target's condition was
// read.
func (s *searcher) refill(t *target) {
	read := map[int]int{}
	var from []int
	for ; t.from < len(s.pool) && len(from) < maxQueue; t.from++ {
		if !s.comes(t, t.from) {
			continue
		}
		one := &s.pool[t.from]
		if one.followed == nil {
			one.followed = s.follow(one.Conversation)
		}
		from = append(from, t.from)
		read[t.from] = one.followed.reads(t.slice)
	}
	slices.SortStableFunc(from, func(a, b int) int { return cmp.Compare(read[b], read[a]) })
	for _, i := range from {
		t.queue = append(t.queue, s.pool[i].Conversation)
	}
}

// reads counts the places of a condition at which something was looked up.
func (f *followed) reads(s *slice) int {
	offs := map[int]bool{}
	for p := range f.trace.Places() {
		if level, ok := s.Levels[p.Off]; ok && level == 0 {
			offs[p.Off] = true
		}
	}
	return len(offs)
}

// comes reports whether a conversation of the pool comes to the target's decision, or to where it
// stands if none comes to the decision itself.
func (s *searcher) comes(t *target, i int) bool {
	there := false
	for _, o := range s.Template.Sites()[t.site].Kind.Outcomes() {
		if s.pool[i].cover.Reached(t.site, o) {
			return true
		}
		there = there || s.Coverage.Reached(t.site, o)
	}
	return !there && (!t.in.Decided() ||
		s.pool[i].cover.Reached(s.sites[t.in.Decision], t.in.Outcome))
}

// look renders a changed conversation, and queues it where the target's condition was read in a way
// that is new.
func (s *searcher) look(t *target, c Conversation) {
	if s.try(c) || len(t.queue) >= maxQueue {
		return // conversations of the pool get their turn
	}
	f := s.follow(c)
	if way := f.way(t.slice); !t.seen[way] {
		t.seen[way] = true
		t.queue = append(t.queue, c)
	}
}

// followed is a render's variables, with the places where it read them.
type followed struct {
	vars  ordered.Value
	trace *jinja.Trace
}

func (s *searcher) follow(c Conversation) *followed {
	s.Renders++
	in := c.Input(s.Bound)
	return &followed{s.Template.Vars(in), s.Template.Follow(in)}
}

// way describes how a condition was read: which paths, of which kinds their values are, and which
// literals met them.
func (f *followed) way(s *slice) string {
	reads := f.trace.Reads()
	var all []string
	near := map[string]bool{}
	for p := range f.trace.Places() {
		if level, ok := s.Levels[p.Off]; ok && level <= 1 {
			r := reads[p.Read]
			near[r.Path] = true
			v, there := lookUp(f.vars, r.Path)
			way := pattern(r.Path) + " absent"
			if there {
				way = pattern(r.Path) + " " + v.Kind().String()
			}
			all = append(all, way)
		}
	}
	for _, c := range f.trace.Comparisons() {
		if near[c.Path] {
			all = append(all, pattern(c.Path)+" "+c.Op+" "+c.Literal)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ";")
}

// place is a path with how far the place where it was read is from a condition.
type place struct {
	path  string
	level int
}

// places returns the paths that a slice read, the nearest first, and then all others.
func (f *followed) places(s *slice) []place {
	reads := f.trace.Reads()
	levels := make([]int, len(reads))
	for i := range levels {
		levels[i] = flow.MaxLevel
	}
	for p := range f.trace.Places() {
		if level, ok := s.Levels[p.Off]; ok {
			levels[p.Read] = min(levels[p.Read], level)
		}
	}
	all := make([]place, len(reads))
	for i, r := range reads {
		all[i] = place{r.Path, levels[i]}
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.level, b.level) })
	return all
}

// changes returns the changes of a conversation that its trace suggests for a target: those of the
// places that its condition reads, then of all places the literals that met them and the values of
// their neighbours, then values of every kind and the literals of the slice, the nearest first.
func (s *searcher) changes(t *target, f *followed) (likely, others []change) {
	var first, second, near, far []change
	seen := map[string]int{}
	for _, p := range f.places(t.slice) {
		key := pattern(p.path)
		if seen[key]++; seen[key] > samePlace || len(seen) > maxPlaces {
			continue
		}
		add := func(to *[]change, values []value) {
			for _, v := range values {
				*to = append(*to, change{p.path, v})
			}
		}
		to := &second
		if p.level == 0 {
			to = &first
		}
		*to = append(*to, lent(f.vars, p.path)...)
		add(to, literals(f.vars, p.path, f.trace))
		if p.level == 0 {
			add(&first, t.slice.given())
			add(&first, f.anything(p.path))
		} else if p.level == 1 {
			add(&near, f.anything(p.path))
			add(&near, t.slice.given())
		} else {
			add(&far, f.anything(p.path))
			add(&far, t.slice.given())
		}
	}
	return slices.Concat(first, second), slices.Concat(near, far)
}

// anything returns values of every kind for a path.
func (f *followed) anything(path string) []value {
	now, there := lookUp(f.vars, path)
	return alternatives(now, there)
}

// given returns the literals of the slice as values.
func (s *slice) given() []value {
	return lists.Map(s.values, func(v ordered.Value) value { return value{Value: v} })
}

// maxLent bounds how many values of its neighbours a path is given.
const maxLent = 3

// lent returns changes that put at a path that is not there the values of the fields beside it, and
// those that put a field beside it, which has the path's own, in place of both: clients name fields
// otherwise, and wrap them.
func lent(vars ordered.Value, path string) []change {
	steps := split(path)
	if _, there := lookUp(vars, path); there || len(steps) < 2 {
		return nil
	}
	key := steps[len(steps)-1]
	parent := strings.TrimSuffix(strings.TrimSuffix(path, key), ".")
	holder, _ := lookUp(vars, parent)
	var all []change
	n := 0
	for _, m := range holder.Members() {
		if _, has := m.Value.Get(key); has {
			all = append(all, change{parent, value{Value: m.Value}})
			if in, items := listOf(vars, parent); in != "" {
				all = append(all, change{in, value{Value: unwrapped(items, m.Key)}})
			}
		} else if n++; n <= maxLent {
			all = append(all, change{path, value{Value: m.Value}})
		}
	}
	return all
}

// listOf returns the list that a path is an item of, with its items; "": it is none.
func listOf(vars ordered.Value, path string) (in string, items []ordered.Value) {
	at := strings.LastIndexByte(path, '[')
	if at < 0 || !strings.HasSuffix(path, "]") {
		return "", nil
	}
	v, _ := lookUp(vars, path[:at])
	return path[:at], v.Items()
}

// unwrapped returns a list with a member of its items in place of each item that has it.
func unwrapped(items []ordered.Value, key string) ordered.Value {
	all := slices.Clone(items)
	for i, item := range all {
		if inner, ok := item.Get(key); ok {
			all[i] = inner
		}
	}
	return list(all...)
}

// guess draws a value for a path, or none: of its shape, of the literals of the slice, of any kind,
// or the value that another conversation has there.
func (s *searcher) guess(t *target, f *followed, path string) value {
	d := drawer{s.rand}
	now, there := lookUp(f.vars, path)
	asked := shapeAt(s.shape, path)
	switch n := s.rand.IntN(20); {
	case n < 4 && there:
		return value{absent: true}
	case n < 12 && asked != nil:
		if there && d.chance(50) {
			return value{Value: d.changed(now, asked, 50, 2)}
		}
		return value{Value: d.value(asked, len(split(path)))}
	case n < 15 && len(t.slice.values) > 0:
		return value{Value: pick(d, t.slice.values)}
	case n < 17:
		other := s.Template.Vars(s.pool[s.rand.IntN(len(s.pool))].Input(s.Bound))
		if v, ok := lookUp(other, path); ok {
			return value{Value: v}
		}
	}
	return pick(d, slices.Concat(literals(f.vars, path, f.trace), f.anything(path)))
}

// shuffled returns a conversation that comes to a target's decision, changed at random where the
// statements that the decision depends on read it: at one path, or at all that one place reads.
func (s *searcher) shuffled(t *target) Conversation {
	var from []int
	for i := range s.pool {
		if s.comes(t, i) {
			from = append(from, i)
		}
	}
	if len(from) == 0 || s.rand.IntN(8) == 0 {
		from = append(from, s.rand.IntN(len(s.pool)))
	}
	base := &s.pool[from[s.rand.IntN(len(from))]]
	c := base.Conversation
	if base.followed == nil {
		base.followed = s.follow(c)
	}
	f := base.followed
	groups := f.groups(t.slice)
	for n := 1 + s.rand.IntN(4); n > 0; n-- {
		if len(groups) == 0 || s.rand.IntN(6) == 0 {
			c = s.rearranged(c)
			continue
		}
		paths := groups[s.rand.IntN(1+s.rand.IntN(len(groups)))] // the near ones more often
		if s.rand.IntN(2) == 0 {
			paths = []string{paths[s.rand.IntN(len(paths))]}
		}
		v := s.guess(t, f, paths[0])
		for _, path := range paths[:min(len(paths), maxPlaces)] {
			if changed, ok := c.with(path, v); ok {
				c = changed
			}
		}
	}
	return c
}

// groups returns the paths that the places of a slice read, those of each place together, the
// nearest place first.
func (f *followed) groups(s *slice) [][]string {
	reads := f.trace.Reads()
	at := map[int][]int{}
	var offs []int
	for p := range f.trace.Places() {
		if _, ok := s.Levels[p.Off]; ok {
			if at[p.Off] == nil {
				offs = append(offs, p.Off)
			}
			at[p.Off] = append(at[p.Off], p.Read)
		}
	}
	slices.SortFunc(offs, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.Levels[a], s.Levels[b]), cmp.Compare(a, b))
	})
	groups := make([][]string, len(offs))
	for i, off := range offs {
		slices.Sort(at[off])
		for _, read := range at[off] {
			groups[i] = append(groups[i], reads[read].Path)
		}
	}
	return groups
}

// maxMessages bounds how long a conversation grows by others.
const maxMessages = 40

// rearranged changes the messages, tools or switches of a conversation as a whole.
func (s *searcher) rearranged(c Conversation) Conversation {
	r := c.Request
	messages := slices.Clone(r.Messages)
	other := s.pool[s.rand.IntN(len(s.pool))].Request
	words := ""
	i := 0
	if len(messages) > 0 {
		i = s.rand.IntN(len(messages))
	}
	switch how := s.rand.IntN(8); {
	case how == 0 && len(messages) > 1:
		messages, words = slices.Delete(messages, i, i+1), "a message less"
	case how == 1 && len(messages) > 0:
		messages, words = slices.Insert(messages, i, messages[i]), "a message twice"
	case how == 2 && i > 0:
		messages[i-1], messages[i] = messages[i], messages[i-1]
		words = "two messages in another order"
	case how == 3 && len(other.Messages) > 0:
		m := other.Messages[s.rand.IntN(len(other.Messages))]
		messages, words = slices.Insert(messages, i, m), "another message"
	case how == 4 && len(messages) < maxMessages:
		messages, words = append(messages, other.Messages...), "another conversation"
	case how == 5:
		r.Tools, words = other.Tools, "other tools"
	case how == 6:
		r.Kwargs, words = other.Kwargs, "other switches"
	default:
		for _, k := range other.Kwargs.Members() {
			r.Kwargs = r.Kwargs.With(k.Key, k.Value)
		}
		r.NoGeneration, words = !r.NoGeneration, "more switches"
	}
	r.Messages = messages
	return Conversation{Name: c.Name + "; " + words, Request: r, Beyond: true}
}

// drawn returns a conversation in which some of the fields that the template asks for have values
// of the forms that it asks for.
func (s *searcher) drawn() Conversation {
	d := drawer{s.rand}
	c := s.pool[s.rand.IntN(len(s.pool))].Conversation
	if d.chance(25) {
		c = s.rearranged(c)
	}
	percent := pick(d, []int{2, 6, 15, 40})
	vars := s.Template.Vars(c.Input(nil))
	only := ""
	if len(s.shape.Names) > 0 && d.chance(50) {
		only = pick(d, s.shape.Names)
	}
	for _, name := range s.shape.Names {
		asked := s.shape.Members[name]
		now, there := vars.Get(name)
		to := value{Value: now}
		switch {
		case only != "" && name != only:
			continue
		case there:
			to.Value = d.changed(now, asked, percent, 1)
			if name == "tools" && d.chance(15) {
				to.Value = flat(now)
			}
		case name == only || d.chance(percent):
			to.Value = d.value(asked, 1)
		default:
			continue
		}
		if changed, ok := c.with(name, to); ok {
			c.Request = changed.Request
		}
	}
	return Conversation{Name: c.Name + "; drawn", Request: c.Request, Beyond: true}
}

// flat returns tools as the Responses protocol declares them: without the object around a function.
func flat(tools ordered.Value) ordered.Value {
	items := slices.Clone(tools.Items())
	for i, t := range items {
		if f, ok := t.Get("function"); ok && f.Kind() == ordered.Object {
			items[i] = ordered.ObjectOf(append([]ordered.Member{
				ordered.MemberOf("type", text("function"))}, f.Members()...)...)
		}
	}
	return list(items...)
}
