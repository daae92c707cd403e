// The engine in a worker, whose script is Go's wasm_exec.js and then this. The page sends {module}
// once, then requests {key, request}; each is answered by {key, answer}.
"use strict";

let queue = [];
const answer = ({ key, request }) =>
  postMessage({ key, answer: JSON.parse(assay(JSON.stringify(request))) });

self.assayReady = () => {
  const waiting = queue;
  queue = null;
  postMessage({ ready: true });
  waiting.forEach(answer);
};

onmessage = async ({ data }) => {
  if (data.module) {
    const go = new Go();
    go.run(await WebAssembly.instantiate(data.module, go.importObject));
  } else if (queue) {
    queue.push(data);
  } else {
    answer(data);
  }
};
