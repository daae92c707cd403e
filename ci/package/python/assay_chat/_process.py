"""The engine in a child process: ``assay pipe``, and the commands. docs/reference/protocol.md has
the requests that the one answers."""

from __future__ import annotations

import atexit
import base64
import json
import os
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_chat._errors import AssayError, binary

if TYPE_CHECKING:
    from assay_chat import Vocabulary


def _unstartable(error: OSError) -> AssayError:
    return AssayError("internal", f"{binary()} cannot be started: {error}")


class Process:
    """A persistent ``assay pipe``. It is safe for use by several threads; requests are answered one
    after the other. After a fork the child starts a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self._command = [binary(), "pipe", *arguments]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pid, self._folder = 0, ""
        self.generation = 0
        """Grows with every start of the process: parsers of an earlier one are gone."""
        self.unwanted: deque[int] = deque()
        """Parsers that went before they were closed. They may go in the midst of a request, so
        the next one tells the process."""

    def _start(self) -> subprocess.Popen[bytes]:
        running = self._process
        if running is not None and self._pid == os.getpid() and running.poll() is None:
            return running
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise _unstartable(error) from error
        self._pid, self._folder = os.getpid(), os.getcwd()
        self.generation += 1
        self.unwanted.clear()
        return self._process

    def ask(self, op: str, *, of: int = 0, **fields: Any) -> Any:
        """Ask for an operation and return its result. Fields that are None are left out. ``of`` is
        the generation of the process that the operation's parser is in: a later process has other
        parsers under the same numbers."""
        request = {name: value for name, value in fields.items() if value is not None}
        with self._lock:
            process = self._start()
            if of not in (0, self.generation):
                raise AssayError("internal", "the process that had the parser has ended")
            while self.unwanted:
                self._line(process, {"op": "drop", "parser": self.unwanted.popleft()})
            line = self._line(process, request | {"op": op})
        answer = json.loads(line)
        if not answer["ok"]:
            raise AssayError(
                answer["error"],
                answer["message"],
                answer.get("offset"),
                answer.get("line"),
                answer.get("column"),
            )
        return answer.get("result")

    def _line(self, process: subprocess.Popen[bytes], request: dict[str, Any]) -> bytes:
        """Send a request and return the line of its answer."""
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError as error:
            raise AssayError("internal", f"assay pipe has ended: {error}") from error
        if not line:
            raise AssayError("internal", f"assay pipe ended with status {process.wait()}")
        return line

    def path(self, path: str | os.PathLike[str]) -> str:
        """Return a path as the process has to be given it: it works in the folder in which it was
        started."""
        if self.running and self._folder != os.getcwd():
            return os.path.abspath(path)
        return os.fspath(path)

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._pid == os.getpid()

    def stop(self) -> None:
        """End the process. The next request starts another one."""
        with self._lock:
            process, self._process = self._process, None
            if process is None or self._pid != os.getpid():
                return
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.stdout.close()
            process.wait()


shared = Process()
"""The process that the functions of the package use."""
atexit.register(shared.stop)


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a command of assay, and return its exit status and what it prints."""
    try:
        ended = subprocess.run([binary(), *arguments], capture_output=True, encoding="utf-8")
    except OSError as error:
        raise _unstartable(error) from error
    return ended.returncode, ended.stdout, ended.stderr


_folders: dict[Vocabulary, tempfile.TemporaryDirectory[str]] = {}


def folder_of(vocabulary: Vocabulary) -> str:
    """Return a folder with the files of a tokenizer, for the process to read."""
    if (found := _folders.get(vocabulary)) is None:
        found = tempfile.TemporaryDirectory(prefix="assay-")
        for name, text in {
            "tokenizer.json": vocabulary.tokenizer,
            "tokenizer_config.json": vocabulary.tokenizer_config,
            "generation_config.json": vocabulary.generation_config,
        }.items():
            if text:
                Path(found.name, name).write_text(text, encoding="utf-8")
        _folders[vocabulary] = found
    return found.name


class ProcessPlan:
    """A plan in the process: what has to be asked for again."""

    def __init__(self, reference: dict[str, Any], request: Any, options: dict[str, Any]) -> None:
        self._fields = {"template": reference, "request": request, **options}
        self.told: dict[str, Any] = shared.ask("prepare", **self._fields)
        self.told["triggers"] = [
            {name.lower(): value for name, value in trigger.items()}
            for trigger in self.told["triggers"] or []
        ]

    def grammar(self, language: str) -> str:
        text: str = shared.ask("grammar", language=language, **self._fields)["grammar"]
        return text

    def segments(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = shared.ask("segments", **self._fields)["segments"]
        return found

    def reader(self) -> ProcessReader:
        return ProcessReader(self._fields)


class ProcessReader:
    """A parser in the process."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._number: int | None = shared.ask("parser", **fields)["parser"]
        self._generation = shared.generation
        self._held = 0

    def __del__(self) -> None:
        number = getattr(self, "_number", None)
        if number is not None and shared.running and shared.generation == self._generation:
            shared.unwanted.append(number)

    def _ask(self, op: str, **fields: Any) -> Any:
        if self._number is None:
            raise AssayError("finished", "the parser is finished; make another one of the plan")
        return shared.ask(op, of=self._generation, parser=self._number, **fields)

    def _write(self, **piece: Any) -> list[dict[str, Any]]:
        answer = self._ask("write", **piece)
        self._held = answer["held"]
        deltas: list[dict[str, Any]] = answer["deltas"]
        return deltas

    def write(self, piece: bytes) -> list[dict[str, Any]]:
        return self._write(bytes=base64.b64encode(piece).decode())

    def write_tokens(self, ids: Sequence[int]) -> list[dict[str, Any]]:
        return self._write(ids=list(ids))

    def held(self) -> int:
        return self._held

    def finish(self, reason: str) -> dict[str, Any]:
        told: dict[str, Any] = self._ask("close", reason=reason)
        self._number = None
        return told
