package conversation

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/engine/ordered"
)

// Exploration is the part of a template that conversations reached.
type Exploration struct {
	Template      *chattemplate.Template
	Conversations []Conversation // each of which reached something that those before it did not
	Coverage      jinja.Coverage // of all that were tried
	Derived       jinja.Coverage // of those of the grammar alone, which clients send
	Renders       int            // how many were tried
	Refused       int            // how many of those ended in an error
	Refusals      []Refusal      // of the grammar's conversations, in their order
	Rendered      *Conversation  // the first one that did not; nil: none
	// Proofs are the reasons why some outcomes are out of any request's reach.
	Proofs map[reach.Outcome]string
	Bound  []ordered.Member
}

// Refusal is an error in which conversations ended.
type Refusal struct {
	Text  string // its first line
	Count int
}

// ended notes how the render of a conversation ended.
func (x *Exploration) ended(c Conversation, err error) {
	switch {
	case err == nil:
		if x.Rendered == nil {
			x.Rendered = &c
		}
		return
	case !c.Beyond:
		text, _, _ := strings.Cut(err.Error(), "\n")
		at := slices.IndexFunc(x.Refusals, func(r Refusal) bool { return r.Text == text })
		if at < 0 {
			at = len(x.Refusals)
			x.Refusals = append(x.Refusals, Refusal{Text: text})
		}
		x.Refusals[at].Count++
	}
	x.Refused++
}

// Counts returns how many outcomes the renders reached of how many that count. That a loop had
// nothing to go through does not.
func (x *Exploration) Counts() (reached, all int) {
	for i, s := range x.Template.Sites() {
		for _, o := range s.Kind.Outcomes() {
			if o == flow.Empty {
				continue
			}
			all++
			if x.Coverage.Reached(i, o) {
				reached++
			}
		}
	}
	return reached, all
}

// Explore renders conversations with a template, those of the grammar first, and then searches for
// requests that reach the branches that these did not, with at most renders renders in all. Bound
// are variables without which the template fails. The proofs are asked for where something is left;
// nil makes them.
func Explore(t *chattemplate.Template, g *Grammar, bound []ordered.Member, renders int,
	proofs func() map[reach.Outcome]string) *Exploration {
	if proofs == nil {
		proofs = func() map[reach.Outcome]string { return reach.Unreachable(t.Source) }
	}
	x := &Exploration{Template: t, Bound: bound}
	s := searcher{Exploration: x, most: renders, prove: proofs,
		rand:    rand.New(rand.NewPCG(g.Seed, 0)),
		reached: map[[2]int]int{}}
	for _, c := range g.Conversations {
		if s.done() {
			return x
		}
		s.try(c)
		x.Derived.Add(&x.Coverage)
	}
	if len(t.Sites()) > maxSites {
		return x
	}
	if !s.done() {
		s.model, _ = flow.Parse(t.Source) // it compiles
		s.shape = s.model.Shape()
		for _, c := range g.edges {
			if in := shapeAt(s.shape, c.at); in != nil && len(in.Names) > 0 && !s.done() {
				s.try(c.Conversation)
			}
		}
		s.search()
	}
	if reached, all := x.Counts(); reached < all && x.Proofs == nil {
		x.Proofs = proofs()
	}
	return x
}

// maxSites bounds the decisions of a template that is searched: the search looks at each of them
// after each render. The most that a template of the Hub has is some two hundred. Of one with more
// the conversations of the grammar are all, and what these miss is listed as unreached.
const maxSites = 600

// value is the value to which a path is set; absent means that it is taken away.
type value struct {
	ordered.Value
	absent bool
}

func (v value) String() string {
	if v.absent {
		return "absent"
	}
	return v.Value.String()
}

// with returns the conversation with another value at a path.
func (c Conversation) with(path string, v value) (Conversation, bool) {
	steps := split(path)
	r := c.Request
	switch steps[0] {
	case "messages":
		all, ok := put(list(r.Messages...), steps[1:], v)
		if !ok || all.Kind() != ordered.Array {
			return c, false
		}
		r.Messages = all.Items()
	case "tools":
		if len(steps) == 1 && !v.absent && v.Kind() != ordered.Array { // as a server passes it on
			r.Tools, r.Kwargs = nil, r.Kwargs.With("tools", v.Value)
			break
		}
		r.Kwargs = r.Kwargs.Without("tools")
		all, ok := put(ordered.ListOf(r.Tools, chat.Tool.Wire), steps[1:], v)
		if !ok || all.Kind() != ordered.Array {
			return c, false
		}
		r.Tools = nil
		for _, t := range all.Items() {
			r.Tools = append(r.Tools,
				chat.Tool{Name: t.At("function", "name").Text(), Value: t,
					Parameters: t.At("function", "parameters")})
		}
	case "add_generation_prompt":
		r.NoGeneration = v.absent || !v.Bool()
	default:
		kwargs, ok := put(r.Kwargs, steps, v)
		if !ok {
			return c, false
		}
		r.Kwargs = kwargs
	}
	return Conversation{Name: c.Name + "; " + path + " = " + v.String(), Request: r, Beyond: true},
		true
}

// split returns the keys and indexes of a path, indexes in brackets.
func split(path string) []string {
	var steps []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			end := strings.IndexByte(path, ']')
			if end > 1 && path[1] == '"' {
				quoted, err := strconv.QuotedPrefix(path[1:])
				if err != nil {
					return append(steps, path)
				}
				key, _ := strconv.Unquote(quoted)
				steps, path = append(steps, key), path[1+len(quoted)+1:]
				continue
			}
			steps, path = append(steps, path[:end+1]), path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, path[:end]), path[end:]
		}
	}
	return steps
}

// put returns v with another value at the end of the steps; false where v has no such place.
func put(v ordered.Value, steps []string, to value) (ordered.Value, bool) {
	if len(steps) == 0 {
		return to.Value, !to.absent
	}
	step := steps[0]
	if i, isIndex := index(step); isIndex {
		items := slices.Clone(v.Items())
		if v.Kind() != ordered.Array || i >= len(items) {
			return v, false
		}
		if len(steps) == 1 && to.absent {
			return list(slices.Delete(items, i, i+1)...), true
		}
		inner, ok := put(items[i], steps[1:], to)
		items[i] = inner
		return list(items...), ok
	}
	if v.Kind() != ordered.Object && !v.IsNull() {
		return v, false
	}
	if v.IsNull() {
		v = ordered.ObjectOf()
	}
	if len(steps) == 1 && to.absent {
		_, there := v.Get(step)
		return v.Without(step), there
	}
	inner, ok := put(v.At(step), steps[1:], to)
	return v.With(step, inner), ok
}

func index(step string) (int, bool) {
	if len(step) < 3 || step[0] != '[' {
		return 0, false
	}
	i, err := strconv.Atoi(step[1 : len(step)-1])
	return i, err == nil
}

// lookUp returns the value at a path.
func lookUp(v ordered.Value, path string) (ordered.Value, bool) {
	for _, step := range split(path) {
		if i, ok := index(step); ok {
			if v.Kind() != ordered.Array || i >= len(v.Items()) {
				return v, false
			}
			v = v.Items()[i]
			continue
		}
		inner, ok := v.Get(step)
		if !ok {
			return v, false
		}
		v = inner
	}
	return v, true
}

// pattern is a path without the indexes.
func pattern(path string) string {
	var b strings.Builder
	for _, step := range split(path) {
		if _, ok := index(step); ok {
			step = "[]"
		}
		b.WriteString("." + step)
	}
	return b.String()
}

// maxLiterals bounds the literals of one path that are tried.
const maxLiterals = 12

// literals returns values for a path that meet the literals that it was compared with: each alone,
// and all of them in a row.
func literals(vars ordered.Value, path string, t *jinja.Trace) []value {
	now, _ := lookUp(vars, path)
	var values []value
	seen := map[string]bool{}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			values = append(values, value{Value: text(s)})
		}
	}
	all := ""
	compared := t.Literals(path)
	for _, literal := range compared[:min(len(compared), maxLiterals)] {
		if now.Text() == literal {
			continue
		}
		add(literal)
		if now.Kind() == ordered.String {
			add(literal + now.Text())
			add(now.Text() + literal)
			add(now.Text() + literal + now.Text())
		}
		all += literal + "lumorat"
	}
	if now.Kind() == ordered.String {
		for i, begin := range t.Literals(path, "startswith") {
			for j, end := range t.Literals(path, "endswith") {
				if i*j < maxLiterals {
					add(begin + now.Text() + end)
				}
			}
		}
	}
	if now.Kind() == ordered.String && all != "" {
		add("kivarun" + all)
		add(all)
	}
	return values
}

// word stands for any text.
var word = text("sumidal")

// alternatives returns values for a path that was looked up: of every kind that a template may ask
// for.
func alternatives(now ordered.Value, there bool) []value {
	given := []value{
		{Value: ordered.Boolean(true)}, {Value: word}, {Value: ordered.Boolean(false)},
		{Value: text("")},
		{Value: ordered.Value{}}, {Value: ordered.Int(0)},
		{Value: ordered.Int(7)}, {Value: list()}, {Value: list(word)},
		{Value: list(ordered.ObjectOf(), ordered.ObjectOf())},
		{Value: list(ordered.Pairs("type", "text", "text", word))},
		{Value: ordered.Pairs("bogarel", word, "nitasov", list(word))},
		{Value: ordered.ObjectOf()},
	}
	if !there {
		return given
	}
	values := []value{{absent: true}}
	switch now.Kind() {
	case ordered.Array:
		if items := now.Items(); len(items) > 0 {
			values = append(values,
				value{Value: list(append(slices.Clone(items), items[len(items)-1])...)},
				value{Value: list(items[:1]...)}, value{Value: list(items[1:]...)})
			items = slices.Clone(items)
			slices.Reverse(items)
			values = append(values, value{Value: list(items...)})
		}
	case ordered.Bool:
		values = append(values, value{Value: ordered.Boolean(!now.Bool())})
	}
	for _, v := range given {
		if v.Value.Kind() != now.Kind() || v.String() == `""` || now.Kind() == ordered.Array ||
			now.Kind() == ordered.Object {
			values = append(values, v)
		}
	}
	return values
}
