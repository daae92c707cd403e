// llama.cpp's own way from a request to a prompt, for docs/internals/views.md: what llama-server's
// handler of /v1/chat/completions calls (tools/server/server-common.cpp, linked as it is), with the
// settings that the server has without options. What of that file needs a model stays unresolved.

#include "server-common.h"
#include "jinja/lexer.h"
#include "jinja/parser.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <iostream>

using line_json = nlohmann::ordered_json;

// The clock of the library, by the linker's --wrap, so that a request can set it.
static std::time_t now = 0;

extern "C" std::time_t __wrap_time(std::time_t * out) {
    if (out) {
        *out = now;
    }
    return now;
}

extern "C" std::chrono::system_clock::time_point __wrap__ZNSt6chrono3_V212system_clock3nowEv() {
    return std::chrono::system_clock::from_time_t(now);
}

static void set_clock(const std::string & iso) {
    std::tm t = {};
    if (strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &t)) {
        t.tm_isdst = -1;
        now = std::mktime(&t);
    }
}

// A text that a request has or has not; the server has an empty one where a model has no token.
static std::string text(const line_json & r, const char * name) {
    return r.contains(name) && r.at(name).is_string() ? r.at(name).get<std::string>() : "";
}

// A server that is given no projector, as most are not, refuses pictures whatever the template has.
static server_chat_params server(const std::string & source, const std::string & bos,
        const std::string & eos) {
    server_chat_params opt;
    common_params defaults;
    opt.use_jinja         = defaults.use_jinja;
    opt.prefill_assistant = defaults.prefill_assistant;
    opt.reasoning_format  = defaults.reasoning_format;
    opt.tmpls             = common_chat_templates_init(nullptr, source, bos, eos);
    opt.allow_image = opt.allow_audio = opt.allow_video = false;
    opt.enable_thinking = defaults.enable_reasoning != 0
        && common_chat_templates_support_enable_thinking(opt.tmpls.get());
    return opt;
}

// Tells what a template words itself from what fails in it, and both from what the server rejects.
static std::string kind(const std::string & message) {
    if (message.find("Jinja Exception: ") != std::string::npos) {
        return "refused";
    }
    return message.find("While executing ") != std::string::npos ? "crashed" : "request";
}

static line_json answer(const line_json & r) {
    std::string source = r.at("template").get<std::string>();
    try {
        jinja::lexer lexer;
        jinja::parse_from_tokens(lexer.tokenize(source));
    } catch (const std::exception & e) {
        return {{"error", "syntax"}, {"message", e.what()}};
    }
    try {
        // Before the server takes requests it tries the template, and ends if that fails.
        server_chat_params opt = server(source, text(r, "bos"), text(r, "eos"));
        json body = json::parse(r.at("request").dump());
        std::vector<raw_buffer> files;
        json params = oaicompat_chat_params_parse(body, opt, files);
        return {{"prompt", params.at("prompt").get<std::string>()}};
    } catch (const std::exception & e) {
        return {{"error", kind(e.what())}, {"message", e.what()}};
    }
}

static long long processor_time() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main() {
    setenv("LLAMA_MEDIA_MARKER", "<__media__>", 1);
    common_log_set_verbosity_thold(-1);
    for (std::string line; std::getline(std::cin, line);) {
        line_json r = line_json::parse(line);
        set_clock(r.value("now", "2026-01-02T03:04:05"));
        long long start = processor_time();
        line_json out = answer(r);
        out["nanoseconds"] = processor_time() - start;
        out["id"] = r.value("id", "");
        std::cout << out.dump(-1, ' ', false, line_json::error_handler_t::replace) << std::endl;
    }
}
