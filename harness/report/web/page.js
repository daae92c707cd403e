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
    // in a worker of its own, which is ended to cancel; its script is kept, so that the next one
    // begins without a network
    constructor(module, script) {
      this.module = module;
      this.script = script;
      this.waiting = new Map();
      this.number = 0;
    }
    start() {
      this.worker = new Worker(this.script);
      this.worker.onmessage = ({ data }) => {
        const wanted = this.waiting.get(data.key);
        this.waiting.delete(data.key);
        if (wanted) wanted(data.answer);
      };
      this.worker.onerror = ({ message }) => {
        const waiting = [...this.waiting.values()];
        this.cancel();
        for (const wanted of waiting)
          wanted({ ok: false, message: `The engine has stopped: ${message}` });
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
    name: "",
    template: "",
    was: "",
    view: "findings",
    request: null,
    conversation: 0,
    output: null,
    cuts: null,
    at: null,
    limit: false,
    as: "", // the engine whose view of the request is rendered
  };
  let rules = new Map(),
    conversations = [],
    patches = [],
    streamed = null,
    judged = null,
    covered = null,
    analyzed = null;

  const template = (text = state.template) => ({
    name: file ? file.name : state.name || "template.jinja",
    text,
  });
  const rendered = (request, text, as = state.as) =>
    quick.ask({ op: "render", template: template(text), request, ...(as ? { as } : {}) });
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

  // say tells what a button has done, for a while.
  let silence;
  const say = (text) => {
    fill($("said"), text);
    $("said").hidden = false;
    clearTimeout(silence);
    silence = setTimeout(() => ($("said").hidden = true), 4000);
  };
  const copy = async (text, done, instead) => {
    try {
      await navigator.clipboard.writeText(text);
      say(done);
    } catch {
      say(instead);
    }
  };
  const button = (text, onclick, name = "") =>
    element("button", { type: "button", class: name || undefined, onclick }, text);
  const verbatim = (label, ...children) =>
    element("pre", { tabindex: "0", role: "region", "aria-label": label }, ...children);

  // The template: a list of lines in colours, and over it the text that is edited.
  const colours = (line) =>
    line.map(([name, text]) => element("span", { class: name || undefined }, shown(text)));
  let painted = [];
  const paint = () => {
    const lines = jinja(state.template),
      list = $("lines");
    while (list.children.length > lines.length) list.lastChild.remove();
    lines.forEach((line, i) => {
      const key = JSON.stringify(line);
      if (!list.children[i])
        list.append(
          element(
            "li",
            {},
            element("span", { class: "n" }, String(i + 1)),
            element("span", { class: "t", "aria-hidden": "true" }),
          ),
        );
      if (painted[i] !== key) fill(list.children[i].lastChild, ...colours(line));
      painted[i] = key;
    });
    painted.length = lines.length;
  };
  const severityOf = (f) => (f.status === "failed" ? "error" : f.severity);
  const wordOf = (f) => (f.status === "not judged" ? f.status : severityOf(f));
  // mark shows the findings beside their lines, and underlines their places.
  const mark = () => {
    const marks = new Map(),
      places = { error: [], warning: [] };
    for (const [number, f] of (judged ? judged.findings : []).entries()) {
      const line = f.place.line;
      if (!line) continue;
      if (!marks.has(line)) marks.set(line, { number, f });
      const place = severityOf(f) === "note" ? null : stretch(f.place);
      if (place) places[severityOf(f)].push(place);
    }
    const missed = new Set(
      (covered ? covered.sites : [])
        .filter((s) => s.missing.some((m) => m !== "empty"))
        .map((s) => s.line),
    );
    [...$("lines").children].forEach((li, i) => {
      const on = marks.get(i + 1),
        n = li.firstChild;
      li.className =
        (on ? severityOf(on.f) : "") + (missed.has(i + 1) ? " missed" : "");
      n.title = missed.has(i + 1) ? "no request reached all of this line" : "";
      fill(
        n,
        on
          ? element(
              "button",
              {
                type: "button",
                class: severityOf(on.f) + "-mark",
                title: on.f.name,
                "aria-label": `line ${i + 1}: ${wordOf(on.f)} ${on.f.rule}`,
                onclick: () => {
                  show("findings");
                  reveal(on.number);
                },
              },
              `● ${i + 1}`,
            )
          : String(i + 1),
      );
    });
    if (typeof Highlight === "undefined") return; // the lines' colours have to do
    for (const name of Object.keys(places))
      CSS.highlights.set(name, new Highlight(...places[name]));
  };
  // stretch is the range of what an excerpt underlines.
  const stretch = (place) => {
    const [line, carets] = (place.excerpt || "").split("\n");
    if (!carets) return null;
    const words = line
      .slice(carets.indexOf("^"), carets.lastIndexOf("^") + 1)
      .replace(/^\.\.\.|\.\.\.$/g, "");
    const whole = $("lines").children[place.line - 1]?.lastChild;
    const from = whole ? whole.textContent.indexOf(words) : -1;
    if (!words || from < 0) return null;
    const range = new Range();
    let at = 0;
    for (const span of whole.children) {
      const text = span.firstChild;
      if (from >= at && from <= at + text.length) range.setStart(text, from - at);
      const end = from + words.length - at;
      if (end >= 0 && end <= text.length) range.setEnd(text, end);
      at += text.length;
    }
    return range;
  };
  // look brings a line into view.
  const look = (line) => {
    const li = $("lines").children[line - 1],
      editor = $("editor");
    const at = li ? li.offsetTop - editor.scrollTop : 0;
    if (li && (at < 0 || at > editor.clientHeight - 60))
      editor.scrollTop = li.offsetTop - editor.clientHeight / 3;
  };
  const goTo = (line) => {
    if (narrow.matches) show("source");
    const area = $("template"),
      lines = state.template.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus({ preventScroll: true });
    area.setSelectionRange(start, start + (lines[line - 1] || "").length);
    look(line);
  };
  const reveal = (number) => {
    const card = $(`finding-${number}`);
    if (!card) return;
    card.scrollIntoView({ block: "nearest" });
    card.querySelector("button")?.focus();
  };

  // Findings.
  const engines = ["transformers", "vLLM", "SGLang", "mlx-lm", "llama.cpp"];
  const enginesOf = (f) => {
    const head = (f.text || "").split("\n")[0];
    const named = engines.filter((e) => head.includes(e));
    return named.length ? named : engines;
  };
  const filter = { hidden: new Set(["note"]), engine: "" };
  const patchOf = (f) => {
    const head = (f.text || "").split("\n")[0];
    return patches.findIndex((p) => p.findings.some((g) => g.rule === f.rule && g.text === head));
  };
  const changed = (diff) =>
    diff.split("\n").filter((l) => /^[-+]/.test(l) && !/^(---|\+\+\+) /.test(l));
  const diffOf = (lines) =>
    element(
      "pre",
      { class: "patch", tabindex: "0", role: "region", "aria-label": "The patch" },
      ...lines.map((l) => element("span", { class: l[0] === "+" ? "ins" : "del" }, shown(l))),
    );
  // facts are the lines of evidence below a headline: "request: ..." has a name, others are text.
  const facts = (lines) => {
    const list = element("dl", { class: "facts" });
    for (const line of lines.filter((l) => !/^(diff |--- |\+\+\+ |@@ )/.test(l))) {
      const side = /^([-+]) ([a-z]+): +(.*)$/.exec(line);
      const [, name, value] = side
        ? [0, side[2], side[3]]
        : (/^([a-z][a-z ]{2,24}): *(.*)$/.exec(line) ?? [0, "", line]);
      list.append(
        element("dt", {}, name),
        element(
          "dd",
          {},
          element("code", { class: { "+": "ins", "-": "del" }[line[0]] }, shown(value)),
        ),
      );
    }
    return lines.length ? list : "";
  };
  const excerptOf = (f, number) => {
    const [line, carets] = f.place.excerpt.split("\n");
    const from = (carets || "").indexOf("^"),
      to = (carets || "").lastIndexOf("^") + 1;
    return verbatim(
      `Finding ${number}: line ${f.place.line}`,
      shown(line.slice(0, from < 0 ? undefined : from)).trimStart(),
      from < 0 ? "" : element("span", { class: "differs" }, shown(line.slice(from, to))),
      from < 0 ? "" : shown(line.slice(to)),
    );
  };
  const findingOf = (f, number) => {
    const [head, ...more] = (f.text || "").split("\n");
    const help = more.findIndex((l) => l.startsWith("help: `assay fix ")),
      rule = rules.get(f.rule),
      line = f.place.line,
      at = patchOf(f),
      of = enginesOf(f);
    const lines =
      at >= 0
        ? changed(patches[at].diff)
        : more.slice(help >= 0 ? help + 1 : more.length).filter((l) => /^[-+]/.test(l));
    return element(
      "article",
      { class: `finding ${severityOf(f)}`, id: `finding-${number}` },
      element(
        "div",
        { class: "head" },
        element("span", { class: `tag ${severityOf(f)}` }, wordOf(f)),
        element("span", { class: "dim" }, `${f.rule} ${f.name}`),
        of.length < engines.length ? element("span", { class: "dim" }, of.join(", ")) : "",
        line ? button(`Line ${line}`, () => goTo(line), "plain") : "",
      ),
      element("h2", {}, shown(head)),
      f.place.excerpt ? excerptOf(f, number) : "",
      facts(help >= 0 ? more.slice(0, help) : more),
      lines.length
        ? element(
            "div",
            {},
            diffOf(lines),
          )
        : "",
      element(
        "p",
        { class: "bar" },
        at >= 0 && !file ? button("Apply", () => apply(at, f), "primary apply") : "",
        lines.length
          ? button("Copy patch", () =>
              copy(
                at >= 0 ? patches[at].diff : lines.join("\n") + "\n",
                "The patch is copied.",
                "The browser lets no page copy here.",
              ),
            )
          : "",
        f.request ? button("Show the request", () => shownBy(f)) : "",
      ),
      rule
        ? element(
            "details",
            {},
            element("summary", {}, "Why it matters"),
            element("p", {}, rule.damage),
            element("p", {}, rule.fix),
          )
        : "",
    );
  };
  const shownBy = (f) => {
    state.request = f.request;
    state.as = "sent";
    show("prompt", true);
  };
  const showFindings = () => {
    if (!judged) return;
    $("list").inert = $("filters").inert = false;
    const of = (severity) => judged.findings.filter((f) => severityOf(f) === severity).length;
    const counts = ["error", "warning", "note"].map((s) => [s, of(s)]);
    const worse = counts[0][1] + counts[1][1];
    $("count").className = counts[0][1] ? "bad" : "";
    fill($("count"), worse ? String(worse) : "");
    const told = engines.some((e) => judged.findings.some((f) => !enginesOf(f).includes(e)));
    fill(
      $("filters"),
      ...counts
        .filter(([, n]) => n)
        .map(([severity, n]) =>
          element(
            "button",
            {
              type: "button",
              class: "chip",
              id: `only-${severity}`,
              "aria-pressed": String(!filter.hidden.has(severity)),
              onclick: () => {
                filter.hidden[filter.hidden.has(severity) ? "delete" : "add"](severity);
                showFindings();
                $(`only-${severity}`).focus();
              },
            },
            plural(n, severity),
          ),
        ),
      told
        ? element(
            "label",
            {},
            element("span", { class: "hidden" }, "Engine"),
            element(
              "select",
              {
                id: "engine",
                onchange: (e) => {
                  filter.engine = e.target.value;
                  showFindings();
                  $("engine").focus();
                },
              },
              element("option", { value: "" }, "All engines"),
              ...engines.map((e) =>
                element("option", { value: e, selected: e === filter.engine }, e),
              ),
            ),
          )
        : "",
      patches.length > 1 && !file
        ? button(`Apply all ${patches.length} patches`, () => apply(-1, judged.findings[0]), "primary")
        : "",
    );
    const kept = judged.findings
      .map((f, i) => [f, i])
      .filter(
        ([f]) =>
          !filter.hidden.has(severityOf(f)) &&
          (!filter.engine || enginesOf(f).includes(filter.engine)),
      );
    const one = judged.templates[0];
    fill(
      $("list"),
      kept.length === 0
        ? element(
            "p",
            { class: "finding empty" },
            judged.findings.length
              ? "Nothing worse than a note was found."
              : "Nothing was found.",
          )
        : "",
      ...kept.map(([f, i]) => findingOf(f, i)),
      element(
        "p",
        { class: "dim" },
        `${plural(judged.passed, "check")} found nothing.` +
          (one?.why ? ` ${shown(one.why)}.` : ""),
      ),
    );
    mark();
  };
  // apply writes a patch, or all, into the template, and shows what it does to the prompt.
  const apply = async (at, f) => {
    const before = state.template,
      to = at < 0 ? patches.at(-1).text : withPatch(at);
    const request = f.request ?? (conversations[state.conversation] || {}).request;
    $("template").value = state.template = to;
    state.was = before;
    fill($("patched"));
    const done = judge();
    const side = (text) =>
      rendered(request, text, "sent").then(
        (p) => p.prompt,
        (e) => "The request ends in an error: " + e.message.split("\n")[0].replace(/^\S+?:\d+:\d+: /, ""),
      );
    const [a, b] = [await side(before), await side(to)];
    const undo = button("Undo", () => {
      $("template").value = state.template = before;
      $("patched").hidden = true;
      judge();
      $("tab-findings").focus();
    });
    fill(
      $("patched"),
      element("h2", {}, "The patch is in the template"),
      element("p", {}, a === b ? "The prompt of this request is the same." : "The prompt changes:"),
      a === b ? "" : sides("Before", a, "After", b, f.rule || ""),
      element(
        "p",
        { class: "bar" },
        undo,
        button("See the whole prompt", () => shownBy({ request })),
      ),
    );
    $("patched").hidden = false;
    undo.focus();
    $("findings").scrollTop = 0;
    await done;
  };
  // withPatch is the template with one patch: its lines in place of those that it was made for.
  const withPatch = (at) => {
    const from = (at ? patches[at - 1].text : patches.base).split("\n"),
      to = patches[at].text.split("\n");
    let first = 0,
      last = 0;
    while (from[first] === to[first] && first < from.length) first++;
    const most = Math.min(from.length, to.length) - first;
    while (from.at(-1 - last) === to.at(-1 - last) && last < most) last++;
    const old = from.slice(first, from.length - last).join("\n"),
      parts = state.template.split(old);
    return old && parts.length === 2
      ? parts.join(to.slice(first, to.length - last).join("\n"))
      : patches[at].text;
  };
  // sides shows two texts where they differ.
  const sides = (nameA, a, nameB, b, of) => {
    let from = 0,
      back = 0;
    while (from < a.length && a[from] === b[from]) from++;
    const most = Math.min(a.length, b.length) - from;
    while (back < most && a[a.length - 1 - back] === b[b.length - 1 - back]) back++;
    const part = (label, text, name) =>
      element(
        "div",
        {},
        element("strong", {}, label),
        verbatim(
          `${label}: ${of}`,
          shown((from > 80 ? "… " : "") + text.slice(Math.max(0, from - 80), from)),
          element("span", { class: name }, shown(text.slice(from, text.length - back))),
          shown(text.slice(text.length - back, text.length - back + 80)),
        ),
      );
    return element(
      "div",
      { class: "sides" },
      part(nameA, a, "del"),
      part(nameB, b, "ins"),
    );
  };

  // The conversation, as bubbles.
  const kinds = (
    "template generation system developer user assistant tool tools variable"
  ).split(" ");
  const classOf = (who) => "w-" + who.replace(/[^a-z]/g, "");
  const requestOf = () =>
    state.request ?? (conversations[state.conversation] || {}).request ?? { messages: [] };
  let soon;
  const edit = (change, whole) => {
    state.request = structuredClone(requestOf());
    change(state.request);
    $("request").value = JSON.stringify(state.request, null, 2);
    own();
    if (whole) bubbles();
    clearTimeout(soon);
    soon = setTimeout(showPrompt, 60);
  };
  const area = (label, value, change, name) =>
    element(
      "textarea",
      {
        "aria-label": label,
        class: name,
        rows: 1,
        readonly: Boolean(file),
        spellcheck: "false",
        oninput: (e) => edit((r) => change(r, e.target.value)),
      },
      value,
    );
  const texts = (m, i, label) => {
    if (!Array.isArray(m.content))
      return m.content === null && m.tool_calls
        ? []
        : [area(label, m.content ?? "", (r, v) => (r.messages[i].content = v))];
    return m.content.map((p, n) =>
      typeof p.text === "string"
        ? area(`${label}, part ${n + 1}`, p.text, (r, v) => (r.messages[i].content[n].text = v))
        : element("p", { class: "what" }, shown(p.type || "a part")),
    );
  };
  const bubble = (m, i, all) => {
    const label = `message ${i + 1}, ${m.role}`;
    const roles = ["system", "developer", "user", "assistant", "tool"];
    if (!roles.includes(m.role)) roles.push(m.role);
    return element(
      "article",
      {
        class: `bubble ${classOf(m.role)}`,
        "data-message": i,
        onmouseenter: () => light(`messages[${i}]`),
        onmouseleave: () => light(""),
        onfocusin: () => light(`messages[${i}]`),
        onfocusout: () => light(""),
      },
      element(
        "div",
        { class: "head" },
        element(
          "select",
          {
            "aria-label": `Role of message ${i + 1}`,
            disabled: Boolean(file),
            onchange: (e) => {
              edit((r) => (r.messages[i].role = e.target.value), true);
              $("bubbles").querySelectorAll(".bubble")[i].querySelector("select").focus();
            },
          },
          ...roles.map((r) => element("option", { value: r, selected: r === m.role }, shown(r))),
        ),
        all > 1
          ? element(
              "button",
              {
                type: "button",
                class: "live",
                "aria-label": `Remove message ${i + 1}`,
                onclick: () => {
                  edit((r) => r.messages.splice(i, 1), true);
                  $("add").focus();
                },
              },
              "✕",
            )
          : "",
      ),
      typeof m.reasoning_content === "string"
        ? element("p", { class: "what" }, "reasoning")
        : "",
      typeof m.reasoning_content === "string"
        ? area(`Reasoning of ${label}`, m.reasoning_content, (r, v) => (r.messages[i].reasoning_content = v))
        : "",
      ...texts(m, i, `Text of ${label}`),
      ...(m.tool_calls || []).flatMap((c, n) => [
        element("p", { class: "what" }, `calls ${shown(c.function?.name ?? "?")}`),
        area(
          `Arguments of call ${n + 1} of ${label}`,
          typeof c.function?.arguments === "string"
            ? c.function.arguments
            : JSON.stringify(c.function?.arguments),
          (r, v) => (r.messages[i].tool_calls[n].function.arguments = v),
          "call",
        ),
      ]),
    );
  };
  const bubbles = () => {
    const r = requestOf(),
      tools = Array.isArray(r.tools) ? r.tools : [],
      messages = Array.isArray(r.messages) ? r.messages : [];
    fill(
      $("bubbles"),
      tools.length
        ? element(
            "article",
            {
              class: "bubble w-tools",
              onmouseenter: () => light("tools"),
              onmouseleave: () => light(""),
            },
            element("p", { class: "what" }, plural(tools.length, "tool")),
            element("p", {}, shown(tools.map((t) => t.function?.name).join(", "))),
          )
        : "",
      ...messages.map((m, i) => bubble(m, i, messages.length)),
    );
  };
  // light lights up what a part of the request wrote into the prompt.
  const light = (path) => {
    const spans = [...$("rendered").querySelectorAll("span[data-path]")];
    const lit = spans.filter((s) => path && s.dataset.path.startsWith(path));
    for (const s of spans) s.classList.toggle("lit", lit.includes(s));
    for (const b of document.querySelectorAll(".bubble"))
      b.classList.toggle("lit", path === `messages[${b.dataset.message}]`);
    $("rendered").classList.toggle("dimmed", lit.length > 0);
    lit[0]?.scrollIntoView({ block: "nearest" });
  };
  // own makes the choice of conversations say that the request is nobody's but the reader's.
  const own = () => {
    $("as").value = state.as;
    let mine = $("conversation").querySelector("[value=own]");
    if (!mine && state.request !== null) {
      mine = element("option", { value: "own" }, "as edited");
      $("conversation").prepend(mine);
    }
    $("conversation").value = state.request === null ? String(state.conversation) : "own";
  };
  const talk = () => {
    own();
    bubbles();
    $("request").value = JSON.stringify(requestOf(), null, 2);
    showPrompt();
  };
  let prompting = 0;
  const showPrompt = async () => {
    const round = ++prompting;
    try {
      const p = await rendered(requestOf());
      if (round !== prompting) return;
      const raw = bytes.encode(p.prompt),
        used = new Set(),
        pre = verbatim("The prompt");
      for (const s of p.spans) {
        const whose =
          s.who === "template"
            ? "the template's own text"
            : s.who === "generation"
              ? "the generation prompt"
              : `${s.who}: ${s.path}`;
        used.add(s.who);
        const tell = () => {
          fill($("origin"), shown(whose));
          const i = /^messages\[\d+\]/.exec(s.path || "");
          for (const b of document.querySelectorAll(".bubble"))
            b.classList.toggle("lit", Boolean(i) && i[0] === `messages[${b.dataset.message}]`);
        };
        pre.append(
          element(
            "span",
            {
              class: classOf(s.who),
              "data-path": s.path,
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
              { class: classOf(w) },
              w === "generation" ? "generation prompt" : shown(w),
            ),
          ),
      );
      fill(
        $("rendered"),
        pre,
        p.fitted.length
          ? element("p", { class: "dim" }, "Fitted to the template: " + p.fitted.join(", ") + ".")
          : "",
      );
    } catch (e) {
      if (round !== prompting) return;
      fill($("whose"));
      fill(
        $("rendered"),
        element("p", { class: "error" }, "The model sees nothing: the request ends in an error."),
        verbatim("The error", shown(e.message)),
      );
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
        element("option", { value: i }, shown(c.name).slice(0, 60)),
      ),
    );
    talk();
  };
  const cut = (raw, start, end) => chars.decode(raw.subarray(start, end));

  // The format.
  const rowsOf = (pairs) =>
    element(
      "table",
      { class: "fields" },
      element(
        "tbody",
        {},
        ...pairs.map(([k, v]) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, k),
            element("td", {}, shown(String(v))),
          ),
        ),
      ),
    );
  const drawDiagram = () => {
    const place = $("railroad");
    if (!place || !analyzed || !place.clientWidth) return;
    fill(place, diagram(analyzed.diagram, place.clientWidth, shown));
  };
  const showFormat = async () => {
    let a;
    try {
      a = await quick.ask({ op: "analyze", template: template() });
    } catch (e) {
      analyzed = null;
      fill($("format"), verbatim("The error", shown(e.message)));
      return null;
    }
    analyzed = a;
    const pairs = a.format
      .trim()
      .split("\n")
      .map((line) => {
        const at = line.indexOf(": ");
        return [line.slice(0, at), line.slice(at + 2)];
      });
    const gate = element("p"),
      grammar = verbatim("The grammar");
    fill(
      $("format"),
      element("h2", {}, "How the model answers"),
      gate,
      element("div", {
        id: "railroad",
        class: "scroll",
        tabindex: "0",
        role: "region",
        "aria-label": "Diagram of the format",
      }),
      element("h3", {}, "Its markers"),
      rowsOf(pairs),
      element(
        "details",
        {},
        element("summary", {}, "What the template can do"),
        rowsOf(Object.entries(a.caps)),
      ),
      element("details", {}, element("summary", {}, "The grammar, for the example's tools"), grammar),
      element(
        "details",
        {},
        element("summary", {}, "How this was learnt"),
        verbatim("The comparisons", shown(a.evidence.join("\n"))),
      ),
    );
    drawDiagram();
    return async () => {
      // the slower parts: the proof, and the grammar
      await quick.ask({ op: "verify", template: template() }).then(
        (p) => fill(gate, `The gate: ${shown(p.gate)}.`),
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
  const outputOf = () => state.output ?? analyzed?.sample ?? "";
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
      fill($("streamed"), verbatim("The error", shown(e.message)));
      return;
    }
    const last = streamed.steps.length;
    $("at").max = String(last);
    if (state.at === null || state.at > last) state.at = last;
    showAt();
  };
  // play lets the output come in, in four seconds at most.
  let playing = 0;
  const play = () => {
    if (playing || !streamed) return stop();
    const last = streamed.steps.length,
      begun = performance.now(),
      from = state.at === last ? 0 : state.at,
      time = Math.min(4000, last * 40);
    fill($("play"), "Pause");
    const step = (now) => {
      if (!streamed) return stop();
      state.at = Math.min(last, from + Math.floor(((now - begun) / time) * last));
      showAt();
      if (state.at >= last) return stop();
      playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
  };
  const stop = () => {
    cancelAnimationFrame(playing);
    playing = 0;
    fill($("play"), "Play");
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
            class: "grow",
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
          button(`Remove cut ${i + 1}`, () => {
            state.cuts.splice(i, 1);
            document.activeElement.blur();
            state.at = null;
            showStream();
          }),
        ),
      ),
    );
  };
  const boundary = (at) => {
    const raw = bytes.encode(outputOf());
    while (at > 0 && at < raw.length && (raw[at] & 0xc0) === 0x80) at--;
    return at;
  };
  // partsOf are the parts of the output; the end of the turn is a stop, whatever it was read with.
  const partsOf = (raw) => {
    const line = /^end: (".*")$/m.exec(analyzed?.format ?? ""),
      end = bytes.encode(line ? JSON.parse(line[1]).trimEnd() : "").length;
    const tail = cut(raw, raw.length - end, raw.length);
    if (!end || state.limit || tail !== JSON.parse(line[1]).trimEnd()) return streamed.parts;
    const from = raw.length - end;
    return streamed.parts
      .filter((p) => p.start < from)
      .map((p) => ({ ...p, end: Math.min(p.end, from) }))
      .concat({ start: from, end: raw.length, class: "stop" });
  };
  const showAt = () => {
    $("at").value = String(state.at);
    const raw = bytes.encode(streamed.output),
      steps = streamed.steps.slice(0, state.at),
      step = steps[steps.length - 1];
    const read = step ? step.at : 0,
      held = step ? step.held : 0,
      ended = state.at === streamed.steps.length,
      parts = partsOf(raw);
    $("at").setAttribute("aria-valuetext", `${read} of ${plural(raw.length, "byte")}`);
    const pre = verbatim("The output");
    const put = (start, end, name) => {
      if (end > start)
        pre.append(
          element("span", { class: "p-" + name, title: name }, shown(cut(raw, start, end))),
        );
    };
    for (const p of parts) {
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
    const names = new Set(parts.map((p) => p.class));
    fill(
      $("streamed"),
      element(
        "p",
        { id: "progress" },
        `${read} of ${plural(raw.length, "byte")} read` +
          (ended ? `, the output has ended: ${streamed.finish_reason}` : "") +
          (held ? `; ${plural(held, "byte")} held back: ${step.why}.` : "."),
      ),
      element(
        "div",
        { class: "pair" },
        element(
          "section",
          {},
          element("h2", {}, "What the model writes"),
          pre,
          element(
            "p",
            { class: "key" },
            ...["marker", "reasoning", "content", "id", "arguments", "dropped", "stop"]
              .filter((c) => names.has(c))
              .concat("held")
              .map((c) => element("span", { class: "p-" + c }, c)),
          ),
        ),
        element(
          "section",
          { id: "message" },
          element("h2", {}, "What the client gets"),
          element(
            "article",
            { class: "bubble w-assistant" },
            message.reasoning ? element("p", { class: "what" }, "reasoning") : "",
            message.reasoning ? element("p", {}, shown(message.reasoning)) : "",
            message.content || !(message.calls.length || message.reasoning)
              ? element("p", { class: "what" }, "content")
              : "",
            element("p", {}, shown(message.content)),
            ...message.calls.flatMap((c) => [
              element("p", { class: "what" }, `calls ${shown(c.name)}${c.id ? ", " + shown(c.id) : ""}`),
              element("p", {}, element("code", {}, shown(c.arguments))),
            ]),
          ),
        ),
      ),
      element(
        "details",
        {},
        element("summary", {}, `${plural(list.length, "delta")} so far`),
        verbatim("The deltas", shown(list.join("\n"))),
      ),
      ended && streamed.diagnostics.length
        ? element("p", {}, "Odd: " + shown(streamed.diagnostics.map((d) => d.message).join("; ")))
        : "",
    );
  };

  // Two revisions.
  const effects = {
    breaking: "The edit breaks requests that worked.",
    risky: "The edit changes what the model sees.",
    safe: "The edit is safe.",
    identical: "The two are the same.",
  };
  let diffing = 0;
  const showDiff = async () => {
    if ($("was").value !== state.was && document.activeElement !== $("was"))
      $("was").value = state.was;
    $("revision").open ||= !state.was;
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
            class: "verdict big " + (["breaking", "not compared"].includes(d.class) ? "bad" : "ok"),
            role: "status",
          },
          effects[d.class] ?? `The edit is ${d.class}.`,
        ),
        ...d.changes.map((c, i) => findingOf(c, "change-" + i)),
        examples.length ? element("h2", {}, "Conversations that show it") : "",
        ...examples,
      );
    } catch (e) {
      if (round === diffing) fill($("changes"), verbatim("The error", shown(e.message)));
    }
  };
  // different renders the conversations with both revisions and shows the first few whose prompts
  // differ.
  const different = async (was, is) => {
    const found = [];
    for (const c of conversations) {
      if (found.length === 3) break;
      const side = (t) =>
        quick.ask({ op: "render", template: t, request: c.request }).then(
          (p) => p.prompt,
          (e) => "refused: " + e.message.replace(/^\S+?:(\d+:\d+: )/, "$1"),
        );
      const [a, b] = [await side(was), await side(is)];
      if (a !== b)
        found.push(
          element(
            "article",
            {},
            element("h3", {}, shown(c.name)),
            sides("Older", a, "Newer", b, shown(c.name)),
          ),
        );
    }
    return found;
  };

  // Coverage.
  const showCoverage = () => {
    if (!covered) return;
    const open = covered.sites.filter((s) => s.missing.some((m) => m !== "empty")),
      lines = jinja(state.template);
    fill(
      $("coverage"),
      element("h2", {}, "Which branches the checks reached"),
      element("progress", {
        max: covered.outcomes || 1,
        value: covered.outcomes ? covered.reached : 1,
        "aria-label": "Outcomes reached",
      }),
      element(
        "p",
        {},
        `Exercised: ${covered.summary}; ${plural(covered.tried, "conversation")} tried.`,
      ),
      open.length === 0
        ? element("p", {}, "Some request reached every outcome of every branch.")
        : "",
      ...open.map((s) =>
        element(
          "article",
          { class: "finding note" },
          element(
            "div",
            { class: "head" },
            element("strong", {}, `${s.kind}: never ${s.missing.filter((m) => m !== "empty").join(", ")}`),
            button(`Line ${s.line}`, () => goTo(s.line), "plain"),
          ),
          verbatim(`Line ${s.line}`, ...colours(lines[s.line - 1] || [])),
        ),
      ),
    );
    mark();
  };

  // Views and rounds.
  const narrow = matchMedia("(max-width: 59.99rem)");
  const panels = ["findings", "prompt", "stream", "format", "diff", "coverage"];
  const views = () => (narrow.matches ? ["source", ...panels] : panels);
  const show = (view, focus) => {
    if (!views().includes(view)) view = "findings";
    if (view !== "stream") stop();
    state.view = view;
    for (const v of ["source", ...panels]) {
      if (v !== "source") $(v).hidden = v !== view;
      $("tab-" + v).setAttribute("aria-selected", String(v === view));
      $("tab-" + v).tabIndex = v === view ? 0 : -1;
    }
    $("main").classList.toggle("at-source", view === "source");
    if (focus) $("tab-" + view).focus();
    if (ready) refresh(view);
  };
  const refresh = (view) =>
    ({
      prompt: talk,
      stream: showStream,
      diff: showDiff,
      coverage: showCoverage,
      format: drawDiagram,
    })[view]?.();
  let ready = false,
    round = 0,
    pause;

  const named = () => {
    const name = file ? file.name : state.name,
      errors = judged ? judged.findings.filter((f) => severityOf(f) === "error").length : 0;
    fill($("name"), shown(name));
    document.title =
      (judged ? (errors ? plural(errors, "error") + " in " : "Passed: ") : "") +
      `${shown(name) || "a template"} – Assay`;
  };
  // judge looks at the template: first the quick parts, then all checks. A newer round ends this
  // one.
  const judge = async (opened) => {
    const mine = ++round;
    $("list").inert = $("filters").inert = true;
    full.cancel();
    judged = covered = null;
    patches = [];
    paint();
    mark();
    named();
    const verdict = $("verdict");
    if (!state.template.trim()) {
      verdict.className = "verdict";
      fill(verdict, "Paste or drop a template, or choose a family.");
      fill($("list"));
      fill($("filters"));
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
      const count = (s) => j.findings.filter((f) => severityOf(f) === s).length,
        told = ["error", "warning", "note"].filter(count).map((s) => plural(count(s), s));
      verdict.className = "verdict " + (j.ok ? "ok" : "bad");
      fill(verdict, (j.ok ? "Passed" : "Failed") + (told.length ? ": " + told.join(", ") : ""));
      named();
      showFindings();
      const first = j.findings.find((f) => f.place.line);
      if (opened && first) look(first.place.line);
      await showConversations();
      if (mine !== round) return;
      refresh(state.view);
      const mended = await full.ask({ op: "fix", template: template() });
      if (mine !== round) return;
      patches = Object.assign(mended.patches, { base: state.template });
      if (patches.length) showFindings();
      const c = await full.ask({ op: "coverage", template: template() });
      if (mine !== round) return;
      covered = c;
      showCoverage();
    } catch (e) {
      if (mine !== round) return;
      verdict.className = "verdict bad";
      fill(verdict, "It cannot be judged.");
      $("list").inert = false;
      fill($("filters"));
      fill($("list"), verbatim("The error", shown(e.message)));
    }
    document.documentElement.dataset.judged = String(mine);
  };
  const edited = () => {
    state.template = $("template").value;
    $("patched").hidden = true;
    paint();
    clearTimeout(pause);
    pause = setTimeout(judge, 150);
  };
  const open = (text, name) => {
    $("template").value = state.template = text;
    Object.assign(state, { name, request: null, output: null, at: null, conversation: 0 });
    $("patched").hidden = true;
    $("editor").scrollTo(0, 0);
    return judge(true);
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
  const openFile = async (given) => {
    if (given && given.size < 4 << 20) await open(configured(await given.text()), given.name);
    else if (given) say("The file is too large.");
  };

  // The divider between the template and the views, in per cent of the window.
  const split = (percent) => {
    percent = Math.round(Math.max(20, Math.min(80, percent)));
    $("main").style.setProperty("--split", String(percent));
    $("divider").setAttribute("aria-valuenow", String(percent));
    drawDiagram();
  };
  const listenDivider = () => {
    const divider = $("divider");
    const now = () => Number(divider.getAttribute("aria-valuenow"));
    divider.addEventListener("keydown", (e) => {
      const to = { ArrowLeft: now() - 2, ArrowRight: now() + 2, Home: 20, End: 80 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      split(to);
    });
    divider.addEventListener("pointerdown", (e) => divider.setPointerCapture(e.pointerId));
    divider.addEventListener("pointermove", (e) => {
      if (divider.hasPointerCapture(e.pointerId)) split((100 * e.clientX) / innerWidth);
    });
    divider.addEventListener("dblclick", () => split(46));
  };
  const themes = ["", "light", "dark"];
  const listenHeader = () => {
    $("open").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", (e) => {
      openFile(e.target.files[0]);
      e.target.value = "";
    });
    $("theme").addEventListener("click", (e) => {
      const style = document.documentElement.style;
      const next = themes[(themes.indexOf(style.colorScheme) + 1) % themes.length];
      style.colorScheme = next;
      e.currentTarget.setAttribute("aria-label", "Theme: " + (next || "as the system"));
      say(next ? `The theme is ${next}.` : "The theme is the system's.");
    });
    $("share").addEventListener("click", async () => {
      location.hash = await encode();
      copy(location.href, "Copied. The link has everything in it.", "The link is in the address bar.");
    });
    $("family").addEventListener("change", async (e) => {
      if (!e.target.value) return;
      open((await families()).find((f) => f.name === e.target.value).template, e.target.value);
    });
    $("wrap").addEventListener("change", (e) =>
      $("editor").classList.toggle("wrapped", e.target.checked),
    );
  };
  const listenViews = () => {
    for (const v of ["source", ...panels]) $("tab-" + v).addEventListener("click", () => show(v));
    document.querySelector("[role=tablist]").addEventListener("keydown", (e) => {
      const all = views(),
        at = all.indexOf(state.view),
        to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[e.key];
      if (to !== undefined) {
        e.preventDefault();
        show(all[(to + all.length) % all.length], true);
      }
    });
    narrow.addEventListener("change", () => show(state.view));
    addEventListener("resize", drawDiagram);
    $("conversation").addEventListener("change", (e) => {
      if (e.target.value === "own") return;
      state.conversation = Number(e.target.value);
      state.request = null;
      if (file) state.as = ""; // it has no other answers
      talk();
    });
    $("as").addEventListener("change", (e) => {
      state.as = e.target.value;
      showPrompt();
    });
    $("add").addEventListener("click", () => {
      edit((r) => {
        const last = (r.messages ??= []).at(-1);
        r.messages.push({ role: last?.role === "user" ? "assistant" : "user", content: "" });
      }, true);
      [...$("bubbles").querySelectorAll("textarea")].at(-1)?.focus();
    });
    $("request").addEventListener("input", (e) => {
      try {
        state.request = JSON.parse(e.target.value);
        fill($("request-error"));
        own();
        bubbles();
        showPrompt();
      } catch (error) {
        fill($("request-error"), error.message);
      }
    });
  };
  const listenStream = () => {
    $("play").addEventListener("click", play);
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
      stop();
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
  };
  const listen = () => {
    listenHeader();
    listenDivider();
    listenViews();
    listenStream();
    $("template").addEventListener("input", edited);
    $("was").addEventListener("input", (e) => {
      state.was = e.target.value;
      clearTimeout(pause);
      pause = setTimeout(showDiff, 300);
    });
    $("take").addEventListener("click", () => {
      state.was = state.template;
      showDiff();
    });
    addEventListener("dragover", (e) => {
      e.preventDefault();
      document.body.classList.add("drop");
    });
    addEventListener("dragleave", () => document.body.classList.remove("drop"));
    addEventListener("drop", (e) => {
      e.preventDefault();
      document.body.classList.remove("drop");
      openFile(e.dataTransfer.files[0]);
    });
    addEventListener("hashchange", async () => {
      if (location.hash.length > 1 && location.hash !== "#views") {
        await decode(location.hash.slice(1)).catch(() => {});
        restore();
        judge(true);
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
    paint();
    named();
    show(state.view);
  };
  // example fills the page for who comes without a template: one that crashes on an ordinary
  // request, and beside it the revision that did not.
  const example = async () => {
    const text = await (await fetch("example.jinja")).text();
    state.name = "example.jinja";
    state.template = text;
    state.request = {
      messages: [
        { role: "system", content: "Answer in one sentence." },
        { role: "user", content: "Do I need an umbrella in Zürich today?" },
        {
          role: "assistant",
          content: "I look at the forecast.",
          tool_calls: [
            {
              id: "call00001",
              type: "function",
              function: { name: "get_weather", arguments: '{"city": "Zürich"}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "call00001", content: "Rain from four o'clock" },
      ],
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "The weather of a city",
            parameters: { type: "object", properties: { city: { type: "string" } } },
          },
        },
      ],
    };
    state.was = text.replace(
      "+ message.content }}\n        {%- for",
      "+ (message.content or '') }}\n        {%- for",
    );
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
        `By Assay ${shown(file.version)}. Everything is in this file; nothing is loaded.`,
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
    const parts = ["wasm_exec.js", "worker.js"].map((name) => fetch(name).then((r) => r.blob()));
    const script = URL.createObjectURL(new Blob(await Promise.all(parts)));
    const engines = [new Worked(module, script), new Worked(module, script)];
    engines[1].start(); // so that the first check finds it ready
    return engines;
  };
  // firstPaint waits until the browser has shown the page, which it does not do in a hidden tab.
  const firstPaint = () =>
    new Promise((resolve) => {
      if (document.hidden) resolve();
      else requestAnimationFrame(() => setTimeout(resolve));
    });
  const begin = async () => {
    listen();
    show(state.view);
    if (!document.getElementById("answers")) {
      await firstPaint();
      if (location.hash.length > 1 && location.hash !== "#views")
        await decode(location.hash.slice(1)).catch(() =>
          say("The link is damaged; its state cannot be read."),
        );
      if (!state.template) await example();
      restore();
    }
    try {
      [quick, full] = await engine();
      for (const r of (await quick.ask({ op: "rules" })).rules) rules.set(r.id, r);
    } catch (e) {
      fill($("verdict"), "The engine cannot be loaded: " + e.message);
      return;
    }
    if (!file) {
      const all = await families();
      $("family").append(...all.map((f) => element("option", { value: f.name }, f.name)));
    }
    ready = true;
    restore();
    performance.mark("ready");
    await judge(true);
  };
  begin();
})();
