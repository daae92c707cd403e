package jinja

import (
	"strings"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
)

// textConst is a text that is a site.
type textConst struct {
	value Value
	site  int
	mark  *prov
}

// textSite makes the site of a text.
func (c *compiler) textSite(x *syntax.Const) *textConst {
	site := c.site(flow.SiteText, x.Pos, x.Pos)
	c.t.texts = append(c.t.texts, writable{site, len(strings.TrimSpace(x.Text)),
		strings.ContainsAny(x.Text, "%{")})
	// it is followed through a render as a part of the input would be
	n := &node{index: len(c.t.texts) - 1}
	n.val.node, n.val.role = n, FromValue
	return &textConst{stringValue(x.Text), site, &n.val}
}

func (x *textConst) eval(f *frame) Value {
	v := x.value
	if f.rt.follows {
		v.prov = x.mark
	}
	return v
}

// writable is a text that is a site.
type writable struct {
	site   int
	length int  // without white space at its ends
	format bool // it may be written in pieces
}

// follow reports whether a render has to look for texts: no earlier one wrote all of them.
func (t *Template) follow(known *Coverage) bool {
	for _, w := range t.texts {
		if known == nil || !known.Reached(w.site, flow.Written) {
			return true
		}
	}
	return false
}

// wrote notes the texts that a render has written: from their first to their last letter, or, where
// a text has places for others in it, as much without these.
func (rt *interp) wrote(runs []run) {
	for _, r := range runs {
		if r.node == nil {
			continue
		}
		w := rt.t.texts[r.node.index]
		if r.n >= w.length || w.format || r.inexact {
			rt.coverage.reached[w.site] |= 1 << flow.Written
		}
	}
}
