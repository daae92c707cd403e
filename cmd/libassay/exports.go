//go:build cgo && libassay

package main

/*
#include <stdlib.h>
#include <string.h>
#include "assay.h"
*/
import "C"

import (
	"fmt"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// maxText bounds a text of the caller, in bytes: the most that a Go slice of C's memory may have.
const maxText = 1 << 40

// borrowed returns C's bytes, for as long as the call lasts.
func borrowed(data *C.char, size C.size_t) ([]byte, error) {
	if size == 0 {
		if data == nil {
			return nil, nil
		}
		return []byte{}, nil
	}
	if data == nil || size > maxText {
		return nil, failf(statusRequest, "a text has %d bytes, and its data is %p", uint64(size),
			unsafe.Pointer(data))
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(data)), int(size)), nil
}

// reader reads texts of the caller and keeps the first fault.
type reader struct{ err error }

func (r *reader) bytes(t C.assay_text) []byte {
	text, err := borrowed(t.data, t.size)
	if err != nil && r.err == nil {
		r.err = err
	}
	return text
}

func (r *reader) text(t C.assay_text) string { return string(r.bytes(t)) }

// grown returns memory of C for count elements, as long as before or longer; nil where there is
// none.
func grown(data unsafe.Pointer, capacity *C.size_t, count int, size uintptr) unsafe.Pointer {
	if C.size_t(count) <= *capacity {
		return data
	}
	want := max(C.size_t(count), 2**capacity, 64)
	if data = C.realloc(data, want*C.size_t(size)); data != nil {
		*capacity = want
	}
	return data
}

// put copies a text into a buffer.
func put(out *C.assay_buffer, text []byte) status {
	data := grown(unsafe.Pointer(out.data), &out.capacity, len(text), 1)
	if data == nil && len(text) > 0 {
		return statusMemory
	}
	out.data = (*C.char)(data)
	copy(unsafe.Slice((*byte)(data), len(text)), text)
	out.size = C.size_t(len(text))
	return statusOK
}

// putError puts an error into a buffer and returns its status. Where there is no memory there is no
// text.
func putError(out *C.assay_buffer, err error) C.int32_t {
	text, s := appendError(nil, err)
	if s == statusMemory || put(out, text) != statusOK {
		return C.int32_t(statusMemory)
	}
	return C.int32_t(s)
}

// internal is the failure of a fault of this library.
func internal(fault any) error {
	return failf(statusInternal, "panic: %v\n%s", fault, debug.Stack())
}

// answered does the work of a call and puts its result, or its error, into a buffer.
func answered(out *C.assay_buffer, work func() ([]byte, error)) (s C.int32_t) {
	if out == nil {
		return C.int32_t(statusRequest)
	}
	out.size = 0
	defer func() {
		if fault := recover(); fault != nil {
			s = putError(out, internal(fault))
		}
	}()
	text, err := work()
	if err != nil {
		return putError(out, err)
	}
	return C.int32_t(put(out, text))
}

// on does the work of a call with the object of a handle, which has to be a T.
func on[T any](out *C.assay_buffer, h C.assay_handle, work func(T) ([]byte, error)) C.int32_t {
	return answered(out, func() ([]byte, error) {
		object, err := of[T](handle(h))
		if err != nil {
			return nil, err
		}
		return work(object)
	})
}

// made puts a new object's handle where the caller wants it. The result is the object's own text;
// where there is no memory for it there is no handle that somebody would have to free.
func made(into *C.assay_handle, object any, text []byte, out *C.assay_buffer) ([]byte, error) {
	if into == nil {
		return nil, failf(statusRequest, "the pointer to the new handle is NULL")
	}
	if s := put(out, text); s != statusOK {
		return nil, failf(s, "there is no memory for %d bytes", len(text))
	}
	h, err := handles.add(object)
	if err != nil {
		return nil, err
	}
	*into = C.assay_handle(h)
	return text, nil
}

func compact(v ordered.Value) []byte { return v.Append(nil, ordered.Compact) }

//export goAssayCompile
func goAssayCompile(s *C.assay_source, into *C.assay_handle, out *C.assay_buffer) C.int32_t {
	return answered(out, func() ([]byte, error) {
		if s == nil || s.struct_size < C.size_t(unsafe.Sizeof(*s)) {
			return nil, failf(statusRequest, "the source has no struct_size of %d",
				unsafe.Sizeof(*s))
		}
		var r reader
		src := engine.Source{Name: r.text(s.name), Text: r.text(s.text), BOS: r.text(s.bos),
			EOS: r.text(s.eos), StandIns: s.stand_ins != 0}
		files := engine.VocabularyFiles{Tokenizer: r.text(s.tokenizer),
			Config: r.text(s.tokenizer_config), Generation: r.text(s.generation_config)}
		if r.err != nil {
			return nil, r.err
		}
		if src.Name == "" {
			src.Name = "template.jinja"
		}
		limit := func(n C.uint64_t) int { return int(min(n, 1<<50)) }
		o := engine.Options{Limits: engine.Limits{
			Source: limit(s.source),
			Render: engine.RenderLimits{Steps: limit(s.steps), OutputBytes: limit(s.output),
				Depth: limit(s.depth)},
			TotalSteps: int64(limit(s.total)),
			Output: engine.OutputLimits{Held: limit(s.held), Depth: limit(s.frames),
				Rereads: limit(s.rereads)},
		}}
		if s.now != 0 {
			now := time.Unix(int64(s.now), 0).UTC()
			o.Now = func() time.Time { return now }
		}
		t, err := compile(src, o, files)
		if err != nil {
			return nil, err
		}
		return made(into, t, nil, out)
	})
}

//export goAssayGate
func goAssayGate(h C.assay_handle, out *C.assay_buffer) C.int32_t {
	return on(out, h, func(t *template) ([]byte, error) {
		return compact(t.gate()), nil
	})
}

//export goAssayFormat
func goAssayFormat(h C.assay_handle, out *C.assay_buffer) C.int32_t {
	return on(out, h, func(t *template) ([]byte, error) {
		return compact(t.format()), nil
	})
}

//export goAssayPrepare
func goAssayPrepare(h C.assay_handle, request, options C.assay_text, into *C.assay_handle,
	out *C.assay_buffer) C.int32_t {
	return on(out, h, func(t *template) ([]byte, error) {
		var r reader
		asked, o := r.bytes(request), r.bytes(options)
		if r.err != nil {
			return nil, r.err
		}
		p, err := t.prepare(asked, o)
		if err != nil {
			return nil, err
		}
		return made(into, p, compact(p.value()), out)
	})
}

//export goAssayPrepareFormat
func goAssayPrepareFormat(format, prefill, request, options C.assay_text, into *C.assay_handle,
	out *C.assay_buffer) C.int32_t {
	return answered(out, func() ([]byte, error) {
		var r reader
		f, begun, asked, o := r.bytes(format), r.bytes(prefill), r.bytes(request), r.bytes(options)
		if r.err != nil {
			return nil, r.err
		}
		p, err := prepareFormat(f, begun, asked, o)
		if err != nil {
			return nil, err
		}
		return made(into, p, compact(p.value()), out)
	})
}

//export goAssayGrammar
func goAssayGrammar(h C.assay_handle, language C.assay_text, out *C.assay_buffer) C.int32_t {
	return on(out, h, func(p *plan) ([]byte, error) {
		var r reader
		name := r.text(language)
		if r.err != nil {
			return nil, r.err
		}
		text, err := p.grammar(name)
		return []byte(text), err
	})
}

//export goAssaySegments
func goAssaySegments(h C.assay_handle, out *C.assay_buffer) C.int32_t {
	return on(out, h, func(p *plan) ([]byte, error) {
		segments, err := p.segments()
		return compact(segments), err
	})
}

//export goAssayParser
func goAssayParser(h C.assay_handle, into *C.assay_handle, out *C.assay_buffer) C.int32_t {
	return on(out, h, func(p *plan) ([]byte, error) {
		return made(into, &parser{plan: p, p: p.NewParser()}, nil, out)
	})
}

// taken returns the parser and the bytes of a piece.
func taken(in *C.assay_piece) (*parser, piece, error) {
	p, err := of[*parser](handle(in.parser))
	if err != nil {
		return nil, piece{}, err
	}
	data, err := borrowed(in.data, in.size)
	if err != nil || in.ids == nil {
		return p, piece{data: data}, err
	}
	if in.ends == nil && in.size > 0 || in.count > maxText/8 {
		return nil, piece{}, failf(statusRequest, "a piece has %d ids and %d bytes, and their "+
			"ends are at %p", uint64(in.count), uint64(in.size), unsafe.Pointer(in.ends))
	}
	n := int(in.count)
	ids := unsafe.Slice((*int32)(unsafe.Pointer(in.ids)), n)
	if in.ends == nil {
		return p, piece{ids: ids}, nil
	}
	ends := unsafe.Slice((*uint)(unsafe.Pointer(in.ends)), n)
	return p, piece{data: data, ids: ids, ends: ends}, nil
}

// appendWritten reads a piece and appends its deltas as JSON. A panic is an error.
func appendWritten(dst []byte, in *C.assay_piece) (text []byte, err error) {
	p, piece, err := taken(in)
	if err != nil {
		return dst, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if fault := recover(); fault != nil {
			text, err = dst, internal(fault)
		}
	}()
	deltas, err := p.write(piece)
	if err != nil {
		return dst, err
	}
	return appendDeltas(dst, deltas), nil
}

//export goAssayWrite
func goAssayWrite(in *C.assay_piece, out *C.assay_buffer) C.int32_t {
	if in == nil || out == nil {
		return C.int32_t(statusRequest)
	}
	out.size = 0
	// The text is made in the buffer's own memory where it fits.
	text, err := appendWritten(room(out), in)
	if err != nil {
		return putError(out, err)
	}
	return settle(out, text)
}

// room returns the memory of a buffer, without text.
func room(out *C.assay_buffer) []byte {
	if out.data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(out.data)), int(out.capacity))[:0]
}

// settle makes a text that was appended to the memory of a buffer the buffer's.
func settle(out *C.assay_buffer, text []byte) C.int32_t {
	if len(text) <= int(out.capacity) {
		out.size = C.size_t(len(text))
		return C.int32_t(statusOK)
	}
	return C.int32_t(put(out, text))
}

//export goAssayWriteMany
func goAssayWriteMany(pieces *C.assay_piece, count C.size_t, results *C.assay_result,
	out *C.assay_buffer) C.int32_t {
	if out == nil {
		return C.int32_t(statusRequest)
	}
	out.size = 0
	if count == 0 {
		return C.int32_t(statusOK)
	}
	if pieces == nil || results == nil || count > maxText/64 {
		return putError(out, failf(statusRequest, "there are %d pieces at %p, and results at %p",
			uint64(count), unsafe.Pointer(pieces), unsafe.Pointer(results)))
	}
	text := room(out)
	all := unsafe.Slice(results, int(count))
	given := unsafe.Slice(pieces, int(count))
	for i := range given {
		from, s := len(text), statusOK
		var err error
		if text, err = appendWritten(text, &given[i]); err != nil {
			text, s = appendError(text, err)
		}
		all[i] = C.assay_result{status: C.int32_t(s), offset: C.size_t(from),
			size: C.size_t(len(text) - from)}
	}
	return settle(out, text)
}

//export goAssayWriteSpans
func goAssayWriteSpans(in *C.assay_piece, out *C.assay_buffer, spans *C.assay_spans) C.int32_t {
	if in == nil || spans == nil {
		return C.int32_t(statusRequest)
	}
	spans.count = 0
	return answered(out, func() ([]byte, error) {
		p, piece, err := taken(in)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		deltas, err := p.write(piece)
		if err != nil {
			return nil, err
		}
		p.text = p.text[:0]
		var found []C.assay_span
		eachPart(deltas, func(kind, call int, text string) {
			found = append(found, C.assay_span{kind: C.uint32_t(kind), call: C.uint32_t(call),
				offset: C.size_t(len(p.text)), size: C.size_t(len(text))})
			p.text = append(p.text, text...)
		})
		data := grown(unsafe.Pointer(spans.data), &spans.capacity, len(found),
			unsafe.Sizeof(C.assay_span{}))
		if data == nil && len(found) > 0 {
			return nil, failf(statusMemory, "there is no memory for %d spans", len(found))
		}
		spans.data, spans.count = (*C.assay_span)(data), C.size_t(len(found))
		copy(unsafe.Slice(spans.data, len(found)), found)
		return p.text, nil
	})
}

//export goAssayHeld
func goAssayHeld(h C.assay_handle, held *C.uint64_t) C.int32_t {
	p, err := of[*parser](handle(h))
	if err != nil {
		return C.int32_t(statusHandle)
	}
	if held == nil {
		return C.int32_t(statusRequest)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n, _ := p.p.Held()
	*held = C.uint64_t(n)
	return C.int32_t(statusOK)
}

//export goAssayDiagnostics
func goAssayDiagnostics(h C.assay_handle, out *C.assay_buffer) C.int32_t {
	return on(out, h, func(p *parser) ([]byte, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return compact(p.diagnostics()), nil
	})
}

// reasons are those of assay.h, in its order.
var reasons = [...]chat.FinishReason{chat.FinishStop, chat.FinishLength, chat.FinishContentFilter}

//export goAssayFinish
func goAssayFinish(h C.assay_handle, reason C.int32_t, out *C.assay_buffer) C.int32_t {
	return on(out, h, func(p *parser) ([]byte, error) {
		if reason < 0 || int(reason) >= len(reasons) {
			return nil, &failure{statusRequest, fmt.Errorf("there is no reason %d; there are 0 to %d",
				reason, len(reasons)-1)}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		v, err := p.finish(reasons[reason])
		return compact(v), err
	})
}

//export goAssayFree
func goAssayFree(h C.assay_handle) C.int32_t {
	if !handles.remove(handle(h)) {
		return C.int32_t(statusHandle)
	}
	return C.int32_t(statusOK)
}
