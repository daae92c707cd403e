// Reads a fault's output by llama.cpp's chat library: fault < REQUEST. There is no adapter.

#include "chat.h"
#include "log.h"

#include <nlohmann/json.hpp>

#include <iostream>

using json = nlohmann::ordered_json;

int main() {
    common_log_set_verbosity_thold(-1);
    json given = json::parse(std::cin);
    const json & request = given.at("request");
    json message;
    try {
        auto templates = common_chat_templates_init(nullptr, given.at("template").get<std::string>(),
            given.value("bos", ""), given.value("eos", ""));
        common_chat_templates_inputs in;
        in.messages = common_chat_msgs_parse_oaicompat(common_json::parse(request.at("messages").dump()));
        if (request.contains("tools")) {
            in.tools = common_chat_tools_parse_oaicompat(common_json::parse(request.at("tools").dump()));
        }
        in.parallel_tool_calls = true;
        in.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
        json switches = request.value("chat_template_kwargs", json::object());
        for (const auto & [name, value] : switches.items()) {
            in.chat_template_kwargs[name] = value.dump();
        }
        if (request.contains("enable_thinking")) {
            in.enable_thinking = request.at("enable_thinking").get<bool>();
            in.chat_template_kwargs["enable_thinking"] = request.at("enable_thinking").dump();
        }
        auto applied = common_chat_templates_apply(templates.get(), in);
        common_chat_parser_params params(applied);
        params.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
        if (!applied.parser.empty()) {
            params.parser.load(applied.parser);
        }
        bool cut = given.value("reason", "") == "length";
        auto msg = common_chat_parse(given.at("output").get<std::string>(), cut, params);
        message = {{"reasoning_content", msg.reasoning_content}, {"content", msg.content},
            {"tool_calls", json::array()}};
        for (const auto & call : msg.tool_calls) {
            message["tool_calls"].push_back({{"name", call.name}, {"arguments", call.arguments}});
        }
    } catch (const std::exception & e) {
        message = {{"error", e.what()}};
    }
    std::cout << message.dump() << std::endl;
}
