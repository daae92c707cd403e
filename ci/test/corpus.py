"""Reads the cases of a corpus as package harness/corpus/families does: scripts, and the outputs of
families for kinds."""

import json
import pathlib
import re


def archive(text):
    """A txtar archive: its comment, and its files."""
    parts = re.split(r"^-- (.+) --\n", text, flags=re.MULTILINE)
    return parts[0], dict(zip(parts[1::2], parts[2::2]))


class Number(str):
    """A number with its digits."""


def read(text):
    """JSON whose numbers keep their digits."""
    return json.loads(text, parse_float=Number, parse_int=Number)


def write(value):
    """JSON on one line, numbers as they were read."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{write(k)}: {write(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


class Case:
    """A case: the template's family, a name, the commands of its script, and its files."""

    def __init__(self, family, name, script, files):
        self.family, self.name, self.files = family, name, files
        lines = [line.strip() for line in script.splitlines()]
        self.commands = [line for line in lines if line and not line.startswith("#")]


class Corpus:
    """The cases of a corpus; it may have kinds or not."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.kinds = {
            p.stem: archive(p.read_text(encoding="utf-8")) for p in self.root.glob("kinds/*.txtar")
        }
        functions = self.root / "functions.json"
        self.functions = read(functions.read_text(encoding="utf-8")) if functions.exists() else {}

    def cases(self):
        for path in sorted(self.root.glob("*/*.txtar")):
            family, name = path.parent.name, path.stem
            if family == "kinds":
                continue
            script, files = archive(path.read_text(encoding="utf-8"))
            if name == "outputs":
                yield from self.family(family, script, files)
            else:
                yield Case(family, name, script, files)

    def family(self, family, head, files):
        """The cases that the outputs of a family make."""
        setting, own, asks, without = "", [f"template {family}"], {}, {}
        for line in head.splitlines():
            word, _, rest = line.partition(" ")
            if word == "setting":
                setting = rest.strip()
            elif word == "ask":
                text, kinds = re.fullmatch(r"'(.*)' (.*)", rest).groups()
                asks.update({kind: read(text) for kind in kinds.split()})
            elif word == "without":
                command, *kinds = rest.split()
                for kind in kinds:
                    without.setdefault(kind, []).append(command)
            else:
                own.append(line)
        yield Case(family, "template", "\n".join(own), {})
        for kind in sorted({name.split("/")[0] for name in files}):
            script, shared = self.kinds[kind]
            lines = [
                line
                for line in script.splitlines()
                if line.split(" ")[0] not in without.get(kind, [])
            ]
            mine = {}
            for name, text in shared.items():
                where, _, rest = name.rpartition("/")
                if where in ("", setting):
                    mine[rest] = text
            mine.update(
                {
                    name.split("/", 1)[1]: text
                    for name, text in files.items()
                    if name.startswith(kind + "/")
                }
            )
            mine["request.json"] = write(self.request(mine["request.json"], asks.get(kind, {})))
            yield Case(family, kind, "\n".join([f"template {family}", *lines]), mine)

    def request(self, text, ask):
        """A request with its tools in full."""
        request = read(text)
        if request.get("tools"):
            request["tools"] = [
                {"type": "function", "function": self.functions[tool]}
                if type(tool) is str
                else tool
                for tool in request["tools"]
            ]
        return request | ask
