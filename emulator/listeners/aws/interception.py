"""Interceptors: what stands between a client and the backend, such as the fault engine."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from emulator.kinesis.group_commit import GroupCommit
from emulator.kinesis.onlooker import Onlooker
from emulator.kinesis.scope import Scope, stream_named

Request: TypeAlias = dict[str, Any]
Response: TypeAlias = dict[str, Any]
Proceed: TypeAlias = Callable[[Request], Awaitable[Response]]
FastPath: TypeAlias = Callable[[bytes, Scope, Container[str], Onlooker], bytes]
"""The body, the caller's scope, the watched streams, and who is told of what was done."""
EventStream: TypeAlias = AsyncGenerator[tuple[str, Response], None]
"""The pairs (event type, event) of a response's ``EventStream`` member."""


class Backend(Protocol):
    """Answers Kinesis requests: the engine of this process, or a relay to another endpoint."""

    @property
    def fast_paths(self) -> Mapping[str, FastPath]:
        """By operation, functions from JSON request to JSON response.

        They raise NotFastError for a request that ``call`` has to judge, and for one whose stream is watched.
        """

    @property
    def commits(self) -> GroupCommit | None:
        """What to wait for before an answer of a fast path is sent; None for nothing."""

    async def call(self, operation: str, request: Request, scope: Scope) -> Response:
        """Answer in botocore's shapes: blobs are bytes, timestamps seconds. Raises KinesisError.

        SubscribeToShard answers with an ``EventStream``.
        """


class Interceptor(Protocol):
    """May read, change, delay, refuse or repeat a request, and its response.

    Raises KinesisError to answer with an AWS error, ``asgi.ClientGoneError`` to close the connection without
    an answer.
    """

    def watches(self, operation: str) -> Container[str] | None:
        """The streams whose calls of an operation it has to see; None when it has to see no call.

        This runs for every call, before its body is read.
        """

    def wants(self, operation: str, stream: str | None, iterator: str | None = None) -> bool:
        """Whether to be called for a stream or, in GetRecords, for a shard iterator."""

    async def __call__(self, operation: str, request: Request, scope: Scope, proceed: Proceed, /) -> Response:
        """Answer the request. ``proceed`` passes it on to the next interceptor or the backend."""


async def call_through(
    interceptors: Sequence[Interceptor], backend: Backend, operation: str, request: Request, scope: Scope
) -> Response:
    """Pass a request through the interceptors, first to last, to the backend, and return the response."""

    def answer(request: Request) -> Awaitable[Response]:
        return backend.call(operation, request, scope)

    stream = stream_named(request)
    proceed: Proceed = answer
    for interceptor in reversed(interceptors):
        if interceptor.wants(operation, stream, request.get("ShardIterator")):
            proceed = _before(proceed, interceptor, operation, scope)
    return await proceed(request)


def _before(proceed: Proceed, interceptor: Interceptor, operation: str, scope: Scope) -> Proceed:
    def answer(request: Request) -> Awaitable[Response]:
        return interceptor(operation, request, scope, proceed)

    return answer


def watched_streams(interceptors: Iterable[Interceptor], operation: str) -> Container[str]:
    """The streams whose calls of an operation an interceptor has to see."""
    watched: Container[str] = ()
    for each in interceptors:
        if (streams := each.watches(operation)) is not None:
            watched = _Either(watched, streams) if watched else streams
    return watched


@dataclass(frozen=True, slots=True)
class _Either:
    """What is in one of two containers."""

    first: Container[str]
    second: Container[str]

    def __contains__(self, stream: object) -> bool:
        return stream in self.first or stream in self.second


def wanted(interceptors: Iterable[Interceptor], operation: str, body: bytes) -> bool:
    """Whether an interceptor has to see the call with this JSON body."""
    watching = [each for each in interceptors if each.watches(operation) is not None]
    if not watching:
        return False
    stream, iterator = _peek(body)
    return any(each.wants(operation, stream, iterator) for each in watching)


def peek_stream(body: bytes) -> str | None:
    """The stream that a JSON body names, found without decoding the rest; None when it names none."""
    return _peek(body)[0]


class _NamedStream(msgspec.Struct):
    StreamName: str | None = None
    StreamARN: str | None = None
    ShardIterator: str | None = None


_read_named = msgspec.json.Decoder(_NamedStream).decode
# Clients write the name first or last, so megabytes of records need not be searched for it. At either end it
# is a member of the outermost object, and cannot be text inside of a record.
_NAMED_FIRST: Final = re.compile(rb'\s*\{\s*"StreamName"\s*:\s*"([\w.-]+)"')
_NAMED_LAST: Final = re.compile(rb',\s*"StreamName"\s*:\s*"([\w.-]+)"\s*\}\s*\Z')
_LAST_BYTES: Final = 200


def _peek(body: bytes) -> tuple[str | None, str | None]:
    """The stream and the shard iterator that a JSON body names."""
    found = _NAMED_FIRST.match(body) or _NAMED_LAST.search(body, max(0, len(body) - _LAST_BYTES))
    if found:
        return found[1].decode(), None
    try:
        named = _read_named(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, None
    return stream_named({"StreamName": named.StreamName, "StreamARN": named.StreamARN}), named.ShardIterator
