"""Tests beside extensions that were taken out: what needs one of them is skipped, with its name.

An extension's own tests go with its folder. Other tests import one where they are about both.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GROUP = "rdss_sandbox.extensions"


@cache
def list_taken_out() -> frozenset[str]:
    """The names of extensions that ``pyproject.toml`` declares and that have no folder."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return frozenset(
        name for name in declared["entry-points"][GROUP] if not (ROOT / "extensions" / name).exists()
    )


def require(*names: str) -> None:
    """Skip the test that calls this, or that uses the fixture that does, without one of these extensions."""
    if missing := sorted(list_taken_out().intersection(names)):
        pytest.skip(_say(missing[0]))


def _say(name: str) -> str:
    return f"the extension {name} was taken out"


def _missing(error: BaseException | None) -> str | None:
    """The extension that was not found, if it was taken out."""
    if isinstance(error, KeyError) and error.args[0] in list_taken_out():
        return str(error.args[0])  # of Embedded.urls or Components.extensions
    if not isinstance(error, ModuleNotFoundError):
        return None
    first, _, rest = (error.name or "").removeprefix("tests.").partition(".")
    name = rest.partition(".")[0]
    return name if first == "extensions" and name in list_taken_out() else None


class TakenOut:
    """Skips what cannot be imported because an extension was taken out."""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Iterator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        error = report.call.excinfo.value if getattr(report, "call", None) and report.call.excinfo else None
        while error is not None and _missing(error) is None:
            error = error.__cause__ or error.__context__
        if (name := _missing(error)) is not None:
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: {_say(name)}")
            module = ".".join(collector.path.relative_to(ROOT).with_suffix("").parts)
            # Half imported as it is, it would fail whoever imports it next in another way.
            sys.modules.pop(module, None)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Iterator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        name = _missing(call.excinfo.value) if call.excinfo else None
        if name is not None:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, f"Skipped: {_say(name)}")
        return report
