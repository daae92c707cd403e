// Reads the outputs that the C library's test has written down, by the module: each piece has to
// give the deltas that it gives in Go, to the byte. vectors.mjs DELTAS
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

import { Template, load } from "assay-chat-wasm";

const compact = (text) => JSON.stringify(text ? JSON.parse(text) : []);
const templates = new Map();

function read(v) {
  if (!templates.has(v.text)) {
    templates.set(v.text, new Template(v.text, { name: v.template }));
  }
  const parser = templates.get(v.text).prepare(v.request, v.options).parser();
  const last = v.pieces.length;
  for (const [i, piece] of v.pieces.entries()) {
    const got = JSON.stringify(parser.write(Buffer.from(piece, "latin1")));
    if (got !== compact(v.deltas[i])) return `piece ${i}: ${got}, want ${v.deltas[i]}`;
  }
  const { deltas, message, finishReason, complete, diagnostics } = parser.close(
    v.cut ? "length" : "stop",
  );
  const end = { deltas, message, finish_reason: finishReason, complete, diagnostics };
  const got = JSON.stringify(end);
  return got === compact(v.deltas[last]) ? "" : `the end: ${got}, want ${v.deltas[last]}`;
}

await load();
let count = 0;
let failed = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const v = JSON.parse(line);
  const wrong = read(v);
  count++;
  if (wrong && ++failed < 10) console.log(`${v.id}, ${v.pieces.length} pieces: ${wrong}`);
}
console.log(`node: ${count} outputs, ${failed} read otherwise`);
process.exit(failed > 0 || count === 0 ? 1 : 0);
