//! Dynamo's parsers (crate dynamo-parsers) behind the protocol of docs/reference/adapters.md.

use dynamo_parsers::tool_calling::jail::{apply_tool_calling_jail, Annotated};
use dynamo_parsers::tool_calling::parsers::get_available_tool_parsers;
use dynamo_parsers::tool_calling::{detect_and_parse_tool_call, ToolDefinition};
use dynamo_parsers::reasoning::{get_available_reasoning_parsers, ReasoningParser, ReasoningParserType};
use dynamo_protocols::types::CreateChatCompletionStreamResponse;
use futures::StreamExt;
use serde_json::{json, Value};

#[path = "../../protocol.rs"]
mod protocol;
use protocol::Message;

fn main() {
    protocol::serve(describe, "parse", parse);
}

fn describe() -> Value {
    let mut tools = get_available_tool_parsers();
    tools.sort();
    let mut thoughts = get_available_reasoning_parsers();
    thoughts.sort();
    json!({"engine": "dynamo", "version": "11.0.1", "tool_parsers": tools, "reasoning_parsers": thoughts, "streams": true})
}

async fn parse(r: &Value) -> Result<Value, String> {
    let none = r["request"]["tool_choice"] == "none";
    let tools: Vec<ToolDefinition> = match r["request"]["tools"].as_array() {
        Some(list) if !none => list
            .iter()
            .map(|t| ToolDefinition {
                name: t["function"]["name"].as_str().unwrap_or("").to_owned(),
                parameters: t["function"].get("parameters").cloned(),
                strict: None,
            })
            .collect(),
        _ => vec![],
    };
    let named = |field: &str| r["parser"][field].as_str().filter(|n| !n.is_empty()).map(str::to_owned);
    let mut thinks = named("reasoning").map(|name| {
        let mut p = ReasoningParserType::get_reasoning_parser_from_name(&name);
        if r["reasoning_open"] == true {
            p.set_in_reasoning(true);
        }
        p
    });
    let tool = if tools.is_empty() { None } else { named("tool") };
    let mut message = Message::default();
    let Some(chunks) = r["chunks"].as_array() else {
        let mut text = r["output"].as_str().unwrap_or("").to_owned();
        if let Some(p) = &mut thinks {
            let parsed = p.detect_and_parse_reasoning(&text, &[]);
            message.reasoning = parsed.reasoning_text;
            text = parsed.normal_text;
        }
        if let Some(name) = &tool {
            let (found, rest) = detect_and_parse_tool_call(&text, Some(name), Some(&tools)).await.map_err(|e| e.to_string())?;
            text = rest.unwrap_or_default();
            message.calls = found.into_iter().map(|c| (c.function.name, c.function.arguments)).collect();
        }
        message.content = text;
        return Ok(message.answer(false));
    };
    let mut pieces: Vec<(String, String)> = vec![]; // reasoning, other text
    for chunk in chunks {
        let text = chunk.as_str().unwrap_or("").to_owned();
        pieces.push(match &mut thinks {
            None => (String::new(), text),
            Some(p) => {
                let parsed = p.parse_reasoning_streaming_incremental(&text, &[]);
                (parsed.reasoning_text, parsed.normal_text)
            }
        });
    }
    if let Some(p) = &mut thinks {
        let parsed = p.finish_reasoning_stream();
        pieces.push((parsed.reasoning_text, parsed.normal_text));
    }
    let Some(name) = tool else {
        for (thought, text) in pieces {
            message.text(&thought, &text);
        }
        return Ok(message.answer(true));
    };
    let last = pieces.len();
    let stream: Vec<Annotated<CreateChatCompletionStreamResponse>> = pieces
        .into_iter()
        .map(|(thought, text)| chunk_of(json!({"role": "assistant", "content": text, "reasoning_content": thought}), Value::Null))
        .chain(std::iter::once(chunk_of(json!({}), json!("stop"))))
        .take(last + 1)
        .collect();
    let out = apply_tool_calling_jail(Some(name), None, Some(tools), false, futures::stream::iter(stream));
    let out: Vec<_> = Box::pin(out).collect().await;
    for part in out {
        let Some(data) = part.data else { continue };
        let data = serde_json::to_value(&data).map_err(|e| e.to_string())?;
        for choice in data["choices"].as_array().into_iter().flatten() {
            let d = &choice["delta"];
            message.text(d["reasoning_content"].as_str().unwrap_or(""), d["content"].as_str().unwrap_or(""));
            for c in d["tool_calls"].as_array().into_iter().flatten() {
                let f = &c["function"];
                let index = c["index"].as_u64().unwrap_or(0) as usize;
                message.call(index, f["name"].as_str(), f["arguments"].as_str().unwrap_or(""));
            }
        }
    }
    Ok(message.answer(true))
}

/// Makes the chunk of a stream that Dynamo's frontend hands to the jail.
fn chunk_of(delta: Value, finish: Value) -> Annotated<CreateChatCompletionStreamResponse> {
    let value = json!({"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": null}]});
    Annotated {
        data: Some(serde_json::from_value(value).expect("a chunk of the protocol")),
        id: None,
        event: None,
        comment: None,
        error: None,
    }
}
