// Tries the site of the documents in headless Chromium; ci/pages/docs.sh sets it up and explains
// the purpose.
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { accessible, check, finish, fits, fresh, pictures, serve, settle } from "./browser.mjs";

const { SITE } = process.env;
const { home, asked } = await serve(SITE);

// Links, by the files alone.
const files = readdirSync(SITE, { recursive: true }).filter((name) => name.endsWith(".html"));
const pages = new Map(files.map((name) => [name, readFileSync(join(SITE, name), "utf8")]));
const idsOf = (text) => new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), (m) => m[1]));
const ids = new Map([...pages].map(([name, text]) => [name, idsOf(text)]));
const dead = new Set();
let links = 0;
for (const [name, text] of pages) {
  for (const [, href] of text.matchAll(/ (?:href|src|action)="([^"]+)"/g)) {
    if (/^(https|data):/.test(href)) continue;
    links++;
    const [path, anchor] = href.replace(/[?][^#]*/, "").split("#");
    const to = path ? join(dirname(name), path) : name;
    if (!existsSync(join(SITE, to))) dead.add(`${name}: ${href}`);
    else if (anchor && !ids.get(to)?.has(decodeURIComponent(anchor))) dead.add(`${name}: ${href}`);
  }
}
const some = [...dead].slice(0, 20).join("; ");
check(dead.size === 0, `${links} links of ${pages.size} pages lead somewhere ${some}`);
const rules = files.filter((name) => /rules\/[a-z][0-9]{3}\.html$/.test(name));
check(rules.length > 200, `${rules.length} rules have a page`);

// Search, from the field of any page.
const { context, page } = await fresh();
for (const [words, wanted] of [
  ["A012", "rules/a012.html"],
  ["S001", "server-rules/s001.html"],
  ["content null", "rules/a012.html"],
  ["streaming parser", "embedding.html"],
  ["AppendQuoted", "api/go.html"],
]) {
  await page.goto(home + "check.html");
  await page.fill("header input", words);
  await page.press("header input", "Enter");
  await page.waitForSelector("ul.search li");
  await page.waitForFunction(() => document.querySelector("#search-results h2"));
  await settle(page);
  const found = await page.$$eval("ul.search li > a", (all) => all.map((a) => a.href));
  const at = found.findIndex((href) => href.includes(wanted));
  check(
    at >= 0 && (at < 1 || / /.test(words)),
    `a search for ${words} finds ${wanted}: ${at + 1} of ${found.length}`,
  );
}
await page.screenshot({ path: `${pictures}/docs-search.png` });
await accessible(page, "search");
await context.close();

// One page of each kind, in each window.
const kinds =
  "index check embedding reference/rules reference/rules/a012 api/python " +
  "results/performance search";
for (const [name, options] of [
  ["wide", { viewport: { width: 1440, height: 900 } }],
  ["wide-dark", { viewport: { width: 1440, height: 900 }, colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 844 } }],
  ["phone-dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
]) {
  const { context, page } = await fresh(options);
  for (const kind of kinds.split(" ")) {
    await page.goto(`${home}${kind}.html`);
    await fits(page, `${name}, ${kind}`);
    await accessible(page, `${name}, ${kind}`);
    await page.screenshot({ path: `${pictures}/docs-${name}-${kind.replaceAll("/", "-")}.png` });
  }
  await context.close();
}
check(
  asked.every((a) => existsSync(join(SITE, a.slice("GET ".length)))),
  "the site has everything that its pages load",
);
const afar = /<(script|link rel="stylesheet")[^>]* (src|href)="https:/;
check(![...pages.values()].some((text) => afar.test(text)), "the pages load nothing from elsewhere");
await finish();
