// A chat in the terminal: llama.cpp runs the model, libassay writes its prompts, constrains its
// answers and reads them as they stream, by the template of the model's file or by another one.
//
//     chat MODEL.gguf [SEED [TEMPLATE.jinja]]
//
// Each line of standard input is a question. One that begins with "!" demands a call. The model may
// call a tool; the program answers the call, and the model goes on.
#include <assay.h>
#include <llama.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

using json = nlohmann::ordered_json;

static const json tools = json::parse(R"([{"type": "function", "function": {
    "name": "weather", "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"enum": ["Bern", "Oslo"]}},
                   "required": ["city"]}}}])");

static assay_text text_of(const std::string &s) { return {s.data(), s.size()}; }

// A result of the library: its text, or an exception.
class Result {
public:
    ~Result() { assay_buffer_free(&buffer); }
    operator assay_buffer *() { return &buffer; }
    std::string text(int32_t status) const {
        std::string text(buffer.data == nullptr ? "" : buffer.data, buffer.size);
        if (status != ASSAY_OK)
            throw std::runtime_error(text.empty() ? assay_status(status) : text);
        return text;
    }
private:
    assay_buffer buffer = {};
};

// What a handle names lives as long as this.
class Handle {
public:
    Handle() = default;
    Handle(const Handle &) = delete;
    ~Handle() { assay_free(number); }
    assay_handle number = 0;
};

template <auto Free> struct Deleter {
    template <class T> void operator()(T *p) const { Free(p); }
};
template <class T, auto Free> using Owned = std::unique_ptr<T, Deleter<Free>>;

class Chat {
public:
    Chat(const char *path, uint32_t seed, const char *file) : seed(seed) {
        model.reset(llama_model_load_from_file(path, llama_model_default_params()));
        if (!model)
            throw std::runtime_error(std::string(path) + " cannot be loaded");
        auto params = llama_context_default_params();
        params.n_ctx = params.n_batch = 8192;
        context.reset(llama_init_from_model(model.get(), params));
        const char *own = llama_model_chat_template(model.get(), nullptr);
        std::ifstream in(file == nullptr ? "" : file, std::ios::binary);
        std::string text = file == nullptr ? (own == nullptr ? "" : own) : std::string(std::istreambuf_iterator<char>(in), {});
        if (!context || text.empty())
            throw std::runtime_error("there is no context or no template");
        vocab = llama_model_get_vocab(model.get());
        std::string bos = piece(llama_vocab_bos(vocab)), eos = piece(llama_vocab_eos(vocab));
        assay_source s = {};
        s.struct_size = sizeof s;
        s.text = text_of(text), s.bos = text_of(bos), s.eos = text_of(eos);
        result.text(assay_compile(&s, &assay.number, result));
    }

    // Answers a question: the calls of the model are answered, and it goes on.
    void ask(const std::string &question, bool demands) {
        messages.push_back({{"role", "user"}, {"content", question}});
        for (int round = 0; round < 3; round++) {
            json message = answer(demands && round == 0);
            messages.push_back(message);
            if (!message.contains("tool_calls"))
                return;
            for (const json &call : message["tool_calls"]) {
                std::string said = "12 degrees and rain";
                std::cout << "-> " << call["function"]["name"].get<std::string>() << " "
                          << call["function"]["arguments"].get<std::string>() << ": " << said << "\n";
                messages.push_back({{"role", "tool"}, {"content", said}, {"name", call["function"]["name"]}});
                if (call.contains("id"))
                    messages.back()["tool_call_id"] = call["id"];
            }
        }
    }

private:
    // Has the model answer the messages so far, prints the answer and returns its message.
    json answer(bool demands) {
        json request = {{"messages", messages}, {"tools", tools}};
        if (demands)
            request["tool_choice"] = "required";
        Handle plan, parser;
        json told = json::parse(result.text(assay_prepare(assay.number, text_of(request.dump()), {}, &plan.number, result)));
        result.text(assay_parser(plan.number, &parser.number, result));
        auto sampler = sampler_of(told, plan.number);
        auto reason = generate(told["prompt"], sampler.get(), [&](const std::string &piece) {
            std::string deltas = result.text(assay_write(parser.number, piece.data(), piece.size(), result));
            if (!deltas.empty())
                show(json::parse(deltas));
        });
        json end = json::parse(result.text(assay_finish(parser.number, reason, result)));
        show(end["deltas"]);
        std::cout << "\n";
        return end["message"];
    }

    void show(const json &deltas) {
        for (const json &delta : deltas)
            std::cout << delta.value("reasoning_content", "") << delta.value("content", "") << std::flush;
    }

    // Returns a sampler that keeps to the plan's grammar, from its triggers on where it is lazy.
    Owned<llama_sampler, llama_sampler_free> sampler_of(const json &told, assay_handle plan) {
        std::string grammar = result.text(assay_grammar(plan, text_of("lazy-gbnf"), result));
        std::vector<std::string> patterns;
        std::vector<const char *> pointers;
        std::vector<llama_token> tokens;
        for (const json &trigger : told["triggers"]) {
            std::string text = trigger["text"];
            static const std::regex special(R"([.^$|()\[\]{}*+?\\])");
            patterns.push_back(trigger["pattern"] ? text : "(" + std::regex_replace(text, special, R"(\$&)") + ")");
            if (auto one = tokenize(text); !trigger["pattern"] && one.size() == 1)
                tokens.push_back(one[0]);
        }
        for (const std::string &pattern : patterns)
            pointers.push_back(pattern.c_str());
        Owned<llama_sampler, llama_sampler_free> chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
        llama_sampler *constraint = told["lazy"]
            ? llama_sampler_init_grammar_lazy_patterns(vocab, grammar.c_str(), "root", pointers.data(), pointers.size(), tokens.data(), tokens.size())
            : llama_sampler_init_grammar(vocab, grammar.c_str(), "root");
        if (constraint == nullptr)
            throw std::runtime_error("llama.cpp does not take the grammar:\n" + grammar);
        llama_sampler_chain_add(chain.get(), constraint);
        llama_sampler_chain_add(chain.get(), llama_sampler_init_temp(0.7f));
        llama_sampler_chain_add(chain.get(), llama_sampler_init_dist(seed));
        return chain;
    }

    // Continues a prompt piece by piece, and returns why it ended.
    template <class Each> int32_t generate(const std::string &prompt, llama_sampler *sampler, Each each) {
        auto tokens = tokenize(prompt);
        llama_memory_clear(llama_get_memory(context.get()), true);
        auto batch = llama_batch_get_one(tokens.data(), (int32_t) tokens.size());
        for (int made = 0; made < 512 && tokens.size() + made + 1 < llama_n_ctx(context.get()); made++) {
            if (llama_decode(context.get(), batch) != 0)
                throw std::runtime_error("llama_decode fails");
            llama_token token = llama_sampler_sample(sampler, context.get(), -1);
            if (llama_vocab_is_eog(vocab, token))
                return ASSAY_STOP;
            each(piece(token));
            last = token;
            batch = llama_batch_get_one(&last, 1);
        }
        return ASSAY_LENGTH;
    }

    // The template writes the special tokens, so that none are added.
    std::vector<llama_token> tokenize(const std::string &text) {
        std::vector<llama_token> tokens(text.size() + 1);
        int n = llama_tokenize(vocab, text.data(), (int32_t) text.size(), tokens.data(), (int32_t) tokens.size(), false, true);
        tokens.resize(n < 0 ? 0 : n);
        return tokens;
    }

    std::string piece(llama_token token) {
        if (token == LLAMA_TOKEN_NULL)
            return "";
        std::string text(256, 0);
        int n = llama_token_to_piece(vocab, token, text.data(), (int32_t) text.size(), 0, true);
        text.resize(n < 0 ? 0 : n);
        return text;
    }

    uint32_t seed;
    Owned<llama_model, llama_model_free> model;
    Owned<llama_context, llama_free> context;
    const llama_vocab *vocab = nullptr;
    llama_token last = 0;
    Handle assay; // the template
    Result result;
    json messages = json::array();
};

int main(int argc, char **argv) {
    if (argc < 2) {
        std::cerr << "usage: chat MODEL.gguf [SEED [TEMPLATE.jinja]]\n";
        return 2;
    }
    llama_log_set([](ggml_log_level level, const char *text, void *) {
        if (level == GGML_LOG_LEVEL_ERROR)
            std::cerr << text;
    }, nullptr);
    try {
        Chat chat(argv[1], argc > 2 ? std::atoi(argv[2]) : LLAMA_DEFAULT_SEED, argc > 3 ? argv[3] : nullptr);
        for (std::string line; std::getline(std::cin, line);) {
            bool demands = line.rfind("!", 0) == 0;
            chat.ask(line.substr(demands), demands);
        }
    } catch (const std::exception &e) {
        std::cerr << "chat: " << e.what() << "\n";
        return 1;
    }
}
