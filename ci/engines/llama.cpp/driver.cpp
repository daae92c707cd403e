// Measures llama.cpp's chat library at the works of the program peers: driver INPUT WORK. For every line of the standard input it does the
// work once and answers with a line: the nanoseconds of processor time that it took, and how many of its parts came out well.
//
// It calls the functions that common/chat.h declares, as llama.cpp's server does: init and apply for a template and a request, parse for every token of
// a streamed answer, and compute_diffs for the deltas.

#include "chat.h"
#include "log.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>

using json = nlohmann::ordered_json;

static long long clock_ns() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static common_chat_templates_inputs inputs_of(const json & request) {
    common_chat_templates_inputs in;
    in.messages = common_chat_msgs_parse_oaicompat(common_json::parse(request.at("messages").dump()));
    in.tools = common_chat_tools_parse_oaicompat(common_json::parse(request.at("tools").dump()));
    in.parallel_tool_calls = true;
    in.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
    return in;
}

// init and apply: capabilities, prompt, parser and grammar of every template.
static int analyse(const json & templates, const common_chat_templates_inputs & in) {
    int good = 0;
    for (const auto & t : templates) {
        try {
            auto compiled = common_chat_templates_init(nullptr, t.at("source").get<std::string>(), "<s>", "</s>");
            auto params = common_chat_templates_apply(compiled.get(), in);
            good += !params.parser.empty() && !params.grammar.empty();
        } catch (const std::exception &) {
            // counted as not good
        }
    }
    return good;
}

struct streamed {
    common_chat_parser_params params;
    std::string text;
};

static streamed stream_of(const json & input, const common_chat_templates_inputs & in, const std::string & output) {
    auto compiled = common_chat_templates_init(nullptr, input.at("own").get<std::string>(), "<s>", "</s>");
    auto applied = common_chat_templates_apply(compiled.get(), in);
    streamed s;
    s.params = common_chat_parser_params(applied);
    s.params.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
    if (!applied.parser.empty()) {
        s.params.parser.load(applied.parser);
    }
    s.text = input.at("outputs").at(output).get<std::string>();
    return s;
}

// parse reads an answer in pieces, with the deltas of each, and returns how many bytes of it are in the message.
static int parse(const streamed & s, size_t piece) {
    common_chat_msg last;
    for (size_t at = 0; at < s.text.size(); at += piece) {
        size_t end = std::min(s.text.size(), at + piece);
        auto msg = common_chat_parse(s.text.substr(0, end), end < s.text.size(), s.params);
        common_chat_msg_diff::compute_diffs(last, msg);
        last = msg;
    }
    size_t n = last.content.size();
    for (const auto & call : last.tool_calls) {
        n += call.arguments.size();
    }
    return (int) n;
}

int main(int argc, char ** argv) {
    if (argc != 3) {
        std::cerr << "usage: driver INPUT WORK\n";
        return 2;
    }
    common_log_set_verbosity_thold(-1);
    try {
        json input = json::parse(std::ifstream(argv[1]));
        auto in = inputs_of(input.at("request"));
        std::string work = argv[2];
        std::function<int()> op;
        streamed s;
        if (work == "analyse") {
            op = [&] { return analyse(input.at("templates"), in); };
        } else if (work.rfind("stream/", 0) == 0) {
            s = stream_of(input, in, work.substr(7));
            op = [&] { return parse(s, 4); };
        } else if (work.rfind("parse/", 0) == 0) {
            s = stream_of(input, in, work.substr(6));
            op = [&] { return parse(s, s.text.size()); };
        } else {
            throw std::runtime_error("there is no work " + work);
        }
        op(); // once to warm up
        for (std::string line; std::getline(std::cin, line);) {
            long long start = clock_ns();
            int good = op();
            std::cout << clock_ns() - start << " " << good << std::endl;
        }
    } catch (const std::exception & e) {
        std::cout << "error " << e.what() << std::endl;
        return 1;
    }
}
