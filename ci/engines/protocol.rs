//! The protocol of docs/reference/adapters.md for adapters in Rust: the loop, and a message joined of its increments.

use std::io::{BufRead, Write};
use std::panic::AssertUnwindSafe;

use serde_json::{json, Map, Value};

#[derive(Default)]
pub struct Message {
    pub reasoning: String,
    pub content: String,
    pub calls: Vec<(String, String)>,
    deltas: Vec<Value>,
}

impl Message {
    pub fn text(&mut self, reasoning: &str, content: &str) {
        self.reasoning += reasoning;
        self.content += content;
        let mut delta = Map::new();
        if !reasoning.is_empty() {
            delta.insert("reasoning_content".into(), reasoning.into());
        }
        if !content.is_empty() {
            delta.insert("content".into(), content.into());
        }
        if !delta.is_empty() {
            self.deltas.push(delta.into());
        }
    }

    pub fn call(&mut self, index: usize, name: Option<&str>, arguments: &str) {
        while self.calls.len() <= index {
            self.calls.push(Default::default());
        }
        self.calls[index].0 += name.unwrap_or("");
        self.calls[index].1 += arguments;
        let mut function = Map::new();
        if let Some(name) = name {
            function.insert("name".into(), name.into());
        }
        if !arguments.is_empty() {
            function.insert("arguments".into(), arguments.into());
        }
        if !function.is_empty() {
            self.deltas.push(json!({"tool_calls": [{"index": index, "function": function}]}));
        }
    }

    pub fn answer(self, streamed: bool) -> Value {
        let calls: Vec<Value> =
            self.calls.iter().map(|(n, a)| json!({"id": "", "name": n, "arguments": a})).collect();
        let mut answer = json!({"message": {"reasoning_content": self.reasoning, "content": self.content, "tool_calls": calls}});
        if streamed {
            answer["deltas"] = self.deltas.into();
        }
        answer
    }
}

/// Answers the requests on standard input, one a line, until it ends: "describe" and one operation.
/// An answer tells the processor time that the operation took.
pub fn serve(describe: fn() -> Value, operation: &str, run: impl AsyncFn(&Value) -> Result<Value, String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let start = processor_time();
        let answer = std::panic::catch_unwind(AssertUnwindSafe(|| match request["op"].as_str() {
            Some("describe") => describe(),
            Some(name) if name == operation => {
                runtime.block_on(run(&request)).unwrap_or_else(|e| json!({ "error": e }))
            }
            _ => json!({"unsupported": "no such operation"}),
        }));
        let mut answer = answer.unwrap_or_else(|_| json!({"error": "panic"}));
        answer["nanoseconds"] = (processor_time() - start).into();
        answer["id"] = request["id"].clone();
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
}

/// Returns the processor time of this process, in nanoseconds.
pub fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to time alone.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "the system has no clock of processor time");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
