package pipe

import (
	"fmt"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
)

// parser is a parser that is open.
type parser struct {
	plan   *engine.Plan
	parser *engine.Parser
	tokenizer
}

// Prepared is the answer of prepare.
type Prepared struct {
	Prompt    string           `json:"prompt"`
	Prefill   string           `json:"prefill"`
	Stops     []string         `json:"stops"`
	Preserved []string         `json:"preserved"`
	Lazy      bool             `json:"lazy"`
	Triggers  []engine.Trigger `json:"triggers"`
	Fitted    []string         `json:"fitted"`
}

func preparedOf(p *engine.Plan) Prepared {
	return Prepared{p.Prompt.Text, p.Prefill, p.Stops, p.Preserved, p.Lazy, p.Triggers,
		p.Prompt.Fits}
}

func (s *Service) prepare(r *request) (any, error) {
	plan, err := s.plan(r)
	if err != nil {
		return nil, err
	}
	return preparedOf(plan), nil
}

// Opened is the answer of parser.
type Opened struct {
	Parser int `json:"parser"`
	Prepared
}

// open opens a parser for one answer.
func (s *Service) open(r *request) (any, error) {
	if len(s.parsers) >= MaxParsers {
		return nil, &Failure{Kind: "limit", Message: fmt.Sprintf("%d parsers are open; "+
			"close or drop some", MaxParsers)}
	}
	plan, err := s.plan(r)
	if err != nil {
		return nil, err
	}
	known, err := s.tokenizer(r.Template)
	if err != nil {
		return nil, err
	}
	s.last++
	s.parsers[s.last] = &parser{plan, plan.NewParser(), known}
	return Opened{s.last, preparedOf(plan)}, nil
}

// opened is the parser that a request names.
func (s *Service) opened(r *request) (*parser, error) {
	if p := s.parsers[r.Parser]; p != nil {
		return p, nil
	}
	return nil, wrong("no parser %d is open", r.Parser)
}

// Written is the answer of write.
type Written struct {
	Deltas []chat.Delta `json:"deltas"`
	Held   int          `json:"held"`
}

func (s *Service) write(r *request) (any, error) {
	p, err := s.opened(r)
	if err != nil {
		return nil, err
	}
	if len(r.Bytes) > 0 && r.Text != "" || len(r.IDs) > 0 && len(r.Bytes)+len(r.Text) > 0 {
		return nil, wrong(`a piece is one of "text", "bytes" and "ids"`)
	}
	var deltas []chat.Delta
	if r.IDs == nil {
		piece := r.Bytes
		if r.Text != "" {
			piece = []byte(r.Text)
		}
		deltas = p.parser.Write(piece)
	} else {
		if p.why != nil {
			return nil, failed("request", p.why)
		}
		if p.texts == nil {
			return nil, wrong(`"ids" needs a template with a "tokenizer"`)
		}
		tokens := make([]engine.Token, len(r.IDs))
		for i, id := range r.IDs {
			text, ok := p.texts.Bytes(id)
			if !ok {
				return nil, wrong("the tokenizer has no token %d", id)
			}
			tokens[i] = engine.Token{ID: id, Text: text}
		}
		deltas = p.parser.WriteTokens(tokens)
	}
	held, _ := p.parser.Held()
	return Written{cloned(deltas), held}, nil
}

// Closed is the answer of close.
type Closed struct {
	Deltas  []chat.Delta `json:"deltas"`
	Message chat.Message `json:"message"`
	Finish  string       `json:"finish_reason"`
	// Complete says of each call of the message whether it is complete.
	Complete []bool       `json:"complete"`
	Odd      []Diagnostic `json:"diagnostics"`
}

func (s *Service) close(r *request) (any, error) {
	reason, err := reasonOf(r.Reason)
	if err != nil {
		return nil, err
	}
	p, err := s.opened(r)
	if err != nil {
		return nil, err
	}
	delete(s.parsers, r.Parser)
	answer := Closed{Deltas: cloned(p.parser.Close(reason)), Message: p.parser.Message(),
		Finish:   string(p.parser.Finish()),
		Complete: []bool{}, Odd: diagnostics(p.plan, p.parser)}
	for _, c := range answer.Message.ToolCalls {
		answer.Complete = append(answer.Complete, c.Complete)
	}
	for i := range answer.Odd {
		if d := &answer.Odd[i]; !utf8.ValidString(d.Text) {
			d.Text = fmt.Sprintf("%q", d.Text)
		}
	}
	return answer, nil
}

// drop forgets a parser whose answer nobody wants any more.
func (s *Service) drop(r *request) (any, error) {
	if _, err := s.opened(r); err != nil {
		return nil, err
	}
	delete(s.parsers, r.Parser)
	return struct{}{}, nil
}
