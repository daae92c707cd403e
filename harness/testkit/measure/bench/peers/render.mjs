// Measures @huggingface/jinja at the works of the program peers: render.mjs MODULE INPUT WORK. For
// every line of the standard input it does the work once and answers with a line: the nanoseconds
// of processor time that it took, and how many of its parts came out well.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [module, path, work] = process.argv.slice(2);
const { Template } = await import(pathToFileURL(module));
const given = JSON.parse(readFileSync(path, "utf8"));

// The clock that the wanted prompts were rendered by.
const now = new Date(2026, 0, 2, 3, 4, 5).getTime();
globalThis.Date = class extends Date {
  constructor(...args) {
    super(...(args.length > 0 ? args : [now]));
  }
};

function compileAll() {
  return given.templates.map((t) => {
    try {
      return new Template(t.source);
    } catch {
      return null;
    }
  });
}

const compiled = compileAll();

function render() {
  let good = 0;
  for (const r of given.renders) {
    try {
      good += compiled[r.template].render(r.vars) === r.want;
    } catch {
      // it is not the prompt that is wanted
    }
  }
  return good;
}

const op = { compile: () => compileAll().filter((t) => t).length, render }[work];
for (let i = 0; i < 3; i++) op(); // to warm up
for await (const _ of createInterface({ input: process.stdin })) {
  const before = process.cpuUsage();
  const good = op();
  const used = process.cpuUsage(before);
  console.log(`${(used.user + used.system) * 1000} ${good}`);
}
