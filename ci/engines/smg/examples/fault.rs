//! Reads a fault's output by smg's own parsers: fault < REQUEST. There is no adapter.

use openai_protocol::common::Tool;
use serde_json::{json, Value};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Value = serde_json::from_reader(std::io::stdin())?;
    let tools: Vec<Tool> = match &given["request"]["tools"] {
        Value::Null => vec![],
        list => serde_json::from_value(list.clone())?,
    };
    let named = |part: &str| given["parser"][part].as_str().filter(|name| !name.is_empty());
    let (mut reasoning, mut content) = (String::new(), String::new());
    let mut calls: Vec<(String, String)> = vec![];
    let mut thinks = named("reasoning").map(|name| {
        let mut p = reasoning_parser::ParserFactory::new().registry().create_parser(name).unwrap();
        if given["reasoning_open"] == true {
            p.mark_reasoning_started();
        }
        p
    });
    let mut reader = named("tool").filter(|_| !tools.is_empty()).map(|name| {
        tool_parser::ParserFactory::new().registry().create_parser(name).unwrap()
    });
    let whole = json!([given["output"]]);
    let streamed = given["chunks"].is_array();
    for chunk in if streamed { &given["chunks"] } else { &whole }.as_array().unwrap() {
        let mut text = chunk.as_str().unwrap_or("").to_owned();
        if let Some(p) = &mut thinks {
            let parsed = if streamed {
                p.parse_reasoning_streaming_incremental(&text)?
            } else {
                p.detect_and_parse_reasoning(&text)?
            };
            reasoning += &parsed.reasoning_text;
            text = parsed.normal_text;
        }
        match &mut reader {
            None => content += &text,
            Some(p) if streamed => {
                let parsed = p.parse_incremental(&text, &tools).await?;
                content += &parsed.normal_text;
                for c in parsed.calls {
                    calls.resize(calls.len().max(c.tool_index + 1), Default::default());
                    calls[c.tool_index].0 += c.name.as_deref().unwrap_or("");
                    calls[c.tool_index].1 += &c.parameters;
                }
            }
            Some(p) => {
                let (rest, found) = p.parse_complete_with_tools(&text, &tools).await?;
                content = rest;
                calls = found.into_iter().map(|c| (c.function.name, c.function.arguments)).collect();
            }
        }
    }
    let calls: Vec<Value> =
        calls.iter().map(|(name, text)| json!({"name": name, "arguments": text})).collect();
    println!("{}", json!({"reasoning_content": reasoning, "content": content, "tool_calls": calls}));
    Ok(())
}
