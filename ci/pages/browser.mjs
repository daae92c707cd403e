// What the scripts that look at pages in headless Chromium share: a server of a folder, pages whose
// errors count as faults, and checks of accessibility and of what does not fit. Lines are named by
// the script; pictures are left in out/pictures. CHROMIUM, DRIVER (Playwright) and AXE are files.
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, extname, join } from "node:path";

const { CHROMIUM, DRIVER, AXE } = process.env;
const { chromium } = createRequire(import.meta.url)(DRIVER);
const axe = readFileSync(AXE, "utf8");
const script = basename(process.argv[1], ".mjs");

export const pictures = "out/pictures";
mkdirSync(pictures, { recursive: true });

let faults = 0;
export const check = (ok, text) => {
  console.log(`${script}: ${ok ? "ok" : "FAULT"}: ${text}`);
  if (!ok) faults++;
};

const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".gz": "application/octet-stream",
  ".jinja": "text/plain",
};
const servers = [];
// serve serves a folder on loopback: its address, and the requests that came.
export const serve = async (folder) => {
  const asked = [];
  const server = createServer((request, response) => {
    const name = new URL(request.url, "http://x").pathname.slice(1) || "index.html";
    asked.push(`${request.method} ${name}`);
    if (!existsSync(join(folder, name))) return response.writeHead(404).end();
    response
      .writeHead(200, { "Content-Type": types[extname(name)] })
      .end(readFileSync(join(folder, name)));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  servers.push(server);
  return { home: `http://127.0.0.1:${server.address().port}/`, asked };
};

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});
export const fresh = async (options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.on(
    "console",
    (m) => ["error", "warning"].includes(m.type()) && check(false, `the console has: ${m.text()}`),
  );
  page.on("pageerror", (e) => check(false, `an error: ${e.message}`));
  page.setDefaultTimeout(180_000);
  return { context, page };
};

export const accessible = async (page, where) => {
  // A page's policy may let no foreign script in, so that axe runs in the tool's own world.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", {
    frameId: frameTree.frame.id,
  });
  const expression = `${axe};axe.run(document, { resultTypes: ["violations"] }).then((r) =>
    r.violations.map((v) => v.id + " " + v.nodes[0].target + " " + v.nodes[0].failureSummary))`;
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression,
    contextId: executionContextId,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails)
    return check(false, `axe, ${where}: ${exceptionDetails.exception.description}`);
  check(result.value.length === 0, `axe finds nothing, ${where} ${result.value.join("; ")}`);
};

// clipped are the texts that their boxes cut off, where nobody can scroll.
const clipped = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("body *")]
      .filter(
        (e) =>
          e.offsetParent &&
          !e.closest(".hidden, .editor, svg") &&
          e.scrollWidth > e.clientWidth + 1 &&
          e.clientWidth > 0 &&
          ["hidden", "clip"].includes(getComputedStyle(e).overflowX),
      )
      .map((e) => e.id || e.className || e.tagName),
  );
export const fits = async (page, where) => {
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(wide[0] <= wide[1], `nothing is wider than the window, ${where}: ${wide}`);
  const cut = await clipped(page);
  check(cut.length === 0, `no text is clipped, ${where}: ${cut}`);
};
export const settle = (page) => page.waitForTimeout(400);

// finish ends the script, whose status tells whether there were faults.
export const finish = async () => {
  await browser.close();
  servers.forEach((server) => server.close());
  console.log(`${script}: ${faults} faults; pictures are in ${pictures}`);
  process.exit(faults ? 1 : 0);
};
