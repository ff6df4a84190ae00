"""What a client tells on its standard output: lines of JSON, or lines that a pattern finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec


class ToldLine(NamedTuple):
    """The messageId of a line, and the SHA-256 of the body's text where it has one."""

    message_id: str
    digest: str | None = None


ReadLine: TypeAlias = Callable[[str], ToldLine | None]
"""Reads one line of output; None for a line that tells of no message."""


def json_lines(field: str) -> ReadLine:
    """Read lines such as ``{"processed": "<messageId>", "sha256": "..."}``; ``field`` names the id."""

    def read(line: str) -> ToldLine | None:
        if not line.startswith("{"):
            return None
        try:
            told: dict[str, Any] = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return None
        found, digest = told.get(field), told.get("sha256")
        if not isinstance(found, str):
            return None
        return ToldLine(found, digest.lower() if isinstance(digest, str) else None)

    return read


def matching_lines(pattern: str) -> ReadLine:
    """Read a client's own log lines; the pattern's group ``id``, its first group, or the match is the id.

    Raises ``re.error`` for what is no regular expression.
    """
    # The pattern comes from the user's own command line, so Python's syntax is welcome.
    compiled = re.compile(pattern)

    def read(line: str) -> ToldLine | None:
        found = compiled.search(line)
        if found is None:
            return None
        told = found.groupdict().get("id") or (found[1] if compiled.groups else found[0])
        return ToldLine(told) if told else None

    return read
