package serve

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// The memory that requests take, in bytes, as TestMemoryOfRequests measures it at its worst. A mark
// is a byte that JSON needs for a value beside another one or in one: a comma or an opening
// bracket, also one in a text, since the arguments of a call are JSON in a text.
const (
	heldRequest = 64 << 10 // for connections, goroutines and a parser
	heldByte    = 4        // for a byte of a body until it is answered: body, prompt, copies
	heldMark    = 112      // for a mark until then: the values
	workingByte = 4        // for a byte while the request is read and its prompt is made
	workingMark = 576      // for a mark then, with the memory that the next render uses again
	promptByte  = 3        // for a byte of a prompt that is longer than its body
	streamByte  = 4        // for a byte of an answer that streams
	wholeByte   = 12       // for a byte of an answer in one piece
)

// payment is the step in which the text of an answer is paid for, in bytes.
const payment = 4 << 10

// budget counts the memory of all requests. Requests that come, wait and are answered hold a part
// of it, and are refused where none is left. While a request is decoded and its prompt and parser
// are made it takes more, for some milliseconds, from a part that requests wait for: one that
// waited for the same memory that others hold would wait for ever.
type budget struct {
	limit   int64 // of the memory that is held
	held    atomic.Int64
	refused atomic.Int64

	most    int64 // of the memory to work with
	room    *semaphore.Weighted
	working atomic.Int64
	worked  atomic.Int64 // all that was taken since the start

	mu   sync.Mutex
	uses map[*codegen.Output]int // requests that are answered with it
}

func newBudget(memory int64) *budget {
	b := &budget{limit: memory / 2, most: memory - memory/2, uses: map[*codegen.Output]int{}}
	b.room = semaphore.NewWeighted(b.most)
	return b
}

// hold charges a request for more memory.
func (b *budget) hold(a *asked, n int64) error {
	a.held += n
	if b.held.Add(n) > b.limit {
		b.refused.Add(1)
		return &wire.Refusal{Reason: wire.Busy, Message: fmt.Sprintf("the requests that are not "+
			"answered yet would take more than %d bytes of memory; ask again later", b.limit)}
	}
	return nil
}

// plan charges a request for the parser and the grammar of its answer, which all requests with the
// same tools share. The caller calls leave.
func (b *budget) plan(a *asked, out *codegen.Output, bytes int64) (leave func(), err error) {
	b.mu.Lock()
	b.uses[out]++
	first := b.uses[out] == 1
	b.mu.Unlock()
	if first {
		b.held.Add(bytes)
	}
	leave = func() {
		b.mu.Lock()
		b.uses[out]--
		last := b.uses[out] == 0
		if last {
			delete(b.uses, out)
		}
		b.mu.Unlock()
		if last {
			b.held.Add(-bytes)
		}
	}
	if err := b.hold(a, 0); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// release ends what a request holds.
func (b *budget) release(a *asked) { b.held.Add(-a.held) }

// work waits for memory to work with.
func (b *budget) work(ctx context.Context, n int64) error {
	if n > b.most {
		return &wire.Refusal{Reason: wire.TooLarge, Message: fmt.Sprintf("the request has too "+
			"many values, tools or schemas: making its prompt may take %d bytes of memory, more "+
			"than %d", n, b.most)}
	}
	if err := b.room.Acquire(ctx, n); err != nil {
		return context.Cause(ctx)
	}
	b.took(n)
	return nil
}

// workMore takes more memory to work with, if there is some.
func (b *budget) workMore(n int64) bool {
	if n > b.most || !b.room.TryAcquire(n) {
		return false
	}
	b.took(n)
	return true
}

func (b *budget) took(n int64) {
	b.working.Add(n)
	b.worked.Add(n)
}

// rest gives memory to work with back.
func (b *budget) rest(n int64) {
	b.room.Release(n)
	b.working.Add(-n)
}

// making is the memory in which the parser and the grammar of a request are made, and the part of
// it that they keep.
func making(r *wire.Request) (most, kept int64) {
	o := codegen.Options{Tools: r.Chat.Tools, JSONSchema: r.Chat.JSONSchema}
	n := int64(o.Values())
	return n * codegen.MakingBytes, n * codegen.ValueBytes
}

// arriving reads a request's body, and charges for it as it comes: a client that announces a long
// body and sends none takes nothing from the others.
type arriving struct {
	b    *budget
	a    *asked
	body io.Reader
	at   int // bytes of escapedMark that have come
}

// escapedMark is the beginning of an escape that stands for a mark, or for another character of
// Latin's first half.
const escapedMark = `\u00`

func (r *arriving) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	marks := r.marks(p[:n])
	r.a.body += int64(n)
	r.a.marks += marks
	if full := r.b.hold(r.a, int64(n)*heldByte+marks*heldMark); full != nil {
		return n, full
	}
	return n, err
}

// marks counts the marks in the next part of a body.
func (r *arriving) marks(part []byte) (n int64) {
	for _, c := range part {
		switch {
		case c == ',' || c == '[' || c == '{':
			n++
			r.at = 0
		case c == escapedMark[r.at]:
			if r.at++; r.at == len(escapedMark) {
				n++
				r.at = 0
			}
		case c == escapedMark[0]:
			r.at = 1
		default:
			r.at = 0
		}
	}
	return n
}

// parse reads the JSON of a body.
func parse(body string) (ordered.Value, error) {
	v, err := ordered.ParseString(body)
	if err != nil {
		err = &wire.Refusal{Reason: wire.Invalid,
			Message: fmt.Sprintf("the request is no JSON: %v", err)}
	}
	return v, err
}
