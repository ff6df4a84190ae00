"""Events that nobody waits for: retried twice, then told to a destination or a dead letter queue."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from emulator.clock import Clock
from emulator.events import Events
from emulator.http.daemon_threads import DaemonThreads
from extensions.functions.engine.errors import LambdaError
from extensions.functions.engine.function import AsyncSettings, Place
from extensions.functions.engine.functions import Functions
from extensions.functions.mappings.destinations import Client, send_document
from extensions.functions.runtime.environment import Outcome
from extensions.functions.runtime.invoker import Invoker

_PAUSES: Final = (60.0, 120.0)
"""Seconds of the sandbox's clock before the first and the second retry (Lambda, "Error handling")."""
_THROTTLED_SECONDS: Final = 1.0
_SENDING: Final = 8


class _End(NamedTuple):
    """How an event ended: with a ``condition`` of AWS, after ``calls``, the last of which had ``outcome``."""

    place: Place
    qualifier: str
    payload: bytes
    condition: str
    calls: int
    outcome: Outcome | None


class EventQueue:
    """Events on their way. They are in memory: what waits is lost with the process."""

    def __init__(
        self, functions: Functions, invoker: Invoker, *, clock: Clock, events: Events, client: Client
    ) -> None:
        self._functions = functions
        self._invoker = invoker
        self._clock = clock
        self._events = events
        self._client = client
        self._threads = DaemonThreads("destinations", _SENDING)
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, place: Place, qualifier: str, payload: bytes) -> None:
        """Invoke as soon as it can be, and again where that fails."""
        task = asyncio.ensure_future(self._deliver(place, qualifier, payload))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _deliver(self, place: Place, qualifier: str, payload: bytes) -> None:
        began, calls = self._clock.elapsed(), 0
        while True:
            function = self._functions.find(place)
            if function is None:
                return
            settings = function.asynchronous or AsyncSettings()
            if self._clock.elapsed() - began > settings.age:
                await self._tell(_End(place, qualifier, payload, "EventAgeExceeded", calls, None))
                return
            try:
                outcome, _ = await self._invoker.invoke(place, qualifier, payload)
            except LambdaError:
                await self._clock.sleep(_THROTTLED_SECONDS)
                continue
            calls += 1
            if not outcome.error or calls > settings.retries:
                condition = "RetriesExhausted" if outcome.error else "Success"
                await self._tell(_End(place, qualifier, payload, condition, calls, outcome))
                return
            await self._clock.sleep(_PAUSES[min(calls, len(_PAUSES)) - 1])

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

    async def _send(self, end: _End, target: str, told: object) -> None:
        if not target:
            return
        prefix = f"aws/lambda/async/{end.place.name}"
        wrong = await self._threads.run(
            lambda: send_document(self._client, target, told, prefix, self._clock.time())
        )
        if wrong:
            self._events.emit("function.destination_failed", function=end.place.name, why=wrong)


def _document(end: _End, now: float) -> dict[str, Any]:
    """What a destination of asynchronous invocation is told."""
    place, qualifier, payload, condition, calls, outcome = end
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told: dict[str, Any] = {
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
        told["responseContext"] = {"statusCode": 200, "executedVersion": qualifier or "$LATEST", **failed}
        told["responsePayload"] = json.loads(outcome.payload or b"null")
    return told
