package boundary

import (
	"maps"
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/conversation"
)

// Outlier is a join without a line feed where its siblings have one, or with one where they have
// none.
type Outlier struct {
	Join
	Like Join // a sibling: of one of the two pieces with another one, or of both elsewhere
}

// Words name both pieces, and where the white space is the usual one.
func (o Outlier) Words() (left, right, elsewhere string) {
	elsewhere = "between " + o.Like.Left.words() + " and " + o.Like.Right.words()
	if o.Like.Right.id() == o.Right.id() && o.Like.Left.id() == o.Left.id() {
		elsewhere = "between them after " + speakerOr(o.Like.after, "the start")
		if o.Like.after == o.after {
			elsewhere = "between them before " + speakerOr(o.Like.Right.Kind, "the end")
		}
	}
	return o.Left.words(), o.Right.words(), elsewhere
}

// speakerOr names a kind of message; none has another name.
func speakerOr(k conversation.Kind, none string) string {
	if k == conversation.None {
		return none
	}
	return probe.Article(k.String())
}

// words name a piece.
func (p *Piece) words() string {
	if p.Sort == Mark {
		return probe.JSON(p.Name)
	}
	switch p.Name {
	case "text":
		return probe.Article(p.Kind.String())
	case "reasoning":
		return "the reasoning of " + probe.Article(p.Kind.String())
	case "name":
		return "the name of a tool message"
	}
	return probe.Article(p.Name)
}

// id is what makes two pieces the same: the text of a marker, or what a text is of.
func (p *Piece) id() string {
	if p.Sort == Mark {
		return p.Name
	}
	if p.said() {
		return "\x00" + p.Name + p.Kind.String()
	}
	return "\x00" + p.Name
}

// said reports whether a piece is what a message says.
func (p *Piece) said() bool { return p.Sort == Text && (p.Name == "text" || p.Name == "reasoning") }

// closes reports whether a marker is the other half of one before it.
func (p *Piece) closes(open *Piece) bool {
	return p.Sort == Mark && open.Sort == Mark && p.mark.Key == open.mark.Key &&
		p.mark.Side == markup.Closing && open.mark.Side != markup.Closing
}

// pair are the joins of two pieces.
type pair struct {
	fed, bare, other int
	with, without    Join // the first ones with a line feed, and with nothing between
	joins            []Join
}

// always reports whether a line feed parts the two everywhere.
func (p *pair) always() bool { return p.fed > 0 && p.bare == 0 && p.other == 0 }

// never reports whether nothing parts the two anywhere.
func (p *pair) never() bool { return p.bare > 0 && p.fed == 0 && p.other == 0 }

// natural are the conditions under which templates write white space otherwise by design: the piece
// before, the last message, the tools, the first message, the switches, and whether an answer is
// asked for.
var natural = []func(Join) string{
	Join.before,
	func(j Join) string { return strconv.FormatBool(j.Right.Kind == conversation.None) },
	func(j Join) string { return strconv.FormatBool(len(j.In.In.Tools) > 0) },
	func(j Join) string { return j.In.In.Messages[0].At("role").Text() },
	func(j Join) string { return ordered.ObjectOf(j.In.In.Kwargs...).String() },
	func(j Join) string { return strconv.FormatBool(j.In.In.Generate) },
}

// before is the piece before the left one.
func (j Join) before() string {
	if j.at < 2 || j.In.Pieces[j.at-2].Sort == Word {
		return ""
	}
	return j.In.Pieces[j.at-2].id()
}

// varies reports whether the kinds of the messages before and after tell where a line feed parts
// the two, or they are items of one list, and no natural condition tells it.
func (p *pair) varies() bool {
	listed := p.with.Left.closes(p.with.Right) && p.with.Left.Kind == p.with.Right.Kind
	return p.fed > 0 && p.bare > 0 && p.with.Right.Sort != Finish && (listed ||
		p.tells(func(j Join) string {
			return j.after.String() + "," + j.Right.Kind.String()
		})) && !slices.ContainsFunc(natural, p.tells)
}

// tells reports whether a condition tells where a line feed is.
func (p *pair) tells(condition func(Join) string) bool {
	fed := map[string]bool{}
	for _, j := range p.joins {
		key := condition(j)
		if was, ok := fed[key]; ok && was != j.Fed() {
			return false
		}
		fed[key] = j.Fed()
	}
	return true
}

// odd is the first of the rarer ones.
func (p *pair) odd() Outlier {
	if p.fed < p.bare {
		return Outlier{p.with, p.without}
	}
	return Outlier{p.without, p.with}
}

// table has the pairs of a template, by both pieces, in the order in which they are met.
type table struct {
	all     []*pair
	after   map[string][]*pair // by the left piece
	before  map[string][]*pair // by the right one
	headers map[string]bool    // keys of markers that open turns
	eos     string             // the token that ends all sequences
	ends    map[string]int     // right before the texts of how many kinds a marker stands
}

// Outliers are the places in which a line feed was lost or added.
var Outliers = probe.NewFact(func(s *probe.Subject) []Outlier {
	t := table{after: map[string][]*pair{}, before: map[string][]*pair{},
		headers: maps.Clone(Headers(s)), ends: map[string]int{},
		eos: s.Template.ChatTemplate().EOS}
	known := map[[2]string]*pair{}
	for _, r := range Readings.Of(s) {
		for _, j := range r.Joins() {
			key := [2]string{j.Left.id(), j.Right.id()}
			p := known[key]
			if p == nil {
				p = &pair{}
				known[key] = p
				t.all = append(t.all, p)
				t.after[key[0]] = append(t.after[key[0]], p)
				t.before[key[1]] = append(t.before[key[1]], p)
				p.with, p.without = j, j
			}
			p.joins = append(p.joins, j)
			switch {
			case j.Fed():
				if p.fed++; p.fed == 1 {
					p.with = j
				}
			case j.bare():
				if p.bare++; p.bare == 1 {
					p.without = j
				}
			default:
				p.other++
			}
		}
	}
	for _, p := range t.all {
		left, right := p.with.Left, p.with.Right
		if left.Sort != Mark || right.Name != "text" {
			continue
		}
		t.ends[left.id()]++
		if right.Kind == conversation.Question && left.mark.Side != markup.Closing {
			t.headers[left.mark.Key] = true
		}
	}
	var found []Outlier
	for _, p := range t.all {
		switch {
		case p.never():
			if like, ok := t.lost(p); ok {
				found = append(found, Outlier{p.without, like.with})
			}
		case p.always():
			if like, ok := t.added(p); ok {
				found = append(found, Outlier{p.with, like.without})
			}
		case p.varies():
			found = append(found, p.odd())
		}
	}
	return found
})

// lost returns a pair with a line feed that shows that another one lacks it.
func (t *table) lost(p *pair) (like *pair, ok bool) {
	left, right := p.without.Left, p.without.Right
	if right.closes(left) {
		return nil, false // an empty element
	}
	switch {
	case t.opens(right) || right.mark.Side == markup.Closing && right.Sort == Mark:
		like, ok = t.sibling(p)
	case right.Sort == Mark:
		if like, ok = t.sides(p); !ok {
			like, ok = t.item(p)
		}
	}
	if !ok {
		like, ok = t.element(p)
	}
	if !ok && left.Sort == Mark {
		like, ok = t.header(p)
	}
	if !ok && left.Sort == Mark {
		like, ok = t.role(p)
	}
	return like, ok
}

// added returns a pair without a line feed that shows that another one has one too many: only one
// kind of message has it before the end of its turn.
func (t *table) added(p *pair) (like *pair, ok bool) {
	left, right := p.with.Left, p.with.Right
	if left.Name != "text" || left.Sort != Text || prompts.Instructs(left.Kind) ||
		right.Sort != Mark || right.mark.Side != markup.Closing {
		return nil, false
	}
	n := 0
	for _, o := range t.before[right.id()] {
		if o == p || !o.with.Left.said() || o.with.Left.Name != left.Name {
			continue
		}
		if !o.never() {
			return nil, false
		}
		if n++; like == nil {
			like = o
		}
	}
	return like, n > 1
}

// opens reports whether a marker opens a turn.
func (t *table) opens(p *Piece) bool {
	return p.Sort == Mark && p.mark.Side != markup.Closing && t.headers[p.mark.Key]
}

// others reports whether a line feed parts all pairs but one, and returns the first of them.
func (t *table) others(pairs []*pair, but *pair, of func(*pair) bool) (first *pair, n int,
	all bool) {
	for _, p := range pairs {
		if p == but || of != nil && !of(p) {
			continue
		}
		if !p.always() {
			return nil, 0, false
		}
		if n++; first == nil {
			first = p
		}
	}
	return first, n, true
}

// sides asks whether each of two markers has a line feed beside all its other neighbours.
func (t *table) sides(p *pair) (*pair, bool) {
	if p.without.Left.Sort != Mark {
		return nil, false
	}
	_, n, all := t.others(t.after[p.without.Left.id()], p, nil)
	like, m, also := t.others(t.before[p.without.Right.id()], p, nil)
	return like, all && also && n > 0 && m > 0
}

// sibling asks whether a line feed parts the same marker from the texts of other messages.
func (t *table) sibling(p *pair) (*pair, bool) {
	left := p.without.Left
	if !left.said() {
		return nil, false
	}
	like, n, all := t.others(t.before[p.without.Right.id()], p, func(o *pair) bool {
		return o.without.Left.said() && o.without.Left.Name == left.Name
	})
	return like, all && (n > 1 || n == 1 && left.Name == "reasoning")
}

// item asks whether the opener of an item, such as a call, begins a line after all else.
func (t *table) item(p *pair) (*pair, bool) {
	left, right := p.without.Left, p.without.Right
	_, n, all := t.others(t.before[right.id()], p, nil)
	if left.Sort != Text && !left.closes(right) {
		return nil, false
	}
	if all && (n > 1 || n == 1 && left.Sort != Text) {
		for _, o := range t.before[right.id()] {
			if o != p && t.shows(o) {
				return o, true
			}
		}
	}
	if left.Sort == Text {
		return nil, false
	}
	like, n, all := t.others(t.after[left.id()], p, nil)
	return like, all && n > 0 && t.listed(left)
}

// shows reports whether the line feed of a pair is not that of its left piece: one that stands
// after a header everywhere shows nothing about what follows.
func (t *table) shows(p *pair) bool {
	if p.without.Left.Sort == Text {
		return true
	}
	_, _, all := t.others(t.after[p.without.Left.id()], p, nil)
	return !all
}

// listed reports whether a line feed stands between the items of all other lists.
func (t *table) listed(but *Piece) bool {
	n := 0
	for _, p := range t.all {
		if p.with.Left.closes(p.with.Right) && p.with.Left.id() != but.id() {
			if !p.always() {
				return false
			}
			n++
		}
	}
	return n > 0
}

// element asks whether the items of an element stand in lines of their own, and the first of them,
// or the end of the element, does not.
func (t *table) element(p *pair) (*pair, bool) {
	left, right := p.without.Left, p.without.Right
	for _, between := range t.all {
		last, next := between.with.Left, between.with.Right
		values := last.id() == next.id() && last.Sort == Text && !last.said()
		if !between.always() || !last.closes(next) && !values {
			continue
		}
		switch {
		case right.id() == next.id() && left.Sort == Mark && !t.opens(left): // it is the first item
			for _, o := range t.after[last.id()] {
				if o.with.Right.closes(left) && o.always() {
					return o, true
				}
			}
		case left.id() == last.id() && right.Sort == Mark: // it is the last one
			for _, o := range t.before[next.id()] {
				if right.closes(o.with.Left) && !t.opens(o.with.Left) && o.always() {
					return o, true
				}
			}
		}
	}
	return nil, false
}

// header asks whether a line feed follows the header of a turn, or the end of an element, before
// everything else.
func (t *table) header(p *pair) (*pair, bool) {
	left, right := p.without.Left, p.without.Right
	ends := left.mark.Slash && left.Name != t.eos && right.Sort == Mark
	if !ends && !t.opens(left) && t.ends[left.id()] < 2 ||
		right.Sort == Mark && (t.opens(right) || right.mark.Side == markup.Closing) {
		return nil, false
	}
	like, n, all := t.others(t.after[left.id()], p, nil)
	return like, all && n > 1
}

// role asks whether a line feed follows the headers of all other roles, two at least, where a
// marker alone is the header: it follows what a message of another kind says. The header of the
// model is where it began to write, and says nothing.
func (t *table) role(p *pair) (like *pair, ok bool) {
	right := p.without.Right
	if right.Name != "text" || right.Kind == conversation.Answer ||
		right.Kind == conversation.Call || !slices.ContainsFunc(p.joins, func(j Join) bool {
		return j.at > 1 && j.In.Pieces[j.at-2].said() && j.In.Pieces[j.at-2].Kind != right.Kind
	}) {
		return nil, false
	}
	roles := map[string]bool{}
	for _, o := range t.all {
		left := o.with.Left
		if left.Sort != Mark || left.mark.Side == markup.Closing || o.with.Right.Name != "text" ||
			left.id() == p.without.Left.id() {
			continue
		}
		if !o.always() {
			return nil, false
		}
		roles[left.id()], like = true, o
	}
	return like, len(roles) > 1
}
