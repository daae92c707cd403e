// Package contrast writes reasoning in conversations that differ in what should not matter to it,
// and tells which of it reaches the prompt.
//
// # Model
//
// A [Leaf] is the reasoning of one message. Its [Stage] says where the message stands; templates
// may keep the reasoning of one stage and drop that of another one. Within a stage all of it has
// the same fate: whether there are instructions, how many calls and steps there are, what text
// stands beside a call, and what was said before are no reason.
//
// # Complexity
//
// There are some 70 conversations, three times as many where the template reads a switch of
// thinking, and none where it reads no reasoning.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package contrast

import (
	"fmt"
	"slices"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
)

// Stage is where a message with reasoning stands, as far as templates may heed it.
type Stage uint8

// The stages.
const (
	Running  Stage = iota // a call whose results are the last messages
	Answered              // a call since the last question, after which the last message answers
	Past                  // a call before the last question, with an answer
	Cut                   // a call before the last question, without an answer
	Last                  // an answer that is the last message
	Older                 // an answer before the last question
	stages
)

func (s Stage) String() string {
	return [...]string{"the latest tool call", "a tool call that the last message answers",
		"a tool call of an earlier turn", "a tool call that a user message cut off",
		"the last assistant message", "an assistant message of an earlier turn"}[s]
}

// Leaf is the reasoning of one message.
type Leaf struct {
	Stage   Stage
	Kept    bool
	Message int    // counted from 0
	Text    string // the reasoning
	In      probe.Rendering
	mode    int // of thinking, as [reason.ThinkingModes] counts them
}

// Name tells the leaf's conversation in words.
func (l Leaf) Name() string { return conversation.Told(chat.Request{Messages: l.In.In.Messages}) }

// Table has the leaves of all conversations, the plainest first.
type Table []Leaf

// All is the table of a template; it is empty where the template reads no reasoning.
var All = probe.NewFact(take)

// Split returns two leaves of one of the stages, under the same switch, of which one is kept and
// the other one lost.
func (t Table) Split(of ...Stage) (kept, lost Leaf, ok bool) {
	for _, stage := range of {
		if kept, lost, ok = t.Pair(stage, stage); ok {
			return kept, lost, ok
		}
	}
	return kept, lost, false
}

// Pair returns two leaves under the same switch: one of a stage that is kept, and one of another
// that is lost. The stages are the same, or all of the one are kept and all of the other lost.
func (t Table) Pair(keep, lose Stage) (kept, lost Leaf, ok bool) {
	for mode := range reason.ThinkingModes() {
		one, other := t.first(mode, keep, true), t.first(mode, lose, false)
		if one != nil && other != nil && (keep == lose ||
			t.first(mode, keep, false) == nil && t.first(mode, lose, true) == nil) {
			return *one, *other, true
		}
	}
	return kept, lost, false
}

// first returns the first leaf of a stage under a switch that is kept, or lost; nil: there is none.
func (t Table) first(mode int, stage Stage, kept bool) *Leaf {
	i := slices.IndexFunc(t, func(l Leaf) bool {
		return l.mode == mode && l.Stage == stage && l.Kept == kept
	})
	if i < 0 {
		return nil
	}
	return &t[i]
}

// situation is what surrounds a leaf, and is no reason to drop it.
type situation struct {
	told, greeted bool          // instructions come first, or an answer to nothing
	earlier       int           // turns before
	beside        ordered.Value // the content of calls: null, empty, a text
	calls, rounds int           // in a message; messages with calls
	parts         bool          // the question is a list of parts
}

// situations are two plain ones, and those that differ from one of them in one respect.
func situations() []situation {
	var all []situation
	text := ordered.Str("REMARKNEEDLE")
	for _, base := range []situation{{beside: ordered.Str(""), calls: 1, rounds: 1},
		{told: true, earlier: 1, beside: text, calls: 1, rounds: 2}} {
		all = append(all, base)
		for _, change := range []func(*situation){
			func(s *situation) { s.told = !s.told },
			func(s *situation) { s.greeted = true },
			func(s *situation) { s.earlier = 1 - s.earlier },
			func(s *situation) { s.earlier = 2 },
			func(s *situation) { s.calls = 2 },
			func(s *situation) { s.rounds = 3 - s.rounds },
			func(s *situation) { s.rounds = 3 },
			func(s *situation) { s.beside = ordered.Value{} },
			func(s *situation) { s.beside = text },
			func(s *situation) { s.beside = ordered.Str("") },
			func(s *situation) { s.parts = true },
		} {
			other := base
			if change(&other); other != base {
				all = append(all, other)
			}
		}
	}
	return all
}

// talk is a conversation while it is written.
type talk struct {
	messages []ordered.Value
	leaves   []Leaf
}

// say adds a message with reasoning.
func (t *talk) say(message ordered.Value, stage Stage) {
	l := Leaf{Stage: stage, Message: len(t.messages),
		Text: fmt.Sprintf("THOUGHT%cNEEDLE", 'A'+len(t.leaves))}
	t.leaves = append(t.leaves, l)
	t.messages = append(t.messages, message.With("reasoning_content", ordered.Str(l.Text)))
}

// talk writes a situation: after the question a loop of calls, and what the stage of the calls
// asks for.
func (s situation) talk(calls Stage) talk {
	var t talk
	if s.told {
		t.messages = append(t.messages, sample.System)
	}
	if s.greeted {
		t.say(sample.AnswerOf("GREETINGNEEDLE"), Older)
	}
	for i := range s.earlier {
		t.messages = append(t.messages, chat.User(fmt.Sprintf("EARLIER%cNEEDLE", 'A'+i)))
		t.say(sample.AnswerOf(fmt.Sprintf("REPLY%cNEEDLE", 'A'+i)), Older)
	}
	question := sample.User
	if s.parts {
		question = sample.UserInParts
	}
	t.messages = append(t.messages, question)
	for i := range s.rounds {
		var all, results []ordered.Value
		for j := range s.calls {
			id := fmt.Sprintf("callid%d%02d", i+1, j+1)
			all = append(all, sample.CallIn(id, fmt.Sprintf("CITY%c%cNEEDLE", 'A'+i, 'A'+j)))
			results = append(results, sample.ResultOf(id,
				fmt.Sprintf("RESULT%c%cNEEDLE", 'A'+i, 'A'+j)))
		}
		t.say(sample.CallTurnOf(all...).With("content", s.beside), calls)
		t.messages = append(t.messages, results...)
	}
	switch calls {
	case Answered:
		t.say(sample.Answer, Last)
	case Past:
		t.say(sample.Answer, Older)
		t.messages = append(t.messages, sample.LaterUser)
	case Cut:
		t.messages = append(t.messages, sample.LaterUser)
	}
	return t
}

func take(s *probe.Subject) Table {
	var all Table
	if s.Template.Caps().Needs.ReasoningField == "" && !reads(s) {
		return nil
	}
	tools, modes := s.Tools(), reason.ThinkingModes()
	if names := s.Template.ChatTemplate().Names(); !slices.ContainsFunc(caps.ThinkingNames,
		func(name string) bool { return slices.Contains(names, name) }) {
		modes = modes[:1]
	}
	for mode, thinking := range modes {
		for _, situation := range situations() {
			if situation.parts && !s.Template.Caps().TypedContent {
				continue
			}
			for _, calls := range []Stage{Running, Answered, Past, Cut} {
				talk := situation.talk(calls)
				p, err := look(s, talk.messages, tools, thinking.On)
				if err != nil {
					continue // other rules are about it
				}
				for _, l := range talk.leaves {
					l.Kept, l.In, l.mode = p.Has(l.Text), p, mode
					all = append(all, l)
				}
			}
		}
	}
	return all
}

// reads reports whether the template reads the reasoning of a call in a loop. One that writes it
// there alone writes none in the plainest conversation.
func reads(s *probe.Subject) bool {
	messages := situations()[0].talk(Running).messages
	p, _ := look(s, messages, s.Tools(), nil)
	seen, _ := s.Template.ChatTemplate().Observe(p.In) // the trace is there even where it fails
	return slices.ContainsFunc(chat.ReasoningFields[:], func(field string) bool {
		return seen.Trace.Read("messages[1]." + field)
	})
}

// look renders messages.
func look(s *probe.Subject, messages, tools []ordered.Value, on *bool) (probe.Rendering, error) {
	in := view.Neutral(ordered.Pairs("messages", messages))
	in.Tools, in.Kwargs = tools, slices.Clone(s.Template.Caps().Needs.Bound)
	in.Generate = conversation.KindOf(messages[len(messages)-1]) != conversation.Answer
	for _, name := range caps.ThinkingNames {
		if on != nil {
			in.Kwargs = append(in.Kwargs, ordered.MemberOf(name, ordered.Boolean(*on)))
		}
	}
	return s.Render(in)
}
