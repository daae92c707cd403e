//go:build llama

#include "shim.h"

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

extern "C" {

// Of callback.go.
bool assayProgress(float progress, uintptr_t handle);
void assayLog(int level, char * text);

static void on_log(enum ggml_log_level level, const char * text, void *) { assayLog(level, const_cast<char *>(text)); }
static bool on_progress(float progress, void * handle) { return assayProgress(progress, reinterpret_cast<uintptr_t>(handle)); }
static bool on_abort(void * abort) { return __atomic_load_n(static_cast<int *>(abort), __ATOMIC_RELAXED) != 0; }

void assay_stop(int * abort, int value) { __atomic_store_n(abort, value, __ATOMIC_RELAXED); }

}

// guard runs f; an exception becomes a text, and the result is failed.
template <class T, class F> static T guard(assay_error * error, T failed, F f) {
    error->text[0] = 0;
    try {
        return f();
    } catch (const std::exception & e) {
        snprintf(error->text, sizeof error->text, "%s", e.what());
    } catch (...) {
        snprintf(error->text, sizeof error->text, "unknown exception");
    }
    return failed;
}

extern "C" {

void assay_log_start(void) {
    llama_log_set(on_log, nullptr);
    ggml_backend_load_all();
    llama_backend_init();
}

struct llama_model * assay_load(const char * path, int gpu_layers, uintptr_t progress, assay_error * error) {
    return guard<llama_model *>(error, nullptr, [&] {
        llama_model_params p = llama_model_default_params();
        p.n_gpu_layers = gpu_layers;
        p.progress_callback = on_progress;
        p.progress_callback_user_data = reinterpret_cast<void *>(progress);
        p.check_tensors = true;
        return llama_model_load_from_file(path, p);
    });
}

struct llama_context * assay_context(struct llama_model * model, uint32_t size, uint32_t batch, int threads, int * abort, assay_error * error) {
    return guard<llama_context *>(error, nullptr, [&] {
        llama_context_params p = llama_context_default_params();
        p.n_ctx = size;
        p.n_batch = batch;
        p.n_ubatch = batch;
        if (threads > 0) {
            p.n_threads = p.n_threads_batch = threads;
        }
        p.no_perf = true;
        p.abort_callback = on_abort;
        p.abort_callback_data = abort;
        return llama_init_from_model(model, p);
    });
}

int assay_tokenize(const struct llama_vocab * vocab, const char * text, int n, llama_token * tokens, int max, bool special, assay_error * error) {
    return guard(error, INT32_MIN, [&] { return (int) llama_tokenize(vocab, text, n, tokens, max, false, special); });
}

int assay_decode(struct llama_context * ctx, llama_token * tokens, int n, assay_error * error) {
    return guard(error, -1000, [&] { return (int) llama_decode(ctx, llama_batch_get_one(tokens, n)); });
}

int assay_keep(struct llama_context * ctx, int n) {
    if (llama_memory_seq_rm(llama_get_memory(ctx), 0, n, -1)) {
        return n;
    }
    llama_memory_clear(llama_get_memory(ctx), true);
    return 0;
}

struct llama_sampler * assay_grammar(const struct llama_vocab * vocab, const char * grammar, int lazy, const char ** patterns, size_t n_patterns,
    const llama_token * tokens, size_t n_tokens, assay_error * error) {
    return guard<llama_sampler *>(error, nullptr, [&] {
        return lazy ? llama_sampler_init_grammar_lazy_patterns(vocab, grammar, "root", patterns, n_patterns, tokens, n_tokens)
                    : llama_sampler_init_grammar(vocab, grammar, "root");
    });
}

int assay_allows(struct llama_sampler * grammar, llama_token token, assay_error * error) {
    return guard(error, -1, [&] {
        llama_token_data one = {token, 1, 0};
        llama_token_data_array ask = {&one, 1, -1, false};
        llama_sampler_apply(grammar, &ask);
        return std::isfinite(one.logit) ? 1 : 0;
    });
}

struct llama_sampler * assay_sampler(struct llama_sampler * grammar, int top_k, float top_p, float min_p, float temperature, uint32_t seed) {
    llama_sampler * chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    auto add = [&](llama_sampler * s) { llama_sampler_chain_add(chain, s); };
    if (grammar) {
        add(grammar);
    }
    if (temperature <= 0) {
        add(llama_sampler_init_greedy());
        return chain;
    }
    if (top_k > 0) {
        add(llama_sampler_init_top_k(top_k));
    }
    if (top_p > 0) {
        add(llama_sampler_init_top_p(top_p, 1));
    }
    if (min_p > 0) {
        add(llama_sampler_init_min_p(min_p, 1));
    }
    add(llama_sampler_init_temp(temperature));
    add(llama_sampler_init_dist(seed));
    return chain;
}

llama_token assay_sample(struct llama_sampler * sampler, int grammar, struct llama_context * ctx, assay_error * error) {
    return guard<llama_token>(error, -1, [&]() -> llama_token {
        const float * logits = llama_get_logits_ith(ctx, -1);
        const int n = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(ctx)));
        if (!logits) {
            snprintf(error->text, sizeof error->text, "there are no logits");
            return -1;
        }
        std::vector<llama_token_data> data(n);
        llama_token_data_array candidates;
        auto choose = [&](int first) { // by the samplers of the chain from the first one on
            for (int i = 0; i < n; i++) {
                data[i] = {i, logits[i], 0};
            }
            candidates = {data.data(), data.size(), -1, false};
            for (int i = first; i < llama_sampler_chain_n(sampler); i++) {
                llama_sampler_apply(llama_sampler_chain_get(sampler, i), &candidates);
            }
        };
        choose(grammar ? 1 : 0);
        if (grammar) { // most tokens conform without being made to, and one is asked about much faster than all are
            bool conforms = false;
            if (candidates.selected >= 0) {
                const int allowed = assay_allows(llama_sampler_chain_get(sampler, 0), candidates.data[candidates.selected].id, error);
                if (allowed < 0) {
                    return -1;
                }
                conforms = allowed == 1;
            }
            if (!conforms) {
                choose(0);
            }
        }
        if (candidates.selected < 0 || !std::isfinite(candidates.data[candidates.selected].logit)) {
            snprintf(error->text, sizeof error->text, "the grammar allows no token of the vocabulary here");
            return -1;
        }
        const llama_token token = candidates.data[candidates.selected].id;
        llama_sampler_accept(sampler, token);
        return token;
    });
}

int assay_accept(struct llama_sampler * sampler, llama_token token, assay_error * error) {
    return guard(error, -1, [&] { llama_sampler_accept(sampler, token); return 0; });
}

}
