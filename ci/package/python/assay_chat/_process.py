"""A process of ``assay pipe``, and the requests that it answers. docs/reference/protocol.md describes both."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any


class AssayError(Exception):
    """A request that assay could not answer. ``kind`` says why in a word: ``template``, ``render``,
    ``unverified``, ``limit``, ``request`` or ``internal``; the text is for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def binary() -> str:
    """Return the path of the assay command: the variable ASSAY, or the one of this package."""
    named = os.environ.get("ASSAY")
    return named or str(Path(__file__).with_name("assay.exe" if os.name == "nt" else "assay"))


class Process:
    """A persistent ``assay pipe``. It is safe for use by several threads; requests are answered one
    after the other. After a fork the child starts a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self._command = [binary(), "pipe", *arguments]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self._number = 0
        self.generation = 0
        """Grows with every start of the process: parsers of an earlier one are gone."""

    def _start(self) -> subprocess.Popen[bytes]:
        running = self._process
        if running is not None and self._pid == os.getpid() and running.poll() is None:
            return running
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise AssayError(
                "internal", f"{self._command[0]} cannot be started: {error}"
            ) from error
        self._pid = os.getpid()
        self.generation += 1
        return self._process

    def ask(self, op: str, **fields: Any) -> Any:
        """Ask for an operation and return its result. Fields that are None are left out."""
        request = {name: value for name, value in fields.items() if value is not None}
        with self._lock:
            process = self._start()
            self._number += 1
            request.update(op=op, id=self._number)
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except OSError as error:
                raise AssayError("internal", f"assay pipe has ended: {error}") from error
            if not line:
                raise AssayError("internal", f"assay pipe ended with status {process.wait()}")
        answer = json.loads(line)
        if not answer["ok"]:
            raise AssayError(answer["error"], answer["message"])
        return answer.get("result")

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
