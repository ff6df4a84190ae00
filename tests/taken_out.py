"""Tests beside extensions that were taken out: what needs one of them is skipped, with its name.

An extension's own tests go with its folder. Others are about several, and say so with ``needs``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
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


def needs(*names: str) -> pytest.MarkDecorator:
    """Mark a test, or a case of one, that is about these extensions too: skipped without one."""
    missing = list_taken_out().intersection(names)
    return pytest.mark.skipif(bool(missing), reason=describe_taken_out(missing))


def describe_taken_out(names: Collection[str]) -> str:
    """Why a test is skipped."""
    return f"the extension {', '.join(sorted(names))} was taken out"
