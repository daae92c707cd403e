//! smg's parsers (crates tool-parser and reasoning-parser) behind the protocol of docs/reference/adapters.md.

use openai_protocol::common::Tool;
use serde_json::{json, Value};

#[path = "../../protocol.rs"]
mod protocol;
use protocol::Message;

fn main() {
    protocol::serve(describe, "parse", parse);
}

fn describe() -> Value {
    let mut tools = tool_parser::ParserFactory::new().list_parsers();
    tools.sort();
    let mut thoughts = reasoning_parser::ParserFactory::new().list_parsers();
    thoughts.sort();
    json!({"engine": "smg", "version": "1.10.0", "tool_parsers": tools, "reasoning_parsers": thoughts, "streams": true})
}

async fn parse(r: &Value) -> Result<Value, String> {
    let none = r["request"]["tool_choice"] == "none";
    let tools: Vec<Tool> = match &r["request"]["tools"] {
        Value::Array(list) if !none => serde_json::from_value(Value::Array(list.clone())).map_err(|e| e.to_string())?,
        _ => vec![],
    };
    let named = |field: &str| r["parser"][field].as_str().filter(|n| !n.is_empty()).map(str::to_owned);
    let mut message = Message::default();
    let mut thinks = match named("reasoning") {
        None => None,
        Some(name) => {
            let mut p = reasoning_parser::ParserFactory::new().registry().create_parser(&name).ok_or("no such parser")?;
            if r["reasoning_open"] == true {
                p.mark_reasoning_started();
            }
            Some(p)
        }
    };
    let mut calls = match named("tool") {
        Some(name) if !tools.is_empty() => {
            Some(tool_parser::ParserFactory::new().registry().create_parser(&name).ok_or("no such parser")?)
        }
        _ => None,
    };
    let Some(chunks) = r["chunks"].as_array() else {
        let mut text = r["output"].as_str().unwrap_or("").to_owned();
        if let Some(p) = &mut thinks {
            let parsed = p.detect_and_parse_reasoning(&text).map_err(|e| e.to_string())?;
            message.reasoning = parsed.reasoning_text;
            text = parsed.normal_text;
        }
        if let Some(p) = &calls {
            let (rest, found) = p.parse_complete_with_tools(&text, &tools).await.map_err(|e| e.to_string())?;
            text = rest;
            message.calls = found.into_iter().map(|c| (c.function.name, c.function.arguments)).collect();
        }
        message.content = text;
        return Ok(message.answer(false));
    };
    for chunk in chunks {
        let mut text = chunk.as_str().unwrap_or("").to_owned();
        if let Some(p) = &mut thinks {
            let parsed = p.parse_reasoning_streaming_incremental(&text).map_err(|e| e.to_string())?;
            message.text(&parsed.reasoning_text, "");
            text = parsed.normal_text;
        }
        feed(&mut calls, &text, &tools, &mut message).await?;
    }
    if let Some(p) = &mut thinks {
        let parsed = p.flush().map_err(|e| e.to_string())?;
        message.text(&parsed.reasoning_text, "");
        feed(&mut calls, &parsed.normal_text, &tools, &mut message).await?;
    }
    if let Some(p) = &mut calls {
        for c in p.get_unstreamed_tool_args().unwrap_or_default() {
            message.call(c.tool_index, c.name.as_deref(), &c.parameters);
        }
        let rest = p.take_unstreamed_normal_text();
        message.text("", &rest);
    }
    Ok(message.answer(true))
}

async fn feed(
    calls: &mut Option<Box<dyn tool_parser::ToolParser>>,
    text: &str,
    tools: &[Tool],
    message: &mut Message,
) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let Some(p) = calls else {
        message.text("", text);
        return Ok(());
    };
    let parsed = p.parse_incremental(text, tools).await.map_err(|e| e.to_string())?;
    message.text("", &parsed.normal_text);
    for c in parsed.calls {
        message.call(c.tool_index, c.name.as_deref(), &c.parameters);
    }
    Ok(())
}
