"""Deliveries to one consumer that go out in a row, without a copy of what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any, Final, NamedTuple

from emulator.amqp.wire.commands import Command, CommandReader
from emulator.amqp.wire.field_tables import TEXT
from emulator.amqp.wire.frames import BODY, END_BYTE, HEAD, METHOD, OVERHEAD, build_frame, build_header
from emulator.amqp.wire.method_codec import encode_method
from emulator.amqp.wire.methods import BasicDeliver

_LARGE_BYTES: Final = 1 << 14
_TAG: Final = Struct(">Q?")
"""A delivery tag, and whether the message was delivered before."""


class DeliveredMessage(NamedTuple):
    """A message as it is delivered. Its body is not empty."""

    redelivered: bool
    exchange: str
    routing_key: str
    properties: bytes
    body: bytes


@dataclass(slots=True)
class DeliveryRun(Command):
    """Deliveries to one consumer. Its frames are pieces of theirs; its method is that of the first."""

    messages: Sequence[DeliveredMessage] = ()

    @property
    def times(self) -> int:
        return len(self.messages)

    @property
    def contents(self) -> Sequence[tuple[bytes, bytes]]:
        return [(each.properties, each.body) for each in self.messages]

    def split(self) -> Sequence[Command]:
        raw = b"".join(self.frames)
        found, _ = CommandReader().feed(memoryview(raw), len(raw))
        return found


def build_delivery_run(
    channel: int, consumer: str, first: int, messages: Sequence[DeliveredMessage], frame_max: int
) -> DeliveryRun:
    """The deliveries of messages with consecutive tags, in frames of at most ``frame_max`` bytes."""
    most = frame_max - OVERHEAD
    pieces: list[bytes] = []
    for tag, (redelivered, exchange, key, properties, body) in enumerate(messages, first):
        begin, middle = _frame(channel, consumer, (exchange, key), properties, len(body))
        pieces += (begin, _TAG.pack(tag, redelivered), middle)
        if len(body) <= most:
            pieces += (HEAD.pack(BODY, channel, len(body)), body, END_BYTE)
        else:
            pieces += _cut(channel, body, most)
    method = BasicDeliver(consumer, first, *messages[0][:3])
    # Few bytes are one piece: pieces cost more than a copy of them.
    is_small = sum([len(each.body) for each in messages]) < _LARGE_BYTES
    frames = [b"".join(pieces)] if is_small else pieces
    return DeliveryRun(channel, BasicDeliver, frames, 0, method, messages=messages)


def _cut(channel: int, body: bytes, most: int) -> Iterator[Any]:
    """The pieces of a body's frames. Nothing of it is copied."""
    view = memoryview(body)
    for at in range(0, len(body), most):
        piece = view[at : at + most]
        yield from (HEAD.pack(BODY, channel, len(piece)), piece, END_BYTE)


@lru_cache(maxsize=512)
def _frame(
    channel: int, consumer: str, address: tuple[str, str], properties: bytes, size: int
) -> tuple[bytes, bytes]:
    """What a delivery has before its tag, and what between that and its body. Mostly it is as the last."""
    method = build_frame(METHOD, channel, encode_method(BasicDeliver(consumer, 0, False, *address)))
    at = HEAD.size + 4 + 1 + len(consumer.encode(*TEXT))
    return method[:at], method[at + _TAG.size :] + build_header(channel, properties, size)
