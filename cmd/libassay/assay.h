/*
 * assay.h: the C interface of Assay, which reads a chat template and makes of it prompts, grammars
 * and streaming parsers of a model's outputs.
 *
 * Life of a request
 *
 *     assay_compile   a template's text       -> a template, once for a model
 *     assay_prepare   a template, a request   -> a plan: prompt, stops, triggers
 *     assay_parser    a plan                  -> a parser, one for each answer
 *     assay_write     a parser, a piece       -> the deltas that are certain
 *     assay_finish    a parser                -> the message
 *     assay_free      each of them, in any order
 *
 * Calls. Every function but those that return text or nothing returns a status: ASSAY_OK or one of
 * the errors below. Nothing is called back, and nothing is printed. A function that has a buffer
 * puts its result there, or, where it fails, an error in JSON:
 *
 *     {"error":"template","message":"t.jinja:3:7: ...","offset":41,"line":3,"column":7}
 *
 * offset counts bytes from 0, line and column count from 1, column in characters; the three are
 * there where the error has a place. ASSAY_ERR_FORKED and ASSAY_ERR_MEMORY leave the buffer empty. A
 * piece whose result finds no memory was read: what it added is in the message of assay_finish.
 *
 * Texts are UTF-8 with a length, without a zero at the end. The library keeps no pointer that it is
 * given. JSON is written without white space, in OpenAI's shapes.
 *
 * Handles are numbers. 0 is none. One that was freed, or that names something else, gives
 * ASSAY_ERR_HANDLE. A plan outlives its template, and a parser its plan.
 *
 * Threads. Every function may be called from any thread at any time. Calls on one parser wait for
 * each other. A buffer belongs to one call at a time.
 *
 * Processes. Loading the library starts Go's runtime, with threads and signal handlers of its own.
 * A forked child has no such threads, so that every function returns ASSAY_ERR_FORKED there. Load
 * the library after the fork, or call exec.
 *
 * Versions. ASSAY_ABI grows when a program that was right before would no longer be. Structs that
 * may grow begin with their size.
 */
#ifndef ASSAY_H
#define ASSAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define ASSAY_API __declspec(dllexport)
#else
#define ASSAY_API __attribute__((visibility("default")))
#endif

#define ASSAY_ABI 1

typedef uint64_t assay_handle;

/* The statuses. assay_status returns the word that stands for each in errors. */
enum {
    ASSAY_OK = 0,
    ASSAY_ERR_REQUEST = 1,    /* an argument, a request or its options cannot be understood */
    ASSAY_ERR_HANDLE = 2,     /* the handle was freed, or is one of another kind */
    ASSAY_ERR_TEMPLATE = 3,   /* the template cannot be used */
    ASSAY_ERR_RENDER = 4,     /* the template refuses the request */
    ASSAY_ERR_UNVERIFIED = 5, /* the format is not proven to read the answers; see "insist" */
    ASSAY_ERR_LIMIT = 6,      /* a limit was met */
    ASSAY_ERR_LANGUAGE = 7,   /* the grammar's language has no words for a part of the format */
    ASSAY_ERR_FINISHED = 8,   /* the parser is finished */
    ASSAY_ERR_FORKED = 9,     /* the library was loaded before this process was forked */
    ASSAY_ERR_MEMORY = 10,    /* there is no memory for the result */
    ASSAY_ERR_INTERNAL = 11   /* a fault of the library */
};

/* A text of the caller's. data may be NULL where size is 0. */
typedef struct assay_text {
    const char *data;
    size_t size;
} assay_text;

/* A buffer for results. It begins as zeros; the library makes it longer as it must, and every call
 * begins at its start. assay_buffer_free frees it. One buffer may serve many calls. */
typedef struct assay_buffer {
    char *data;
    size_t size;
    size_t capacity;
} assay_buffer;

/* A template. All but struct_size and text may be zeros. */
typedef struct assay_source {
    size_t struct_size; /* sizeof(assay_source) */
    assay_text name;    /* for messages; empty: template.jinja */
    assay_text text;    /* the template's Jinja source */
    /* the texts of the special tokens that begin a prompt and end an answer; where stand_ins is
     * not 0 they are not the model's */
    assay_text bos, eos;
    int32_t stand_ins;
    /* the texts of tokenizer.json, tokenizer_config.json and generation_config.json. With the first
     * one parsers read tokens by their ids. */
    assay_text tokenizer, tokenizer_config, generation_config;
    /* limits, 0 for the default: bytes of the source; of each render its steps, bytes and nesting;
     * steps of all renders together; of each parser the bytes that it holds, the frames of its
     * stack and how often it reads bytes again (docs/untrusted.md) */
    uint64_t source, steps, output, depth, total, held, frames, rereads;
    int64_t now; /* the clock that templates read, in seconds since 1970, UTC; 0: the wall clock */
} assay_source;

/* A piece of an output. Where ids is not NULL the piece is count tokens: token i has the id ids[i]
 * and the bytes of data from ends[i-1], or 0, up to ends[i]. Where ends is NULL, too, size is 0, and
 * the tokens have the bytes that the template's tokenizer.json spells. */
typedef struct assay_piece {
    assay_handle parser;
    const char *data;
    size_t size;
    const int32_t *ids;
    const size_t *ends;
    size_t count;
} assay_piece;

/* The result of a piece: its status, and its deltas, or its error, in the buffer. */
typedef struct assay_result {
    int32_t status;
    size_t offset, size;
} assay_result;

/* A part of the message that a piece has added: size bytes of the text at offset. */
enum {
    ASSAY_REASONING = 1,
    ASSAY_CONTENT = 2,
    ASSAY_CALL_ID = 3, /* a call's id comes once, before its name; some have none */
    ASSAY_CALL_NAME = 4, /* a call begins; comes once, before its arguments */
    ASSAY_CALL_ARGUMENTS = 5
};
typedef struct assay_span {
    uint32_t kind;
    uint32_t call; /* the call's number in the message, from 0 */
    size_t offset, size;
} assay_span;
typedef struct assay_spans {
    assay_span *data;
    size_t count;
    size_t capacity;
} assay_spans;

/* Why an output ended. */
enum {
    ASSAY_STOP = 0,
    ASSAY_LENGTH = 1, /* a limit cut it off */
    ASSAY_CONTENT_FILTER = 2
};

/* assay_abi returns the library's ASSAY_ABI, assay_status the word of a status. */
ASSAY_API uint32_t assay_abi(void);
ASSAY_API const char *assay_status(int32_t status);

/* assay_compile makes a template. */
ASSAY_API int32_t assay_compile(const assay_source *source, assay_handle *template_,
                                assay_buffer *out);

/* assay_gate judges a template: {"pass":true,"tool_capable":true,"verified":true,
 * "verdict":"pass"}. */
ASSAY_API int32_t assay_gate(assay_handle template_, assay_buffer *out);

/* assay_format writes the template's output format as JSON, of which assay_prepare_format makes
 * plans in another process (docs/reference/format.md). */
ASSAY_API int32_t assay_format(assay_handle template_, assay_buffer *out);

/* assay_prepare renders a request, the JSON of OpenAI's chat completions, and makes its plan. The
 * result is {"prompt":"","prefill":"","stops":[],"preserved":[],"lazy":false,"triggers":[
 * {"text":"","pattern":false,"call":true}],"fitted":[]}. options is empty, or JSON:
 * {"insist":true,"fallbacks":["hermes"],"tolerances":{"T1":false},"incomplete":"text","prefill":""}.
 * prefill is the text after the header of the answer in a prompt that the caller has rendered; with
 * it nothing is rendered, and the result has an empty prompt. */
ASSAY_API int32_t assay_prepare(assay_handle template_, assay_text request, assay_text options,
                                assay_handle *plan, assay_buffer *out);

/* assay_prepare_format makes a plan of a format's JSON, without any template. prefill is the text
 * of the prompt after the header of the answer; where its data is NULL it is the format's usual
 * one. The result has an empty prompt. */
ASSAY_API int32_t assay_prepare_format(assay_text format, assay_text prefill, assay_text request,
                                       assay_text options, assay_handle *plan, assay_buffer *out);

/* assay_grammar writes the grammar of the answers in a language. "lazy-gbnf" is llama.cpp's grammar
 * from the plan's triggers on; the others are grammars of whole answers: "gbnf", "ebnf" and
 * "structural-tag" for xgrammar, "lark" for llguidance. */
ASSAY_API int32_t assay_grammar(assay_handle plan, assay_text language, assay_buffer *out);

/* assay_segments says of each byte of a plan's prompt whose it is: [{"offset":0,"size":7,"own":true}
 * ,{"offset":7,"size":5,"own":false,"path":"messages[0].content","role":"user","turn":0}]. own says
 * that it is the template's. */
ASSAY_API int32_t assay_segments(assay_handle plan, assay_buffer *out);

/* assay_parser makes a parser for one answer. */
ASSAY_API int32_t assay_parser(assay_handle plan, assay_handle *parser, assay_buffer *out);

/* assay_write reads more of an output. The result is an array of deltas, [{"content":"Hi"}], or
 * nothing at all where the piece adds nothing to the message yet. A piece may begin or end inside a
 * character. */
ASSAY_API int32_t assay_write(assay_handle parser, const char *data, size_t size,
                              assay_buffer *out);

/* assay_write_piece is assay_write for a piece that may be tokens, and assay_write_spans gives its
 * result as spans of a text. */
ASSAY_API int32_t assay_write_piece(const assay_piece *piece, assay_buffer *out);
ASSAY_API int32_t assay_write_spans(const assay_piece *piece, assay_buffer *text,
                                    assay_spans *spans);

/* assay_write_many reads pieces of several outputs and pays once for the way into Go. results has
 * as many elements as pieces; the result of each piece is that of assay_write_piece. Its own status
 * tells whether all was read, whatever the pieces' statuses are. */
ASSAY_API int32_t assay_write_many(const assay_piece *pieces, size_t count, assay_result *results,
                                   assay_buffer *out);

/* assay_held counts the bytes that are in no delta because later ones decide their meaning. */
ASSAY_API int32_t assay_held(assay_handle parser, uint64_t *held);

/* assay_diagnostics lists the oddities of an output so far: [{"at":3,"kind":"","message":""}]. */
ASSAY_API int32_t assay_diagnostics(assay_handle parser, assay_buffer *out);

/* assay_finish ends an output. The result is {"deltas":[],"message":{},"finish_reason":"stop",
 * "complete":[true],"diagnostics":[]}; complete is about the calls of the message. */
ASSAY_API int32_t assay_finish(assay_handle parser, int32_t reason, assay_buffer *out);

/* assay_free frees what a handle names. */
ASSAY_API int32_t assay_free(assay_handle handle);

ASSAY_API void assay_buffer_free(assay_buffer *buffer);
ASSAY_API void assay_spans_free(assay_spans *spans);

#ifdef __cplusplus
}
#endif
#endif
