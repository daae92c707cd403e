"""Builds the site of the documents from the Markdown of the repository: `sphinx-build -c
ci/pages/docs SOURCE OUT`, where SOURCE is an empty folder that this file fills.

The guides and the reference are the files of docs. What a reader of GitHub follows to a file of
the repository leads there; a link to nothing ends the build. Each rule becomes a page of its own,
so that a search finds it, and the API is that of `go doc`, of the Python package and of the header.
"""

import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).resolve().parents[3]
HOME = "https://github.com/goassay/assay"
GROUPS = {
    "Templates": "start check fix configuration clients gate advisories untrusted",
    "Engines and servers": "engines servers providers models",
    "In your program": "embedding python formats tokens performance scale",
    "Rules": "reference/rules reference/change-rules reference/server-rules"
    " reference/provider-rules",
    "API": "api/go api/python api/c reference/protocol reference/format reference/policies"
    " reference/adapters reference/provider-log",
    "Project": "changes releases security contributing results/index internals/architecture",
}
STABLE = ["engine", "engine/chat", "engine/format", "engine/ordered"]  # as ci/api_test.go has them

project = "Assay"
html_title = "Assay"
copyright = "The Assay Authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
myst_disable_syntax = ["html_block", "html_inline"]  # markers such as <think> are text
suppress_warnings = ["toc.not_included", "misc.highlighting_failure", "myst.header"]
smartquotes = False  # -- begins a flag
html_theme = "theme"
html_theme_path = ["."]
html_static_path = [str(ROOT / "harness/report/web/design.css"), "docs.css"]
html_copy_source = html_show_sourcelink = html_use_index = False
html_permalinks_icon = "#"
html_baseurl = "https://goassay.github.io/assay/"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
python_use_unqualified_type_names = True
sys.path.insert(0, str(ROOT / "ci/package/python"))


def places():
    """Returns where each document of the repository stands on the site, without its ending."""
    at = {"README.md": "index", "SECURITY.md": "security", "CONTRIBUTING.md": "contributing"}
    for file in sorted((ROOT / "docs").rglob("*.md")):
        name = file.relative_to(ROOT).as_posix()
        at[name] = re.sub("README$", "index", name.removeprefix("docs/").removesuffix(".md"))
    at["docs/results"] = "results/index"
    return at


LINK = re.compile(r"\]\(([^)\s#:]*)(#[^)\s]*)?\)")
RULE = re.compile(r"^## ([A-Z]\d{3})\n\n\*\*(.*?)\*\*(.*?)(?=^## |\Z)", re.M | re.S)
COMMENT = re.compile(r"^<!--.*?-->\n", re.M)
FENCE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]*`)", re.M | re.S)


def moved(text, name, page, at):
    """Returns the text of a document with its links as they are on a page of the site."""

    def target(m):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), m[1])) if m[1] else name
        anchor = m[2] or ""
        if re.search("-?rules.md$", path) and re.fullmatch("#[a-z][0-9]{3}", anchor):
            to = f"{at[path]}/{anchor[1:]}.md"
        elif path in at:
            to = at[path] + ".md" + anchor
        elif (ROOT / path).exists():
            return f"]({HOME}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}{anchor})"
        else:
            raise ValueError(f"{name} links to {m[1]}, which is not there")
        return f"]({posixpath.relpath(to, posixpath.dirname(page) or '.')})"

    # What is quoted has no links, but a link's words may be quoted.
    quoted = FENCE.findall(text)
    text = LINK.sub(target, COMMENT.sub("", FENCE.sub("\0", text)))
    return re.sub("\0", lambda _: quoted.pop(0), text)


def write(source, page, text):
    file = source / (page + ".md")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def rules(source, text, page):
    """Writes a page for each rule, and returns the page that lists them."""
    if not (first := RULE.search(text)):
        return text
    rows = ["| rule | severity | what it finds |", "| --- | --- | --- |"]
    for id, name, rest in RULE.findall(text):
        about, _, more = rest.strip().partition("\n\n")
        kind, _, what = " ".join(about.split()).partition(". ")
        kind, to = kind.strip("()"), f"{posixpath.basename(page)}/{id.lower()}.md"
        text_of = f"# {id} {name}\n\n{what}\n\n*Severity:* {kind}.\n\n{more}\n"
        write(source, f"{page}/{id.lower()}", text_of)
        rows.append(f"| [{id}]({to}) {name} | {kind} | {what} |")
    end = RULE.sub("", text[first.start() :])
    return text[: first.start()] + "\n".join(rows) + "\n\n" + end


def go(package):
    """Returns the documentation of a package of Go as Markdown."""
    text = subprocess.run(["go", "doc", "-all", "./" + package], cwd=ROOT, check=True, text=True,
                          capture_output=True).stdout
    _, _, text = text.partition("\n")
    parts, code = [f"## {package}\n"], []

    def flush():
        if code:
            parts.append("```go\n" + "\n".join(code).strip() + "\n```\n")
            code.clear()

    about, api = True, re.compile("(CONSTANTS|VARIABLES|FUNCTIONS|TYPES)$")
    for line in text.split("\n"):
        name = re.match(r"(?:func|type) (?:\([^)]*?\*?([A-Z]\w*)[^)]*\) )?([A-Z]\w*)", line)
        if api.match(line):
            flush()
            about = False
        elif about:
            parts.append(re.sub("^# (.*)", r"**\1**", line))
        elif line.startswith("    "):
            flush()
            parts.append(line.removeprefix("    "))
        elif name:
            flush()
            words = [package.split("/")[-1], name[1], name[2]]
            parts.append("\n### " + ".".join(filter(None, words)) + "\n")
            code.append(line)
        elif line or code:
            code.append(line)
    flush()
    return "\n".join(parts)


def api(source):
    """Writes the pages of the API."""
    write(source, "api/go", "# The API in Go\n\nThe packages that a release keeps stable. "
          "[Embedding](../embedding.md) is their guide.\n\n" + "\n".join(map(go, STABLE)))
    write(source, "api/python", "# The API in Python\n\n[Python](../python.md) is its guide.\n\n"
          "```{eval-rst}\n.. automodule:: assay_chat\n   :members:\n   :undoc-members:\n```\n")
    header = (ROOT / "cmd/libassay/assay.h").read_text(encoding="utf-8")
    write(source, "api/c", "# The API in C\n\nThe header of the library. "
          "[Embedding](../embedding.md#from-c) is its guide.\n\n```c\n" + header + "```\n")


def prepare(app, config):
    source, at = Path(app.srcdir), places()
    for name, page in at.items():
        if not name.endswith(".md"):
            continue
        text = moved((ROOT / name).read_text(encoding="utf-8"), name, page, at)
        write(source, page, rules(source, text, page) if page.endswith("rules") else text)
    api(source)
    listed = {page for pages in GROUPS.values() for page in pages.split()}
    if left := [page for page in at.values() if "/" not in page and page not in listed | {"index"}]:
        raise ValueError(f"ci/pages/docs/conf.py: GROUPS lacks {left}")
    heading = {}
    for page in listed:
        text = (source / (page + ".md")).read_text(encoding="utf-8")
        heading[page] = re.search("^# (.*)", text, re.M)[1]
    config.html_context["groups"] = [
        (group, [(page, heading[page]) for page in pages.split()])
        for group, pages in GROUPS.items()
    ]


class Translator(HTML5Translator):
    """Writes tables that scroll by themselves, and not the page."""

    def visit_table(self, node):
        self.body.append('<div class="scroll" tabindex="0">')
        super().visit_table(node)

    def depart_table(self, node):
        super().depart_table(node)
        self.body.append("</div>")


def setup(app):
    app.connect("config-inited", prepare)
    app.set_translator("html", Translator)
