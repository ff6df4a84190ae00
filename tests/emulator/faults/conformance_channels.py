"""A topic, an outside system and the gets of a queue as channels, for the suite of all faults."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from emulator.channels.channel import (
    ChannelUnavailableError,
    Delivery,
    Outcome,
    PublishRefusedError,
    PublishUnknownError,
    Receipt,
)
from emulator.channels.memory import MemoryChannel
from emulator.channels.rabbitmq import RabbitMQChannel
from emulator.clock import Clock
from tests.contracts import KEYS

_SETTLED_SECONDS = 0.1


class _Frame(msgspec.Struct):
    cmd: str
    data: msgspec.Raw = msgspec.Raw()
    bookmark: str = ""
    status: str = ""
    reason: str = ""


class _Publishing:
    """``publish_many`` by ``publish``."""

    def publish(self, data: bytes, key: str) -> Receipt:
        raise NotImplementedError

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for data, key in entries:
            try:
                outcomes.append(self.publish(data, key))
            except (PublishRefusedError, PublishUnknownError) as failure:
                outcomes.append(failure)
        return outcomes


class ParcelChannel(MemoryChannel):
    """A stream whose records have the keys that identify parcels."""

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        return super().publish_many([(data, KEYS[data]) for data, _ in entries])


class TopicChannel(_Publishing):
    """A logged topic over WebSocket. It publishes on one connection, and another is subscribed."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self._url = url
        self._stack = ExitStack()
        self._publisher: ClientConnection | None = None
        self._reader: ClientConnection | None = None
        self._last = "0"
        self._seen: set[str] = set()

    def publish(self, data: bytes, key: str) -> Receipt:
        try:
            if self._publisher is None:
                self._publisher = self._connect()
            head = json.dumps({"cmd": "publish", "topic": self.name, "ack_type": "processed"}).encode()
            self._publisher.send(head[:-1] + b', "data": ' + data + b"}", text=True)
            ack = msgspec.json.decode(self._publisher.recv(30), type=_Frame)
        except ConnectionClosed as error:
            self._publisher = None
            raise PublishUnknownError("Closed", str(error)) from error
        if ack.status != "success":
            code, _, why = ack.reason.partition(": ")
            raise PublishRefusedError(code, why)
        return Receipt(self.name, "")

    def read(self, *, limit: int = 100, wait: float = 0.0) -> list[Delivery]:
        found: list[Delivery] = []
        with suppress(TimeoutError):
            while len(found) < limit:
                found.append(self._receive(_SETTLED_SECONDS if found else max(wait, _SETTLED_SECONDS)))
        return found

    def _receive(self, seconds: float) -> Delivery:
        try:
            if self._reader is None:
                self._reader = self._connect()
                subscribe = {"cmd": "subscribe", "topic": self.name, "bookmark": self._last, "sub_id": "s"}
                self._reader.send(json.dumps(subscribe))
            frame = msgspec.json.decode(self._reader.recv(seconds), type=_Frame)
        except ConnectionClosed as error:
            self._reader = None
            raise ChannelUnavailableError(str(error)) from error
        again = frame.bookmark in self._seen
        self._seen.add(frame.bookmark)
        self._last = max(self._last, frame.bookmark)
        return Delivery(bytes(frame.data), "", self.name, frame.bookmark, 0.0, redelivered=again)

    def _connect(self) -> ClientConnection:
        connecting = connect(self._url, proxy=None, open_timeout=30, max_size=None)
        return self._stack.enter_context(connecting)

    def commit(self, delivery: Delivery) -> None:
        """A subscriber keeps its own bookmark."""

    def close(self) -> None:
        self._stack.close()


class OutsideChannel(_Publishing):
    """An outside system of processing: each message is a request, and what it received is read."""

    def __init__(self, system: Any) -> None:
        self.name = system.name
        self._system = system
        self._numbers = itertools.count()

    def publish(self, data: bytes, key: str) -> Receipt:
        from extensions.processing import TechnicalError

        try:
            self._system.call(data, key)
        except TechnicalError as error:
            if isinstance(error.__cause__, PublishRefusedError | PublishUnknownError):
                raise error.__cause__ from None
            raise
        return Receipt(self.name, "")

    def read(self, *, limit: int = 100, wait: float = 0.0) -> list[Delivery]:
        del wait
        taken, self._system.received[:limit] = self._system.received[:limit], []
        return [Delivery(data, "", self.name, str(next(self._numbers)), 0.0) for data in taken]

    def commit(self, delivery: Delivery) -> None:
        """It keeps no position."""

    def close(self) -> None:
        """Nothing is open."""


class GettingChannel(RabbitMQChannel):
    """A queue that is read by ``basic.get``."""

    def _listen(self, seconds: float) -> None:
        import pika.exceptions

        try:
            amqp = self._open()
            method, properties, body = amqp.basic_get(self.name)
            if method is not None:
                self._receive(amqp, method, properties, body)
            elif seconds:
                Clock().wait(0.01)
        except (pika.exceptions.AMQPError, OSError) as error:
            self._drop()
            raise ChannelUnavailableError(repr(error)) from error
