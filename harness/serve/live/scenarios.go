package live

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/conversation/clients"
	"github.com/goassay/assay/harness/serve/openai"
)

// limits ends answers: at a bound on their tokens, and at a text.
func (r *run) limits(ctx context.Context) error {
	const most = 3
	cut, err := r.v.question("cut-off", battery[0].request)
	if err != nil {
		return err
	}
	cut.most = most
	cut.spell()
	for _, a := range cut.asked {
		if a.body, err = r.v.ask(a.protocol, cut.spelled); err != nil {
			return err
		}
		if free := r.free[a.protocol]; free != nil && free.Whole {
			a.full = free.Usage.Completion // else the answer may end by itself
		}
		if err := a.put(ctx); err != nil {
			return err
		}
	}
	r.add(cut.s)
	return r.stops(ctx)
}

// stops ends the answer of each protocol at a text from the middle of it.
func (r *run) stops(ctx context.Context) error {
	s := &sheet{scenario: "stop"}
	for _, p := range r.v.protocols() {
		free := r.free[p]
		if free == nil || !free.Whole {
			continue
		}
		stop := middle(free.Message.Content)
		if stop == "" {
			continue
		}
		request := strings.Replace(battery[0].request, "{", `{"stop": [`+
			ordered.Str(stop).String()+`], `, 1)
		q, err := r.v.question("stop", request)
		if err != nil {
			return err
		}
		q.s = s
		i := slices.IndexFunc(q.asked, func(a *asked) bool { return a.protocol == p })
		if i < 0 {
			continue // it has no words for stops
		}
		a := q.asked[i]
		if err := a.put(ctx); err != nil {
			return err
		}
		for _, answer := range [...]*reading{a.piece, a.stream} {
			switch {
			case answer == nil || !answer.Whole:
			case p == wire.Messages && answer.Message.Content != free.Message.Content &&
				strings.HasPrefix(free.Message.Content, answer.Message.Content) &&
				answer.Stop != stop:
				answer.fault(ruleStops, "stop_sequence is not the stop that ended the answer",
					"it is %q, expected %q", answer.Stop, stop)
			}
		}
	}
	if s.looked[ruleStops] {
		r.add(s)
	}
	return nil
}

// middle returns some characters from the middle of a text that do not come before it; "" where the
// text is too short.
func middle(text string) string {
	runes := []rune(text)
	if len(runes) < 8 {
		return ""
	}
	from := len(runes) / 2
	stop := string(runes[from : from+3])
	if strings.TrimSpace(stop) != stop {
		stop = strings.TrimSpace(stop)
	}
	if stop == "" || replaced(stop) {
		return ""
	}
	return stop
}

// loopRounds is how often an agent of the battery calls.
const loopRounds = 10

// loops lets an agent call for ten rounds in each protocol, in one piece and as a stream by turns.
// Answers are handed back as they came, reasoning and its seals included; every third tool fails.
func (r *run) loops(ctx context.Context) error {
	if !r.v.tools() || r.v.Template != nil && !r.v.Template.Caps().ToolCalls {
		return nil
	}
	q, err := r.v.question("loop", expand.Replace(`{"tools": TOOLS, "parallel_tool_calls": false,
		"messages": [{"role": "user", "content": "Weather in Bern, then in nine other places?"}], "tool_choice": "required"}`))
	if err != nil {
		return err
	}
	for _, a := range q.asked {
		for round := range loopRounds {
			if a.piece, err = a.either(ctx, round); err != nil {
				return err
			}
			if a.piece != nil && a.piece.Whole {
				a.piece.check(q.request, q.most)
			}
			if a.piece == nil || !a.piece.calls() {
				break // the answer's own faults are said; one that was cut off is none
			}
			a.body = a.protocol.Follow(a.body, &a.piece.Answer,
				results(&a.piece.Answer, round%3 == 2))
		}
	}
	r.add(q.s)
	return nil
}

// either asks in one piece or for a stream.
func (a *asked) either(ctx context.Context, round int) (*reading, error) {
	if round%2 == 1 {
		return a.askStream(ctx, a.q.s)
	}
	return a.ask(ctx, a.q.s)
}

// seals hands the free answers' reasoning back as it was sealed, and asks on; and then with another
// seal, which is to be refused.
func (r *run) seals(ctx context.Context) error {
	q, err := r.v.question("sealed-returned", battery[0].request)
	if err != nil {
		return err
	}
	s := &sheet{scenario: "altered-seal"}
	for _, a := range q.asked {
		free := r.free[a.protocol]
		if free == nil || !free.Whole {
			continue
		}
		i := slices.IndexFunc(free.Sealed, func(seal string) bool { return len(seal) >= 16 })
		if i < 0 {
			continue
		}
		first := a.body
		a.body = goOn(a.protocol, first, &free.Answer)
		if err := a.put(ctx); err != nil {
			return err
		}
		other, ok := altered(free.Answer, free.Sealed[i])
		if !ok {
			continue
		}
		s.look(ruleSealed)
		got, err := r.v.Client.Post(ctx, a.protocol.Path(),
			goOn(a.protocol, first, &other).Append(nil, ordered.Compact))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || !got.OK() || len(a.protocol.Read(got.JSON).Faults) > 0 {
			continue // it is refused, or the answer has another fault
		}
		s.fault(ruleSealed, a.protocol.Name()+": reasoning with another seal is taken back", "%s",
			openai.Excerpt(free.Sealed[i]))
	}
	for _, s := range [...]*sheet{q.s, s} {
		if s.any() {
			r.add(s)
		}
	}
	return nil
}

// goOn returns a request with an answer to it and another word of the user.
func goOn(p wire.Protocol, request ordered.Value, a *wire.Answer) ordered.Value {
	key := "messages"
	if p == wire.Responses {
		key = "input"
	}
	request = p.Follow(request, a, nil)
	return request.With(key, ordered.ArrayOf(append(slices.Clone(request.At(key).Items()),
		chat.User("Go on."))...))
}

// altered returns an answer that is handed back with another seal.
func altered(a wire.Answer, seal string) (wire.Answer, bool) {
	at := len(seal) / 2
	other := byte('A')
	if seal[at] == other {
		other = 'B'
	}
	turn := ordered.ArrayOf(a.Turn...).String()
	text := strings.Replace(turn, ordered.Str(seal).String(),
		ordered.Str(seal[:at]+string(other)+seal[at+1:]).String(), 1)
	changed, err := ordered.ParseString(text)
	a.Turn = changed.Items()
	return a, err == nil && text != turn
}

// clients sends the requests of known clients, in the protocol that each speaks.
func (r *run) clients(ctx context.Context) error {
	for _, c := range clients.All() {
		i := slices.IndexFunc(r.v.protocols(), func(p wire.Protocol) bool {
			return p.Name() == c.Protocol
		})
		if i < 0 {
			continue
		}
		p := r.v.protocols()[i]
		s := &sheet{scenario: "client-" + c.Name}
		for j := range c.Requests {
			q, err := r.shaped(&c.Requests[j].Request, s)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.Name, c.Requests[j].Name, err)
			}
			if q == nil {
				continue
			}
			body, err := r.v.ask(p, q.spelled)
			if err != nil {
				continue // the protocol has no words for it
			}
			a := &asked{q: q, protocol: p, body: body}
			if err := a.put(ctx); err != nil {
				return err
			}
		}
		if s.any() {
			r.add(s)
		}
	}
	return nil
}

// shaped is the question with a client's request; nil where the template takes no such request, or
// the request has more than text.
func (r *run) shaped(request *chat.Request, s *sheet) (*question, error) {
	if len(request.Tools) > 0 && !r.v.tools() {
		return nil, nil
	}
	for _, m := range request.Messages {
		for _, part := range m.At("content").Items() {
			if part.At("type").Text() != "text" {
				return nil, nil
			}
		}
	}
	if r.v.Template != nil {
		if _, err := r.v.Template.Prepare(*request, engine.PrepareOptions{}); err != nil {
			return nil, nil
		}
	}
	q := &question{v: r.v, s: s, value: request.Value()}
	return q, q.read()
}

// cancelled goes away in mid-stream, twice, and asks again.
func (r *run) cancelled(ctx context.Context) error {
	s := &sheet{scenario: "cancelled"}
	for _, p := range r.v.protocols() {
		free := r.free[p]
		if free == nil || !free.Whole {
			continue
		}
		q, err := r.v.question("cancelled", battery[0].request)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(q.asked, func(a *asked) bool { return a.protocol == p })
		a := q.asked[i]
		for range 2 {
			if err := a.leave(ctx); err != nil {
				return err
			}
		}
		s.look(ruleCancelled)
		own := new(sheet)
		next, err := a.ask(ctx, own)
		if err != nil {
			return err
		}
		switch {
		case next == nil || !next.Whole:
			s.fault(ruleCancelled, p.Name()+": no answer comes after a stream was cancelled", "%s",
				own)
		case !same(next, free):
			if again, err := a.ask(ctx, own); err != nil {
				return err
			} else if again != nil && same(again, free) { // it repeats itself elsewhere
				part, shown := difference(next, free)
				s.fault(ruleCancelled, p.Name()+": "+part+" differs after a stream was cancelled",
					"%s", shown)
			}
		}
	}
	if s.any() {
		r.add(s)
	}
	return nil
}

// leave asks for a stream and goes away after some events.
func (a *asked) leave(ctx context.Context) error {
	events, _, err := a.q.v.Client.Events(ctx, a.protocol.Path(),
		asStream(a.protocol, a.body).Append(nil, ordered.Compact))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || events == nil {
		return nil // said elsewhere
	}
	defer events.Close()
	for range 4 {
		if _, err := events.Next(); err != nil {
			break
		}
	}
	return nil
}

// crowdSize is how many clients ask at once.
const crowdSize = 32

// crowd lets 32 clients ask at once, each for a word of its own.
func (r *run) crowd(ctx context.Context) error {
	s := &sheet{scenario: "crowd"}
	for _, p := range r.v.protocols() {
		if free := r.free[p]; free == nil || !free.Whole {
			continue
		}
		var members [crowdSize]*asked
		for i := range members {
			q, err := r.v.question("crowd", `{"messages": [{"role": "user", "content": "Repeat this word: `+
				crowdWord(i)+`"}]}`)
			if err != nil {
				return err
			}
			q.s = new(sheet) // of the one client
			at := slices.IndexFunc(q.asked, func(a *asked) bool { return a.protocol == p })
			members[i] = q.asked[at]
		}
		var wait sync.WaitGroup
		errs := make([]error, crowdSize)
		for i, a := range members {
			wait.Go(func() { a.piece, errs[i] = a.either(ctx, i) })
		}
		wait.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.look(ruleApart)
		r.apart(s, p, members[:])
	}
	if s.any() {
		r.add(s)
	}
	return nil
}

// crowdWord is the word that a client of the crowd asks for. No word is a part of another one.
func crowdWord(i int) string {
	const consonants = "bdfgklmnprstvz"
	return "q" + string(consonants[i%14]) + "o" + string(consonants[i/14]) + "ax"
}

// apart looks for texts and ids that several clients have.
func (r *run) apart(s *sheet, p wire.Protocol, members []*asked) {
	owners := map[string]int{}
	for i, a := range members {
		switch {
		case i%2 == 1 && r.mute[p]: // no stream comes to an end
			continue
		case a.piece == nil || !a.piece.Whole:
			s.fault(ruleApart, p.Name()+": a client in a crowd is not answered", "client %d: %s",
				i, a.q.s)
			continue
		}
		for _, f := range a.piece.Faults {
			if !r.causes[p.Name()+": "+f.Cause] { // no client alone has seen it
				s.fault(ruleApart, p.Name()+": an answer in a crowd has faults", "client %d: %s",
					i, f)
			}
		}
		if other, ok := owners[a.piece.ID]; ok && a.piece.ID != "" {
			s.fault(ruleApart, p.Name()+": two answers have the same id", "clients %d and %d: %q",
				other, i, a.piece.ID)
		}
		owners[a.piece.ID] = i
		for j := range members {
			if j != i && strings.Contains(a.piece.text(), crowdWord(j)) {
				s.fault(ruleApart, p.Name()+": a client reads another one's text",
					"client %d, who asked for %q, reads that of client %d: %s", i, crowdWord(i), j,
					excerpt(a.piece.text()))
			}
		}
	}
}

// counted compares /v1/messages/count_tokens with the usage of answers.
func (r *run) counted(ctx context.Context) error {
	free := r.free[wire.Messages]
	if free == nil || !free.Counted || free.Usage.Prompt == 0 {
		return nil
	}
	q, err := r.v.question("count-tokens", battery[0].request)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(q.asked, func(a *asked) bool { return a.protocol == wire.Messages })
	body := q.asked[i].body.Without("max_tokens")
	a, err := r.v.Client.Post(ctx, wire.CountPath, body.Append(nil, ordered.Compact))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || !a.OK() {
		return nil // not every server has the path
	}
	q.s.look(ruleCounted)
	n, err := strconv.Atoi(a.JSON.At("input_tokens").Text())
	if err != nil || n != free.Usage.Prompt {
		q.s.fault(ruleCounted, "messages: tokens are counted differently", "input_tokens is %s, "+
			"and an answer's usage %d", a.JSON.At("input_tokens"), free.Usage.Prompt)
	}
	r.add(q.s)
	return nil
}
