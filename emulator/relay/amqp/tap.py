"""What passes through the relay, kept message by message; as events, one for each channel and moment."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pamqp.header import ContentHeader

from emulator.events import Events
from emulator.kinesis import KinesisError
from emulator.kinesis.batches import Entry
from emulator.relay.amqp.frames import Command, NotAmqpError, decoded
from emulator.streams.amqp_log import LARGEST, AmqpLog
from schemas.peek import peek

_EVERY_SECONDS: Final = 0.1
_MOST_IDS: Final = 20
_DEAD_LETTERED: Final = b"x-death"


@dataclass(slots=True)
class _Published:
    messages: int = 0
    size: int = 0
    message_ids: list[str] = field(default_factory=list)


class Tap:
    """Event ``amqp.published``: channel, messages, bytes, and the ids of the first twenty of them.

    Events ``amqp.dead_letters`` (a queue has a dead-letter exchange) and ``amqp.dead_lettered`` (such a
    message was delivered) say which queue gave up what, and why. What the log cannot keep is told of as
    ``amqp.unrecorded``.
    """

    def __init__(self, events: Events, log: AmqpLog) -> None:
        self._events = events
        self._log = log
        self._since: dict[str, _Published] = {}
        self._unrecorded: defaultdict[str, list[Entry]] = defaultdict(list)

    def published(self, channel: str, routing_key: str, unit: Command) -> None:
        """A message goes to the broker in this turn of the loop; it will be written down before it goes."""
        body = unit.body
        self._count(channel, body)
        if len(body) > LARGEST:
            self._events.emit("amqp.unrecorded", channel=channel, bytes=len(body), why="too large")
            return
        if not self._unrecorded:
            # What is sent to the broker waits for its turn behind this.
            asyncio.get_running_loop().call_soon(self._record)
        self._unrecorded[channel].append((body, routing_key))

    def declared(self, queue: str, arguments: Mapping[str, Any]) -> None:
        """A queue was declared, perhaps with an exchange for what it gives up."""
        exchange = arguments.get("x-dead-letter-exchange")
        if exchange is not None:
            key = arguments.get("x-dead-letter-routing-key")
            self._events.emit(
                "amqp.dead_letters", channel=queue, exchange=str(exchange), routing_key=_text(key)
            )

    def delivered(self, queue: str, unit: Command) -> None:
        """The broker handed out a message of a queue."""
        if _DEAD_LETTERED not in unit.frames[1]:
            return
        death = _last_death(unit)
        if death is not None:
            self._events.emit(
                "amqp.dead_lettered",
                channel=queue,
                from_queue=_text(death.get("queue")),
                exchange=_text(death.get("exchange")),
                reason=_text(death.get("reason")),
                times=death.get("count"),
                message_id=peek(unit.body).message_id,
            )

    def flush(self) -> None:
        """Write down and tell of what passed."""
        self._record()
        told, self._since = self._since, {}
        for channel, found in told.items():
            self._events.emit(
                "amqp.published",
                channel=channel,
                messages=found.messages,
                bytes=found.size,
                message_ids=found.message_ids,
            )

    def _count(self, channel: str, body: bytes) -> None:
        if not self._since:
            asyncio.get_running_loop().call_later(_EVERY_SECONDS, self.flush)
        found = self._since.get(channel)
        if found is None:
            found = self._since[channel] = _Published()
        found.messages += 1
        found.size += len(body)
        if len(found.message_ids) < _MOST_IDS and (message_id := peek(body).message_id):
            found.message_ids.append(message_id)

    def _record(self) -> None:
        taken, self._unrecorded = self._unrecorded, defaultdict(list)
        for channel, messages in taken.items():
            try:
                self._log.record(channel, messages)
            except KinesisError as error:
                size = sum(len(data) for data, _ in messages)
                self._events.emit("amqp.unrecorded", channel=channel, bytes=size, why=error.message)


def _last_death(unit: Command) -> dict[str, Any] | None:
    """Where and why the message was given up last: the first of ``x-death``."""
    try:
        headers = cast("ContentHeader", decoded(unit.frames[1])).properties.headers or {}
    except NotAmqpError:
        return None
    deaths: Any = headers.get("x-death")
    return deaths[0] if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict) else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
