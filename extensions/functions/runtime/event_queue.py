"""Events that nobody waits for: retried twice, then told to a destination or a dead letter queue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from emulator.back_off import back_off
from emulator.clock import Clock
from emulator.events import Events
from emulator.http.daemon_threads import DaemonThreads
from emulator.journal import KeyedLog
from emulator.rng import new_uuid
from extensions.functions.engine.errors import LambdaError
from extensions.functions.engine.function import AsyncSettings, Place
from extensions.functions.engine.functions import Functions
from extensions.functions.mappings.destinations import Client, send_document
from extensions.functions.runtime.environment import Outcome
from extensions.functions.runtime.invoker import Invoker

_PAUSES: Final = (60.0, 120.0)
"""Seconds of the sandbox's clock before the first and the second retry (Lambda, "Error handling")."""
_THROTTLED: Final = 1.0, 300.0
"""Seconds before the first retry of a call that was throttled, and the most before any."""
_SENDING: Final = 8
_NO_FUNCTION: Final = "the function was deleted"


class _End(NamedTuple):
    """How an event ended: with a ``condition`` of AWS, after ``calls``, the last of which had ``outcome``."""

    place: Place
    qualifier: str
    payload: bytes
    condition: str
    calls: int
    outcome: Outcome | None


class QueuedEvent(msgspec.Struct, frozen=True):
    """An event on its way. ``came`` is seconds since the epoch; ``calls`` counts what has failed so far."""

    account: str
    region: str
    name: str
    qualifier: str
    payload: bytes
    came: float
    calls: int = 0

    @property
    def place(self) -> Place:
        return Place(self.account, self.region, self.name)


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(QueuedEvent).decode


class EventQueue:
    """Events on their way, kept in ``log`` until their end: after a ``kill -9`` the next process goes on."""

    def __init__(
        self,
        functions: Functions,
        invoker: Invoker,
        *,
        clock: Clock,
        events: Events,
        client: Client,
        log: Path | None,
        fsync: bool,
    ) -> None:
        self._log = KeyedLog(log, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self._waiting = {key: _decode(value) for key, value in self._log.read().items()}
        self._functions = functions
        self._invoker = invoker
        self._clock = clock
        self._events = events
        self._client = client
        self._threads = DaemonThreads("destinations", _SENDING)
        self._tasks: dict[bytes, asyncio.Task[None]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def add(self, place: Place, qualifier: str, payload: bytes) -> None:
        """Keep an event, and invoke as soon as it can be, and again where that fails. Raises OSError."""
        key = new_uuid().encode()
        self._keep(key, QueuedEvent(*place, qualifier, payload, self._clock.time()))
        self._begin(key)

    def start(self) -> None:
        """Go on with the events that are kept, and are not on their way."""
        for key in self._waiting.keys() - self._tasks.keys():
            self._begin(key)

    async def stop(self) -> None:
        """Let go of the events that are on their way; they stay kept."""
        for task in tuple(self._tasks.values()):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def save(self) -> list[bytes]:
        """A copy of every event that is kept, for ``load``."""
        return [_encode(each) for each in tuple(self._waiting.values())]

    def load(self, saved: Iterable[bytes | memoryview]) -> None:
        """Replace all by what was saved, once it was stopped. Raises OSError."""
        self._waiting = {new_uuid().encode(): _decode(each) for each in saved}
        self._log.replace((key, _encode(each)) for key, each in self._waiting.items())

    def close(self) -> None:
        self._log.close()

    def _begin(self, key: bytes) -> None:
        task = self._tasks[key] = asyncio.ensure_future(self._deliver(key))
        task.add_done_callback(partial(self._note_end, key))

    def _note_end(self, key: bytes, task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            # What cannot be written is tried again by the next process.
            self._events.emit("function.event_failed", function=self._waiting[key].name, why=str(error))

    def _keep(self, key: bytes, waiting: QueuedEvent) -> None:
        self._log.append([(key, _encode(waiting))])
        self._waiting[key] = waiting

    def _drop(self, key: bytes) -> None:
        self._log.append([(key, None)], freeing=True)
        del self._waiting[key]

    async def _deliver(self, key: bytes) -> None:
        """Invoke until the event has ended, and drop it once that was told."""
        throttled = back_off(*_THROTTLED)
        while (end := await self._try(key, throttled)) is None:
            pass
        if end.condition != _NO_FUNCTION:
            await self._tell(end)
        self._drop(key)

    async def _try(self, key: bytes, throttled: Iterator[float]) -> _End | None:
        """Invoke once. None after a failure that is tried again, once the pause before that is over.

        ``throttled`` are the pauses behind a call that was not let through.
        """
        waiting = self._waiting[key]
        place, qualifier, payload = waiting.place, waiting.qualifier, waiting.payload
        function = self._functions.find(place)
        if function is None:
            return _End(place, qualifier, payload, _NO_FUNCTION, waiting.calls, None)
        if function.concurrency == 0:
            return _End(place, qualifier, payload, "ZeroReservedConcurrency", waiting.calls, None)
        settings = function.asynchronous or AsyncSettings()
        if self._clock.time() - waiting.came > settings.age:
            return _End(place, qualifier, payload, "EventAgeExceeded", waiting.calls, None)
        try:
            outcome, _ = await self._invoker.invoke(place, qualifier, payload)
        except LambdaError:
            await self._clock.sleep(next(throttled))
            return None
        calls = waiting.calls + 1
        if not outcome.error or calls > settings.retries:
            condition = "RetriesExhausted" if outcome.error else "Success"
            return _End(place, qualifier, payload, condition, calls, outcome)
        self._keep(key, msgspec.structs.replace(waiting, calls=calls))
        await self._clock.sleep(_PAUSES[min(calls, len(_PAUSES)) - 1])
        return None

    async def _tell(self, end: _End) -> None:
        """Tell the destination of the event's end, or the dead letter queue of an event that failed."""
        function = self._functions.find(end.place)
        if function is None:
            return
        settings = function.asynchronous or AsyncSettings()
        if end.condition == "Success":
            await self._send(end, settings.on_success, _document(end, self._clock.time()))
        else:
            await self._send(end, settings.on_failure, _document(end, self._clock.time()))
            await self._send(end, function.latest.dead_letters, json.loads(end.payload or b"null"))

    async def _send(self, end: _End, target: str, document: object) -> None:
        if not target:
            return
        prefix = f"aws/lambda/async/{end.place.name}"
        wrong = await self._threads.run(
            lambda: send_document(self._client, target, document, prefix, self._clock.time())
        )
        if wrong:
            self._events.emit("function.destination_failed", function=end.place.name, why=wrong)


def _document(end: _End, now: float) -> dict[str, Any]:
    """What a destination of asynchronous invocation is told."""
    place, qualifier, payload, condition, calls, outcome = end
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    document: dict[str, Any] = {
        "version": "1.0",
        "timestamp": at,
        "requestContext": {
            "requestId": outcome.request_id if outcome else "",
            "functionArn": f"{place.arn}:{qualifier or '$LATEST'}",
            "condition": condition,
            "approximateInvokeCount": calls,
        },
        "requestPayload": json.loads(payload or b"null"),
    }
    if outcome is not None:
        failed = {"functionError": outcome.error} if outcome.error else {}
        document["responseContext"] = {"statusCode": 200, "executedVersion": qualifier or "$LATEST", **failed}
        document["responsePayload"] = json.loads(outcome.payload or b"null")
    return document
