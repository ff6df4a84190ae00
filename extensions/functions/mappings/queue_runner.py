"""Runs a mapping of a queue of SQS: receives batches, invokes, and deletes what is done with."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from emulator.clock import Clock
from emulator.http.daemon_threads import DaemonThreads
from extensions.functions.engine.errors import LambdaError
from extensions.functions.mappings.batches import failed_items, reports_failures
from extensions.functions.mappings.destinations import Client
from extensions.functions.mappings.event_patterns import read_pattern
from extensions.functions.mappings.lane import FAILED, Invoke
from extensions.functions.mappings.mapping import Mapping
from extensions.functions.mappings.source_events import passes_filters, queue_event

_AT_ONCE: Final = 5
"""The pollers of a mapping without MaximumConcurrency."""
_WAIT_SECONDS: Final = 1
_RECEIVED: Final = 10
"""The most messages of one ReceiveMessage."""
_PAUSE_SECONDS: Final = 1.0


class QueueRunner:
    """The pollers of one mapping, on one event loop, from ``start`` to ``stop``.

    What a function has failed at is left in the queue, whose visibility time-out brings it again.
    """

    def __init__(
        self, mapping: Mapping, client: Client, clock: Clock, *, invoke: Invoke, report: Callable[[str], None]
    ) -> None:
        self._mapping = mapping
        self._client = client
        self._clock = clock
        self._invoke = invoke
        self._report = report
        self._patterns = [read_pattern(each) for each in mapping.filters]
        self._stopping = asyncio.Event()
        pollers = mapping.concurrency or _AT_ONCE
        self._threads = DaemonThreads("queue mapping", pollers)
        self._pollers = pollers
        self._tasks: list[asyncio.Task[None]] = []
        self.hidden: float | None = None
        """For how long the queue hides what was received, in seconds; None before anything was."""
        self._handing_over: set[asyncio.Task[Any] | None] = set()

    def start(self) -> None:
        self._tasks = [asyncio.ensure_future(self._poll()) for _ in range(self._pollers)]

    async def stop(self) -> None:
        """Receive no more, and return when the invocations that are under way have ended."""
        self._stopping.set()
        self._clock.nudge()
        for task in self._tasks:
            if task not in self._handing_over:
                # What it receives after all is in the queue again after its visibility time-out.
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _poll(self) -> None:
        sqs = await self._threads.run(lambda: self._client("sqs", self._mapping.region))
        url, task = "", asyncio.current_task()
        while not self._stopping.is_set():
            try:
                url = url or await self._threads.run(lambda: _find_url(sqs, self._mapping))
                batch = await self._gather(sqs, url)
                if batch:
                    self.hidden = await self._threads.run(partial(read_visibility, sqs, url))
                    self._handing_over.add(task)
                    await self._hand_over(sqs, url, batch)
            except Exception as error:  # noqa: BLE001 -- whatever it is, the queue keeps the messages
                self._report(f"PROBLEM: {error}")
                await self._clock.sleep(_PAUSE_SECONDS, self._stopping.is_set)
            finally:
                self._handing_over.discard(task)

    async def _gather(self, sqs: Any, url: str) -> list[dict[str, Any]]:
        """Receive up to a batch, for as long as the batching window lasts."""
        mapping, batch = self._mapping, deque[dict[str, Any]]()
        until = None
        while len(batch) < mapping.batch_size and not self._stopping.is_set():
            most = min(mapping.batch_size - len(batch), _RECEIVED)
            found = await self._threads.run(lambda most=most: _receive(sqs, url, most))  # type: ignore[misc]
            batch.extend(found)
            if not batch:
                return []
            until = until or self._clock.elapsed() + mapping.batching_seconds
            if self._clock.elapsed() >= until and (len(found) < most or not mapping.batching_seconds):
                break
        return list(batch)

    async def _hand_over(self, sqs: Any, url: str, batch: Sequence[dict[str, Any]]) -> None:
        event = queue_event(self._mapping, batch)
        passing = [
            (message, record)
            for message, record in zip(batch, event["Records"], strict=True)
            if passes_filters(self._patterns, record, record["body"])
        ]
        # What no filter lets through is deleted, as Lambda does.
        done = [each for each in batch if all(each is not message for message, _ in passing)]
        if passing:
            messages = [message for message, _ in passing]
            done += await self._invoke_with(messages, [record for _, record in passing])
        if done:
            await self._threads.run(lambda: _delete(sqs, url, done))

    async def _invoke_with(
        self, messages: Sequence[dict[str, Any]], records: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Invoke the function; the messages that it is done with."""
        try:
            outcome = await self._invoke(json.dumps({"Records": records}).encode())
        except LambdaError as error:
            self._report(f"PROBLEM: {error.message}")
            return []
        if outcome.error:
            self._report(FAILED)
            return []
        self._report("OK")
        if not reports_failures(self._mapping):
            return list(messages)
        failed = failed_items(outcome.payload, [each["messageId"] for each in records])
        return [each for each in messages if each["MessageId"] not in failed]


def _find_url(sqs: Any, mapping: Mapping) -> str:
    found: str = sqs.get_queue_url(QueueName=mapping.source_name)["QueueUrl"]
    return found


def read_visibility(sqs: Any, url: str) -> float:
    """The visibility time-out of a queue in seconds."""
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
    return float(found["Attributes"]["VisibilityTimeout"])


def _receive(sqs: Any, url: str, most: int) -> list[dict[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=most,
        WaitTimeSeconds=_WAIT_SECONDS,
        AttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    found: list[dict[str, Any]] = answer.get("Messages", [])
    return found


def _delete(sqs: Any, url: str, messages: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(messages), _RECEIVED):
        entries = [
            {"Id": str(place), "ReceiptHandle": each["ReceiptHandle"]}
            for place, each in enumerate(messages[start : start + _RECEIVED])
        ]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
