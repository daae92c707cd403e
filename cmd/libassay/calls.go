//go:build cgo && libassay && abitest

package main

/*
#include <stdlib.h>
#include <string.h>
#include "assay.h"

// write_pieces writes a text in pieces of four bytes; many: to as many parsers at once.
static void write_pieces(const assay_handle *parsers, size_t many, size_t rounds, const char *piece,
                         assay_buffer *out) {
    assay_piece *pieces = calloc(many, sizeof *pieces);
    assay_result *results = calloc(many, sizeof *results);
    for (size_t i = 0; i < many; i++)
        pieces[i] = (assay_piece){parsers[i], piece, 4, NULL, NULL, 0};
    for (size_t i = 0; i < rounds; i++) {
        if (many == 1)
            assay_write(parsers[0], piece, 4, out);
        else
            assay_write_many(pieces, many, results, out);
    }
    free(pieces);
    free(results);
}
*/
import "C"

import (
	"time"
	"unsafe"
)

// Tests cannot import "C". These are the functions of assay.h as they see them: each goes by C.

// answer is the status of a call, and the text of its buffer.
type answer struct {
	status status
	text   string
}

// memory is a buffer of C's that calls use in turn.
type memory struct{ out C.assay_buffer }

func (m *memory) answer(s C.int32_t) answer {
	return answer{status(s), C.GoStringN(m.out.data, C.int(m.out.size))}
}

func (m *memory) free() { C.assay_buffer_free(&m.out) }

// textOf copies a text to C; free frees it.
func textOf(text string) (t C.assay_text, free func()) {
	if text == "" {
		return t, func() {}
	}
	data := C.CBytes([]byte(text))
	return C.assay_text{(*C.char)(data), C.size_t(len(text))}, func() { C.free(data) }
}

// given is a template as tests write it.
type given struct {
	name, text, bos, eos, tokenizer string
	source, total, held             int
	now                             time.Time
}

func (m *memory) compile(g given) (handle, answer) {
	var s C.assay_source
	s.struct_size = C.size_t(unsafe.Sizeof(s))
	for _, f := range []struct {
		into *C.assay_text
		text string
	}{{&s.name, g.name}, {&s.text, g.text}, {&s.bos, g.bos}, {&s.eos, g.eos},
		{&s.tokenizer, g.tokenizer}} {
		var free func()
		*f.into, free = textOf(f.text)
		defer free()
	}
	s.stand_ins = 1
	s.source, s.total, s.held = C.uint64_t(g.source), C.uint64_t(g.total), C.uint64_t(g.held)
	s.now = C.int64_t(g.now.Unix())
	var h C.assay_handle
	a := m.answer(C.assay_compile(&s, &h, &m.out))
	return handle(h), a
}

func (m *memory) gate(h handle) answer {
	return m.answer(C.assay_gate(C.assay_handle(h), &m.out))
}

func (m *memory) format(h handle) answer {
	return m.answer(C.assay_format(C.assay_handle(h), &m.out))
}

func (m *memory) prepare(h handle, request, options string) (handle, answer) {
	r, freeRequest := textOf(request)
	defer freeRequest()
	o, freeOptions := textOf(options)
	defer freeOptions()
	var p C.assay_handle
	a := m.answer(C.assay_prepare(C.assay_handle(h), r, o, &p, &m.out))
	return handle(p), a
}

func (m *memory) prepareFormat(format, request string) (handle, answer) {
	f, freeFormat := textOf(format)
	defer freeFormat()
	r, freeRequest := textOf(request)
	defer freeRequest()
	var p C.assay_handle
	a := m.answer(C.assay_prepare_format(f, C.assay_text{}, r, C.assay_text{}, &p, &m.out))
	return handle(p), a
}

func (m *memory) grammar(h handle, language string) answer {
	l, free := textOf(language)
	defer free()
	return m.answer(C.assay_grammar(C.assay_handle(h), l, &m.out))
}

func (m *memory) segments(h handle) answer {
	return m.answer(C.assay_segments(C.assay_handle(h), &m.out))
}

func (m *memory) parser(h handle) (handle, answer) {
	var p C.assay_handle
	a := m.answer(C.assay_parser(C.assay_handle(h), &p, &m.out))
	return handle(p), a
}

func (m *memory) write(h handle, piece string) answer {
	t, free := textOf(piece)
	defer free()
	return m.answer(C.assay_write(C.assay_handle(h), t.data, t.size, &m.out))
}

// pieceOf copies a piece to C. ids may be nil; the ends are as they are given, right or wrong, or
// not there.
func pieceOf(h handle, piece string, ids []int32, ends []uint) (C.assay_piece, func()) {
	t, free := textOf(piece)
	p := C.assay_piece{parser: C.assay_handle(h), data: t.data, size: t.size}
	if ids == nil {
		return p, free
	}
	p.count = C.size_t(len(ids))
	p.ids = (*C.int32_t)(C.calloc(C.size_t(len(ids)+1), 4))
	copy(unsafe.Slice((*int32)(unsafe.Pointer(p.ids)), len(ids)), ids)
	if ends == nil {
		return p, func() {
			free()
			C.free(unsafe.Pointer(p.ids))
		}
	}
	p.ends = (*C.size_t)(C.calloc(C.size_t(len(ids)+1), 8))
	copy(unsafe.Slice((*uint)(unsafe.Pointer(p.ends)), len(ids)), ends)
	return p, func() {
		free()
		C.free(unsafe.Pointer(p.ids))
		C.free(unsafe.Pointer(p.ends))
	}
}

func (m *memory) writeTokens(h handle, piece string, ids []int32, ends []uint) answer {
	p, free := pieceOf(h, piece, ids, ends)
	defer free()
	return m.answer(C.assay_write_piece(&p, &m.out))
}

// writeMany writes a piece to each of some parsers.
func (m *memory) writeMany(all []handle, pieces []string) (whole status, each []answer) {
	n := C.size_t(len(all))
	in := (*C.assay_piece)(C.calloc(n+1, C.sizeof_assay_piece))
	defer C.free(unsafe.Pointer(in))
	results := (*C.assay_result)(C.calloc(n+1, C.sizeof_assay_result))
	defer C.free(unsafe.Pointer(results))
	for i := range all {
		p, free := pieceOf(all[i], pieces[i], nil, nil)
		defer free()
		unsafe.Slice(in, n)[i] = p
	}
	a := m.answer(C.assay_write_many(in, n, results, &m.out))
	for _, r := range unsafe.Slice(results, n) {
		each = append(each, answer{status(r.status), a.text[r.offset : r.offset+r.size]})
	}
	return a.status, each
}

// part is a span with its text.
type part struct {
	kind, call int
	text       string
}

func (m *memory) writeSpans(h handle, piece string) (answer, []part) {
	p, free := pieceOf(h, piece, nil, nil)
	defer free()
	var spans C.assay_spans
	defer C.assay_spans_free(&spans)
	a := m.answer(C.assay_write_spans(&p, &m.out, &spans))
	var parts []part
	for _, s := range unsafe.Slice(spans.data, int(spans.count)) {
		parts = append(parts, part{int(s.kind), int(s.call), a.text[s.offset : s.offset+s.size]})
	}
	return a, parts
}

func (m *memory) held(h handle) (status, int) {
	var held C.uint64_t
	s := C.assay_held(C.assay_handle(h), &held)
	return status(s), int(held)
}

func (m *memory) diagnostics(h handle) answer {
	return m.answer(C.assay_diagnostics(C.assay_handle(h), &m.out))
}

func (m *memory) finish(h handle, reason int) answer {
	return m.answer(C.assay_finish(C.assay_handle(h), C.int32_t(reason), &m.out))
}

func free(h handle) status { return status(C.assay_free(C.assay_handle(h))) }

// word returns the word of a status, by C.
func word(s status) string { return C.GoString(C.assay_status(C.int32_t(s))) }

// nothing calls functions with null pointers.
func nothing(t, p, parser handle) map[string]status {
	var h C.assay_handle
	var out C.assay_buffer
	defer C.assay_buffer_free(&out)
	C.assay_buffer_free(nil)
	C.assay_spans_free(nil)
	odd := C.assay_text{nil, 5}
	text := C.CString("abc")
	defer C.free(unsafe.Pointer(text))
	return map[string]status{
		"compile nothing":       status(C.assay_compile(nil, &h, &out)),
		"gate without a buffer": status(C.assay_gate(C.assay_handle(t), nil)),
		"prepare odd text": status(C.assay_prepare(C.assay_handle(t), odd, C.assay_text{}, &h,
			&out)),
		"parser without a place":   status(C.assay_parser(C.assay_handle(p), nil, &out)),
		"write without a buffer":   status(C.assay_write(C.assay_handle(parser), text, 3, nil)),
		"write odd text":           status(C.assay_write(C.assay_handle(parser), nil, 3, &out)),
		"write no piece":           status(C.assay_write_piece(nil, &out)),
		"write many without any":   status(C.assay_write_many(nil, 3, nil, &out)),
		"write spans nowhere":      status(C.assay_write_spans(nil, &out, nil)),
		"write many, huge":         status(C.assay_write_many(nil, 1<<60, nil, &out)),
		"held without a place":     status(C.assay_held(C.assay_handle(parser), nil)),
		"finish for no reason":     status(C.assay_finish(C.assay_handle(parser), 9, &out)),
		"finish without a buffer":  status(C.assay_finish(C.assay_handle(parser), 0, nil)),
		"grammar, odd language":    status(C.assay_grammar(C.assay_handle(p), odd, &out)),
		"segments without buffer":  status(C.assay_segments(C.assay_handle(p), nil)),
		"prepare format of a NULL": status(C.assay_prepare_format(odd, odd, odd, odd, &h, &out)),
	}
}

// writePieces writes pieces of four bytes to parsers, all at once.
func writePieces(parsers []handle, rounds int) {
	var out C.assay_buffer
	defer C.assay_buffer_free(&out)
	text := C.CString("word")
	defer C.free(unsafe.Pointer(text))
	all := make([]C.assay_handle, len(parsers))
	for i, p := range parsers {
		all[i] = C.assay_handle(p)
	}
	C.write_pieces(&all[0], C.size_t(len(all)), C.size_t(rounds), text, &out)
}
