// llama.cpp's chat library, for the protocol of docs/reference/adapters.md: it reads outputs and renders
// prompts.
//
// It calls the functions that common/chat.h declares, as llama.cpp's server does: init and apply
// for a template and a request, parse for the whole output, and for a stream parse again for every
// chunk, with compute_diffs for the deltas.

#include "chat.h"
#include "common.h"
#include "log.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <iostream>

using json = nlohmann::ordered_json;

static long long processor_time() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static common_json converted(const json & value) {
    return common_json::parse(value.dump());
}

// The clock that the wanted prompts were rendered by: 2026-01-02 03:04:05.
static std::time_t clock_of_prompts() {
    std::tm t = {};
    t.tm_year = 126, t.tm_mon = 0, t.tm_mday = 2, t.tm_hour = 3, t.tm_min = 4, t.tm_sec = 5;
    t.tm_isdst = -1;
    return std::mktime(&t);
}

// The settings of a request, as the server reads a body: its switches are arguments of the
// template, and enable_thinking is one of the library's too.
static common_chat_templates_inputs inputs_of(const json & request) {
    common_chat_templates_inputs in;
    in.messages = common_chat_msgs_parse_oaicompat(converted(request.at("messages")));
    if (request.contains("tools") && request.at("tools").is_array()) {
        in.tools = common_chat_tools_parse_oaicompat(converted(request.at("tools")));
    }
    if (request.contains("tool_choice")) {
        const json & choice = request.at("tool_choice");
        // A choice that names a tool is no choice of the library.
        in.tool_choice = choice.is_string() ? common_chat_tool_choice_parse_oaicompat(choice.get<std::string>())
                                            : COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    }
    in.parallel_tool_calls = request.value("parallel_tool_calls", true);
    in.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
    if (request.contains("response_format")) {
        const json & format = request.at("response_format");
        std::string type = format.value("type", "");
        if (type == "json_schema") {
            in.json_schema = format.at("json_schema").at("schema").dump();
        } else if (type == "json_object") {
            in.json_schema = "{}";
        }
    }
    if (request.contains("continue_final_message")) {
        in.continue_final_message = common_chat_continuation_parse(converted(request.at("continue_final_message")));
        in.add_generation_prompt = in.continue_final_message == COMMON_CHAT_CONTINUATION_NONE;
    }
    json switches = request.value("chat_template_kwargs", json::object());
    for (const char * name : {"enable_thinking", "reasoning_effort"}) {
        if (request.contains(name)) {
            switches[name] = request.at(name);
        }
    }
    for (const auto & [name, value] : switches.items()) {
        in.chat_template_kwargs[name] = value.dump();
    }
    if (switches.contains("enable_thinking") && switches.at("enable_thinking").is_boolean()) {
        in.enable_thinking = switches.at("enable_thinking").get<bool>();
    }
    in.now = std::chrono::system_clock::from_time_t(clock_of_prompts());
    return in;
}

// The parser of a template and a request.
static common_chat_parser_params parser_of(const json & r) {
    auto templates = common_chat_templates_init(nullptr, r.at("template").get<std::string>(),
        r.value("bos", ""), r.value("eos", ""));
    auto in = inputs_of(r.at("request"));
    auto applied = common_chat_templates_apply(templates.get(), in);
    common_chat_parser_params params(applied);
    params.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
    params.is_continuation = in.continue_final_message != COMMON_CHAT_CONTINUATION_NONE;
    params.parse_tool_calls = in.tool_choice != COMMON_CHAT_TOOL_CHOICE_NONE;
    if (!applied.parser.empty()) {
        params.parser.load(applied.parser);
    }
    return params;
}

static json spelled(const common_chat_msg & msg) {
    json calls = json::array();
    for (const auto & call : msg.tool_calls) {
        calls.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
    }
    return {{"reasoning_content", msg.reasoning_content}, {"content", msg.content}, {"tool_calls", calls}};
}

static json delta_of(const common_chat_msg_diff & diff) {
    json delta = json::object();
    if (!diff.reasoning_content_delta.empty()) {
        delta["reasoning_content"] = diff.reasoning_content_delta;
    }
    if (!diff.content_delta.empty()) {
        delta["content"] = diff.content_delta;
    }
    if (diff.tool_call_index != std::string::npos) {
        json call = {{"index", diff.tool_call_index}, {"function", json::object()}};
        if (!diff.tool_call_delta.id.empty()) {
            call["id"] = diff.tool_call_delta.id;
        }
        if (!diff.tool_call_delta.name.empty()) {
            call["function"]["name"] = diff.tool_call_delta.name;
        }
        if (!diff.tool_call_delta.arguments.empty()) {
            call["function"]["arguments"] = diff.tool_call_delta.arguments;
        }
        delta["tool_calls"] = json::array({call});
    }
    return delta;
}

static json parse(const json & r) {
    auto params = parser_of(r);
    bool cut = r.value("reason", "stop") == "length";
    std::string output = r.value("output", "");
    if (!r.contains("chunks")) {
        return {{"message", spelled(common_chat_parse(output, cut, params))}};
    }
    common_chat_msg last;
    json deltas = json::array();
    auto step = [&](const std::string & text, bool partial) {
        auto msg = common_chat_parse(text, partial, params);
        if (msg.empty()) {
            return;
        }
        for (const auto & diff : common_chat_msg_diff::compute_diffs(last, msg)) {
            json delta = delta_of(diff);
            if (!delta.empty()) {
                deltas.push_back(delta);
            }
        }
        last = msg;
    };
    std::string text;
    for (const auto & chunk : r.at("chunks")) {
        text += chunk.get<std::string>();
        step(text, true);
    }
    if (!cut) {
        step(text, false);
    }
    return {{"message", spelled(last)}, {"deltas", deltas}};
}

static json render(const json & r) {
    jinja::lexer lexer;
    auto tokens = lexer.tokenize(r.at("template").get<std::string>());
    auto program = jinja::parse_from_tokens(tokens);
    jinja::context context(tokens.source);
    jinja::global_from_json(context, converted(r.at("vars")), true);
    context.current_time = clock_of_prompts();
    jinja::runtime runtime(context);
    auto parts = jinja::runtime::gather_string_parts(runtime.execute(program));
    std::string text;
    for (const auto & part : parts->as_string().parts) {
        text += part.val;
    }
    return {{"text", text}};
}

static json answer(const json & r) {
    std::string op = r.value("op", "");
    if (op == "describe") {
        return {{"engine", "llama.cpp"}, {"version", ASSAY_VERSION}, {"by_template", true}, {"streams", true},
            {"renders", true}};
    }
    if (op == "parse") {
        return parse(r);
    }
    if (op == "render") {
        return render(r);
    }
    return {{"unsupported", "no operation " + op}};
}

int main() {
    common_log_set_verbosity_thold(-1);
    for (std::string line; std::getline(std::cin, line);) {
        json r = json::parse(line), out;
        long long start = processor_time();
        try {
            out = answer(r);
        } catch (const std::exception & e) {
            out = {{"error", e.what()}};
        }
        out["nanoseconds"] = processor_time() - start;
        out["id"] = r.value("id", "");
        std::cout << out.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    }
}
