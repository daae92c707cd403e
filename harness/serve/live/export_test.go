package live

import (
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/serve/openai"
)

// Judge judges existing answers to a request of a protocol, without a server.
func Judge(plan *engine.Plan, p wire.Protocol, request *wire.Request, body ordered.Value,
	stream *openai.Stream) []rule.Result {
	s := new(sheet)
	a := &asked{q: &question{v: new(Server), s: s, request: request}, protocol: p}
	a.piece = readWhole(s, p, &openai.Answer{Type: "application/json", JSON: body})
	a.stream = readStream(s, p, stream)
	s.look(ruleAgrees)
	if same(a.piece, a.stream) {
		a.stream.raw = a.piece.raw
	} else {
		part, shown := difference(a.piece, a.stream)
		s.fault(ruleAgrees, part, "%s %s %s", shown, a.piece.structure(), a.stream.structure())
	}
	for _, r := range [...]*reading{a.piece, a.stream} {
		r.check(request, 1<<20)
		own := &reading{s: s, protocol: p, how: "here"}
		own.Message, own.Finish = plan.Parse(r.raw, ending(r.cut())).Message, r.Finish
		r.leaks(own, plan, plan.Preserved)
		a.q.agrees(r, own)
	}
	return s.results("fuzz")
}
