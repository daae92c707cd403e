// Tries the page in headless Chromium; ci/pages/site.sh sets it up and explains the purpose.
import { spawn } from "node:child_process";
import { readFileSync, statSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { accessible, check, finish, fits, fresh, pictures, serve, settle } from "./browser.mjs";

const { SITE, WORK, ASSAY } = process.env;

// A machine that does other work as well takes longer: times are told beside their bars, and fail
// beyond this many times a bar.
const slack = 8;

const size = readdirSync(SITE).reduce((sum, name) => sum + statSync(join(SITE, name)).size, 0);
check(size < 5 << 20, `the page has ${size} bytes, most of it compressed; the bar is ${5 << 20}`);

const { home, asked } = await serve(SITE);
const verdict = (page) => page.textContent("#verdict");
const judged = (page) =>
  page.waitForFunction(() =>
    /^(Passed|Failed|It cannot)/.test(document.getElementById("verdict").textContent),
  );
const tab = (page, name) => page.click(`#tab-${name}`);
const views = ["findings", "prompt", "stream", "format", "diff", "coverage"];

const bad = readFileSync(join(WORK, "bad.jinja"), "utf8");
const good = bad.replace("+ message.content }}", "+ (message.content or '') }}");

{
  // load and verdict
  const { context, page } = await fresh();
  const begun = Date.now();
  await page.goto(home);
  await page.waitForFunction(() => performance.getEntriesByName("ready").length > 0);
  const took = Date.now() - begun;
  check(took < 2000 * slack, `loads in ${took} ms from a cold cache; the bar is 2000`);
  const { paint, blocking, asks } = await page.evaluate(() => {
    const loads = performance.getEntriesByType("resource");
    return {
      paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      blocking: loads.filter((e) => e.renderBlockingStatus !== "non-blocking").map((e) => e.name),
      asks: loads.find((e) => e.name.endsWith("assay.wasm.gz")).startTime,
    };
  });
  check(
    paint < 200 * slack && paint < asks && blocking.length === 0,
    `shows content after ${Math.round(paint)} ms, before it asks for the engine; the bar is ` +
      `200; files that block it: ${blocking.length ? blocking : "none"}`,
  );
  await page.fill("#template", bad);
  await judged(page);
  check(/^Failed: 1 error/.test(await verdict(page)), `the verdict: ${await verdict(page)}`);
  const times = await page.evaluate(() =>
    ["format", "check"].map((n) => Math.round(performance.getEntriesByName(n).at(-1).duration)),
  );
  check(
    times[0] < 150 * slack && times[1] < 1000 * slack,
    `format ${times[0]} ms, check ${times[1]} ms after a pause; the bars are 150 and 1000`,
  );
  const warm = [];
  for (let i = 0; i < 5; i++) {
    const mark = await page.evaluate(() => document.documentElement.dataset.judged);
    await page.fill("#template", bad + "{#" + i + "#}");
    await page.waitForFunction((mark) => document.documentElement.dataset.judged !== mark, mark);
    warm.push(
      await page.evaluate(() =>
        ["format", "check"].map((n) => Math.round(performance.getEntriesByName(n).at(-1).duration)),
      ),
    );
  }
  console.log(
    `site: format and check of further edits: ${warm.map((w) => w.join(" and ")).join("; ")} ms`,
  );
  await page.fill("#template", bad);
  await judged(page);
  check((await page.textContent("#findings")).includes("A012"), "the finding is listed");
  check(
    await page.evaluate(() =>
      document.querySelector("#findings .finding").classList.contains("error"),
    ),
    "the worst finding stands first",
  );
  await page.click("#lines .error-mark");
  check(
    (await page.getAttribute("#lines .error-mark", "aria-label")).startsWith(
      "line 22: error A012",
    ),
    "the gutter marks the line",
  );
  await page.waitForFunction(() =>
    document.getElementById("coverage").textContent.includes("Exercised"),
  );
  for (const view of views) {
    await tab(page, view);
    await settle(page);
    await accessible(page, view);
    await page.screenshot({ path: `${pictures}/${view}.png` });
  }
  // prompt
  await tab(page, "prompt");
  await page.waitForSelector("#rendered .w-user");
  check(
    (await page.textContent("#rendered .w-generation")).includes("<|im_start|>assistant"),
    "the generation prompt has a colour",
  );
  await page.hover("#rendered .w-user");
  check(
    /^user: messages\[1\]/.test(await page.textContent("#origin")),
    `pointing tells whose text it is: ${await page.textContent("#origin")}`,
  );
  check(
    (await page.locator(".bubble").count()) > 2 &&
      (await page.inputValue(".bubble.w-user textarea")).includes("umbrella"),
    "the example's conversation is there in bubbles",
  );
  await page.hover(".bubble.w-user");
  check(
    (await page.locator("#rendered .lit").allTextContents()).join("").includes("umbrella"),
    "a bubble lights up its part of the prompt",
  );
  await page.selectOption("#conversation", { label: "calls" });
  await page.waitForSelector("#rendered .w-tool");
  check(true, "another conversation has a tool's result");
  // format
  await tab(page, "format");
  check(
    (await page.locator("#format svg rect").count()) > 5 &&
      (await page.evaluate(() => {
        const right = (s) => document.querySelector(s).getBoundingClientRect().right;
        return right(".railroad") <= right("#railroad") + 1;
      })) &&
      (await page.textContent("#format")).includes("per_call_start"),
    "the format has a diagram that is not cut, and its markers",
  );
  check((await page.textContent("#format")).includes("root ::="), "the format has a grammar");
  // stream
  await tab(page, "stream");
  await page.waitForSelector("#streamed pre span");
  const whole = await page.textContent("#message");
  check(
    (await page.locator("#streamed .p-stop").first().textContent()) === "<|im_end|>" &&
      (await page.locator("#streamed pre .p-dropped").count()) === 0,
    "the end of a turn is a stop",
  );
  check(whole.includes("get_weather") && whole.includes("Zürich"), `the sample is read: ${whole}`);
  await page.click("#given summary");
  await page.fill(
    "#output",
    'Hi <tool_call>\n{"name": "list_notes", "arguments": {}}\n</tool_call>',
  );
  await settle(page);
  await page.focus("#at");
  await page.keyboard.press("Home");
  for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowRight");
  check(
    (await page.textContent("#streamed")).includes("8 bytes held back"),
    `ten bytes read: ${(await page.textContent("#progress")).trim()}`,
  );
  await page.screenshot({ path: `${pictures}/stream-held.png` });
  await page.uncheck("#every");
  await settle(page);
  await page.focus("#cut-0");
  await page.keyboard.press("ArrowLeft");
  await settle(page);
  check(
    (await page.getAttribute("#at", "max")) === "3" &&
      (await page.textContent("#message")).includes("list_notes"),
    "one cut gives two pieces and the end, and the same message",
  );
  // two revisions
  await tab(page, "diff");
  await page.click("#revision summary");
  await page.fill("#was", good);
  await page.waitForFunction(() =>
    document.getElementById("changes").textContent.includes("A012 "),
  );
  const change = await page.textContent("#changes");
  check(
    change.includes("The edit breaks requests") && change.includes("A012"),
    "the edit is called breaking, and why",
  );
  await page.fill("#was", good.replaceAll("</tool_call>", "</call>"));
  await page.waitForFunction(() =>
    [...document.querySelectorAll("#changes .ins")].some((e) => e.textContent === "tool_"),
  );
  check(
    (await page.locator("#changes .sides .ins").allTextContents()).includes("tool_"),
    "a conversation shows the difference",
  );
  await page.screenshot({ path: `${pictures}/diff-breaking.png` });
  await accessible(page, "an edit");
  await page.fill("#was", good);
  await settle(page);
  // a link that carries the state
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 10);
  const link = page.url();
  const other = await fresh();
  await other.page.goto(link);
  await other.page.waitForSelector("#changes .verdict");
  check(
    (await other.page.inputValue("#template")) === bad &&
      (await other.page.inputValue("#was")) === good &&
      link.length < 8000,
    `a link of ${link.length} characters brings it all back`,
  );
  await other.context.close();
  // the next key ends a check
  await tab(page, "findings");
  await page.evaluate(() => {
    const a = document.getElementById("template");
    a.value = "{% if";
    a.dispatchEvent(new Event("input"));
  });
  await page.waitForTimeout(200);
  await page.fill("#template", good);
  await page.waitForFunction(() =>
    document.getElementById("verdict").textContent.startsWith("Passed"),
  );
  check(true, "the verdict is that of the last text");
  // offline while a check runs, and nothing was sent
  await page.waitForFunction(() =>
    document.getElementById("coverage").textContent.includes("Exercised"),
  );
  await page.fill("#template", good + "{# a check that an edit ends #}");
  await page.waitForFunction(() => document.getElementById("verdict").textContent === "Checking.");
  await context.setOffline(true);
  await page.fill("#template", bad);
  await page.waitForFunction(() =>
    document.getElementById("verdict").textContent.startsWith("Failed"),
  );
  check(true, "judges without a network, and after an edit that ended a check");
  await context.setOffline(false);
  check(
    asked.every((a) => a.startsWith("GET ")) && new Set(asked).size <= 11,
    `the server was asked for the page alone: ${[...new Set(asked)]}`,
  );
  // a family, a file that is dropped
  await page.selectOption("#family", "qwen3");
  await page.waitForFunction(() => document.getElementById("template").value.includes("think"));
  await judged(page);
  check(/^Passed/.test(await verdict(page)), `a family: ${await verdict(page)}`);
  const data = await page.evaluateHandle((text) => {
    const t = new DataTransfer();
    t.items.add(new File([JSON.stringify({ chat_template: text })], "tokenizer_config.json"));
    return t;
  }, bad);
  await page.dispatchEvent("body", "drop", { dataTransfer: data });
  await page.waitForFunction((text) => document.getElementById("template").value === text, bad);
  check(true, "a tokenizer_config.json that is dropped is opened");
  check(
    (await page.title()).includes("tokenizer_config.json") &&
      (await page.textContent("#name")) === "tokenizer_config.json",
    `the file's name is in the header and the title: ${await page.title()}`,
  );
  // hostile text stays text
  await page.fill(
    "#template",
    "{{ '<img src=x onerror=alert(1)>\u202e' }}{{ messages[0].content }}",
  );
  await page.waitForTimeout(300);
  await judged(page);
  await tab(page, "prompt");
  await settle(page);
  check(
    (await page.locator("#views img").count()) === 0 &&
      (await page.textContent("#rendered")).includes("\\u202e"),
    "markup of a template stays text",
  );
  await context.close();
}

{
  // fourteen tasks with the keyboard alone, on the example
  const { context, page } = await fresh();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(home);
  await page.waitForFunction(() => document.documentElement.dataset.judged);
  const paint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
  );
  check(paint < 200 * slack, `first content after ${Math.round(paint)} ms; the bar is 200`);
  const key = async (...keys) => {
    for (const k of keys) await page.keyboard.press(k);
  };
  // reach presses Tab, or Shift+Tab, until an element has the focus.
  const reach = async (selector, by = "Tab") => {
    for (let i = 0; i < 80; i++) {
      if (await page.evaluate((s) => document.activeElement.matches(s), selector)) return true;
      await page.keyboard.press(by);
    }
    check(false, `${selector} cannot be reached by ${by}`);
  };
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  const task = (ok, text) => check(ok, `by keyboard: ${text}`);
  await key("Tab");
  check(
    (await page.evaluate(() => document.activeElement.className)) === "skip",
    "the first stop is the way past the source",
  );
  // find the error, and copy its patch
  await reach(".finding.error .head button");
  await key("Enter");
  task(
    (await page.evaluate(() => {
      const a = document.getElementById("template");
      return a.value.slice(a.selectionStart, a.selectionEnd);
    })) === "        {{- '<|im_start|>assistant\\n' + message.content }}",
    "find the error",
  );
  await reach(".finding.error .bar button:nth-of-type(2)");
  await key("Enter");
  await settle(page);
  task((await copied()).includes("\\n' + (message.content or '')"), "copy the patch");
  await reach(".finding.error .bar button:nth-of-type(3)");
  await key("Enter");
  await page.waitForFunction(() =>
    /ends in an error/.test(document.getElementById("rendered").textContent),
  );
  task(
    (await page.inputValue("#conversation")) === "own" &&
      (await page.inputValue("#request")).includes('"content": null'),
    "see the request of a finding",
  );
  await key("ArrowLeft");
  // filter, apply, see the prompt change
  await reach("#only-note");
  await key("Space");
  task((await page.locator(".finding.note").count()) === 4, "filter findings");
  await reach(".apply");
  await key("Enter");
  await page.waitForSelector("#patched .ins");
  task((await page.inputValue("#template")).includes("(message.content or '')"), "apply the patch");
  task(
    (await page.textContent("#patched")).includes("ends in an error") &&
      (await page.evaluate(() => document.activeElement.textContent)) === "Undo",
    "see the prompt change",
  );
  await accessible(page, "a patch that is applied");
  await page.screenshot({ path: `${pictures}/patched.png` });
  await page.waitForFunction(() => /^Passed/.test(document.getElementById("verdict").textContent));
  // edit a bubble, add a message
  await reach("[role=tab][aria-selected=true]", "Shift+Tab");
  await key("ArrowRight");
  task(await page.isVisible("#prompt"), "switch the view");
  await reach(".bubble.w-user textarea");
  await key("End");
  await page.keyboard.type(" Or a hat?");
  await page.waitForFunction(() =>
    document.getElementById("rendered").textContent.includes("hat?"),
  );
  task(true, "edit a bubble");
  await reach("#add");
  await key("Enter");
  await page.keyboard.type("And tomorrow?");
  await page.waitForFunction(() =>
    document.getElementById("rendered").textContent.includes("And tomorrow?"),
  );
  task(true, "add a message");
  // stream an answer, compare two revisions
  await reach("[role=tab][aria-selected=true]", "Shift+Tab");
  await key("ArrowRight");
  await page.waitForSelector("#streamed pre span");
  await reach("#play");
  await key("Space");
  await page.waitForFunction(() => Number(document.getElementById("at").value) < 100);
  await page.waitForFunction(() => {
    const at = document.getElementById("at");
    return at.value === at.max;
  });
  task((await page.textContent("#message")).includes("get_weather"), "stream an answer");
  await reach("[role=tab][aria-selected=true]", "Shift+Tab");
  await key("ArrowRight", "ArrowRight");
  await page.waitForFunction(() => /The edit/.test(document.getElementById("changes").textContent));
  task((await page.textContent("#changes")).includes("safe"), "compare two revisions");
  // the divider, the theme, a link, a file
  await reach("#divider", "Shift+Tab");
  await key("ArrowRight");
  const width = await page.getAttribute("#divider", "aria-valuenow");
  check(width === "48", `the divider moves by keys: ${width}`);
  await reach("#theme", "Shift+Tab");
  await key("Enter", "Enter");
  task(
    (await page.evaluate(() => document.documentElement.style.colorScheme)) === "dark",
    "switch the theme",
  );
  await reach("#share", "Shift+Tab");
  await key("Enter");
  await page.waitForFunction(() => location.hash.length > 10);
  await settle(page);
  task((await copied()) === page.url(), "share a link");
  await reach("#open", "Shift+Tab");
  await page.evaluate(() =>
    document.getElementById("file").addEventListener("click", (e) => {
      e.preventDefault(); // no dialog of the system
      document.documentElement.dataset.asked = "yes";
    }),
  );
  await key("Enter");
  await page.waitForFunction(() => document.documentElement.dataset.asked);
  await page.setInputFiles("#file", join(WORK, "bad.jinja"));
  await page.waitForFunction(() => document.getElementById("name").textContent === "bad.jinja");
  task((await page.inputValue("#template")) === bad, "open a file");
  await context.close();
}

for (const [name, options] of [
  ["phone", { viewport: { width: 390, height: 844 } }],
  ["tablet", { viewport: { width: 768, height: 1024 } }],
  ["dark", { colorScheme: "dark" }],
  ["wide", { viewport: { width: 1440, height: 900 }, colorScheme: "dark" }],
]) {
  const { context, page } = await fresh(options);
  await page.goto(home);
  await page.waitForFunction(() => performance.getEntriesByName("ready").length > 0);
  if (await page.isVisible("#tab-source")) await tab(page, "source");
  await page.fill("#template", bad);
  await judged(page);
  await page.evaluate((text) => {
    document.getElementById("was").value = text;
    document.getElementById("was").dispatchEvent(new Event("input"));
  }, good);
  await page.waitForFunction(() =>
    document.getElementById("coverage").textContent.includes("Exercised"),
  );
  for (const view of views) {
    await tab(page, view);
    await settle(page);
    if (view === "diff") await page.waitForSelector("#changes .verdict");
    await fits(page, `${name}, ${view}`);
    await accessible(page, `${name}, ${view}`);
    await page.screenshot({ path: `${pictures}/${name}-${view}.png`, fullPage: true });
  }
  await context.close();
}

for (const name of ["report", "diff"]) {
  // a file that stands alone
  const { context, page } = await fresh();
  const requests = [];
  page.on("request", (r) => requests.push(r.url()));
  const at = pathToFileURL(join(WORK, `${name}.html`)).href;
  await page.goto(at);
  await judged(page);
  check(/^Failed: 1 error/.test(await verdict(page)), `${name}: ${await verdict(page)}`);
  if (name === "diff") await page.waitForSelector("#changes .verdict");
  for (const view of views) {
    await tab(page, view);
    await settle(page);
    check(
      (await page.textContent("#" + view)).trim().length > 40 &&
        !(await page.textContent("#views")).includes("does not hold the answer"),
      `${name}: ${view} has something to show`,
    );
    await accessible(page, `${name}, ${view}`);
    await page.screenshot({ path: `${pictures}/${name}-file-${view}.png` });
  }
  await tab(page, "findings");
  await page.click('.finding.error button:text("Show the request")');
  await page.waitForFunction(() =>
    /ends in an error/.test(document.getElementById("rendered").textContent),
  );
  check(
    (await page.textContent("#bubbles")).includes("calls "),
    `${name}: a finding shows its request`,
  );
  check(
    requests.every((url) => url.startsWith(at) || url.startsWith("data:")),
    `${name}: nothing was loaded but the file: ${requests.length} requests`,
  );
  check(
    statSync(join(WORK, `${name}.html`)).size < 1 << 20,
    `${name}: ${statSync(join(WORK, `${name}.html`)).size} bytes`,
  );
  await context.close();
}

{
  // assay page
  const program = spawn(ASSAY, ["page", "--no-browser", join(WORK, "bad.jinja")]);
  const address = await new Promise((known) =>
    program.stdout.on("data", (text) => known(String(text).match(/http:\S+/)[0])),
  );
  const { context, page } = await fresh();
  await page.goto(address);
  await judged(page);
  check(/^Failed: 1 error/.test(await verdict(page)), `assay page: ${await verdict(page)}`);
  const stranger = await fetch(new URL("/ask", address), { method: "POST", body: "{}" });
  check(
    stranger.status === 403,
    `assay page refuses who does not know its key: ${stranger.status}`,
  );
  await context.close();
  program.kill("SIGINT");
}

await finish();
