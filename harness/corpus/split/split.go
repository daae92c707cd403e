// Package split cuts outputs into chunks and checks that the message does not depend on the cuts.
//
// # Model
//
// A server gets a model's output in chunks, and where they end is chance. [Check] parses an output
// in every way that matters, all cuts into two, every byte alone, and 32 seeded partitions, and
// demands the same message each time and deltas that keep to the protocol of OpenAI's API (E24).
// Cuts fall anywhere, inside a UTF-8 sequence too.
//
// # Complexity
//
// An output of n bytes is parsed n+33 times; outputs beyond [MaxExhaustive] bytes are cut into two
// only at that many places, evenly spaced, and beyond 64 KiB at fewer, so that the bytes parsed in
// all stay at about [MaxWork]. Deltas are looked at as they come and not kept.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package split

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
)

// MaxExhaustive is the number of cuts into two that are tried for one output.
const MaxExhaustive = 4096

// MaxWork is how many bytes the cuts into two come to at most, in all; the partitions cost about as
// much.
const MaxWork = 256 << 20

// FewWork is [MaxWork] of [Few]. An answer of up to a kilobyte, as long as most are, is still cut
// at every place.
const FewWork = 1 << 20

// partitions is the number of seeded partitions of an output that is not huge; the seed of each is
// its number. Small pieces cost more than large ones.
const partitions, partitionCost = 32, 16

// Parser is the parser that is checked. Reset makes it ready for another output.
type Parser interface {
	Reset()
	Write(chunk []byte) []chat.Delta
	Close(reason chat.FinishReason) []chat.Delta
	Message() chat.Message
	Finish() chat.FinishReason
}

// Answer is the result of a parse.
type Answer struct {
	Message chat.Message
	Finish  chat.FinishReason
	Deltas  []chat.Delta
}

// Feed parses an output in the chunks between the cuts, which are ascending offsets. The reason is
// why the output ended.
func Feed(p Parser, output string, cuts []int, reason chat.FinishReason) Answer {
	var all []chat.Delta
	// which are valid until the next call only
	a := feed(p, output, cuts, reason, func(deltas []chat.Delta) {
		for _, d := range deltas {
			d.ToolCalls = slices.Clone(d.ToolCalls)
			all = append(all, d)
		}
	})
	a.Deltas = all
	return a
}

// feed is Feed with the deltas handed on.
func feed(p Parser, output string, cuts []int, reason chat.FinishReason,
	deltas func([]chat.Delta)) Answer {
	p.Reset()
	text, start := []byte(output), 0
	for _, end := range cuts {
		deltas(p.Write(text[start:end]))
		start = end
	}
	deltas(p.Write(text[start:]))
	deltas(p.Close(reason))
	return Answer{Message: p.Message(), Finish: p.Finish()}
}

// Schedules yields the cuts to try for an output of n bytes, those with few cuts first.
func Schedules(n int) iter.Seq[[]int] { return schedules(n, MaxWork) }

// Few is Schedules for outputs that a template writes: its author decides about their number and
// their length.
func Few(n int) iter.Seq[[]int] { return schedules(n, FewWork) }

func schedules(n, work int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		most := min(MaxExhaustive, max(2, work/max(n, 1)))
		step := max(1, (n+most-1)/most)
		for at := step; at < n; at += step {
			if !yield([]int{at}) {
				return
			}
		}
		for seed := range uint64(min(partitions, max(2, work/(partitionCost*max(n, 1))))) {
			if !yield(partition(n, seed)) {
				return
			}
		}
		yield(Every(n))
	}
}

// Every returns the cuts that leave every one of n bytes alone.
func Every(n int) []int {
	cuts := make([]int, 0, max(0, n-1))
	for at := 1; at < n; at++ {
		cuts = append(cuts, at)
	}
	return cuts
}

// partition cuts into chunks of 1 to 2, 4, 8 or 16 bytes, by the seed.
func partition(n int, seed uint64) []int {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	longest := 2 << (seed % 4)
	cuts := make([]int, 0, 2*n/(1+longest)+n/64)
	for at := 1 + random.IntN(longest); at < n; at += 1 + random.IntN(longest) {
		cuts = append(cuts, at)
	}
	return cuts
}

// Mismatch is a split that is parsed differently.
type Mismatch struct {
	Output string
	Cuts   []int  // as few as show the difference
	Text   string // the difference
}

func (m *Mismatch) Error() string {
	chunks := make([]string, 0, len(m.Cuts)+1)
	start := 0
	for _, end := range append(slices.Clip(m.Cuts), len(m.Output)) {
		chunks = append(chunks, fmt.Sprintf("%q", m.Output[start:end]))
		start = end
	}
	if len(m.Cuts) == 0 {
		return "in one go: " + m.Text
	}
	return fmt.Sprintf("cut at %s: %s\nchunks: %s", strings.Trim(fmt.Sprint(m.Cuts), "[]"), m.Text,
		strings.Join(chunks, " | "))
}

// Check parses an output in one go and in every split. It returns the answer of the parse in one
// go, without its deltas, and the split with the fewest cuts that gives another answer or breaks
// the delta protocol.
func Check(p Parser, output string, reason chat.FinishReason) (Answer, *Mismatch) {
	return CheckSchedules(p, output, reason, Schedules(len(output)))
}

// CheckSchedules is [Check] for chosen schedules.
func CheckSchedules(p Parser, output string, reason chat.FinishReason,
	schedules iter.Seq[[]int]) (Answer, *Mismatch) {
	whole := feed(p, output, nil, reason, func([]chat.Delta) {})
	differs := func(cuts []int) string {
		sum := tally{valid: utf8.ValidString(output)}
		got := feed(p, output, cuts, reason, sum.add)
		return whole.compare(got, &sum)
	}
	if text := differs(nil); text != "" {
		return whole, &Mismatch{output, nil, text}
	}
	for cuts := range schedules {
		if text := differs(cuts); text != "" {
			cuts = shrink(cuts, func(cuts []int) bool { return differs(cuts) != "" })
			return whole, &Mismatch{output, cuts, differs(cuts)}
		}
	}
	return whole, nil
}

// shrink leaves cuts out, in ever smaller runs, as long as the rest still fails.
func shrink(cuts []int, fails func([]int) bool) []int {
	for size := len(cuts) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(cuts); {
			if fewer := slices.Delete(slices.Clone(cuts), at, at+size); fails(fewer) {
				cuts = fewer
			} else {
				at += size
			}
		}
	}
	return cuts
}

// compare describes how an answer to a split of the same output, and the sum of its deltas, differ;
// empty means that they do not.
func (a Answer) compare(b Answer, deltas *tally) string {
	if text := Diff(a.Message, b.Message); text != "" {
		return "the message differs from that of one chunk: " + text
	}
	if a.Finish != b.Finish {
		return fmt.Sprintf("finish_reason is %q, in one chunk it is %q", b.Finish, a.Finish)
	}
	if text := deltas.protocol(b.Message); text != "" {
		return "delta protocol: " + text
	}
	return ""
}

// Diff describes the first difference in got; empty means none.
func Diff(want, got chat.Message) string {
	if want.Reasoning != got.Reasoning {
		return fmt.Sprintf("reasoning_content is %q, want %q", got.Reasoning, want.Reasoning)
	}
	if want.Content != got.Content {
		return fmt.Sprintf("content is %q, want %q", got.Content, want.Content)
	}
	for i := range max(len(want.ToolCalls), len(got.ToolCalls)) {
		switch {
		case i >= len(got.ToolCalls):
			return fmt.Sprintf("tool_calls[%d] is missing, want %+v", i, want.ToolCalls[i])
		case i >= len(want.ToolCalls):
			return fmt.Sprintf("tool_calls[%d] is too many: %+v", i, got.ToolCalls[i])
		case want.ToolCalls[i] != got.ToolCalls[i]:
			return fmt.Sprintf("tool_calls[%d] is %+v, want %+v", i, got.ToolCalls[i],
				want.ToolCalls[i])
		}
	}
	return ""
}

// tally puts deltas together as they come, and keeps the first breach of the protocol.
type tally struct {
	valid              bool // the output is valid UTF-8
	content, reasoning strings.Builder
	calls              []tallyCall
	n, at              int // deltas so far, and which of them breaks the protocol
	wrong              string
}

type tallyCall struct {
	id, name  string
	arguments *strings.Builder
}

func (t *tally) add(deltas []chat.Delta) {
	for _, d := range deltas {
		t.n++
		if text := t.delta(d); text != "" && t.wrong == "" {
			t.at, t.wrong = t.n, fmt.Sprintf("%s: %s", d.Value(), text)
		}
	}
}

// protocol names the rule that the deltas of a message break; empty means none.
func (t *tally) protocol(message chat.Message) string {
	if t.wrong != "" {
		return fmt.Sprintf("delta %d of %d, %s", t.at, t.n, t.wrong)
	}
	sum := chat.Message{Reasoning: t.reasoning.String(), Content: t.content.String()}
	for i, c := range t.calls {
		call := chat.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()}
		if i < len(message.ToolCalls) {
			call.Complete = message.ToolCalls[i].Complete // no delta says so
		}
		sum.ToolCalls = append(sum.ToolCalls, call)
	}
	if text := Diff(message, sum); text != "" {
		return "the deltas do not add up to the message: " + text
	}
	return ""
}

func (t *tally) delta(d chat.Delta) string {
	switch {
	case d.Reasoning == "" && d.Content == "" && len(d.ToolCalls) == 0:
		return "is empty"
	case d.Reasoning != "" && d.Content != "":
		return "has reasoning and content"
	case t.valid && !(utf8.ValidString(d.Reasoning) && utf8.ValidString(d.Content)):
		return "splits a UTF-8 sequence"
	}
	t.reasoning.WriteString(d.Reasoning)
	t.content.WriteString(d.Content)
	for _, c := range d.ToolCalls {
		if text := t.call(c); text != "" {
			return text
		}
	}
	return ""
}

func (t *tally) call(c chat.ToolCallDelta) string {
	last := len(t.calls) - 1
	switch {
	case c.Index == last+1:
		if c.Name == "" {
			return "starts a call without its name"
		}
		t.calls = append(t.calls, tallyCall{c.ID, c.Name, new(strings.Builder)})
	case c.Index != last:
		return fmt.Sprintf("has index %d, expected %d or %d", c.Index, last, last+1)
	case c.Name != "":
		return "repeats a call's name"
	case c.ID != "" && (t.calls[last].id != "" || t.calls[last].arguments.Len() > 0):
		return "repeats a call's id or brings it after arguments"
	case c.ID == "" && c.Arguments == "":
		return "has an empty call"
	default:
		t.calls[last].id += c.ID
	}
	t.calls[len(t.calls)-1].arguments.WriteString(c.Arguments)
	if t.valid && !utf8.ValidString(c.Arguments) {
		return "splits a UTF-8 sequence"
	}
	return ""
}
