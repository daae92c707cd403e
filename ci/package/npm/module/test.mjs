// Tests of the module as npm installs it; test.sh runs them. TEMPLATES is a folder with good.jinja
// and bad.jinja, PAGE is docs/embedding.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import * as assay from "assay-chat-wasm";

const { AssayError, Template, Vocabulary, load } = assay;
const text = (name) => readFileSync(`${process.env.TEMPLATES}/${name}.jinja`, "utf8");
const tokens = { bos: "<s>", eos: "<|im_end|>" };
const CALL = 'Hi <tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>';
const parameters = { type: "object", properties: { city: { type: "string" } } };
const REQUEST = {
  messages: [{ role: "user", content: "Weather?" }],
  tools: [{ type: "function", function: { name: "get_weather", parameters } }],
};
const TOKENIZER = JSON.stringify({
  added_tokens: [
    { id: 7, content: "<tool_call>", special: false },
    { id: 8, content: "</tool_call>", special: false },
  ],
  model: {
    type: "BPE",
    vocab: {
      "<tool": 20,
      "_call>": 21,
      '{"name":"get_weather",': 22,
      '"arguments":{"city":"Z\u00c3': 23,
      '\u00bcrich"}}': 24,
    },
  },
  decoder: { type: "ByteLevel" },
});
const kind = (wanted) => (error) => error instanceof AssayError && error.kind === wanted;
const pieces = (whole, size) => {
  const all = [];
  for (let at = 0; at < whole.length; at += size) all.push(whole.slice(at, at + size));
  return all;
};

test("nothing works before the engine is loaded", async () => {
  assert.throws(() => new Template(text("good")).prepare(REQUEST), kind("request"));
  await assert.rejects(load(new Uint8Array([1, 2, 3])));
  await Promise.all([load(), load()]);
  for (const name of ["assay", "assayReady"]) assert.equal(globalThis[name], undefined);
});

const template = new Template(text("good"), tokens);

for (const size of [1, 5, 1000]) {
  test(`pieces of ${size}`, () => {
    for (const whole of [new TextEncoder().encode(CALL), CALL]) {
      const parser = template.prepare(REQUEST).parser();
      let held = 0;
      const deltas = pieces(whole, size).flatMap((piece) => {
        const some = parser.write(piece);
        held = Math.max(held, parser.held);
        return some;
      });
      const answer = parser.close();
      assert.equal(answer.content, "Hi");
      assert.equal(answer.finishReason, "tool_calls");
      assert.deepEqual(answer.complete, [true]);
      assert.deepEqual(JSON.parse(answer.toolCalls[0].function.arguments), { city: "Zürich" });
      assert.ok(size > 5 || (held > 0 && deltas.length > 2));
      assert.throws(() => parser.write("more"), kind("finished"));
    }
  });
}

test("a character in two pieces, of bytes and of a string", () => {
  const said = "ü\ufffd\u{1f600}.";
  for (const whole of [new TextEncoder().encode(said), said]) {
    const parser = template.prepare(REQUEST).parser();
    const deltas = pieces(whole, 1).flatMap((piece) => parser.write(piece));
    assert.equal(deltas.map((d) => d.content).join(""), said);
    parser.write("\ud83d");
    assert.equal(parser.close().content, `${said}\ufffd`);
  }
});

test("a call that breaks off", () => {
  const parser = template.prepare(REQUEST).parser();
  const deltas = parser.write(CALL.slice(0, CALL.indexOf("Zürich")));
  assert.equal(deltas.at(-1).tool_calls[0].function.name, "get_weather");
  const answer = parser.close("length");
  assert.equal(answer.finishReason, "length");
  assert.deepEqual(answer.complete, [false]);
  assert.ok(answer.diagnostics.length > 0);
});

test("a parser that is not closed is dropped", async () => {
  for (let i = 0; i < 1100; i++) {
    template.prepare(REQUEST).parser();
    if (i % 300 === 0) {
      globalThis.gc();
      await new Promise((later) => setTimeout(later, 10));
    }
  }
  assert.equal(template.parse("Hi", REQUEST).content, "Hi");
});

test("a plan", () => {
  const plan = template.prepare(REQUEST);
  assert.match(plan.prompt, /Weather\?/);
  assert.match([...plan.stops, ...plan.preserved].join(), /im_end/);
  assert.ok(plan.lazy && plan.triggers[0].call && plan.triggers[0].text.includes("tool_call"));
  const raw = new TextEncoder().encode(plan.prompt);
  const [mine] = plan.segments().filter((s) => s.path === "messages[0].content");
  const part = raw.slice(mine.offset, mine.offset + mine.size);
  assert.equal(new TextDecoder().decode(part), "Weather?");
  assert.deepEqual([mine.role, mine.turn, mine.own], ["user", 0, false]);
  for (const language of ["lazy-gbnf", "gbnf", "ebnf", "lark", "structural-tag"]) {
    assert.match(plan.grammar(language), /get_weather/);
  }
  assert.throws(() => plan.grammar("klingon"), kind("request"));
  const begun = template.prepare(REQUEST, { prefill: "Hel" });
  assert.equal(begun.prompt, "");
  assert.deepEqual(begun.parser().write("lo"), [{ content: "lo" }]);
});

test("tokens", () => {
  const vocabulary = new Vocabulary(TOKENIZER);
  const parser = new Template(text("good"), { ...tokens, vocabulary }).prepare(REQUEST).parser();
  for (const ids of [[20, 21], [7, 22, 23], new Int32Array([24, 8])]) parser.writeTokens(ids);
  for (const ids of [[99], [-1], [2 ** 40]]) {
    assert.throws(() => parser.writeTokens(ids), kind("request"));
  }
  const answer = parser.close();
  assert.equal(answer.content, "<tool_call>");
  assert.deepEqual(JSON.parse(answer.toolCalls[0].function.arguments), { city: "Zürich" });
  assert.throws(() => template.prepare(REQUEST).parser().writeTokens([20]), kind("request"));
  const broken = { ...tokens, vocabulary: new Vocabulary("{") };
  assert.throws(() => new Template(text("good"), broken).prepare(REQUEST), kind("template"));
});

test("streams", async () => {
  const vocabulary = new Vocabulary(TOKENIZER);
  const byIds = new Template(text("good"), { ...tokens, vocabulary });
  for (const [of, given] of [
    [template, [CALL.slice(0, 9), new TextEncoder().encode(CALL.slice(9))]],
    [byIds, [[7, 22], [23, 24, 8]]],
  ]) {
    const parser = of.prepare(REQUEST).parser();
    const deltas = [];
    for await (const d of ReadableStream.from(given).pipeThrough(parser.stream())) deltas.push(d);
    assert.match(JSON.stringify(deltas), /get_weather/);
    assert.equal(parser.answer.finishReason, "tool_calls");
  }
});

test("errors", () => {
  const broken = new Template("a\n{% if %}", { name: "mine.jinja" });
  assert.throws(() => broken.prepare(REQUEST), (error) => {
    const { kind, offset, line, column, message } = error;
    assert.deepEqual([kind, offset, line, column], ["template", 8, 2, 7]);
    return message.includes("mine.jinja:2:7");
  });
  const plain = new Template("{% for m in messages %}{{ m.content }}{% endfor %}");
  assert.throws(() => plain.prepare(REQUEST), kind("unverified"));
  const parser = plain.prepare(REQUEST, { insist: true }).parser();
  assert.deepEqual(parser.write("Hi"), [{ content: "Hi" }]);
  assert.throws(() => parser.close("tired"), kind("request"));
  assert.equal(parser.close().content, "Hi");
  const wrong = [{ tolerances: { fly: true } }, { incomplete: "fly" }, { fallbacks: ["fly"] }];
  for (const options of wrong) {
    assert.throws(() => template.prepare(REQUEST, options), AssayError);
  }
});

test("check, fix, emit", () => {
  const good = template.check();
  assert.ok(good.ok && good.toolCapable && good.passed > 50);
  const bad = new Template(text("bad"), tokens);
  const found = bad.check();
  assert.ok(!found.ok && found.findings[0].rule === "A012");
  assert.deepEqual(bad.check({ only: ["A001"], untrusted: true }).findings, []);
  const fixed = bad.fix();
  assert.ok(fixed.ok && fixed.patches[0].diff.includes("+++"));
  assert.deepEqual(fixed.patches[0].rules, ["A012"]);
  assert.ok(template.format().header);
  assert.match(template.emit("gbnf", REQUEST), /get_weather/);
  assert.ok(JSON.parse(template.emit("capabilities")));
  assert.throws(() => template.emit("klingon"), kind("request"));
});

test("what the page shows", async () => {
  const blocks = readFileSync(process.env.PAGE, "utf8").split("```js\n").slice(1);
  const shown = blocks.map((block) => block.split("```")[0]).join("\n");
  const body = shown.replaceAll(/^import \{.*\n/gm, "");
  const sent = [];
  const printed = [];
  const names = {
    ...assay,
    ...REQUEST,
    ...tokens,
    text: text("bad"),
    tokenizerJson: TOKENIZER,
    send: (delta) => sent.push(delta),
    console: { log: (...all) => printed.push(...all) },
    generate: () => [CALL.slice(0, 9), CALL.slice(9)],
    generateIds: () => [[7, 22], [23, 24, 8]],
    output: ReadableStream.from([CALL]),
  };
  const AsyncFunction = (async () => {}).constructor;
  await new AsyncFunction(...Object.keys(names), body)(...Object.values(names));
  assert.equal(blocks.length, 4);
  assert.equal(JSON.stringify(sent).split('"name":"get_weather"').length - 1, 3);
  assert.match(printed.join(), /A012[^]*\+\+\+[^]*root ::=/);
});
