"""Records the messages that pass the relay in the log, and emits summaries of them as events."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.amqp.message_headers import write_text
from emulator.amqp.wire.commands import Command
from emulator.amqp.wire.methods import CLASSES, BasicDeliver, BasicNack, BasicReturn, ChannelClose
from emulator.events import Events
from emulator.kinesis import KinesisError
from emulator.kinesis.batches import Entry
from emulator.relay.amqp.message_contents import read_content_headers
from emulator.streams.amqp_log import LARGEST, AmqpLog
from rdss_sandbox.shapes.tape import TapedMessage, TapedRead, TapedRefusal
from schemas.bound import CONTRACT
from schemas.contract import LOOKED_AT

_EVERY_SECONDS: Final = 0.1
_MOST_IDS: Final = 20
_MOST_LOOKED_AT: Final = 1 << 20
"""Bytes of a channel's messages in which ids are looked for in each moment: some have none."""
REFUSALS: Final = frozenset({BasicNack, BasicReturn, ChannelClose})
"""By what a broker refuses a publish, or any other call on a channel."""
_READ_BYTES: Final = 100
"""About what the note of a delivery takes while it waits for who records it."""
_IDS: Final = [b'"%b"' % each.spelling.encode() for each in CONTRACT.fields if each.name == "id"]
_DEAD_LETTERED: Final = b"x-death"
_DELIVERY_MODE: Final = 0x10
"""The flag of the delivery mode in the first octet of a content header's property flags (section 4.2.6.1)."""


@dataclass(slots=True)
class _TappedSummary:
    messages: int = 0
    size: int = 0
    looked_at: int = 0
    message_ids: list[str] = field(default_factory=list)


class Tap:
    """Emits ``amqp.published`` for each channel and moment: messages, bytes, and the first twenty ids.

    ``amqp.dead_letters`` tells that a queue has a dead-letter exchange, ``amqp.dead_lettered`` that a
    dead-lettered message was delivered, with its queue and reason. ``amqp.unrecorded`` tells of messages that
    the log could not store.
    """

    def __init__(self, events: Events, log: AmqpLog) -> None:
        self._events = events
        self._log = log
        self._since: dict[str, _TappedSummary] = {}
        self._unrecorded: defaultdict[str, list[Entry]] = defaultdict(list)
        self._some_persistent = False

    def record_publish(self, channel: str, routing_key: str, command: Command) -> None:
        """Record messages that go to the broker, with the next ``write_records``.

        A persistent one is to be on record before the broker has it: ``write_persistent`` comes first.
        """
        contents = command.contents
        self._some_persistent = self._some_persistent or any(map(_names_delivery_mode, contents))
        self._record(channel, routing_key, [write_text(CONTRACT, body, given) for given, body in contents])

    def record_text(self, channel: str, routing_key: str, text: bytes) -> None:
        """Record what is published, as the contract judges it, with the next ``write_records``."""
        self._record(channel, routing_key, (text,))

    def _record(self, channel: str, routing_key: str, texts: Sequence[bytes]) -> None:
        self._count(channel, texts)
        if (tap := self._log.wiretap) is not None and tap.on:
            for text in texts:
                tap.note(TapedMessage(tap.clock.time(), channel, text, len(text), routing_key), len(text))
        unrecorded = self._unrecorded[channel]
        for text in texts:
            if len(text) > LARGEST:
                self._events.emit("amqp.unrecorded", channel=channel, bytes=len(text), why="too large")
            else:
                unrecorded.append((text, routing_key))

    def report_declare(self, queue: str, arguments: Mapping[str, Any]) -> None:
        """Emit an event for a declared queue with a dead-letter exchange."""
        exchange = arguments.get("x-dead-letter-exchange")
        if exchange is not None:
            key = arguments.get("x-dead-letter-routing-key")
            self._events.emit(
                "amqp.dead_letters", channel=queue, exchange=str(exchange), routing_key=_text(key)
            )

    def must_see_each(self, run: Command) -> bool:
        """Whether ``report_delivery`` has something to report of a delivery in a run."""
        if (tap := self._log.wiretap) is not None and tap.on:
            return True
        return any(_DEAD_LETTERED in properties for properties, _ in run.contents)

    def report_delivery(self, queue: str, command: Command) -> None:
        """Emit an event for a delivered message that was dead-lettered before."""
        if (tap := self._log.wiretap) is not None and tap.on:
            operation = "basic.deliver" if command.kind is BasicDeliver else "basic.get"
            read = TapedRead(tap.clock.time(), queue, operation, records=1, size=len(command.body))
            tap.note(read, _READ_BYTES)
        if _DEAD_LETTERED not in command.frames[1]:
            return
        death = _last_death(command)
        if death is not None:
            self._events.emit(
                "amqp.dead_lettered",
                channel=queue,
                from_queue=_text(death.get("queue")),
                exchange=_text(death.get("exchange")),
                reason=_text(death.get("reason")),
                times=death.get("count"),
                message_id=CONTRACT.peek(command.write_text(CONTRACT, command.body)).message_id,
            )

    def report_refusal(self, channel: str, command: Command) -> None:
        """Note for those who record that the broker refused a publish to ``channel``, or another call."""
        if (tap := self._log.wiretap) is None or not tap.on:
            return
        answer, operation = command.decode(), "basic.publish"
        match answer:
            case BasicReturn():
                channel, code = answer.exchange or answer.routing_key, str(answer.reply_code)
            case ChannelClose(reply_code=reply, class_id=class_id, method_id=method_id):
                code, operation = str(reply), _name_method(class_id, method_id)
            case _:
                code = "nack"
        tap.note(TapedRefusal(tap.clock.time(), channel, operation, code, records=1, of=1), _READ_BYTES)

    def flush(self) -> None:
        """Write the records and emit the summaries."""
        self.write_records()
        summaries, self._since = self._since, {}
        for channel, found in summaries.items():
            self._events.emit(
                "amqp.published",
                channel=channel,
                messages=found.messages,
                bytes=found.size,
                message_ids=found.message_ids,
            )

    def _count(self, channel: str, texts: Sequence[bytes]) -> None:
        if not self._since:
            asyncio.get_running_loop().call_later(_EVERY_SECONDS, self.flush)
        found = self._since.get(channel)
        if found is None:
            found = self._since[channel] = _TappedSummary()
        found.messages += len(texts)
        found.size += sum(map(len, texts))
        for text in texts:
            if len(found.message_ids) >= _MOST_IDS or found.looked_at > _MOST_LOOKED_AT:
                break
            found.looked_at += min(len(text), LOOKED_AT)
            if _may_have_id(text) and (message_id := CONTRACT.peek(text).message_id):
                found.message_ids.append(message_id)

    def write_persistent(self) -> None:
        """Write what is to be recorded to the log, if a message of it may be persistent."""
        if self._some_persistent:
            self.write_records()

    def write_records(self) -> None:
        """Write what is to be recorded to the log."""
        self._some_persistent = False
        if not self._unrecorded:
            return
        taken, self._unrecorded = self._unrecorded, defaultdict(list)
        for channel, messages in taken.items():
            try:
                self._log.record(channel, messages)
            except KinesisError as error:
                size = sum(len(data) for data, _ in messages)
                self._events.emit("amqp.unrecorded", channel=channel, bytes=size, why=error.message)


def _names_delivery_mode(content: tuple[bytes, bytes]) -> bool:
    """Whether a content has a delivery mode, which those of transient messages mostly have not."""
    properties, _ = content
    return bool(properties) and bool(properties[0] & _DELIVERY_MODE)


def _name_method(class_id: int, method_id: int) -> str:
    """The specification's name of a method, such as ``queue.declare``; empty for none."""
    kind = CLASSES.get(class_id << 16 | method_id)
    first, *rest = re.findall("[A-Z][a-z]*", kind.__name__) if kind is not None else [""]
    return f"{first}.{'-'.join(rest)}".lower() if rest else ""


def _may_have_id(body: bytes) -> bool:
    """Whether ``peek`` may find an id: in an object of JSON, or in the first bytes of what is none."""
    first = body[:1]
    if first == b"{" or first.isspace():
        return True
    return any(body.find(each, 0, LOOKED_AT) >= 0 for each in _IDS)


def _last_death(command: Command) -> dict[str, Any] | None:
    """The latest entry of ``x-death``, which is the first; None without one."""
    deaths: Any = read_content_headers(command).get("x-death")
    return deaths[0] if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict) else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
