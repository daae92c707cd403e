// The page: views of the answers of package service. The answers come from the engine in a worker
// (WebAssembly), from `assay page` on this machine, or, in a report, from the file itself. Texts of
// templates reach the document as text alone, never as markup.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const bytes = new TextEncoder(),
    chars = new TextDecoder();

  // element makes an element: element("p", {class: "dim"}, "text", child).
  const element = (name, attributes = {}, ...children) => {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== false)
        e.setAttribute(key, value === true ? "" : value);
    }
    e.append(...children.filter((c) => c !== undefined && c !== null && c !== ""));
    return e;
  };
  const fill = (e, ...children) =>
    e.replaceChildren(...children.filter((c) => c !== undefined && c !== null && c !== ""));
  // shown makes visible the characters that show nothing or turn text around.
  const shown = (text) =>
    text.replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
      (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
    );
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  const older = "older.jinja"; // the older revision's name

  // The engines. Each has ask(request), a promise of an answer, and cancel(), which ends the work
  // under way.
  class Failed extends Error {}
  const result = (answer) => {
    if (!answer.ok) throw new Failed(answer.message);
    return answer.result;
  };

  class Worked {
    // in a worker of its own, which is ended to cancel
    constructor(module) {
      this.module = module;
      this.waiting = new Map();
      this.number = 0;
    }
    start() {
      this.worker = new Worker("worker.js");
      this.worker.onmessage = ({ data }) => {
        const wanted = this.waiting.get(data.key);
        this.waiting.delete(data.key);
        if (wanted) wanted(data.answer);
      };
      this.worker.postMessage({ module: this.module });
    }
    ask(request) {
      if (!this.worker) this.start();
      const key = ++this.number;
      return new Promise((resolve) => {
        this.waiting.set(key, resolve);
        this.worker.postMessage({ key, request });
      }).then(result);
    }
    cancel() {
      if (this.waiting.size === 0) return;
      this.worker.terminate();
      this.waiting.clear(); // nobody waits for these any more
      this.start();
    }
  }

  class Served {
    // by `assay page`
    constructor(key) {
      this.key = key;
    }
    ask(request) {
      return fetch("ask", {
        method: "POST",
        headers: { "X-Assay-Key": this.key },
        body: JSON.stringify(request),
      })
        .then((r) => r.json())
        .then(result);
    }
    cancel() {}
  }

  class Filed {
    // in a report: answers by their requests
    constructor(answers) {
      this.answers = new Map(answers.map((a) => [a.of + JSON.stringify(a.request), a.answer]));
    }
    ask(request) {
      const { template, was, is, ...rest } = request;
      const answer = this.answers.get(
        (template && template.name === older ? "was" : "is") + JSON.stringify(rest),
      );
      return answer
        ? Promise.resolve(answer).then(result)
        : Promise.reject(new Failed("this file does not hold the answer"));
    }
    cancel() {}
  }

  let quick, full; // the engine that answers while one types, and the one that checks
  let file; // of a report: its source

  // The state travels in links.
  const state = {
    template: "",
    was: "",
    view: "findings",
    request: null,
    conversation: 0,
    output: null,
    cuts: null,
    at: null,
    limit: false,
  };
  let rules = new Map(),
    conversations = [],
    streamed = null,
    judged = null,
    covered = null;

  const template = () => ({ name: file ? file.name : "template.jinja", text: state.template });
  const encode = async () => {
    const stream = new Blob([JSON.stringify(state)])
      .stream()
      .pipeThrough(new CompressionStream("deflate-raw"));
    const packed = new Uint8Array(await new Response(stream).arrayBuffer());
    let text = "";
    for (const b of packed) text += String.fromCharCode(b);
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  const decode = async (fragment) => {
    const packed = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (c) =>
      c.charCodeAt(0),
    );
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const read = JSON.parse(await new Response(stream).text());
    for (const key of Object.keys(state)) {
      if (key in read && (state[key] === null || typeof read[key] === typeof state[key]))
        state[key] = read[key];
    }
  };

  // Findings.
  const goTo = (line) => {
    const area = $("template");
    const lines = state.template.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1] || "").length);
    area.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(area).lineHeight));
  };
  const severityOf = (f) => (f.status === "failed" ? "error" : f.severity);
  const wordOf = (f) => (f.status === "not judged" ? f.status : severityOf(f));
  const findingOf = (f, number) => {
    const [head, ...more] = (f.text || "").split("\n");
    const rule = rules.get(f.rule);
    const line = f.place.line;
    return element(
      "article",
      { class: `finding ${severityOf(f)}`, id: `finding-${number}` },
      element(
        "h3",
        {},
        element("span", { class: "severity" }, wordOf(f)),
        ` ${f.rule} ${f.name} `,
        line
          ? element("button", { type: "button", onclick: () => goTo(line) }, `line ${line}`)
          : "",
      ),
      element("p", {}, shown(head)),
      f.place.excerpt
        ? element(
            "pre",
            {
              class: "code",
              tabindex: "0",
              role: "region",
              "aria-label": `Finding ${number}: line ${line}`,
            },
            shown(f.place.excerpt),
          )
        : "",
      more.length
        ? element(
            "details",
            {},
            element("summary", {}, "Evidence"),
            element("pre", { tabindex: "0" }, shown(more.join("\n"))),
          )
        : "",
      rule
        ? element(
            "details",
            {},
            element("summary", {}, "The damage, and the fix"),
            element("p", {}, rule.short),
            element("p", {}, "Damage: " + rule.damage),
            element("p", {}, "Fix: " + rule.fix),
          )
        : "",
    );
  };
  const showFindings = () => {
    if (!judged) return;
    const fine = judged.findings.length === 0;
    fill(
      $("findings"),
      element(
        "p",
        {},
        `${plural(judged.passed, "check")} found nothing` +
          (fine ? "." : `, ${judged.findings.length} did:`),
      ),
      ...judged.findings.map((f, i) => findingOf(f, i)),
      ...judged.templates.map((t) =>
        element(
          "p",
          { class: "dim" },
          (t.tool_capable ? "Tool-capable. " : "Not tool-capable. ") +
            shown(t.why ? t.why + ". " : "") +
            (t.exercised ? "Exercised: " + t.exercised + "." : ""),
        ),
      ),
    );
    gutter();
  };
  const gutter = () => {
    const marks = new Map();
    for (const [number, f] of (judged ? judged.findings : []).entries()) {
      const line = f.place.line;
      if (line && !marks.has(line)) marks.set(line, { number, f });
    }
    const missed = new Set(
      (covered ? covered.sites : [])
        .filter((s) => s.missing.some((m) => m !== "empty"))
        .map((s) => s.line),
    );
    const n = state.template.split("\n").length;
    fill(
      $("gutter"),
      ...Array.from({ length: n }, (_, i) => {
        const mark = marks.get(i + 1);
        return element(
          "li",
          {
            class: missed.has(i + 1) ? "missed" : undefined,
            title: missed.has(i + 1) ? "no request reached all of this line" : undefined,
          },
          mark
            ? element(
                "button",
                {
                  type: "button",
                  class: severityOf(mark.f) + "-mark",
                  title: mark.f.name,
                  "aria-label": `line ${i + 1}: ${wordOf(mark.f)} ${mark.f.rule}`,
                  onclick: () => {
                    show("findings");
                    $(`finding-${mark.number}`).scrollIntoView();
                  },
                },
                "● ",
              )
            : "",
          String(i + 1),
        );
      }),
    );
    $("gutter").scrollTop = $("template").scrollTop;
  };

  // The prompt.
  const kinds = [
    "template",
    "generation",
    "system",
    "user",
    "assistant",
    "tool",
    "tools",
    "variable",
  ];
  const cut = (raw, start, end) => chars.decode(raw.subarray(start, end));
  const showPrompt = async () => {
    const box = $("rendered");
    const asked =
      state.request !== null
        ? { request: state.request }
        : conversations[state.conversation]
          ? { request: conversations[state.conversation].request }
          : {};
    try {
      const p = await quick.ask({ op: "render", template: template(), ...asked });
      const raw = bytes.encode(p.prompt),
        used = new Set();
      const pre = element("pre", { tabindex: "0", role: "region", "aria-label": "The prompt" });
      for (const s of p.spans) {
        const whose =
          s.who === "template"
            ? "the template's own text"
            : s.who === "generation"
              ? "the generation prompt"
              : `${s.who}: ${s.path}`;
        used.add(s.who);
        const tell = () => fill($("origin"), `${shown(whose)}, bytes ${s.start} to ${s.end}`);
        pre.append(
          element(
            "span",
            {
              class: "w-" + s.who.replace(/[^a-z]/g, ""),
              title: whose,
              onmouseenter: tell,
              onclick: tell,
            },
            shown(cut(raw, s.start, s.end)),
          ),
        );
      }
      fill(
        $("whose"),
        ...kinds
          .concat([...used].filter((w) => !kinds.includes(w)))
          .filter((w) => used.has(w))
          .map((w) =>
            element(
              "span",
              { class: "w-" + w.replace(/[^a-z]/g, "") },
              w === "generation" ? "generation prompt" : shown(w),
            ),
          ),
      );
      fill(
        box,
        pre,
        element(
          "p",
          { class: "dim" },
          `${plural(raw.length, "byte")}. ` +
            (p.fitted.length
              ? "Fitted to the template: " + p.fitted.join(", ") + "."
              : "The template takes the request as it is."),
        ),
      );
    } catch (e) {
      fill($("whose"));
      fill(box, element("pre", { class: "error", tabindex: "0" }, shown(e.message)));
    }
  };
  const showConversations = async () => {
    try {
      conversations = await quick.ask({ op: "conversations", template: template() });
    } catch {
      conversations = [];
    }
    if (state.conversation >= conversations.length) state.conversation = 0;
    fill(
      $("conversation"),
      ...conversations.map((c, i) =>
        element(
          "option",
          { value: i, selected: i === state.conversation },
          shown(c.name).slice(0, 90),
        ),
      ),
    );
    $("conversation").value = String(state.conversation);
    $("request").value = JSON.stringify(
      state.request ?? (conversations[state.conversation] || {}).request ?? {},
      null,
      2,
    );
  };

  // The format as a railroad diagram. Each node has a width and a height above and below its rail,
  // and draws itself.
  const svg = (name, attributes, ...children) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };
  const gap = 14;
  const box = (n) => {
    const text = shown(
      n.kind === "marker" ? n.text.replaceAll("\n", "⏎").replaceAll(" ", "␣") : n.text,
    );
    const w = [...text].length * (n.kind === "marker" ? 8 : 7.2) + 18;
    return {
      w,
      up: 15,
      down: 15,
      draw: (to, x, y) =>
        to.append(
          svg(
            "g",
            { class: n.kind === "marker" ? "m" : "s" },
            svg("rect", { x, y: y - 13, width: w, height: 26, rx: n.kind === "marker" ? 3 : 13 }),
            svg("text", { x: x + 9, y: y + 4.5 }, text),
          ),
        ),
    };
  };
  const rail = (to, d) => to.append(svg("path", { d }));
  const lay = (n) => {
    const items = (n.items || []).map(lay);
    switch (n.kind) {
      case "sequence": {
        if (!items.length)
          return { w: gap, up: 4, down: 4, draw: (to, x, y) => rail(to, `M${x} ${y}h${gap}`) };
        return {
          w: items.reduce((sum, i) => sum + i.w, gap * (items.length - 1)),
          up: Math.max(...items.map((i) => i.up)),
          down: Math.max(...items.map((i) => i.down)),
          draw: (to, x, y) =>
            items.forEach((i, k) => {
              i.draw(to, x, y);
              x += i.w;
              if (k < items.length - 1) {
                rail(to, `M${x} ${y}h${gap}`);
                x += gap;
              }
            }),
        };
      }
      case "optional": {
        const i = items[0],
          w = i.w + 2 * gap,
          over = i.up + 8;
        return {
          w,
          up: over + 4,
          down: i.down,
          draw: (to, x, y) => {
            rail(to, `M${x} ${y}h${gap}m${i.w} 0h${gap}`);
            rail(
              to,
              `M${x} ${y}q7 0 7 -7v${-(over - 14)}q0 -7 7 -7h${w - 28}q7 0 7 7v${over - 14}q0 7 7 7`,
            );
            i.draw(to, x + gap, y);
          },
        };
      }
      case "repeat": {
        const i = items[0],
          sep = n.sep ? box({ kind: "marker", text: n.sep }) : null;
        const inner = Math.max(i.w, sep ? sep.w : 0),
          w = inner + 2 * gap,
          under = i.down + (sep ? 22 : 10);
        return {
          w,
          up: i.up,
          down: under + (sep ? 15 : 4),
          draw: (to, x, y) => {
            rail(to, `M${x} ${y}h${w}`);
            rail(
              to,
              `M${x + w - gap} ${y}q7 0 7 7v${under - 14}q0 7 -7 7h${-inner}q-7 0 -7 -7v${-(under - 14)}q0 -7 7 -7`,
            );
            if (sep) sep.draw(to, x + (w - sep.w) / 2, y + under);
            i.draw(to, x + gap + (inner - i.w) / 2, y);
          },
        };
      }
      case "choice": {
        const inner = Math.max(...items.map((i) => i.w)),
          w = inner + 4 * gap;
        let down = items[0].down;
        const at = items.map((i, k) => {
          if (k === 0) return 0;
          const y = down + i.up + 6;
          down = y + i.down;
          return y;
        });
        return {
          w,
          up: items[0].up,
          down,
          draw: (to, x, y) =>
            items.forEach((i, k) => {
              const d = at[k];
              if (k === 0) rail(to, `M${x} ${y}h${2 * gap}m${i.w} 0H${x + w}`);
              else
                rail(
                  to,
                  `M${x} ${y}q7 0 7 7v${d - 14}q0 7 7 7h${2 * gap - 14}m${i.w} 0H${x + w - 14}q7 0 7 -7v${-(d - 14)}q0 -7 7 -7`,
                );
              i.draw(to, x + 2 * gap, y + d);
            }),
        };
      }
      default:
        return box(n);
    }
  };
  const words = (n) => {
    const inner = (n.items || []).map(words);
    switch (n.kind) {
      case "marker":
        return JSON.stringify(n.text);
      case "slot":
        return n.text;
      case "optional":
        return `[ ${inner[0]} ]`;
      case "repeat":
        return `{ ${inner[0]} }${n.sep ? " separated by " + JSON.stringify(n.sep) : ""}`;
      case "choice":
        return inner.join(" or ");
      default:
        return inner.join(" ");
    }
  };
  const diagram = (node) => {
    const laid = lay(node),
      w = laid.w + 40,
      h = laid.up + laid.down + 20,
      y = laid.up + 10;
    const picture = svg("svg", {
      width: w,
      height: h,
      viewBox: `0 0 ${w} ${h}`,
      role: "img",
      "aria-label": "Railroad diagram: " + shown(words(node)),
    });
    rail(picture, `M4 ${y - 7}v14M4 ${y}h16M${w - 20} ${y}h16m0 -7v14`);
    laid.draw(picture, 20, y);
    return element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Diagram of the format" },
      picture,
    );
  };
  const showFormat = async () => {
    let a;
    try {
      a = await quick.ask({ op: "analyze", template: template() });
    } catch (e) {
      fill($("format"), element("pre", { class: "error", tabindex: "0" }, shown(e.message)));
      return null;
    }
    sample = a.sample;
    const rows = a.format
      .trim()
      .split("\n")
      .map((line) => {
        const at = line.indexOf(": ");
        return [line.slice(0, at), line.slice(at + 2)];
      });
    const table = (rows) =>
      element(
        "table",
        {},
        element(
          "tbody",
          {},
          ...rows.map(([k, v]) =>
            element(
              "tr",
              {},
              element("th", { scope: "row" }, k),
              element("td", {}, shown(String(v))),
            ),
          ),
        ),
      );
    const gate = element("div"),
      grammar = element("pre", { class: "code", tabindex: "0" });
    fill(
      $("format"),
      gate,
      element("h3", {}, "An answer"),
      diagram(a.diagram),
      element("h3", {}, "Its markers"),
      element(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Fields of the format" },
        table(rows),
      ),
      element(
        "details",
        {},
        element("summary", {}, "Capabilities"),
        table(Object.entries(a.caps)),
      ),
      element("details", {}, element("summary", {}, "The grammar, for the example tools"), grammar),
      element(
        "details",
        {},
        element("summary", {}, "Findings of the comparisons"),
        element("pre", { tabindex: "0" }, shown(a.evidence.join("\n"))),
      ),
    );
    return async () => {
      // the slower parts: the proof, and the grammar
      await quick.ask({ op: "verify", template: template() }).then(
        (p) =>
          fill(
            gate,
            element("p", {}, "The gate: " + shown(p.gate) + "."),
            p.verified
              ? ""
              : element(
                  "details",
                  {},
                  element("summary", {}, "Not proven"),
                  element("pre", { tabindex: "0" }, shown(p.why || "")),
                ),
          ),
        () => {},
      );
      fill(
        grammar,
        shown(
          await quick.ask({ op: "grammar", template: template() }).then(
            (g) => g.grammar,
            (e) => e.message,
          ),
        ),
      );
    };
  };

  // The stream.
  let sample = "";
  const outputOf = () => state.output ?? sample ?? "";
  const showStream = async () => {
    const output = outputOf();
    if ($("output").value !== output && document.activeElement !== $("output"))
      $("output").value = output;
    $("every").checked = state.cuts === null;
    $("limit").checked = state.limit;
    $("cut").disabled = state.cuts === null;
    showCuts(bytes.encode(output).length);
    const request = { op: "stream", template: template(), output };
    if (state.cuts !== null) request.cuts = [...state.cuts].sort((a, b) => a - b);
    if (state.limit) request.reason = "length";
    try {
      streamed = await quick.ask({ insist: true, ...request });
    } catch (e) {
      streamed = null;
      fill($("streamed"), element("pre", { class: "error", tabindex: "0" }, shown(e.message)));
      return;
    }
    const last = streamed.steps.length;
    $("at").max = String(last);
    if (state.at === null || state.at > last) state.at = last;
    $("at").value = String(state.at);
    showAt();
  };
  const showCuts = (length) => {
    if (state.cuts === null || $("cuts").contains(document.activeElement)) {
      if (state.cuts === null) fill($("cuts"));
      return;
    }
    fill(
      $("cuts"),
      ...state.cuts.map((at, i) =>
        element(
          "p",
          { class: "bar" },
          element("label", { for: `cut-${i}` }, `Cut ${i + 1}`),
          element("input", {
            type: "range",
            id: `cut-${i}`,
            min: 0,
            max: length,
            value: at,
            oninput: (e) => {
              state.cuts[i] = boundary(Number(e.target.value));
              state.at = null;
              showStream();
            },
          }),
          element(
            "button",
            {
              type: "button",
              onclick: () => {
                state.cuts.splice(i, 1);
                document.activeElement.blur();
                state.at = null;
                showStream();
              },
            },
            `Remove cut ${i + 1}`,
          ),
        ),
      ),
    );
  };
  const boundary = (at) => {
    const raw = bytes.encode(outputOf());
    while (at > 0 && at < raw.length && (raw[at] & 0xc0) === 0x80) at--;
    return at;
  };
  const showAt = () => {
    const raw = bytes.encode(streamed.output),
      steps = streamed.steps.slice(0, state.at),
      step = steps[steps.length - 1];
    const read = step ? step.at : 0,
      held = step ? step.held : 0,
      ended = state.at === streamed.steps.length;
    const pre = element("pre", { tabindex: "0", role: "region", "aria-label": "The output" });
    const put = (start, end, name) => {
      if (end > start)
        pre.append(
          element("span", { class: "p-" + name, title: name }, shown(cut(raw, start, end))),
        );
    };
    for (const p of streamed.parts) {
      put(p.start, Math.min(p.end, read - held), p.class);
      put(Math.max(p.start, read - held), Math.min(p.end, read), "held");
      put(Math.max(p.start, read), p.end, "unread");
    }
    const message = { reasoning: "", content: "", calls: [] },
      list = [];
    for (const s of steps) {
      for (const d of s.deltas) {
        list.push(`${s.at}: ${JSON.stringify(d)}`);
        message.reasoning += d.reasoning_content || "";
        message.content += d.content || "";
        for (const c of d.tool_calls || []) {
          const call = (message.calls[c.index] ??= { id: "", name: "", arguments: "" });
          call.id += c.id || "";
          call.name += c.function?.name || "";
          call.arguments += c.function?.arguments || "";
        }
      }
    }
    fill(
      $("streamed"),
      element(
        "p",
        { role: "status" },
        `${read} of ${plural(raw.length, "byte")} read` +
          (ended ? `, the output has ended: ${streamed.finish_reason}` : "") +
          (held ? `; ${plural(held, "byte")} held back: ${step.why}.` : "."),
      ),
      pre,
      element(
        "p",
        { class: "key" },
        ...["marker", "reasoning", "content", "id", "arguments", "dropped", "held", "unread"].map(
          (c) => element("span", { class: "p-" + c }, c),
        ),
      ),
      element("h3", {}, "The message so far"),
      element(
        "table",
        {},
        element(
          "tbody",
          {},
          ...[
            ["reasoning", message.reasoning],
            ["content", message.content],
            ...message.calls.map((c, i) => [
              `call ${i + 1}`,
              `${c.name} ${c.arguments}${c.id ? " (" + c.id + ")" : ""}`,
            ]),
          ].map(([k, v]) =>
            element("tr", {}, element("th", { scope: "row" }, k), element("td", {}, shown(v))),
          ),
        ),
      ),
      element(
        "details",
        {},
        element("summary", {}, `${plural(list.length, "delta")} so far`),
        element("pre", { tabindex: "0" }, shown(list.join("\n"))),
      ),
      ended && streamed.diagnostics.length
        ? element(
            "p",
            {},
            "Odd: " +
              shown(streamed.diagnostics.map((d) => `byte ${d.at}: ${d.message}`).join("; ")),
          )
        : "",
    );
  };

  // Two revisions.
  let diffing = 0;
  const showDiff = async () => {
    if ($("was").value !== state.was && document.activeElement !== $("was"))
      $("was").value = state.was;
    if (!state.was) {
      fill(
        $("changes"),
        element(
          "p",
          { class: "dim" },
          "Paste the older revision, or take the template as it is now and then edit it.",
        ),
      );
      return;
    }
    const round = ++diffing,
      was = { name: older, text: state.was },
      is = template();
    fill($("changes"), element("p", { role: "status" }, "Comparing."));
    try {
      const d = await full.ask({ op: "diff", was, is });
      if (round !== diffing) return;
      const examples =
        d.class === "identical" || d.class === "not observable" ? [] : await different(was, is);
      if (round !== diffing) return;
      fill(
        $("changes"),
        element(
          "p",
          {
            class:
              "verdict " + (["breaking", "not compared"].includes(d.class) ? "bad" : "ok"),
            role: "status",
          },
          `The edit is ${d.class}.`,
        ),
        ...d.changes.map((c, i) => findingOf(c, "change-" + i)),
        examples.length ? element("h3", {}, "Conversations that show it") : "",
        ...examples,
      );
    } catch (e) {
      if (round === diffing)
        fill($("changes"), element("pre", { class: "error", tabindex: "0" }, shown(e.message)));
    }
  };
  // different renders the conversations with both revisions and shows the first few whose prompts
  // differ.
  const different = async (was, is) => {
    const shownOnes = [];
    const all = conversations.length ? conversations : [];
    for (const c of all) {
      if (shownOnes.length === 3) break;
      const side = (t) =>
        quick.ask({ op: "render", template: t, request: c.request }).then(
          (p) => p.prompt,
          (e) => "refused: " + e.message.replace(/^\S+?:(\d+:\d+: )/, "$1"),
        );
      const [a, b] = [await side(was), await side(is)];
      if (a === b) continue;
      let from = 0;
      while (from < a.length && a[from] === b[from]) from++;
      let back = 0;
      while (
        back < Math.min(a.length, b.length) - from &&
        a[a.length - 1 - back] === b[b.length - 1 - back]
      )
        back++;
      const part = (label, text) =>
        element(
          "div",
          {},
          element("strong", {}, label),
          element(
            "pre",
            { tabindex: "0", role: "region", "aria-label": `${label}: ${shown(c.name)}` },
            shown((from > 80 ? "… " : "") + text.slice(Math.max(0, from - 80), from)),
            element("span", { class: "differs" }, shown(text.slice(from, text.length - back))),
            shown(text.slice(text.length - back, text.length - back + 80)),
          ),
        );
      shownOnes.push(
        element(
          "article",
          {},
          element("h3", {}, shown(c.name)),
          element("div", { class: "sides" }, part("older", a), part("newer", b)),
        ),
      );
    }
    return shownOnes;
  };

  // Coverage.
  const showCoverage = () => {
    if (!covered) return;
    const lines = state.template.split("\n");
    const open = covered.sites.filter((s) => s.missing.some((m) => m !== "empty"));
    fill(
      $("coverage"),
      element(
        "p",
        {},
        "Exercised: " + covered.summary + `; ${plural(covered.tried, "conversation")} tried.`,
      ),
      open.length === 0
        ? element("p", {}, "Some request reached every outcome of every branch.")
        : "",
      ...open.map((s) =>
        element(
          "article",
          { class: "finding note" },
          element(
            "h3",
            {},
            element("button", { type: "button", onclick: () => goTo(s.line) }, `line ${s.line}`),
            ` ${s.kind}: never ${s.missing.filter((m) => m !== "empty").join(", ")}`,
          ),
          element("pre", { class: "code", tabindex: "0" }, shown(lines[s.line - 1] || "")),
        ),
      ),
    );
    gutter();
  };

  // Views and rounds.
  const views = ["findings", "prompt", "format", "stream", "diff", "coverage"];
  const show = (view, focus) => {
    state.view = view;
    for (const v of views) {
      $(v).hidden = v !== view;
      $("tab-" + v).setAttribute("aria-selected", String(v === view));
      $("tab-" + v).tabIndex = v === view ? 0 : -1;
    }
    if (focus) $("tab-" + view).focus();
    if (ready) refresh(view);
  };
  const refresh = (view) =>
    ({ prompt: showPrompt, stream: showStream, diff: showDiff, coverage: showCoverage })[view]?.();
  let ready = false,
    round = 0,
    pause;

  // judge looks at the template: first the quick parts, then all checks. A newer round ends this
  // one.
  const judge = async () => {
    const mine = ++round;
    full.cancel();
    judged = covered = null;
    gutter();
    const verdict = $("verdict");
    if (!state.template.trim()) {
      verdict.className = "verdict";
      fill(verdict, "Paste or drop a template, or choose a family.");
      return;
    }
    fill(verdict, "Looking.");
    verdict.className = "verdict";
    performance.mark("judge");
    const rest = await showFormat();
    if (mine !== round) return;
    performance.measure("format", "judge");
    if (rest) rest();
    fill(verdict, "Checking.");
    try {
      const j = await full.ask({ op: "check", template: template() });
      if (mine !== round) return;
      judged = j;
      performance.measure("check", "judge");
      const errors = j.findings.filter((f) => severityOf(f) === "error").length,
        others = j.findings.length - errors;
      verdict.className = "verdict " + (j.ok ? "ok" : "bad");
      fill(
        verdict,
        (j.ok ? "Passed" : "Failed") +
          `: ${plural(errors, "error")}, ${plural(others, "other finding")}, ${plural(j.passed, "check")} passed.`,
      );
      showFindings();
      await showConversations();
      if (mine !== round) return;
      refresh(state.view);
      const c = await full.ask({ op: "coverage", template: template() });
      if (mine !== round) return;
      covered = c;
      showCoverage();
    } catch (e) {
      if (mine !== round) return;
      verdict.className = "verdict bad";
      fill(verdict, "It cannot be judged.");
      fill($("findings"), element("pre", { class: "error", tabindex: "0" }, shown(e.message)));
    }
    document.documentElement.dataset.judged = String(mine);
  };
  const edited = () => {
    state.template = $("template").value;
    gutter();
    clearTimeout(pause);
    pause = setTimeout(judge, 150);
  };
  const open = (text) => {
    $("template").value = state.template = text;
    state.request = state.output = state.at = null;
    state.conversation = 0;
    judge();
  };
  // configured returns the template of a tokenizer_config.json, or the text itself.
  const configured = (text) => {
    try {
      const t = JSON.parse(text).chat_template;
      return typeof t === "string"
        ? t
        : Array.isArray(t)
          ? (t.find((one) => one.name === "tool_use") || t[0]).template
          : text;
    } catch {
      return text;
    }
  };

  const listen = () => {
    $("template").addEventListener("input", edited);
    $("template").addEventListener("scroll", () => {
      $("gutter").scrollTop = $("template").scrollTop;
    });
    for (const v of views) $("tab-" + v).addEventListener("click", () => show(v));
    document.querySelector("[role=tablist]").addEventListener("keydown", (e) => {
      const at = views.indexOf(state.view),
        to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: views.length - 1 }[e.key];
      if (to !== undefined) {
        e.preventDefault();
        show(views[(to + views.length) % views.length], true);
      }
    });
    $("conversation").addEventListener("change", (e) => {
      state.conversation = Number(e.target.value);
      state.request = null;
      $("request").value = JSON.stringify(
        (conversations[state.conversation] || {}).request ?? {},
        null,
        2,
      );
      showPrompt();
    });
    $("request").addEventListener("input", (e) => {
      try {
        state.request = JSON.parse(e.target.value);
        fill($("request-error"));
        showPrompt();
      } catch (error) {
        fill($("request-error"), error.message);
      }
    });
    $("output").addEventListener("input", (e) => {
      state.output = e.target.value;
      state.at = null;
      if (state.cuts)
        state.cuts = state.cuts.map((c) =>
          boundary(Math.min(c, bytes.encode(state.output).length)),
        );
      showStream();
    });
    $("at").addEventListener("input", (e) => {
      state.at = Number(e.target.value);
      if (streamed) showAt();
    });
    $("every").addEventListener("change", (e) => {
      state.cuts = e.target.checked
        ? null
        : [boundary(Math.floor(bytes.encode(outputOf()).length / 2))];
      state.at = null;
      showStream();
    });
    $("cut").addEventListener("click", () => {
      state.cuts.push(boundary(Math.floor(bytes.encode(outputOf()).length / 2)));
      showStream();
    });
    $("limit").addEventListener("change", (e) => {
      state.limit = e.target.checked;
      state.at = null;
      showStream();
    });
    $("was").addEventListener("input", (e) => {
      state.was = e.target.value;
      clearTimeout(pause);
      pause = setTimeout(showDiff, 300);
    });
    $("take").addEventListener("click", () => {
      state.was = state.template;
      $("was").value = state.was;
      showDiff();
    });
    $("share").addEventListener("click", async () => {
      location.hash = await encode();
      try {
        await navigator.clipboard.writeText(location.href);
        fill($("shared"), "Copied. The link has everything in it.");
      } catch {
        fill($("shared"), "The link is in the address bar.");
      }
    });
    $("family").addEventListener("change", async (e) => {
      if (!e.target.value) return;
      open((await families()).find((f) => f.name === e.target.value).template);
    });
    addEventListener("dragover", (e) => {
      e.preventDefault();
      document.body.classList.add("drop");
    });
    addEventListener("dragleave", () => document.body.classList.remove("drop"));
    addEventListener("drop", async (e) => {
      e.preventDefault();
      document.body.classList.remove("drop");
      const dropped = e.dataTransfer.files[0];
      if (dropped && dropped.size < 4 << 20) open(configured(await dropped.text()));
    });
    addEventListener("hashchange", async () => {
      if (location.hash.length > 1 && location.hash !== "#views") {
        await decode(location.hash.slice(1)).catch(() => {});
        restore();
        judge();
      }
    });
  };
  const unpacked = async (name, headers) => {
    const packed = await fetch(name);
    return new Response(packed.body.pipeThrough(new DecompressionStream("gzip")), { headers });
  };
  const families = () => (families.all ??= unpacked("families.json.gz").then((r) => r.json()));
  const restore = () => {
    $("template").value = state.template;
    $("was").value = state.was;
    show(views.includes(state.view) ? state.view : "findings");
  };

  // engine finds the one that answers: the file itself, `assay page`, or WebAssembly.
  const engine = async () => {
    const answers = document.getElementById("answers");
    if (answers) {
      file = JSON.parse(answers.textContent);
      document.documentElement.classList.add("file");
      $("template").readOnly = true;
      fill(
        $("about"),
        `${shown(file.name)}, by Assay ${shown(file.version)}. Everything is in this file; nothing is loaded.`,
      );
      state.template = file.template;
      state.was = file.was || "";
      state.view = file.view || state.view;
      return [new Filed(file.answers), new Filed(file.answers)];
    }
    const key = new URLSearchParams(location.search).get("key");
    if (key) return [new Served(key), new Served(key)];
    const module = await WebAssembly.compileStreaming(
      unpacked("assay.wasm.gz", { "Content-Type": "application/wasm" }),
    );
    const engines = [new Worked(module), new Worked(module)];
    engines[1].start(); // so that the first check finds it ready
    return engines;
  };
  const begin = async () => {
    listen();
    show(state.view);
    try {
      [quick, full] = await engine();
      for (const r of (await quick.ask({ op: "rules" })).rules) rules.set(r.id, r);
    } catch (e) {
      fill($("verdict"), "The engine cannot be loaded: " + e.message);
      return;
    }
    if (!file) {
      if (location.hash.length > 1 && location.hash !== "#views")
        await decode(location.hash.slice(1)).catch(() =>
          fill($("shared"), "The link is damaged; its state cannot be read."),
        );
      const all = await families();
      $("family").append(...all.map((f) => element("option", { value: f.name }, f.name)));
    }
    ready = true;
    restore();
    performance.mark("ready");
    await judge();
  };
  begin();
})();
