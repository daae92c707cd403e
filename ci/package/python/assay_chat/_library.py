"""The engine in this process: libassay, by ctypes. assay.h describes its functions.

A call takes a microsecond more than the work itself. It releases the GIL. Results lie in a buffer
that each thread has once. A delta comes as JSON, since a dict made by Python's own reader is made
sooner than one of spans.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import platform
import struct
import sys
import threading
from array import array
from collections.abc import Sequence
from ctypes import c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_chat._errors import AssayError

if TYPE_CHECKING:
    from assay_chat import Template

ABI = 1

_NAMES = {"darwin": "libassay.dylib", "win32": "libassay.dll"}
_REASONS = {"stop": 0, "length": 1, "content_filter": 2}
_FORKED, _MEMORY = 9, 10
_SILENT = {
    _FORKED: "libassay was loaded before this process was forked, and Go's threads did not come "
    "along; load it after the fork, or start the process with exec (multiprocessing's spawn)",
    _MEMORY: "there is no memory for the result",
}

_decode = json.JSONDecoder().raw_decode


class _Text(ctypes.Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class _Source(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", _Text),
        ("text", _Text),
        ("bos", _Text),
        ("eos", _Text),
        ("stand_ins", c_int32),
        ("tokenizer", _Text),
        ("tokenizer_config", _Text),
        ("generation_config", _Text),
        ("limits", c_uint64 * 8),
        ("now", c_int64),
    ]


class _Buffer(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t), ("capacity", c_size_t)]


_PIECE = struct.Struct("@QPNPPN")  # assay_piece
_RESULT = struct.Struct("@iNN")  # assay_result


def _text(text: str | bytes | None) -> _Text:
    raw = text.encode() if isinstance(text, str) else text
    return _Text(raw, 0 if raw is None else len(raw))


def _named() -> str | None:
    """Return the path of the library: the variable ASSAY_LIBRARY, where empty means none, or the
    one of this package."""
    named = os.environ.get("ASSAY_LIBRARY")
    if named is not None:
        return named or None
    own = Path(__file__).with_name(_NAMES.get(sys.platform, "libassay.so"))
    # A Go library cannot be loaded by the C library musl once a program runs.
    if sys.platform == "linux" and platform.libc_ver()[0] != "glibc" or not own.exists():
        return None
    return str(own)


class _Held:
    """Frees a buffer when it goes."""

    def __init__(self, free: Any, at: Any) -> None:
        self._free, self._at = free, at

    def __del__(self) -> None:
        self._free(self._at)


class _Results(threading.local):
    """The buffer of a thread."""

    def __init__(self, free: Any) -> None:
        self.buffer = _Buffer()
        self.at = ctypes.byref(self.buffer)
        self._held = _Held(free, self.at)


class Library:
    """libassay, loaded."""

    def __init__(self, path: str) -> None:
        loaded = ctypes.CDLL(path)

        def function(name: str, *arguments: Any, result: Any = c_int32) -> Any:
            found = getattr(loaded, "assay_" + name)
            found.argtypes, found.restype = arguments, result
            return found

        if (found := function("abi", result=c_uint32)()) != ABI:
            raise OSError(f"{path} has the interface {found}; this package needs {ABI}")
        handle, into, out = c_uint64, c_void_p, c_void_p
        self.path = path
        self.status = function("status", c_int32, result=c_char_p)
        self.compile = function("compile", c_void_p, into, out)
        self.format = function("format", handle, out)
        self.prepare = function("prepare", handle, _Text, _Text, into, out)
        self.grammar = function("grammar", handle, _Text, out)
        self.segments = function("segments", handle, out)
        self.parser = function("parser", handle, into, out)
        self.write = function("write", handle, c_char_p, c_size_t, out)
        self.write_piece = function("write_piece", c_char_p, out)
        self.write_many = function("write_many", c_char_p, c_size_t, c_void_p, out)
        self.held = function("held", handle, c_void_p)
        self.finish = function("finish", handle, c_int32, out)
        self.free = function("free", handle)
        self.results = _Results(function("buffer_free", c_void_p, result=None))

    def failure(self, status: int, text: str = "") -> AssayError:
        """Return the error of a status, whose text is JSON."""
        if not text:
            word = self.status(status).decode()
            return AssayError(word, _SILENT.get(status, f"the library says: {word}"))
        told = json.loads(text)
        return AssayError(
            told["error"], told["message"], told.get("offset"), told.get("line"), told.get("column")
        )

    def call(self, function: Any, *arguments: Any) -> str:
        """Call a function whose last argument is a buffer, and return what it puts there."""
        results = self.results
        status = function(*arguments, results.at)
        buffer = results.buffer
        text = ctypes.string_at(buffer.data, buffer.size).decode() if buffer.size else ""
        if status:
            raise self.failure(status, text)
        return text

    def made(self, function: Any, *arguments: Any) -> tuple[Handle, str]:
        """Call a function that makes something, and return its handle and its text."""
        number = c_uint64()
        text = self.call(function, *arguments, ctypes.byref(number))
        return Handle(self.free, number.value), text


class Handle:
    """The number of something in the library, which goes with it."""

    __slots__ = ("_free", "number")

    def __init__(self, free: Any, number: int) -> None:
        self._free, self.number = free, number

    def __del__(self) -> None:
        self._free(self.number)


@lru_cache(maxsize=1)
def _load(path: str) -> Library | None:
    try:
        return Library(path)
    except OSError:
        if os.environ.get("ASSAY_LIBRARY"):
            raise
        return None  # one for a newer system: the child process does its work


def loaded() -> Library | None:
    """Return the library, loaded; None where this platform has none. It is loaded when it is first
    asked for."""
    path = _named()
    return None if path is None else _load(path)


@lru_cache(maxsize=32)
def _compiled(library: Library, template: Template) -> Handle:
    source = _Source(struct_size=ctypes.sizeof(_Source))
    source.name, source.text = _text(template.name), _text(template.text)
    source.bos = _text("<s>" if template.bos is None else template.bos)
    source.eos = _text("</s>" if template.eos is None else template.eos)
    source.stand_ins = template.bos is None and template.eos is None
    if (known := template.vocabulary) is not None:
        source.tokenizer = _text(known.tokenizer)
        source.tokenizer_config = _text(known.tokenizer_config)
        source.generation_config = _text(known.generation_config)
    return library.made(library.compile, ctypes.byref(source))[0]


def format_of(library: Library, template: Template) -> str:
    """Return a template's format as JSON."""
    return library.call(library.format, _compiled(library, template).number)


class LibraryPlan:
    """A plan in the library."""

    def __init__(self, library: Library, template: Template, request: str, options: str) -> None:
        compiled = _compiled(library, template)
        self._library = library
        self._plan, told = library.made(
            library.prepare, compiled.number, _text(request), _text(options)
        )
        self.told: dict[str, Any] = json.loads(told)

    def grammar(self, language: str) -> str:
        return self._library.call(self._library.grammar, self._plan.number, _text(language))

    def segments(self) -> list[dict[str, Any]]:
        text = self._library.call(self._library.segments, self._plan.number)
        found: list[dict[str, Any]] = json.loads(text)
        return found

    def reader(self) -> LibraryReader:
        return LibraryReader(self._library, self._plan)


class LibraryReader:
    """A parser in the library."""

    __slots__ = ("_handle", "_number", "_results", "_write", "library")

    def __init__(self, library: Library, plan: Handle) -> None:
        self.library = library
        self._handle, _ = library.made(library.parser, plan.number)
        # of the handle and the library, for write
        self._number, self._write, self._results = (
            self._handle.number,
            library.write,
            library.results,
        )

    def write(self, piece: bytes) -> list[dict[str, Any]]:
        results = self._results
        status = self._write(self._number, piece, len(piece), results.at)
        buffer = results.buffer
        if not (size := buffer.size):
            if status:
                raise self.library.failure(status)
            return []
        text = ctypes.string_at(buffer.data, size).decode()
        if status:
            raise self.library.failure(status, text)
        deltas: list[dict[str, Any]] = _decode(text)[0]
        return deltas

    def write_tokens(self, ids: Sequence[int]) -> list[dict[str, Any]]:
        numbers = _numbers(ids)
        piece = _PIECE.pack(self._number, 0, 0, numbers.buffer_info()[0], 0, len(numbers))
        text = self.library.call(self.library.write_piece, piece)
        deltas: list[dict[str, Any]] = _decode(text)[0] if text else []
        return deltas

    def held(self) -> int:
        held = c_uint64()
        if status := self.library.held(self._number, ctypes.byref(held)):
            raise self.library.failure(status)
        return held.value

    def finish(self, reason: str) -> dict[str, Any]:
        if reason not in _REASONS:
            raise AssayError("request", f"there is no reason {reason!r}; there are {[*_REASONS]}")
        told: dict[str, Any] = json.loads(
            self.library.call(self.library.finish, self._number, _REASONS[reason])
        )
        return told


def _numbers(ids: Sequence[int]) -> array[int]:
    """Return ids as C has them. One that is no id of any tokeniser becomes -1."""
    try:
        return array("i", ids)
    except OverflowError:
        return array("i", [n if 0 <= n < 1 << 31 else -1 for n in ids])


def write_many(
    readers: Sequence[LibraryReader], pieces: Sequence[bytes | Sequence[int]]
) -> list[list[dict[str, Any]] | AssayError]:
    """Write a piece to each of some parsers of one library in one call."""
    library = readers[0].library
    data = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    ids = _numbers([*itertools.chain.from_iterable(p for p in pieces if not isinstance(p, bytes))])
    at = ctypes.cast(c_char_p(data), c_void_p).value or 0
    number_at = ids.buffer_info()[0]
    packed = bytearray()
    for reader, piece in zip(readers, pieces):
        size = len(piece)
        if isinstance(piece, bytes):
            packed += _PIECE.pack(reader._number, at, size, 0, 0, 0)
            at += size
        else:
            packed += _PIECE.pack(reader._number, 0, 0, number_at, 0, size)
            number_at += size * ids.itemsize
    results = ctypes.create_string_buffer(_RESULT.size * len(readers))
    buffer = library.results
    if status := library.write_many(bytes(packed), len(readers), results, buffer.at):
        raise library.failure(status)
    text = ctypes.string_at(buffer.buffer.data, buffer.buffer.size) if buffer.buffer.size else b""
    answers: list[list[dict[str, Any]] | AssayError] = []
    for status, offset, size in _RESULT.iter_unpack(results.raw):
        if status:
            answers.append(library.failure(status, text[offset : offset + size].decode()))
        else:
            answers.append(_decode(text[offset : offset + size].decode())[0] if size else [])
    return answers
