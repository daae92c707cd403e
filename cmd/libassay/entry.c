//go:build cgo && libassay

// The functions of assay.h. Each looks whether this process was forked before it enters Go: the
// runtime's threads stay with the parent, so that the next collection would wait for them forever.

#include <stdlib.h>
#if defined(_WIN32)
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "assay.h"
#include "_cgo_export.h"

#if defined(_WIN32)
static int forked(void) { return 0; }
#else

// The process that loaded the library, and on Linux a page which the system gives to a forked child
// as zeros: a look at it costs a nanosecond where getpid costs some hundred.
static pid_t loader;
static volatile const char *mark;

__attribute__((constructor)) static void load(void) {
    loader = getpid();
#if defined(MADV_WIPEONFORK)
    char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, 1, MADV_WIPEONFORK) != 0) {
        munmap(page, 1);
        return;
    }
    *page = 1;
    mark = page;
#endif
}

static int forked(void) { return mark != NULL ? *mark == 0 : getpid() != loader; }
#endif

// A forked child gets no text: the other threads of its parent may have held malloc's lock.
#define ENTER(out)                                                                                 \
    if (forked()) {                                                                                \
        if ((out) != NULL)                                                                         \
            (out)->size = 0;                                                                       \
        return ASSAY_ERR_FORKED;                                                                   \
    }

uint32_t assay_abi(void) { return ASSAY_ABI; }

const char *assay_status(int32_t status) {
    static const char *const words[] = {"ok",     "request",    "handle",   "template",
                                        "render", "unverified", "limit",    "language",
                                        "finished", "forked",   "memory",   "internal"};
    if (status < 0 || (size_t)status >= sizeof words / sizeof *words)
        return "unknown";
    return words[status];
}

int32_t assay_compile(const assay_source *source, assay_handle *template_, assay_buffer *out) {
    ENTER(out)
    return goAssayCompile((assay_source *)source, template_, out);
}

int32_t assay_gate(assay_handle template_, assay_buffer *out) {
    ENTER(out)
    return goAssayGate(template_, out);
}

int32_t assay_format(assay_handle template_, assay_buffer *out) {
    ENTER(out)
    return goAssayFormat(template_, out);
}

int32_t assay_prepare(assay_handle template_, assay_text request, assay_text options,
                      assay_handle *plan, assay_buffer *out) {
    ENTER(out)
    return goAssayPrepare(template_, request, options, plan, out);
}

int32_t assay_prepare_format(assay_text format, assay_text prefill, assay_text request,
                             assay_text options, assay_handle *plan, assay_buffer *out) {
    ENTER(out)
    return goAssayPrepareFormat(format, prefill, request, options, plan, out);
}

int32_t assay_grammar(assay_handle plan, assay_text language, assay_buffer *out) {
    ENTER(out)
    return goAssayGrammar(plan, language, out);
}

int32_t assay_segments(assay_handle plan, assay_buffer *out) {
    ENTER(out)
    return goAssaySegments(plan, out);
}

int32_t assay_parser(assay_handle plan, assay_handle *parser, assay_buffer *out) {
    ENTER(out)
    return goAssayParser(plan, parser, out);
}

int32_t assay_write(assay_handle parser, const char *data, size_t size, assay_buffer *out) {
    ENTER(out)
    assay_piece piece = {parser, data, size, NULL, NULL, 0};
    return goAssayWrite(&piece, out);
}

int32_t assay_write_piece(const assay_piece *piece, assay_buffer *out) {
    ENTER(out)
    return goAssayWrite((assay_piece *)piece, out);
}

int32_t assay_write_spans(const assay_piece *piece, assay_buffer *text, assay_spans *spans) {
    ENTER(text)
    return goAssayWriteSpans((assay_piece *)piece, text, spans);
}

int32_t assay_write_many(const assay_piece *pieces, size_t count, assay_result *results,
                         assay_buffer *out) {
    ENTER(out)
    return goAssayWriteMany((assay_piece *)pieces, count, results, out);
}

int32_t assay_held(assay_handle parser, uint64_t *held) {
    if (forked())
        return ASSAY_ERR_FORKED;
    return goAssayHeld(parser, held);
}

int32_t assay_diagnostics(assay_handle parser, assay_buffer *out) {
    ENTER(out)
    return goAssayDiagnostics(parser, out);
}

int32_t assay_finish(assay_handle parser, int32_t reason, assay_buffer *out) {
    ENTER(out)
    return goAssayFinish(parser, reason, out);
}

int32_t assay_free(assay_handle handle) {
    if (forked())
        return ASSAY_ERR_FORKED;
    return goAssayFree(handle);
}

void assay_buffer_free(assay_buffer *buffer) {
    if (buffer == NULL)
        return;
    free(buffer->data);
    *buffer = (assay_buffer){NULL, 0, 0};
}

void assay_spans_free(assay_spans *spans) {
    if (spans == NULL)
        return;
    free(spans->data);
    *spans = (assay_spans){NULL, 0, 0};
}
