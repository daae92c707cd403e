//! Reads a fault's output by Dynamo's own parsers, in one go: fault < REQUEST. There is no adapter.

use dynamo_parsers::reasoning::{ReasoningParser, ReasoningParserType};
use dynamo_parsers::tool_calling::{detect_and_parse_tool_call, ToolDefinition};
use serde_json::{json, Value};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Value = serde_json::from_reader(std::io::stdin())?;
    let tools: Vec<ToolDefinition> = given["request"]["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|t| ToolDefinition {
            name: t["function"]["name"].as_str().unwrap_or("").to_owned(),
            parameters: t["function"].get("parameters").cloned(),
            strict: None,
        })
        .collect();
    let named = |part: &str| given["parser"][part].as_str().filter(|name| !name.is_empty());
    let mut text = given["output"].as_str().unwrap_or("").to_owned();
    let mut reasoning = String::new();
    if let Some(name) = named("reasoning") {
        let mut p = ReasoningParserType::get_reasoning_parser_from_name(name);
        if given["reasoning_open"] == true {
            p.set_in_reasoning(true); // as its frontend does after such a prompt
        }
        let parsed = p.detect_and_parse_reasoning(&text, &[]);
        reasoning = parsed.reasoning_text;
        text = parsed.normal_text;
    }
    let mut calls = vec![];
    if let Some(name) = named("tool").filter(|_| !tools.is_empty()) {
        let (found, rest) = detect_and_parse_tool_call(&text, Some(name), Some(&tools)).await?;
        text = rest.unwrap_or_default();
        calls = found
            .into_iter()
            .map(|c| json!({"name": c.function.name, "arguments": c.function.arguments}))
            .collect();
    }
    println!("{}", json!({"reasoning_content": reasoning, "content": text, "tool_calls": calls}));
    Ok(())
}
