package jinja

import (
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
)

// Coverage notes which outcomes renders reach. The zero value is ready for use; one coverage may go
// through several renders of one template, one after the other, and then holds the outcomes that
// any of them reached.
type Coverage struct {
	// Turn is the number of the condition, counted from 1 in the order of a render, that comes out
	// the other way; 0: none does.
	Turn   int
	Turned int // the site of that condition, an index of [Template.Sites]; -1: the render has none

	made    int     // conditions of the render
	reached []uint8 // a bit for each outcome, by site
}

// Reached reports whether a render reached the outcome of a site, an index of [Template.Sites].
func (c *Coverage) Reached(site int, o flow.Outcome) bool {
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

// start makes room for a template's sites.
func (c *Coverage) start(sites int) {
	c.made, c.Turned = 0, -1
	if len(c.reached) < sites {
		c.reached = append(c.reached, make([]uint8, sites-len(c.reached))...)
	}
}

// Sites returns the places where the template decides, in a fixed order. The caller must not change
// them.
func (t *Template) Sites() []flow.Site { return t.sited().sites }

// site numbers a place.
func (c *compiler) site(kind flow.SiteKind, pos, test syntax.Pos) int {
	c.t.sites = append(c.t.sites, flow.Site{Kind: kind, Off: pos.Offset(), Test: test.Offset()})
	return len(c.t.sites) - 1
}

// decided notes the outcome of a condition, and returns it: the other one where that is asked for.
func (rt *interp) decided(site int, yes bool) bool {
	c := rt.coverage
	if c == nil {
		return yes
	}
	if c.made++; c.made == c.Turn {
		c.Turned, yes = site, !yes
	}
	if yes {
		c.reached[site] |= 1 << flow.True
	} else {
		c.reached[site] |= 1 << flow.False
	}
	return yes
}
