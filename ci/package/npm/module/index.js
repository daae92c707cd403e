// The engine of Assay in WebAssembly, for browsers and servers. index.d.ts is the manual.
import "./wasm_exec.js";

let ask = () => {
  throw new AssayError({ error: "request", message: "the engine is not loaded; await load() first" });
};
let tokenizerNamed = ask;
let loading;

/** Loads the engine, once. */
export function load(source) {
  loading ??= start(source).catch((error) => {
    loading = undefined; // another call may try again
    throw error;
  });
  return loading;
}

async function start(source) {
  const go = new globalThis.Go();
  const { instance } = await WebAssembly.instantiate(await unpacked(source), go.importObject);
  await new Promise((ready) => {
    globalThis.assayReady = ready;
    go.run(instance);
  });
  const { assay, assayTokenizer } = globalThis;
  for (const name of ["assay", "assayTokenizer", "assayReady"]) delete globalThis[name];
  ask = (op, fields) => {
    const told = JSON.parse(assay(JSON.stringify({ op, ...fields })));
    if (!told.ok) throw new AssayError(told);
    return told.result;
  };
  tokenizerNamed = assayTokenizer;
}

async function unpacked(source = new URL("assay.wasm.gz", import.meta.url)) {
  let packed = source;
  if (source instanceof URL && source.protocol === "file:") {
    packed = await (await import("node:fs/promises")).readFile(source);
  } else if (source instanceof URL || typeof source === "string") {
    const response = await fetch(source);
    if (!response.ok) throw new Error(`${source}: ${response.status} ${response.statusText}`);
    packed = new Uint8Array(await response.arrayBuffer());
  }
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) return packed; // a server has unpacked it
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export class AssayError extends Error {
  constructor({ error, message, offset, line, column }) {
    super(message);
    Object.assign(this, { name: "AssayError", kind: error, offset, line, column });
  }
}

export class Vocabulary {
  #texts;
  #named;
  constructor(tokenizer, tokenizerConfig = "", generationConfig = "") {
    this.#texts = [tokenizer, tokenizerConfig, generationConfig];
  }
  get name() {
    return (this.#named ??= tokenizerNamed(...this.#texts));
  }
}

export class Template {
  constructor(text, { name = "template.jinja", bos, eos, vocabulary } = {}) {
    Object.assign(this, { text, name, bos, eos, vocabulary });
  }
  get #reference() {
    const { text, name, bos, eos, vocabulary } = this;
    return { text, name, bos, eos, tokenizer: vocabulary?.name };
  }
  prepare(request, { fallbacks, insist, tolerances, incomplete, prefill } = {}) {
    const options = { fallbacks, insist, tolerances, incomplete, prefill };
    return new Plan({ template: this.#reference, request, ...options });
  }
  parse(output, request, reason) {
    const parser = this.prepare(request).parser();
    const first = parser.write(output);
    const answer = parser.close(reason);
    answer.deltas.unshift(...first);
    return answer;
  }
  check({ only, untrusted } = {}) {
    const told = ask("check", { template: this.#reference, only, untrusted });
    const { ok, findings, passed, templates } = told;
    return { ok, findings, passed, toolCapable: templates.every((one) => one.tool_capable) };
  }
  fix() {
    const { patches, left, errors, unjudged } = ask("fix", { template: this.#reference });
    const rest = [...left, ...errors];
    return {
      ok: rest.length === 0 && !unjudged,
      patches: patches.map(({ kind, gone, diff }) => ({ kind, rules: gone, diff })),
      left: rest,
    };
  }
  emit(target, request) {
    return ask("emit", { template: this.#reference, target, request });
  }
  format() {
    return JSON.parse(this.emit("format"));
  }
}

export class Plan {
  #fields;
  constructor(fields) {
    this.#fields = fields;
    const { prompt, prefill, stops, preserved, lazy, triggers, fitted } = ask("prepare", fields);
    Object.assign(this, { prompt, prefill, lazy });
    Object.assign(this, { stops: stops ?? [], preserved: preserved ?? [], fitted: fitted ?? [] });
    this.triggers = (triggers ?? []).map(({ Text, Pattern, Call }) => ({
      text: Text,
      pattern: Pattern,
      call: Call,
    }));
  }
  parser() {
    return new Parser(this, ask("parser", this.#fields).parser);
  }
  grammar(language = "lazy-gbnf") {
    return ask("grammar", { ...this.#fields, language }).grammar;
  }
  segments() {
    return ask("segments", this.#fields).segments;
  }
}

// Frees what a parser holds when it goes before it is closed.
const open = new FinalizationRegistry((parser) => ask("drop", { parser }));

export class Parser {
  #number;
  #rest = ""; // half of a character of a string
  constructor(plan, number) {
    Object.assign(this, { plan, held: 0, answer: undefined });
    this.#number = number;
    open.register(this, number, this);
  }
  #ask(op, fields) {
    if (this.answer) {
      const message = "the parser is finished; make another one of the plan";
      throw new AssayError({ error: "finished", message });
    }
    return ask(op, { parser: this.#number, ...fields });
  }
  #write(piece) {
    const { deltas, held } = this.#ask("write", piece);
    this.held = held;
    return deltas;
  }
  write(piece) {
    if (typeof piece !== "string") return this.#write({ bytes: base64(piece) });
    const text = this.#rest + piece;
    const cut = text.length - /[\ud800-\udbff]?$/.exec(text)[0].length;
    this.#rest = text.slice(cut);
    return this.#write({ text: text.slice(0, cut) });
  }
  writeTokens(ids) {
    return this.#write({ ids: [...ids] });
  }
  close(reason = "stop") {
    const first = this.#rest ? this.#write({ text: this.#rest }) : [];
    const told = this.#ask("close", { reason });
    open.unregister(this);
    const { message, finish_reason: finishReason, complete, diagnostics } = told;
    const deltas = [...first, ...told.deltas];
    this.answer = {
      ...{ message, finishReason, complete, diagnostics, deltas },
      content: message.content ?? "",
      toolCalls: message.tool_calls ?? [],
    };
    return this.answer;
  }
  stream(reason) {
    const each = (deltas, to) => deltas.forEach((delta) => to.enqueue(delta));
    return new TransformStream({
      transform: (piece, to) =>
        each(Array.isArray(piece) ? this.writeTokens(piece) : this.write(piece), to),
      flush: (to) => each(this.close(reason).deltas, to),
    });
  }
}

function base64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
