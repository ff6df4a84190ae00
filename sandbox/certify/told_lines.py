"""What a client tells on its standard output: lines of JSON, or lines that a pattern finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

import msgspec


class ToldLine(NamedTuple):
    """The messageId of a line, and the SHA-256 of the body's text where it has one."""

    message_id: str
    digest: str | None = None


ReadLine: TypeAlias = Callable[[str], tuple[ToldLine, ...]]
"""Reads one line of output; empty for a line that tells of no message."""


def json_lines(field: str) -> ReadLine:
    """Read lines such as ``{"processed": "<messageId>", "sha256": "..."}``; ``field`` names the id.

    Both may be lists of one length: a batch that the client commits with its effects in one transaction.
    """

    def read(line: str) -> tuple[ToldLine, ...]:
        if not line.startswith("{"):
            return ()
        try:
            fields: dict[str, Any] = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return ()
        found, digests = fields.get(field), fields.get("sha256")
        if isinstance(found, str):
            found, digests = [found], [digests]
        if not isinstance(found, list):
            return ()
        pairs = zip_longest(found, digests if isinstance(digests, list) else ())
        return tuple(
            ToldLine(name, digest.lower() if isinstance(digest, str) else None)
            for name, digest in pairs
            if isinstance(name, str)
        )

    return read


def matching_lines(pattern: str) -> ReadLine:
    """Read a client's own log lines; the pattern's group ``id``, its first group, or the match is the id.

    Raises ``re.error`` for what is no regular expression.
    """
    # The pattern comes from the user's own command line, so Python's syntax is welcome.
    compiled = re.compile(pattern)

    def read(line: str) -> tuple[ToldLine, ...]:
        found = compiled.search(line)
        if found is None:
            return ()
        message_id = found.groupdict().get("id") or (found[1] if compiled.groups else found[0])
        return (ToldLine(message_id),) if message_id else ()

    return read
