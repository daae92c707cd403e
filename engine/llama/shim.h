// The functions that cgo calls: the C API of llama.cpp with its exceptions caught, and with nothing
// in a struct that Go would have to fill.
#ifndef ASSAY_SHIM_H
#define ASSAY_SHIM_H

#include <llama.h>

#ifdef __cplusplus
extern "C" {
#endif

// error is the text of an exception, cut to fit; empty where there was none.
typedef struct { char text[512]; } assay_error;

void assay_log_start(void);
struct llama_model * assay_load(const char * path, int gpu_layers, uintptr_t progress, assay_error * error);
struct llama_context * assay_context(struct llama_model * model, uint32_t size, uint32_t batch, int threads, int * abort, assay_error * error);
int assay_tokenize(const struct llama_vocab * vocab, const char * text, int n, llama_token * tokens, int max, bool special, assay_error * error);
int assay_decode(struct llama_context * ctx, llama_token * tokens, int n, assay_error * error);
int assay_keep(struct llama_context * ctx, int n);

struct llama_sampler * assay_grammar(const struct llama_vocab * vocab, const char * grammar, int lazy, const char ** patterns, size_t n_patterns,
    const llama_token * tokens, size_t n_tokens, assay_error * error);
// assay_allows says whether a grammar allows a token: 1 or 0, or -1 with an error.
int assay_allows(struct llama_sampler * grammar, llama_token token, assay_error * error);
struct llama_sampler * assay_sampler(struct llama_sampler * grammar, int top_k, float top_p, float min_p, float temperature, uint32_t seed);
// assay_sample returns the next token, accepted, or -1.
llama_token assay_sample(struct llama_sampler * sampler, int grammar, struct llama_context * ctx, assay_error * error);
int assay_accept(struct llama_sampler * sampler, llama_token token, assay_error * error);

void assay_stop(int * abort, int value);

#ifdef __cplusplus
}
#endif

#endif
