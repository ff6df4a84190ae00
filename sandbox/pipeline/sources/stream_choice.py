"""Which streams of an endpoint a run reads, and which it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from emulator.channels.aws_session import aws_session
from emulator.settings.topologies import message_stream
from sandbox.pipeline.spark.failures import UnavailableError, UsageError

_COPIES: Final = ("audit", message_stream("audit"))
"""Streams of copies: what they have is on another stream, too."""
_WILDCARDS: Final = frozenset("*?[")


class StreamChoice(NamedTuple):
    """The names of the streams that are ``read`` and of those ``left_out``, where no copies count."""

    read: tuple[str, ...]
    left_out: tuple[str, ...]


def choose_streams(asked: Sequence[str], url: str | None, region: str) -> StreamChoice:
    """Resolve names and patterns (``*``, ``?``, ``[ab]``) against the streams that the endpoint has.

    A stream of copies, such as the audit log's, is read where its name is given, and matches no pattern. An
    endpoint that does not list its streams is asked for names alone. Raises ``UnavailableError`` when a
    pattern needs the list, and ``UsageError`` for a pattern without a stream.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    patterns = [each for each in asked if _WILDCARDS & set(each)]
    try:
        there = _list_streams(url, region)
    except (BotoCoreError, ClientError) as error:
        if patterns:
            raise UnavailableError(f"the streams for {patterns[0]!r} cannot be listed: {error}") from error
        return StreamChoice(tuple(asked), ())
    originals = [name for name in there if name not in _COPIES]
    read: dict[str, None] = {}
    for each in asked:
        found = [name for name in originals if fnmatchcase(name, each)] if each in patterns else [each]
        if not found:
            raise UsageError(f"no stream matches {each!r}; there are: {', '.join(there) or 'none'}")
        read.update(dict.fromkeys(found))
    return StreamChoice(tuple(read), tuple(name for name in originals if name not in read))


def _list_streams(url: str | None, region: str) -> list[str]:
    with closing(aws_session(region).client("kinesis", endpoint_url=url)) as client:
        pages = client.get_paginator("list_streams").paginate()
        return [name for page in pages for name in page["StreamNames"]]
