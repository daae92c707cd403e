"""A test for every template below a folder: ``pytest --assay templates/``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import assay_chat


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("assay", "chat templates")
    group.addoption(
        "--assay",
        metavar="PATH",
        action="append",
        default=[],
        help="check the chat templates of this file or folder; may be given again",
    )
    group.addoption(
        "--assay-only",
        metavar="RULE",
        action="append",
        default=None,
        help="run this rule alone, such as A012; may be given again",
    )
    group.addoption(
        "--assay-tools", action="store_true", help="demand that each template is tool-capable"
    )


class Failed(Exception):
    """A template with errors. The text has the findings."""


class Item(pytest.Item):
    """The checks of one template."""

    template: str

    def runtest(self) -> None:
        result = assay_chat.check(self.template, only=self.config.getoption("--assay-only"))
        for finding in result.findings:
            if finding.severity == "warning":
                self.add_report_section("call", "assay", str(finding))
        if not result.ok:
            raise Failed("\n".join(map(str, result.errors)))
        if self.config.getoption("--assay-tools") and not result.tool_capable:
            raise Failed(
                f"{self.template} is not tool-capable; `assay caps {self.template}` says why"
            )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (Failed, assay_chat.AssayError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"assay: {self.template}"


class Templates(pytest.Collector):
    """The templates of a path."""

    def collect(self) -> Iterator[Item]:
        found = assay_chat.find(self.path) if self.path.is_dir() else [str(self.path)]
        for template in found:
            item = Item.from_parent(self, name=template, path=Path(template))
            item.template = template
            yield item


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    for path in config.getoption("--assay"):
        collector = Templates.from_parent(
            session, name=f"assay {path}", path=config.invocation_params.dir / path
        )
        try:
            items.extend(collector.collect())
        except assay_chat.AssayError as error:
            raise pytest.UsageError(f"--assay {path}: {error}") from error
