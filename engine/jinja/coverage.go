package jinja

import "github.com/goassay/assay/engine/jinja/syntax"

// SiteKind is the kind of a decision at a site.
type SiteKind uint8

// The kinds of sites.
const (
	SiteIf   SiteKind = iota // {% if %}
	SiteElif                 // {% elif %}
	SiteCond                 // x if test else y
	SiteFor                  // {% for %}
	SiteText                 // a text of the template that is chosen as a value
)

var siteNames = [...]string{"if", "elif", "inline if", "for", "text"}

func (k SiteKind) String() string { return siteNames[k] }

// Site is a place in a template where a render decides between outcomes.
type Site struct {
	Kind SiteKind
	Off  int // where the statement or the inline if stands, a byte offset into the source
	Test int // where its condition or, of a loop, its iterable stands
}

// Outcome is a way in which a site decides.
type Outcome uint8

// The outcomes. A condition has the first two, where an absent else counts as one, a loop the next
// three, a text the last.
const (
	False    Outcome = iota // the condition did not hold
	True                    // the condition held
	Empty                   // the loop had nothing to go through
	Entered                 // the loop's body ran
	Repeated                // and ran again
	Written                 // the text was written
)

var outcomeNames = [...]string{"false", "true", "empty", "entered", "repeated", "written"}

func (o Outcome) String() string { return outcomeNames[o] }

// Outcomes returns the outcomes that a site of the kind has.
func (k SiteKind) Outcomes() []Outcome {
	switch k {
	case SiteFor:
		return []Outcome{Empty, Entered, Repeated}
	case SiteText:
		return []Outcome{Written}
	}
	return []Outcome{False, True}
}

// Coverage notes which outcomes renders reach. The zero value is ready for use; one coverage may go
// through several renders of one template, one after the other, and then holds the outcomes that
// any of them reached.
type Coverage struct{ reached []uint8 } // a bit for each outcome, by site

// Reached reports whether a render reached the outcome of a site, an index of [Template.Sites].
func (c *Coverage) Reached(site int, o Outcome) bool {
	return site < len(c.reached) && c.reached[site]>>o&1 == 1
}

// Add adds the branches that another coverage of the same template reached, and reports whether any
// was new.
func (c *Coverage) Add(other *Coverage) bool {
	if len(c.reached) < len(other.reached) {
		c.reached = append(c.reached, make([]uint8, len(other.reached)-len(c.reached))...)
	}
	more := false
	for i, bits := range other.reached {
		more = more || bits&^c.reached[i] != 0
		c.reached[i] |= bits
	}
	return more
}

// Clear forgets everything.
func (c *Coverage) Clear() { clear(c.reached) }

// start makes room for a template's sites.
func (c *Coverage) start(sites int) {
	if len(c.reached) < sites {
		c.reached = append(c.reached, make([]uint8, sites-len(c.reached))...)
	}
}

// Sites returns the places where the template decides, in a fixed order. The caller must not change
// them.
func (t *Template) Sites() []Site { return t.sites }

// site numbers a place.
func (c *compiler) site(kind SiteKind, pos, test syntax.Pos) int {
	c.t.sites = append(c.t.sites, Site{kind, pos.Offset(), test.Offset()})
	return len(c.t.sites) - 1
}

// decided notes the outcome of a condition.
func (rt *interp) decided(site int, yes bool) {
	if rt.coverage == nil {
		return
	}
	if yes {
		rt.coverage.reached[site] |= 1 << True
	} else {
		rt.coverage.reached[site] |= 1 << False
	}
}
