"""Finding the delta between two records.

A delta speaks of the fields at the top of a record. What a field holds, an array or a subdocument too, is
replaced whole; a field that is not in the delta stays as it is, so a delta cannot take one away.
"""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def changed(before: dict[str, Any], after: dict[str, Any], kept: tuple[str, ...]) -> dict[str, Any]:
    """The fields of ``after`` that are new or different, and those in ``kept``."""
    return {
        name: value
        for name, value in after.items()
        if name in kept or name not in before or not _same(before[name], value)
    }


def _same(one: Any, other: Any) -> bool:
    # Python holds 1 and true to be equal; in a record they are not.
    return one == other and (one is other or _encode(one) == _encode(other))
