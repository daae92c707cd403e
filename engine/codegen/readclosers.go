package codegen

import (
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// closerReader matches closing markers that close nothing (E31).
type closerReader struct{ *reader }

func (r *reader) closers() closerReader { return closerReader{r} }

// atStart returns the alternative for closing markers of calls with which the answer begins:
// they are nobody's text.
func (r closerReader) atStart() peg.Choice {
	var closers peg.Choice
	for _, m := range r.t.strays(false) {
		if r.t.closesCall(m) && !r.t.opensToo(m) {
			closers = append(closers, r.lit(m))
		}
	}
	if closers == nil {
		return nil
	}
	mark := r.markInfo(MarkInfo{Free: true, Stray: true})
	space := peg.Capture{Kind: Content, P: peg.Space{}}
	first := peg.Hold{P: peg.Seq{space, mark, peg.Capture{Kind: Dropped, P: closers}}}
	return peg.Choice{peg.Seq{first, peg.Cut{}, mark, peg.Ref{Name: "start"}}}
}

// lone returns the alternatives for a closing marker that closes nothing. One of a call, where
// there was none, is dropped before the end of the answer and beside another marker, and is text in
// the middle of a text (E31).
func (r closerReader) lone(m string, x text) peg.Choice {
	dropped := append(r.stray(m), peg.Ref{Name: x.name})
	if x.after || !r.t.closesCall(m) {
		return peg.Choice{dropped}
	}
	edge := peg.And{P: peg.Seq{r.lit(m), peg.Space{}, r.ref("edge of text", r.edge)}}
	return peg.Choice{
		append(peg.Seq{edge}, dropped...),
		peg.Seq{peg.Capture{Kind: Content, P: r.lit(m)}, peg.Cut{}, peg.Ref{Name: x.name}},
	}
}

// edge looks ahead to the end of a text: a marker, or the output's end.
func (r closerReader) edge() peg.Pattern {
	alts := peg.Choice{peg.End{}}
	markers := either(r.t.anyCall(), literals(r.t.strays(false)), r.t.thinking(), r.t.answering())
	for _, m := range append(markers.all(nil), r.t.endTexts()...) {
		alts = append(append(alts, r.lit(m)), stub(m)...)
	}
	return alts
}

// stray drops a closing marker that closes nothing.
func (r closerReader) stray(text string) peg.Seq {
	mark := r.markInfo(MarkInfo{Free: true, Stray: true})
	return peg.Seq{mark, peg.Capture{Kind: Dropped, P: r.lit(text)}, peg.Cut{}, mark}
}

// tokenOpen and tokenShut stand around the name of a token.
const tokenOpen, tokenShut = "<|", "|>"

// except matches p, which begins with sign, unless a longer text of texts that begins with sign
// stands there: what the format writes comes before what is tolerated.
func (r closerReader) except(p peg.Pattern, sign string, texts []string) peg.Pattern {
	longer := func(t string) bool { return len(t) > len(sign) && strings.HasPrefix(t, sign) }
	if texts = lists.Filter(texts, longer); len(texts) == 0 {
		return p
	}
	return peg.Seq{peg.Not{P: peg.Seq{peg.Space{}, peg.Choice(lists.Map(texts, r.lit))}}, p}
}

// token matches a token of any format.
func (r closerReader) token() peg.Seq {
	mark := peg.Pattern(peg.Seq{})
	if r.t.o.marked() {
		mark = peg.Opt{P: peg.Lit{Text: TokenMark}}
	}
	return peg.Seq{mark, peg.Lit{Text: tokenOpen},
		peg.Rep{P: peg.Set{Set: nameBytes}, Min: 1, Max: maxQualifier}, peg.Lit{Text: tokenShut}}
}

// maxEnds bounds how many tokens end one turn.
const maxEnds = 8

// furtherEnds matches the tokens after the end of a turn, up to the end of the output: models end a
// turn twice, and a text after that.
func (r closerReader) furtherEnds() peg.Pattern {
	ends := append(peg.Choice(lists.Map(r.t.endTexts(), r.lit)), r.token())
	return peg.Hold{P: peg.Seq{peg.Rep{P: peg.Seq{peg.Space{}, ends}, Min: 1, Max: maxEnds},
		peg.Space{}, peg.End{}}}
}

// foreignToken drops a token that is no marker of the format.
func (r closerReader) foreignToken() peg.Pattern {
	return peg.Seq{r.noMarker(), peg.Capture{Kind: Dropped, P: r.token()}}
}

// noMarker matches nothing, where no token of the format stands.
func (r closerReader) noMarker() peg.Pattern {
	known := lists.Filter(r.t.own(), func(text string) bool {
		return strings.HasPrefix(strings.TrimPrefix(text, TokenMark), tokenOpen)
	})
	if len(known) == 0 {
		return peg.Seq{}
	}
	return peg.Not{P: peg.Choice(lists.Map(known, r.lit))}
}

// foreignEnd is the alternative for such a token after a call, at the end of the output: it ends
// the turn, as models end one with calls by a token that their template does not have.
func (r closerReader) foreignEnd() peg.Pattern {
	mark := r.markInfo(MarkInfo{Free: true, Stray: true})
	return peg.Seq{peg.Hold{P: peg.Seq{mark, r.noMarker(), peg.Emit{Kind: EndOfTurn}, r.token(),
		mark, peg.Space{}, peg.End{}}}, peg.Cut{}}
}
