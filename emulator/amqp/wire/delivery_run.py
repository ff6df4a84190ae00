"""Deliveries to one consumer that go out in a row, as one piece of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from emulator.amqp.wire.commands import Command, CommandReader
from emulator.amqp.wire.field_tables import TEXT
from emulator.amqp.wire.frames import BODY, END_BYTE, HEAD, METHOD, build_content, build_frame
from emulator.amqp.wire.method_codec import encode_method
from emulator.amqp.wire.methods import BasicDeliver

_TAG: Final = Struct(">Q?")
"""A delivery tag, and whether the message was delivered before."""


class DeliveredMessage(NamedTuple):
    """A message as it is delivered. Its body is not empty, and fits in a frame."""

    redelivered: bool
    exchange: str
    routing_key: str
    properties: bytes
    body: bytes


@dataclass(slots=True)
class DeliveryRun(Command):
    """Deliveries to one consumer. All are one of its frames; its method is that of the first."""

    messages: Sequence[DeliveredMessage] = ()

    @property
    def times(self) -> int:
        return len(self.messages)

    @property
    def contents(self) -> Sequence[tuple[bytes, bytes]]:
        return [(each.properties, each.body) for each in self.messages]

    def split(self) -> Sequence[Command]:
        found, _ = CommandReader().feed(memoryview(self.frames[0]), len(self.frames[0]))
        return found


def build_delivery_run(
    channel: int, consumer: str, first: int, messages: Sequence[DeliveredMessage]
) -> DeliveryRun:
    """The deliveries of messages with consecutive tags."""
    pieces: list[bytes] = []
    for tag, (redelivered, exchange, key, properties, body) in enumerate(messages, first):
        begin, middle = _frame(channel, consumer, (exchange, key), properties, len(body))
        pieces += (begin, _TAG.pack(tag, redelivered), middle, body, END_BYTE)
    method = BasicDeliver(consumer, first, *messages[0][:3])
    return DeliveryRun(channel, BasicDeliver, [b"".join(pieces)], 0, method, messages=messages)


@lru_cache(maxsize=512)
def _frame(
    channel: int, consumer: str, address: tuple[str, str], properties: bytes, size: int
) -> tuple[bytes, bytes]:
    """What a delivery has before its tag, and what between that and its body. Mostly it is as the last."""
    method = build_frame(METHOD, channel, encode_method(BasicDeliver(consumer, 0, False, *address)))
    at = HEAD.size + 4 + 1 + len(consumer.encode(*TEXT))
    header, *_ = build_content(channel, properties, bytes(size), 0)
    return method[:at], b"".join((method[at + _TAG.size :], header, HEAD.pack(BODY, channel, size)))
