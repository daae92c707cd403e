package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Budget bounds the cost of a run, those before it that it goes on with included. Zero fields bound
// nothing.
type Budget struct {
	Requests int64 // tries
	Tokens   int64 // of prompts and answers, as the provider counts them
	Money    float64
	// Prices are those of a million tokens, in the unit of Money.
	PromptPrice, CompletionPrice float64
}

func (b *Budget) cost(prompt, completion int64) float64 {
	return (float64(prompt)*b.PromptPrice + float64(completion)*b.CompletionPrice) / 1e6
}

// purse keeps a run within its budget. A request in flight is taken to cost as much as the dearest
// answer so far, so that a budget is not overrun by requests that were sent before others came
// back; only answers that are dearer than all before can overrun it. Until the first answer has
// come nothing is known of the cost, and one request is in flight.
type purse struct {
	Budget
	mu       sync.Mutex
	back     sync.Cond
	inFlight int64
	further  int64 // tries of those in flight after their first
	spent    Spent
	known    bool    // an answer has come
	tokens   int64   // of the dearest answer
	money    float64 // of the dearest answer
}

func newPurse(b Budget, spent Spent) *purse {
	p := &purse{Budget: b, spent: spent}
	p.back.L = &p.mu
	return p
}

// ErrBudget is the cause of a run that ended since its budget was spent.
var ErrBudget = errors.New("the budget is spent")

// over returns the part of the budget that n more requests would overrun.
func (p *purse) over(n int64) error {
	s := p.spent
	switch tokens := s.Prompt + s.Completion; {
	case p.Requests > 0 && s.Requests+p.further+n > p.Requests:
		return fmt.Errorf("%w: %d of %d requests", ErrBudget, s.Requests, p.Requests)
	case p.Tokens > 0 && (tokens >= p.Tokens || tokens+n*p.tokens > p.Tokens):
		return fmt.Errorf("%w: %d of %d tokens, and an answer took up to %d", ErrBudget, tokens,
			p.Tokens, p.tokens)
	case p.Money > 0 && (p.cost(s.Prompt, s.Completion) >= p.Money ||
		p.cost(s.Prompt, s.Completion)+float64(n)*p.money > p.Money):
		return fmt.Errorf("%w: %.4f of %.4f, and an answer took up to %.4f", ErrBudget,
			p.cost(s.Prompt, s.Completion), p.Money, p.money)
	}
	return nil
}

// take takes the cost of a request, once it is sure that the budget has it.
func (p *purse) take(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.back.Broadcast()
	})()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := p.over(p.inFlight + 1)
		blind := !p.known && p.inFlight > 0 && (p.Tokens > 0 || p.Money > 0)
		if err == nil && !blind {
			p.inFlight++
			return nil
		}
		if p.inFlight == 0 {
			return err
		}
		p.back.Wait()
	}
}

// uncounted returns why a budget cannot be kept where an answer came without its tokens, and none
// with them before.
func (p *purse) uncounted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known || p.Tokens == 0 && p.Money == 0 {
		return nil
	}
	return fmt.Errorf("%w as far as it can be known: the provider does not count tokens, so that "+
		"no budget of tokens or money can be kept; bound the requests instead", ErrBudget)
}

// more takes the cost of another try of a request that is in flight, or reports false.
func (p *purse) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Requests > 0 && p.spent.Requests+p.inFlight+p.further >= p.Requests {
		return false
	}
	p.further++
	return true
}

// give ends a request that was in flight, and adds its cost.
func (p *purse) give(tries int, u *Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	p.further -= int64(max(0, tries-1))
	p.spent.Requests += int64(tries)
	if u != nil {
		p.known = true
		prompt, completion := int64(max(0, u.Prompt)), int64(max(0, u.Completion))
		p.spent.Prompt += prompt
		p.spent.Completion += completion
		p.tokens = max(p.tokens, prompt+completion)
		p.money = max(p.money, p.cost(prompt, completion))
	}
	p.back.Broadcast()
}
