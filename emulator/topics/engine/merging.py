"""Computes the delta between two records.

A delta has top-level fields of a record. It replaces the whole value of a field, also of an array or a
subdocument. Fields that are not in the delta keep their values, so a delta cannot remove a field.
"""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def find_changes(before: dict[str, Any], after: dict[str, Any], kept: tuple[str, ...]) -> dict[str, Any]:
    """The fields of ``after`` that are new or different, and those in ``kept``."""
    return {
        name: value
        for name, value in after.items()
        if name in kept or name not in before or not _is_same(before[name], value)
    }


def _is_same(one: Any, other: Any) -> bool:
    # 1 == True in Python, but 1 and true differ in JSON.
    return one == other and (one is other or _encode(one) == _encode(other))
