package live

import (
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/rule"
)

// Judge judges existing answers to a request, without a server.
func Judge(plan *engine.Plan, request chat.Request, body ordered.Value,
	stream *openai.Stream) []rule.Result {
	q := &question{v: new(Server), s: new(sheet), request: request}
	piece, streamed := readAnswer(q.s, body), readStream(q.s, stream)
	q.s.look(ruleAgrees)
	if difference(piece, streamed) == "" {
		streamed.raw = piece.raw
	}
	for _, r := range [...]*reading{piece, streamed} {
		r.check(q.s, request, 1<<20)
		own := &reading{message: plan.Parse(r.raw, ending(r.cut())).Message, finish: r.finish}
		q.leaks(r, own, plan.Preserved)
		q.agrees(r, own)
	}
	if text := difference(piece, streamed); text != "" {
		q.s.fault(ruleAgrees, "%s %s %s", text, piece.structure(), streamed.structure())
	}
	return q.s.results("fuzz")
}
