"""Shard ids: ``shardId-`` and twelve digits. AWS accepts any prefix, or none, and fewer digits."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"(?:.*-)?([0-9]+)\Z", re.DOTALL)
_LAST = (1 << 31) - 1


def of_number(number: int) -> str:
    """The id of the shard with this number."""
    return f"shardId-{number:012d}"


def whole(text: str) -> str | None:
    """The full id of the shard that ``text`` means; None when it does not end with a shard's number."""
    found = _NUMBERED.match(text)
    if found is None or int(found[1]) > _LAST:
        return None
    return of_number(int(found[1]))
