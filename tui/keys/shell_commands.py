"""Shell commands that do the same as an action in the TUI."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from rdss_sandbox.shapes.faults import FaultType, NewFault


def add_fault(fault: NewFault, type_: FaultType) -> str:
    """``sandbox fault add …`` with the values that differ from the type's defaults."""
    words = ["sandbox", "fault", "add", fault.type]
    for name in ("name", "channel", "direction", "toxicity", "limit"):
        value = getattr(fault, name)
        if value is not None and not (name == "direction" and value == type_.directions[0]):
            words += [f"--{name}", _text(value)]
    words += _options(fault.attributes)
    for name, value in fault.when.items():
        if name != "match":
            words += [f"--{name}", _text(value)]
    for field, glob in (fault.when.get("match") or {}).items():
        words += ["--match", f"{field}={glob}"]
    return shlex.join(words)


def _options(attributes: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in attributes.items():
        words += [f"--{name.replace('_', '-')}", _text(value)]
    return words


def _text(value: object) -> str:
    return (
        f"{value:g}"
        if isinstance(value, float)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
