"""The error of the package, and where its parts lie."""

from __future__ import annotations

import os
from pathlib import Path


class AssayError(Exception):
    """A request that assay could not answer. ``kind`` says why in a word: ``template``, ``render``,
    ``unverified``, ``limit``, ``language``, ``request``, ``finished``, ``forked`` or ``internal``;
    the text is for people."""

    offset: int | None
    """Of the fault in the template or the request, in bytes from 0; None where it has no place."""
    line: int | None
    """From 1."""
    column: int | None
    """From 1, in characters."""

    def __init__(
        self,
        kind: str,
        message: str,
        offset: int | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(kind, message, offset, line, column)
        self.kind, self.offset, self.line, self.column = kind, offset, line, column

    def __str__(self) -> str:
        return str(self.args[1])


def binary() -> str:
    """Return the path of the assay command: the variable ASSAY, or the one of this package."""
    named = os.environ.get("ASSAY")
    return named or str(Path(__file__).with_name("assay.exe" if os.name == "nt" else "assay"))
