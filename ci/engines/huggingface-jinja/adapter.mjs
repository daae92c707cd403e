// @huggingface/jinja, for the protocol of docs/reference/adapters.md: adapter.mjs MODULE.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const module = process.argv[2];
const { Template } = await import(pathToFileURL(module));
const about = JSON.parse(readFileSync(join(dirname(module), "..", "package.json"), "utf8"));

// The clock that the wanted prompts were rendered by.
const now = new Date(2026, 0, 2, 3, 4, 5).getTime();
globalThis.Date = class extends Date {
  constructor(...args) {
    super(...(args.length > 0 ? args : [now]));
  }
};

// The last template, compiled.
let source, template;

function render(request) {
  if (request.template !== source) {
    template = new Template(request.template);
    source = request.template;
  }
  return { text: template.render(request.vars) };
}

function answer(request) {
  switch (request.op) {
    case "describe":
      return { engine: "@huggingface/jinja", version: about.version, renders: true };
    case "render":
      try {
        return render(request);
      } catch (e) {
        return { error: String(e) };
      }
  }
  return { unsupported: `no operation ${request.op}` };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const before = process.cpuUsage();
  const reply = answer(request);
  const used = process.cpuUsage(before);
  reply.nanoseconds = (used.user + used.system) * 1000;
  reply.id = request.id;
  process.stdout.write(JSON.stringify(reply) + "\n");
}
