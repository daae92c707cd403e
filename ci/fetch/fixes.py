#!/usr/bin/env python3
"""Fetch the template revisions that fixes.jsonl names: fixes.py FIXES OUT CACHE [ID-PREFIX]

Each distribution is downloaded once into CACHE by its registry's own client (pip download, npm
pack) as set up on this machine. Each text is taken out, compared with its SHA-256 and written to
OUT/<sha256>.jinja. Nothing that was downloaded is run. Texts already in OUT whose digest holds are
not fetched again. The exit status is 1, with a line on standard error for each text that could not
be had, unless all are there.

A record names its new text by registry, package, to, file, path and new; its old text by from and
old, and by old_registry, old_package, old_file and old_path where these differ. A path is one of
  FILE             the file as it is
  FILE#NAME        a constant string of Python source: its name after the scopes it stands in,
                   [key] for an entry of a dictionary or list, .call(first argument).keyword for
                   an argument
  FILE#/a/b        a JSON pointer, where name=X names the element of an array with that
                   model_name or name
  BUNDLE!FILE      FILE in the commit that a Git bundle holds
"""

import ast, glob, hashlib, json, os, shutil, subprocess, sys, tarfile, tempfile, warnings, zipfile

# pip asks an sdist's build backend for metadata even when only the archive is wanted. This one
# stands in for all backends and answers with the PKG-INFO that every sdist holds, so no code of the
# sdist runs and nothing is built.
BACKEND = '''
import os, shutil
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    lines = open("PKG-INFO", encoding="utf-8").read().splitlines()
    word = lambda key: next(l for l in lines if l.startswith(key)).split(":")[1].strip()
    name = word("Name:").replace("-", "_") + "-" + word("Version:") + ".dist-info"
    os.makedirs(os.path.join(directory, name))
    shutil.copy("PKG-INFO", os.path.join(directory, name, "METADATA"))
    return name
class __legacy__:
    get_requires_for_build_wheel = staticmethod(get_requires_for_build_wheel)
    prepare_metadata_for_build_wheel = staticmethod(prepare_metadata_for_build_wheel)
'''


def stand_in(folder):
    for module in ("setuptools/build_meta", "hatchling/build"):
        os.makedirs(os.path.join(folder, os.path.dirname(module)), exist_ok=True)
        open(os.path.join(folder, os.path.dirname(module), "__init__.py"), "w").close()
        with open(os.path.join(folder, module + ".py"), "w") as f:
            f.write(BACKEND)
    return folder


def download(cache, registry, package, version, kind):
    """The path of a distribution in the cache."""
    cache = os.path.abspath(cache)
    folder = os.path.join(cache, registry, package.replace("/", "+"), version, kind)
    if not os.path.isdir(folder):
        part = folder + ".part"
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        env = dict(os.environ)
        if registry == "pypi":
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-cache-dir",
                "--ignore-requires-python",
                "--dest",
                part,
            ]
            if kind == "sdist":
                env["PYTHONPATH"] = stand_in(os.path.join(cache, "backends"))
                command += ["--no-binary", ":all:", "--no-build-isolation", "--use-pep517"]
            else:
                command += ["--only-binary", ":all:"]
            command.append(f"{package}=={version}")
        elif registry == "npm":
            command = [
                "npm",
                "pack",
                "--silent",
                "--pack-destination",
                part,
                f"{package}@{version}",
            ]
        else:
            raise ValueError(f"registry {registry} is not known")
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode or len(os.listdir(part)) != 1:
            raise ValueError("download: " + " ".join(done.stdout.split())[-300:])
        os.rename(part, folder)
    return os.path.join(folder, os.listdir(folder)[0])


def members(archive, wanted):
    """The bytes of the wanted files of a wheel or tarball, without a tarball's top folder."""
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as z:
            return {n: z.read(n) for n in wanted & set(z.namelist())}
    with tarfile.open(archive) as t:
        return {
            i.name.split("/", 1)[-1]: t.extractfile(i).read()
            for i in t
            if i.isfile() and i.name.split("/", 1)[-1] in wanted
        }


def fold(node, names):
    """The string that an expression stands for, or None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = fold(node.left, names), fold(node.right, names)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        parts = [
            fold(v.value if isinstance(v, ast.FormattedValue) else v, names) for v in node.values
        ]
        return None if None in parts else "".join(parts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        s, args = fold(node.func.value, names), [fold(a, names) for a in node.args]
        if s is not None and None not in args:
            if node.func.attr == "replace" and len(args) == 2:
                return s.replace(*args)
            if node.func.attr in ("strip", "lstrip", "rstrip") and len(args) < 2:
                return getattr(s, node.func.attr)(*args)
    return None


def constants(source):
    """The constant strings of Python source by name; a second one of a name is NAME~2."""
    out, names = {}, {}

    def put(key, s):
        if "{%" not in s or "%}" not in s or "message" not in s:
            return
        name, n = key, 2
        while name in out and out[name] != s:
            name, n = f"{key}~{n}", n + 1
        out[name] = s

    def value(key, node):
        s = fold(node, names)
        if s is not None:
            put(key, s)
        elif isinstance(node, ast.Dict):
            for k, v in zip(node.keys, node.values):
                if k is not None:
                    value(f"{key}[{k.attr if isinstance(k, ast.Attribute) else fold(k, names)}]", v)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for i, v in enumerate(node.elts):
                value(f"{key}[{i}]", v)

    def walk(body, scope):
        for n in body:
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                walk(n.body, f"{scope}{n.name}.")
                continue
            targets = (
                n.targets
                if isinstance(n, ast.Assign)
                else [n.target] if isinstance(n, ast.AnnAssign) and n.value else []
            )
            s = fold(n.value, names) if targets else None
            for t in targets:
                if isinstance(t, ast.Name):
                    if s is not None:
                        names[t.id] = s
                    value(scope + t.id, n.value)
                elif isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name):
                    value(f"{scope}{t.value.id}[{fold(t.slice, names)}]", n.value)
            if (
                isinstance(n, ast.AugAssign)
                and isinstance(n.target, ast.Name)
                and n.target.id in names
            ):
                s = fold(n.value, names)
                if s is not None:
                    names[n.target.id] += s
                    put(scope + n.target.id, names[n.target.id])
            if isinstance(n, ast.Return) and n.value is not None:
                value(scope + "return", n.value)
            for part in ("body", "orelse", "finalbody"):
                walk(getattr(n, part, []), scope)
            for handler in getattr(n, "handlers", []):
                walk(handler.body, scope)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        walk(ast.parse(source).body, "")
    return out


def pointer(node, path):
    for word in path.split("/")[1:]:
        word = word.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            if word.startswith("name="):
                node = next(v for v in node if word[5:] in (v.get("model_name"), v.get("name")))
            else:
                node = node[int(word)]
        elif word.startswith("name=") and word not in node:
            continue  # the file holds one model, which a list of models would name so
        else:
            node = node[word]
    return node


def texts(archive, paths):
    """The texts at the paths of one distribution; a path that leads nowhere is left out."""
    out = {}
    files = members(archive, {p.split("#")[0].split("!")[0] for p in paths})
    parsed = {}
    with tempfile.TemporaryDirectory() as scratch:
        for p in sorted(paths):
            file, data = p.split("#")[0].split("!")[0], files.get(p.split("#")[0].split("!")[0])
            if data is None:
                continue
            if "!" in p:
                repository = os.path.join(scratch, file.replace("/", "+"))
                if file not in parsed:
                    with open(repository + ".bundle", "wb") as f:
                        f.write(data)
                    subprocess.run(
                        ["git", "clone", "-q", "--bare", repository + ".bundle", repository],
                        check=True,
                    )
                    parsed[file] = repository
                done = subprocess.run(
                    ["git", "-C", repository, "show", "HEAD:" + p.split("!")[1]],
                    stdout=subprocess.PIPE,
                )
                if done.returncode == 0:
                    out[p] = done.stdout
            elif "#/" in p:
                try:
                    out[p] = pointer(json.loads(data), p.split("#", 1)[1]).encode()
                except (KeyError, IndexError, StopIteration):
                    pass
            elif "#" in p:
                if file not in parsed:
                    parsed[file] = constants(data.decode())
                if p.split("#", 1)[1] in parsed[file]:
                    out[p] = parsed[file][p.split("#", 1)[1]].encode()
            else:
                out[p] = data
    return out


def main(fixes, out, cache, prefix=""):
    wanted = {}  # distribution -> {(path, digest): ids}
    for line in open(fixes, encoding="utf-8"):
        r = json.loads(line)
        if not r["id"].startswith(prefix):
            continue
        both = (
            ((r["registry"], r["package"], r["to"], r["file"]), r["path"], r["new"]),
            (
                (
                    r.get("old_registry", r["registry"]),
                    r.get("old_package", r["package"]),
                    r["from"],
                    r.get("old_file", r["file"]),
                ),
                r.get("old_path", r["path"]),
                r["old"],
            ),
        )
        for distribution, path, digest in both:
            wanted.setdefault(distribution, {}).setdefault((path, digest), []).append(r["id"])
    os.makedirs(out, exist_ok=True)
    here = set()
    for name in glob.glob(os.path.join(out, "*.jinja")):
        with open(name, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        if os.path.basename(name) == digest + ".jinja":
            here.add(digest)
    size, missing = 0, []
    for distribution in sorted(wanted):
        need = {(p, d): ids for (p, d), ids in wanted[distribution].items() if d not in here}
        if not need:
            continue
        got, why = {}, "not in the distribution"
        try:
            archive = download(cache, *distribution)
            size += os.path.getsize(archive)
            got = texts(archive, {p for p, _ in need})
        except (
            ValueError,
            OSError,
            SyntaxError,
            subprocess.CalledProcessError,
            tarfile.TarError,
            zipfile.BadZipFile,
        ) as e:
            why = str(e)
        for (path, digest), ids in sorted(need.items()):
            data = got.get(path)
            if data is None or hashlib.sha256(data).hexdigest() != digest:
                reason = why if data is None else "digest differs"
                missing.append(f"{', '.join(ids)}: {' '.join(distribution)} {path}: {reason}")
                continue
            with open(os.path.join(out, digest + ".jinja"), "wb") as f:
                f.write(data)
            here.add(digest)
    for line in missing:
        print("fetch:", line, file=sys.stderr)
    print(
        f"{len(here)} texts, {len(wanted)} distributions, {size / 1e6:.0f} MB, "
        f"{len(missing)} missing"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
