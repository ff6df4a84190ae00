"""An AMQP client that costs next to nothing: frames rendered in advance, confirms and deliveries counted.

``amqp_nothing`` is the server that shows how little.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Sequence
from struct import Struct
from typing import Final, Self, TypeVar
from urllib.parse import unquote, urlsplit

from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import GREETING, CommandReader, build_command
from emulator.amqp.wire.frames import build_content
from emulator.amqp.wire.methods import IDS, Method
from emulator.clock import stopwatch
from tests.bench.load import BadAnswerError

TRANSIENT: Final = b"\0\0"
DURABLE: Final = b"\x10\0\x02"
"""Encoded properties: none, and a delivery mode of 2."""
PREFETCH: Final = 100
_FRAME_MAX: Final = 131_072
_CONSUMER: Final = "c"
_TIMEOUT_SECONDS: Final = 60
_READ_BYTES: Final = 1 << 20
_BLOCK_BYTES: Final = 1 << 18
"""About what is sent at once."""
_WINDOW_BYTES: Final = 1 << 22
_WINDOW: Final = 1_000
"""How many publishes, and about how many of their bytes, wait for confirms at most."""
_CONFIRM: Final = Struct(">BHIIQBB")
_TAG_AND_BITS: Final = Struct(">11xQBx")
_ACK: Final = IDS[methods.BasicAck]
Answer = TypeVar("Answer", bound=Method)


class RawConnection:
    """A connection with one channel, which is in confirm mode."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self.socket = socket.create_connection((parts.hostname, parts.port or 5672), _TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = CommandReader()
        self._unread = b""
        self.buffer = bytearray(_READ_BYTES)
        self.confirmed = 0
        self._singles: set[int] = set()
        self._rest = b""
        login = f"\0{unquote(parts.username or 'guest')}\0{unquote(parts.password or 'guest')}".encode()
        self.socket.sendall(GREETING)
        self.wait_for(methods.ConnectionStart)
        self._send(0, methods.ConnectionStartOk({}, "PLAIN", login, "en_US"))
        self.wait_for(methods.ConnectionTune)
        self._send(0, methods.ConnectionTuneOk(2047, _FRAME_MAX, 0))
        self._send(0, methods.ConnectionOpen(unquote(parts.path[1:]) or "/", "", False))
        self.wait_for(methods.ConnectionOpenOk)
        self.ask(methods.ChannelOpen(""), methods.ChannelOpenOk)
        self.ask(methods.ConfirmSelect(False), methods.ConfirmSelectOk)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, method: Method, kind: type[Answer]) -> Answer:
        """Send a method, and return its answer. Raises BadAnswerError for another."""
        self._send(1, method)
        return self.wait_for(kind)

    def wait_for(self, kind: type[Answer]) -> Answer:
        while True:
            found, taken = self._reader.feed(memoryview(self._unread), 1)
            self._unread = self._unread[taken:]
            if found:
                method = found[0].decode()
                if not isinstance(method, kind):
                    raise BadAnswerError(f"{method} instead of {kind.__name__}")
                return method
            self._unread += bytes(self.read())

    def read(self) -> memoryview:
        """What has come, and at least one byte."""
        size = self.socket.recv_into(self.buffer)
        if not size:
            raise BadAnswerError("the connection was closed")
        return memoryview(self.buffer)[:size]

    def take_unread(self) -> int:
        """Forget what came behind the last answer; return its bytes."""
        size, self._unread = len(self._unread), b""
        return size

    def count_confirms(self) -> None:
        """Read confirms. ``confirmed`` is up to where there is none missing."""
        data = self._rest + bytes(self.read())
        whole = len(data) - len(data) % _CONFIRM.size
        self._rest = data[whole:]
        if whole and _CONFIRM.unpack_from(data)[3] != _ACK:
            raise BadAnswerError(f"no confirm: {data[:60]!r}")
        confirmed, singles = self.confirmed, self._singles
        for tag, multiple in _TAG_AND_BITS.iter_unpack(data[:whole]):
            if multiple:
                confirmed = max(confirmed, tag)
            elif tag == confirmed + 1:
                confirmed = tag
            else:
                singles.add(tag)
        while confirmed + 1 in singles:
            confirmed += 1
            singles.discard(confirmed)
        if singles and confirmed > self.confirmed:
            self._singles = {each for each in singles if each > confirmed}
        self.confirmed = confirmed

    def _send(self, channel: int, method: Method) -> None:
        self.socket.sendall(b"".join(build_command(channel, method).frames))


def render_publish(exchange: str, key: str, properties: bytes, body: bytes) -> bytes:
    """The frames of a publish."""
    method = methods.BasicPublish(0, exchange, key, False, False)
    return b"".join((*build_command(1, method).frames, *build_content(1, properties, body, _FRAME_MAX)))


def publish(connections: Sequence[RawConnection], rendered: Sequence[bytes], messages: int) -> float:
    """Publish so many messages on each connection, each its own; return the seconds until the last confirm.

    Raises BadAnswerError for any answer but an acknowledgement.
    """
    sending = [
        _Sending(connection, each, messages) for connection, each in zip(connections, rendered, strict=True)
    ]
    poll = select.poll()
    by_descriptor = {each.connection.socket.fileno(): each for each in sending}
    for each in sending:
        each.connection.socket.setblocking(False)
    began = stopwatch()
    for each in sending:
        poll.register(each.connection.socket, each.go_on())
    left = len(sending)
    while left:
        ready = poll.poll(_TIMEOUT_SECONDS * 1000)
        if not ready:
            raise BadAnswerError("confirms are missing")
        for descriptor, events in ready:
            each = by_descriptor[descriptor]
            if events & select.POLLIN:
                each.connection.count_confirms()
            if each.is_done:
                poll.unregister(descriptor)
                left -= 1
            else:
                poll.modify(descriptor, each.go_on())
    took = stopwatch() - began
    for each in sending:
        each.connection.socket.settimeout(_TIMEOUT_SECONDS)
    return took


def publish_each(connection: RawConnection, rendered: bytes, messages: int) -> list[float]:
    """Publish messages one after another; return the sorted seconds of each until its confirm."""
    took = []
    for tag in range(connection.confirmed + 1, connection.confirmed + messages + 1):
        began = stopwatch()
        connection.socket.sendall(rendered)
        while connection.confirmed < tag:
            connection.count_confirms()
        took.append(stopwatch() - began)
    return sorted(took)


def consume(connections: Sequence[RawConnection], queues: Sequence[str], size: int, messages: int) -> float:
    """Consume so many messages from each queue, each with its acknowledgement; return the seconds it took.

    A delivery has ``size`` bytes, as ``render_delivery`` tells. The connections have had none yet.
    """
    acks = b"".join(
        build_command(1, methods.BasicAck(tag, False)).frames[0] for tag in range(1, messages + 1)
    )
    taking = [_Taking(each, memoryview(acks), size, messages) for each in connections]
    poll = select.poll()
    by_descriptor = {each.connection.socket.fileno(): each for each in taking}
    began = stopwatch()
    for each, queue in zip(taking, queues, strict=True):
        each.begin(queue)
        poll.register(each.connection.socket, select.POLLIN)
    left = {descriptor for descriptor, each in by_descriptor.items() if not each.is_done}
    while left:
        ready = poll.poll(_TIMEOUT_SECONDS * 1000)
        if not ready:
            raise BadAnswerError("deliveries are missing")
        for descriptor, _ in ready:
            by_descriptor[descriptor].take()
        left.difference_update(descriptor for descriptor, _ in ready if by_descriptor[descriptor].is_done)
    for connection in connections:
        # The broker answers when it has handled all that came before.
        connection.ask(methods.BasicCancel(_CONSUMER, False), methods.BasicCancelOk)
    return stopwatch() - began


def render_delivery(key: str, properties: bytes, body: bytes) -> bytes:
    """The frames of the first delivery of what was published to a queue; the others have as many bytes."""
    method = methods.BasicDeliver(_CONSUMER, 1, False, "", key)
    return b"".join((*build_command(1, method).frames, *build_content(1, properties, body, _FRAME_MAX)))


class _Sending:
    """What one connection publishes, in blocks of the same message, as far as the window goes."""

    def __init__(self, connection: RawConnection, rendered: bytes, messages: int) -> None:
        self.connection = connection
        self._size = len(rendered)
        block = max(1, min(messages, _WINDOW // 4, _BLOCK_BYTES // self._size))
        self._block = memoryview(rendered * block)
        self._window = max(block, min(_WINDOW, _WINDOW_BYTES // self._size))
        self._left = messages * self._size
        self._last = connection.confirmed + messages
        self._sent = connection.confirmed * self._size

    @property
    def is_done(self) -> bool:
        return self.connection.confirmed == self._last

    def go_on(self) -> int:
        """Send what the socket and the window take; return the events to wait for."""
        while self._left:
            room = (self.connection.confirmed + self._window) * self._size - self._sent
            at = self._sent % self._size
            some = min(room, self._left, len(self._block) - at)
            if some <= 0:
                return select.POLLIN
            try:
                sent = self.connection.socket.send(self._block[at : at + some])
            except BlockingIOError:
                return select.POLLIN | select.POLLOUT
            self._sent += sent
            self._left -= sent
        return select.POLLIN


class _Taking:
    """What one connection consumes."""

    def __init__(self, connection: RawConnection, acks: memoryview, size: int, messages: int) -> None:
        self.connection = connection
        self._acks = acks
        self._size = size
        self._left = messages * size
        self._bytes = 0
        self._acked = 0

    @property
    def is_done(self) -> bool:
        return not self._left

    def begin(self, queue: str) -> None:
        ask = self.connection.ask
        ask(methods.BasicQos(0, PREFETCH, False), methods.BasicQosOk)
        ask(methods.BasicConsume(0, queue, _CONSUMER, False, False, False, False, {}), methods.BasicConsumeOk)
        self._count(self.connection.take_unread())

    def take(self) -> None:
        """Read what has come, and acknowledge it."""
        self._count(len(self.connection.read()))

    def _count(self, size: int) -> None:
        self._bytes += size
        self._left -= size
        if self._left < 0:
            raise BadAnswerError("more came than there is, or it is no delivery")
        taken = self._bytes // self._size
        if taken > self._acked:
            self.connection.socket.sendall(self._acks[self._acked * _CONFIRM.size : taken * _CONFIRM.size])
            self._acked = taken
