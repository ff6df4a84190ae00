"""The typed client of the control API: ``Client`` blocks, ``AsyncClient`` is for asyncio.

Both have the same methods; their docstrings stand in ``Client``. A method returns a shape of
``rdss_sandbox.shapes``. It raises ``UnreachableError`` when nothing answers at the address and
``RefusedError`` when the sandbox refuses the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from rdss_sandbox import shapes as r
from rdss_sandbox.clients.access import Access, AsyncAccess
from rdss_sandbox.clients.audit import AsyncAuditMessages, AuditMessages
from rdss_sandbox.clients.processing import AsyncProcessing, Processing
from rdss_sandbox.clients.queues import AsyncQueues, Queues
from rdss_sandbox.clients.scenarios import AsyncScenarios, Scenarios
from rdss_sandbox.clients.topics import AsyncTopicViews, TopicViews
from rdss_sandbox.shapes.events import Event, event_of
from rdss_sandbox.shapes.pruning import Prune, Pruned
from rdss_sandbox.shapes.readers import ReaderList

T = TypeVar("T")

_RETRY_SECONDS = 0.5
# The event stream sends at least a comment every 10 seconds.
_TIMEOUT = httpx.Timeout(30.0, connect=3.0)


class UnreachableError(Exception):
    """No sandbox answers at ``url``."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"no sandbox answers at {url} ({why}); start one with: sandbox up")
        self.url = url


class RefusedError(Exception):
    """The sandbox refused a request: ``status`` of HTTP, ``code`` for programs, the message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Client:
    """A blocking client of the control API at ``url``; beyond loopback, the sandbox needs its ``token``."""

    def __init__(self, url: str, *, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(**_connection(self.url, token))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def status(self) -> r.Status:
        """The sandbox as a whole: its addresses, streams, clock, topology and notes."""
        return self._ask(r.Status, "GET", "/status")

    def version(self) -> r.Version:
        return self._ask(r.Version, "GET", "/version")

    @cached_property
    def access(self) -> Access:
        """The access keys with limited permissions."""
        return Access(self._ask)

    @cached_property
    def scenarios(self) -> Scenarios:
        """The scenarios of the sandbox and their runs. Raises ``RefusedError`` where it has none."""
        return Scenarios(self._ask)

    @cached_property
    def processing(self) -> Processing:
        """Asynchronous messages and simulated external systems. Raises ``RefusedError`` where it has none."""
        return Processing(self._ask)

    @cached_property
    def queues(self) -> Queues:
        """The queues, their messages and the claims on these."""
        return Queues(self._ask)

    @cached_property
    def topics(self) -> TopicViews:
        """The topics, their records, the changes of these, and the entitlements."""
        return TopicViews(self._ask)

    def streams(self) -> tuple[r.Stream, ...]:
        return self._ask(r.StreamList, "GET", "/streams").streams

    def stream(self, name: str) -> r.StreamDetail:
        return self._ask(r.StreamDetail, "GET", f"/streams/{_segment(name)}")

    def reshard(self, name: str, change: r.Reshard) -> r.StreamDetail:
        """Split, merge or scale the shards of a stream and return the stream afterwards."""
        return self._ask(r.StreamDetail, "POST", f"/streams/{_segment(name)}/reshard", body=change)

    def readers(self, stream: str | None = None) -> ReaderList:
        """The readers of one stream, or of every stream, with the shard and position of each."""
        return self._ask(ReaderList, "GET", "/readers", query={"stream": stream})

    def messages(
        self, *, offset: int | None = None, after: int | None = None, limit: int = 100, matching: str = ""
    ) -> r.MessagePage:
        """Up to ``limit`` messages that the filter ``matching`` selects, oldest first.

        ``offset`` starts the page at that match, counted from 0, or from the end when negative. ``after``
        starts it at the first match with a higher id. Without both it starts at the first match.
        """
        query = {"offset": offset, "after": after, "limit": limit, "filter": matching or None}
        return self._ask(r.MessagePage, "GET", "/messages", query=query)

    def message(self, row_id: int) -> r.MessageDetail:
        """The whole message with the id ``row_id`` of ``MessageRow``."""
        return self._ask(r.MessageDetail, "GET", f"/messages/{row_id}")

    def export(self, matching: str = "") -> Iterator[bytes]:
        """All messages that the filter selects, as NDJSON in chunks of any length."""
        return self._export("/messages", matching)

    def audit(self, place: r.AuditPlace) -> AuditMessages:
        """The entries of the audit log in its stream, or in its bucket."""
        return AuditMessages(self._ask, self._export, f"/audit/{place}/messages")

    def _export(self, at: str, matching: str) -> Iterator[bytes]:
        try:
            with self._http.stream("GET", f"{at}/export", params={"filter": matching}) as answer:
                if answer.is_error:
                    answer.read()
                yield from _check(answer).iter_bytes()
        except httpx.TransportError as error:
            raise UnreachableError(self.url, _why(error)) from error

    def counts(self, by: str, *, matching: str = "") -> tuple[r.Count, ...]:
        """The number of messages for each value of a field: type, class, code, stream or version."""
        query = {"by": by, "filter": matching or None}
        return self._ask(r.Counts, "GET", "/messages/counts", query=query).counts

    def send(self, message: r.NewMessage) -> r.Sent:
        """Put the message into its stream and return where it is. Faults apply to it."""
        return self._ask(r.Sent, "POST", "/messages", body=message)

    def sequences(
        self, *, offset: int = 0, limit: int = 100, matching: str = "", unfinished: bool = False
    ) -> r.SequencePage:
        """Up to ``limit`` sequences from ``offset`` on, oldest first; ``unfinished`` ones lack a part."""
        query = {"offset": offset, "limit": limit, "filter": matching or None, "unfinished": unfinished}
        return self._ask(r.SequencePage, "GET", "/sequences", query=query)

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """Up to ``limit`` events with an id above ``after``, oldest first."""
        page = self._ask(r.EventPage, "GET", "/events", query={"after": after, "limit": limit})
        return [event_of(fields) for fields in page.events]

    def last_event(self) -> int:
        """The id of the newest event, 0 before the first. Ids count from 1 without gaps."""
        return self._ask(r.EventPage, "GET", "/events", query={"limit": 0}).last

    def faults(self) -> tuple[r.Fault, ...]:
        return self._ask(r.FaultList, "GET", "/faults").faults

    def fault(self, name: str) -> r.Fault:
        return self._ask(r.Fault, "GET", f"/faults/{_segment(name)}")

    def fault_types(self) -> tuple[r.FaultType, ...]:
        return self._ask(r.FaultTypes, "GET", "/faults/types").types

    def add_fault(self, fault: r.NewFault) -> r.Fault:
        return self._ask(r.Fault, "POST", "/faults", body=fault)

    def change_fault(self, name: str, change: r.FaultChange) -> r.Fault:
        """Change a fault in force and return its new state."""
        return self._ask(r.Fault, "PATCH", f"/faults/{_segment(name)}", body=change)

    def remove_fault(self, name: str) -> r.Fault:
        """Remove a fault and return its final state, the count of injections included."""
        return self._ask(r.Fault, "DELETE", f"/faults/{_segment(name)}")

    def clock(self) -> r.ClockReading:
        return self._ask(r.ClockReading, "GET", "/clock")

    def change_clock(self, change: r.ClockChange) -> r.ClockReading:
        return self._ask(r.ClockReading, "POST", "/clock", body=change)

    def reset(self) -> r.Status:
        """Remove every fault and message, set the clock to real time and create the topology again."""
        return self._ask(r.Status, "POST", "/reset")

    def populate(self, topology: r.Topology | None = None) -> r.Populated:
        """Create the missing streams and buckets of ``topology``, by default the sandbox's own."""
        return self._ask(r.Populated, "POST", "/populate", body=topology)

    def buckets(self) -> tuple[r.Bucket, ...]:
        return self._ask(r.BucketList, "GET", "/buckets").buckets

    def objects(
        self, bucket: str, *, prefix: str = "", after: str | None = None, limit: int = 1000
    ) -> r.ObjectPage:
        """Up to ``limit`` objects of a bucket by key, from the first key above ``after``."""
        query = {"prefix": prefix or None, "after": after, "limit": limit}
        return self._ask(r.ObjectPage, "GET", f"/buckets/{_segment(bucket)}/objects", query=query)

    def object(self, bucket: str, key: str) -> bytes:
        """The content of an object."""
        return self._send("GET", f"/buckets/{_segment(bucket)}/objects/{quote(key)}").content

    def audit_status(self) -> r.AuditStatus:
        return self._ask(r.AuditStatus, "GET", "/audit/status")

    def drain_audit(self) -> r.AuditStatus:
        """Wait until every message that is in the streams now is in the bucket of the audit log."""
        return self._ask(r.AuditStatus, "POST", "/audit/drain")

    def prune(self, wanted: Prune) -> Pruned:
        """Remove objects and events by age, or down to a size."""
        return self._ask(Pruned, "POST", "/prune", body=wanted)

    def _ask(self, shape: type[T], method: str, path: str, **given: Any) -> T:
        return msgspec.json.decode(self._send(method, path, **given).content, type=shape)

    def _send(self, method: str, path: str, **given: Any) -> httpx.Response:
        try:
            return _check(self._http.request(method, path, **_request(**given)))
        except httpx.TransportError as error:
            raise UnreachableError(self.url, _why(error)) from error


class AsyncClient:
    """``Client`` for asyncio; it also follows events and the clock live.

    ``pause`` waits the given seconds before a lost live stream is connected again.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._pause = pause
        self._http = httpx.AsyncClient(**_connection(self.url, token))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def status(self) -> r.Status:
        return await self._ask(r.Status, "GET", "/status")

    async def version(self) -> r.Version:
        return await self._ask(r.Version, "GET", "/version")

    @cached_property
    def access(self) -> AsyncAccess:
        return AsyncAccess(self._ask)

    @cached_property
    def scenarios(self) -> AsyncScenarios:
        return AsyncScenarios(self._ask)

    @cached_property
    def processing(self) -> AsyncProcessing:
        return AsyncProcessing(self._ask)

    @cached_property
    def queues(self) -> AsyncQueues:
        return AsyncQueues(self._ask)

    @cached_property
    def topics(self) -> AsyncTopicViews:
        return AsyncTopicViews(self._ask)

    async def streams(self) -> tuple[r.Stream, ...]:
        return (await self._ask(r.StreamList, "GET", "/streams")).streams

    async def stream(self, name: str) -> r.StreamDetail:
        return await self._ask(r.StreamDetail, "GET", f"/streams/{_segment(name)}")

    async def reshard(self, name: str, change: r.Reshard) -> r.StreamDetail:
        return await self._ask(r.StreamDetail, "POST", f"/streams/{_segment(name)}/reshard", body=change)

    async def readers(self, stream: str | None = None) -> ReaderList:
        return await self._ask(ReaderList, "GET", "/readers", query={"stream": stream})

    async def messages(
        self, *, offset: int | None = None, after: int | None = None, limit: int = 100, matching: str = ""
    ) -> r.MessagePage:
        query = {"offset": offset, "after": after, "limit": limit, "filter": matching or None}
        return await self._ask(r.MessagePage, "GET", "/messages", query=query)

    async def message(self, row_id: int) -> r.MessageDetail:
        return await self._ask(r.MessageDetail, "GET", f"/messages/{row_id}")

    def export(self, matching: str = "") -> AsyncIterator[bytes]:
        return self._export("/messages", matching)

    def audit(self, place: r.AuditPlace) -> AsyncAuditMessages:
        return AsyncAuditMessages(self._ask, self._export, f"/audit/{place}/messages")

    async def _export(self, at: str, matching: str) -> AsyncIterator[bytes]:
        try:
            async with self._http.stream("GET", f"{at}/export", params={"filter": matching}) as answer:
                if answer.is_error:
                    await answer.aread()
                async for piece in _check(answer).aiter_bytes():
                    yield piece
        except httpx.TransportError as error:
            raise UnreachableError(self.url, _why(error)) from error

    async def counts(self, by: str, *, matching: str = "") -> tuple[r.Count, ...]:
        query = {"by": by, "filter": matching or None}
        return (await self._ask(r.Counts, "GET", "/messages/counts", query=query)).counts

    async def send(self, message: r.NewMessage) -> r.Sent:
        return await self._ask(r.Sent, "POST", "/messages", body=message)

    async def sequences(
        self, *, offset: int = 0, limit: int = 100, matching: str = "", unfinished: bool = False
    ) -> r.SequencePage:
        query = {"offset": offset, "limit": limit, "filter": matching or None, "unfinished": unfinished}
        return await self._ask(r.SequencePage, "GET", "/sequences", query=query)

    async def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        page = await self._ask(r.EventPage, "GET", "/events", query={"after": after, "limit": limit})
        return [event_of(fields) for fields in page.events]

    async def last_event(self) -> int:
        return (await self._ask(r.EventPage, "GET", "/events", query={"limit": 0})).last

    async def faults(self) -> tuple[r.Fault, ...]:
        return (await self._ask(r.FaultList, "GET", "/faults")).faults

    async def fault(self, name: str) -> r.Fault:
        return await self._ask(r.Fault, "GET", f"/faults/{_segment(name)}")

    async def fault_types(self) -> tuple[r.FaultType, ...]:
        return (await self._ask(r.FaultTypes, "GET", "/faults/types")).types

    async def add_fault(self, fault: r.NewFault) -> r.Fault:
        return await self._ask(r.Fault, "POST", "/faults", body=fault)

    async def change_fault(self, name: str, change: r.FaultChange) -> r.Fault:
        return await self._ask(r.Fault, "PATCH", f"/faults/{_segment(name)}", body=change)

    async def remove_fault(self, name: str) -> r.Fault:
        return await self._ask(r.Fault, "DELETE", f"/faults/{_segment(name)}")

    async def clock(self) -> r.ClockReading:
        return await self._ask(r.ClockReading, "GET", "/clock")

    async def change_clock(self, change: r.ClockChange) -> r.ClockReading:
        return await self._ask(r.ClockReading, "POST", "/clock", body=change)

    async def reset(self) -> r.Status:
        return await self._ask(r.Status, "POST", "/reset")

    async def populate(self, topology: r.Topology | None = None) -> r.Populated:
        return await self._ask(r.Populated, "POST", "/populate", body=topology)

    async def buckets(self) -> tuple[r.Bucket, ...]:
        return (await self._ask(r.BucketList, "GET", "/buckets")).buckets

    async def objects(
        self, bucket: str, *, prefix: str = "", after: str | None = None, limit: int = 1000
    ) -> r.ObjectPage:
        query = {"prefix": prefix or None, "after": after, "limit": limit}
        return await self._ask(r.ObjectPage, "GET", f"/buckets/{_segment(bucket)}/objects", query=query)

    async def object(self, bucket: str, key: str) -> bytes:
        return (await self._send("GET", f"/buckets/{_segment(bucket)}/objects/{quote(key)}")).content

    async def audit_status(self) -> r.AuditStatus:
        return await self._ask(r.AuditStatus, "GET", "/audit/status")

    async def drain_audit(self) -> r.AuditStatus:
        return await self._ask(r.AuditStatus, "POST", "/audit/drain")

    async def prune(self, wanted: Prune) -> Pruned:
        return await self._ask(Pruned, "POST", "/prune", body=wanted)

    async def follow_events(
        self, after: int = 0, *, on_connection: Callable[[bool], None] = lambda _: None
    ) -> AsyncIterator[Event]:
        """Yield every event with an id above ``after``, past and future, until cancelled.

        A lost connection is made again. ``on_connection`` is called with True after each connection and with
        False after each loss. A sandbox that restarted in between counts its events from 1 again.
        Raises ``RefusedError``.
        """
        resume = {"last-event-id": str(after)}
        async for data in self._follow("/events", resume, on_connection):
            event = event_of(msgspec.json.decode(data))
            resume["last-event-id"] = str(event.id)
            yield event

    async def follow_clock(
        self, *, on_connection: Callable[[bool], None] = lambda _: None
    ) -> AsyncIterator[r.ClockReading]:
        """Yield the clock's reading now and after each change of it, until cancelled.

        Connections are as for ``follow_events``. The first reading after a connection is current.
        """
        async for data in self._follow("/clock", {}, on_connection):
            yield msgspec.json.decode(data, type=r.ClockReading)

    async def _follow(
        self, path: str, headers: Mapping[str, str], on_connection: Callable[[bool], None]
    ) -> AsyncIterator[str]:
        """Yield the data of each server-sent event; connect again after each loss."""
        while True:
            try:
                asked = {"accept": "text/event-stream", **headers}
                async with self._http.stream("GET", path, headers=asked) as answer:
                    if answer.is_error:
                        await answer.aread()
                    _check(answer)
                    on_connection(True)
                    async for line in answer.aiter_lines():
                        if line.startswith("data:"):
                            yield line[5:]
            except httpx.TransportError:
                pass
            on_connection(False)
            await self._pause(_RETRY_SECONDS)

    async def _ask(self, shape: type[T], method: str, path: str, **given: Any) -> T:
        return msgspec.json.decode((await self._send(method, path, **given)).content, type=shape)

    async def _send(self, method: str, path: str, **given: Any) -> httpx.Response:
        try:
            return _check(await self._http.request(method, path, **_request(**given)))
        except httpx.TransportError as error:
            raise UnreachableError(self.url, _why(error)) from error


def _request(query: dict[str, Any] | None = None, body: Any = None) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if query:
        given["params"] = {name: value for name, value in query.items() if value is not None}
    if body is not None:
        given["content"] = msgspec.json.encode(body)
        given["headers"] = {"content-type": "application/json"}
    return given


def _connection(url: str, token: str | None) -> dict[str, Any]:
    return {
        "base_url": url,
        "headers": {"authorization": f"Bearer {token}"} if token else {},
        "timeout": _TIMEOUT,
        "trust_env": False,
        # Loading the certificates of all authorities takes as long as the rest of the construction.
        "verify": url.startswith("https:"),
    }


def _check(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    try:
        problem = msgspec.json.decode(answer.content, type=r.Refusal).error
    except msgspec.DecodeError:
        problem = r.Problem(
            "unexpected_answer", f"{answer.request.url} answered {answer.status_code}; is it a sandbox?"
        )
    raise RefusedError(answer.status_code, problem.code, problem.message)


def _segment(name: str) -> str:
    return quote(name, safe="")


def _why(error: httpx.TransportError) -> str:
    timed_out = isinstance(error, httpx.TimeoutException)
    return "it did not answer in time" if timed_out else "connection refused or lost"
