// The colours of Jinja: jinja(text) returns the lines of a template, each a list of [class, text].
const jinja = (() => {
  "use strict";
  const keywords = new Set(
    ("if elif else endif for endfor in not and or is set endset macro endmacro call endcall " +
      "filter endfilter block endblock raw endraw generation endgeneration break continue do " +
      "recursive scoped with endwith include import from extends as ignore missing true false " +
      "none True False None").split(" "),
  );
  const marker = /<[|｜][^<>\n]{1,60}?[|｜]>|<\/?[A-Za-z_][\w-]{0,40}>|\[\/?[A-Z][A-Z_]{1,40}\]/g;
  const piece =
    /('(?:\\[^]|[^'\\])*'?|"(?:\\[^]|[^"\\])*"?)|(\d[\d_]*(?:\.\d+)?)|([A-Za-z_]\w*)|(\s+)|([^])/y;

  return (text) => {
    const lines = [[]];
    const put = (name, words) => {
      for (const [i, part] of words.split("\n").entries()) {
        if (i) lines.push([]);
        if (part) lines.at(-1).push([name, part]);
      }
    };
    const literal = (name, words) => {
      // with the special tokens in it
      let at = 0;
      for (const m of words.matchAll(marker)) {
        put(name, words.slice(at, m.index));
        put("j-marker", m[0]);
        at = m.index + m[0].length;
      }
      put(name, words.slice(at));
    };
    const code = (at, close) => {
      let depth = 0,
        before = "",
        first = "";
      while (at < text.length) {
        const end = depth === 0 && /^[-+]?(%}|}})/.exec(text.slice(at, at + 3));
        if (end && end[1] === close) {
          put("j-tag", end[0]);
          return [at + end[0].length, first];
        }
        piece.lastIndex = at;
        const [all, string, number, name, space] = piece.exec(text);
        at += all.length;
        if (space) put("", all);
        else if (string) literal("j-string", all);
        else if (number) put("j-number", all);
        else if (name) {
          const called = before === "|" || before === "is" || text[at] === "(";
          put(before === "." ? "" : keywords.has(all) ? "j-word" : called ? "j-call" : "", all);
          first ||= all;
        } else {
          put("j-sign", all);
          depth += "{[(".includes(all) ? 1 : "}])".includes(all) && depth > 0 ? -1 : 0;
        }
        if (!space) before = all === "not" && before === "is" ? "is" : all;
      }
      return [at, first];
    };
    const open = /\{(\{|%|#)[-+]?/g;
    let at = 0;
    for (let m; (m = open.exec(text)); open.lastIndex = at) {
      literal("j-text", text.slice(at, m.index));
      at = m.index;
      if (m[1] === "#") {
        const end = text.indexOf("#}", at + 2);
        put("j-comment", text.slice(at, end < 0 ? text.length : end + 2));
        at = end < 0 ? text.length : end + 2;
        continue;
      }
      put("j-tag", m[0]);
      let first;
      [at, first] = code(at + m[0].length, m[1] === "{" ? "}}" : "%}");
      if (first === "raw") {
        const end = /\{%[-+]?\s*endraw/.exec(text.slice(at));
        const to = end ? at + end.index : text.length;
        literal("j-text", text.slice(at, to));
        at = to;
      }
    }
    literal("j-text", text.slice(at));
    return lines;
  };
})();
