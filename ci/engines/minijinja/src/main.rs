//! minijinja, set up as servers in Rust set it up for chat templates, for the protocol of
//! docs/reference/adapters.md: assay-minijinja. With two arguments, INPUT and WORK, it is measured instead,
//! as harness/testkit/measure/bench/peers asks for it.

use std::io::BufRead;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind, Template, Value as Any};
use serde_json::{json, Value};

#[path = "../../protocol.rs"]
#[allow(dead_code)] // a renderer has no messages
mod protocol;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => protocol::serve(describe, "render", async |r| render(r)),
        [input, work] => measure(input, work),
        _ => {
            eprintln!("usage: assay-minijinja [INPUT WORK]");
            std::process::exit(2);
        }
    }
}

fn describe() -> Value {
    json!({"engine": "minijinja", "version": "3.0.5", "renders": true})
}

/// Makes an environment with the functions that transformers defines for chat templates, and with
/// Python's methods.
fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    env.set_syntax(syntax.expect("the delimiters are the usual ones"));
    env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    env.add_function("raise_exception", |text: String| -> Result<Any, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, text))
    });
    env.add_function("strftime_now", |format: String| at_the_clock(&format));
    env.add_filter("tojson", to_json);
    env
}

/// Spells a value as json.dumps(ensure_ascii=False) does, without the escapes of HTML.
fn to_json(value: Any, options: Kwargs) -> Result<Any, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    let fault = |e: serde_json::Error| Error::new(ErrorKind::BadSerialization, e.to_string());
    let text = match indent {
        None => {
            let mut out = Vec::new();
            let mut to = serde_json::Serializer::with_formatter(&mut out, Python);
            serde::Serialize::serialize(&value, &mut to).map_err(fault)?;
            String::from_utf8(out).expect("JSON is UTF-8")
        }
        Some(n) => {
            let mut out = Vec::new();
            let spaces = vec![b' '; n];
            let format = serde_json::ser::PrettyFormatter::with_indent(&spaces);
            let mut to = serde_json::Serializer::with_formatter(&mut out, format);
            serde::Serialize::serialize(&value, &mut to).map_err(fault)?;
            String::from_utf8(out).expect("JSON is UTF-8")
        }
    };
    Ok(Any::from_safe_string(text))
}

/// Python's separators: a space after a comma and after a colon.
struct Python;

impl serde_json::ser::Formatter for Python {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, out: &mut W) -> std::io::Result<()> {
        out.write_all(b": ")
    }
}

/// Formats the clock that the wanted prompts were rendered by, 2026-01-02 03:04:05, a Friday.
fn at_the_clock(format: &str) -> String {
    let mut out = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('Y') => out += "2026",
            Some('y') => out += "26",
            Some('m') => out += "01",
            Some('d') => out += "02",
            Some('B') => out += "January",
            Some('b') => out += "Jan",
            Some('A') => out += "Friday",
            Some('a') => out += "Fri",
            Some('H') | Some('I') => out += "03",
            Some('M') => out += "04",
            Some('S') => out += "05",
            Some('p') => out += "AM",
            Some(other) => {
                out.push('%');
                out.push(other);
            }
            None => out.push('%'),
        }
    }
    out
}

fn render(r: &Value) -> Result<Value, String> {
    let env = environment();
    let template = env.template_from_str(text(&r["template"])).map_err(said)?;
    let output = template.render(Any::from(Serde(&r["vars"]))).map_err(said)?;
    Ok(json!({ "text": output }))
}

fn text(v: &Value) -> &str {
    v.as_str().unwrap_or("")
}

/// Spells an error with its cause.
fn said(e: Error) -> String {
    let mut out = e.to_string();
    let mut cause = std::error::Error::source(&e);
    while let Some(e) = cause {
        out += &format!(": {e}");
        cause = e.source();
    }
    out
}

/// Does the work once for every line of the standard input, and answers with the nanoseconds of
/// processor time that it took and how many of its parts came out as they should.
fn measure(input: &str, work: &str) {
    let read = std::fs::read_to_string(input).expect("the input can be read");
    let given: Value = serde_json::from_str(&read).expect("the input is JSON");
    let env = environment();
    let sources: Vec<&str> =
        given["templates"].as_array().unwrap().iter().map(|t| text(&t["source"])).collect();
    let compile = || -> Vec<Option<Template>> {
        sources.iter().map(|source| env.template_from_str(source).ok()).collect()
    };
    let compiled = compile();
    let renders: Vec<(usize, Any, &str)> = given["renders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| {
            let template = r["template"].as_u64().unwrap() as usize;
            (template, Any::from(Serde(&r["vars"])), text(&r["want"]))
        })
        .collect();
    let run = || match work {
        "compile" => compile().iter().flatten().count(),
        "render" => renders
            .iter()
            .filter(|(template, vars, want)| {
                let output = compiled[*template].as_ref().map(|t| t.render(vars));
                matches!(output, Some(Ok(text)) if text == **want)
            })
            .count(),
        _ => panic!("there is no work {work}"),
    };
    run(); // once to warm up
    for _ in std::io::stdin().lock().lines() {
        let start = protocol::processor_time();
        let good = run();
        println!("{} {}", protocol::processor_time() - start, good);
    }
}
