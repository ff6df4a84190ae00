"""A client of a broker in the test's own process: no socket, and a clock that the test advances."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

from emulator.amqp.broker import Broker
from emulator.amqp.store.message_store import Rests
from emulator.amqp.wire import frames, methods
from emulator.amqp.wire.commands import GREETING, Command, CommandReader
from emulator.amqp.wire.method_codec import encode_method
from emulator.amqp.wire.methods import Method
from emulator.amqp.wire.properties import EMPTY
from emulator.clock import Clock
from tests.emulator.amqp.raw_client import CAPABLE, read_all, read_command

SHRINKING: Final = Rests(sparse=0, full=3600)
"""Files shrink at once, so that a test need not wait, and are not packed by a slow machine."""


class StillHost:
    """Makes no calls by itself: ``advance`` does, so that a test sees each step."""

    def __init__(self) -> None:
        self.reported: list[tuple[str, dict[str, object]]] = []

    def wake(self) -> None:
        """Do nothing."""

    def wake_in(self, _seconds: float) -> None:
        """Do nothing."""

    def flush(self, work: Callable[[], None]) -> Future[None]:
        """Do it now."""
        flushed: Future[None] = Future()
        try:
            work()
        except OSError as error:
            flushed.set_exception(error)
        else:
            flushed.set_result(None)
        return flushed

    def report(self, kind: str, **fields: object) -> None:
        self.reported.append((kind, fields))


class OwnBroker:
    """A broker on a frozen clock."""

    def __init__(
        self,
        directory: Path | None = None,
        clock: Clock | None = None,
        *,
        rests: Rests = SHRINKING,
        fsync: bool = False,
    ) -> None:
        self.clock = clock or Clock(frozen_at=1_000_000.0)
        self.host = StillHost()
        self.broker = Broker(directory, self.clock, self.host, password="guest", rests=rests, fsync=fsync)
        self.proceed()

    def proceed(self) -> None:
        """Do all that is due."""
        while (
            self.broker.is_busy
            or self.broker.vhost.store.is_shrinking
            or (self.broker.next_due is not None and self.broker.next_due <= self.clock.elapsed())
        ):
            self.broker.proceed()
            self.broker.run_due()

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.proceed()

    def client(self, **options: Any) -> EngineClient:
        client = EngineClient(self, **options)
        client.open()
        return client


class EngineClient:
    """A connection and its channels; ``take`` returns what has come."""

    ends = (("127.0.0.1", 50000), ("127.0.0.1", 5672))

    def __init__(self, own: OwnBroker) -> None:
        self._own = own
        self._arrived: list[Command] = []
        self._reader = CommandReader()
        self._unread = b""
        self.ended = False
        self.connection = own.broker.connect(self)

    # The wire

    def answer(self, commands: list[Command]) -> None:
        self._arrived += [each for command in commands for each in command.split()]

    def pause_input(self) -> None:
        """Do nothing: a test gives what it gives."""

    def resume_input(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        self.ended = True

    def close_after(self, _seconds: float) -> None:
        self.ended = True

    # The client

    def open(self) -> None:
        self._give([Command(0, None, [GREETING])])
        self.say(methods.ConnectionStartOk(CAPABLE, "PLAIN", b"\0guest\0guest", "en_US"), 0)
        self.say(methods.ConnectionTuneOk(2047, 131_072, 0), 0)
        self.say(methods.ConnectionOpen("/", "", False), 0)
        self.say(methods.ChannelOpen(""))
        assert self.take()[-1] == methods.ChannelOpenOk(b"")

    def give(self, data: bytes) -> None:
        commands, self._unread = read_all(self._reader, self._unread + data)
        self._give(commands)

    def _give(self, commands: list[Command]) -> None:
        self.connection.take(commands)
        self._own.proceed()

    def say(self, method: Method, channel: int = 1) -> None:
        self.give(frames.build_frame(frames.METHOD, channel, encode_method(method)))

    def ask(self, method: Method, channel: int = 1) -> Any:
        """The last that comes for a method; None for nothing."""
        self.say(method, channel)
        came = self.take()
        return came[-1] if came else None

    def publish(self, method: Method, body: bytes = b"m", properties: bytes = EMPTY) -> list[Any]:
        self.give(self.publishing(method, body, properties))
        return self.take()

    @staticmethod
    def publishing(method: Method, body: bytes, properties: bytes = EMPTY) -> bytes:
        """The frames of a publish."""
        content = frames.build_content(1, properties, body, 131_072)
        return frames.build_frame(frames.METHOD, 1, encode_method(method)) + b"".join(content)

    def take(self) -> list[Any]:
        """All that has come since the last time."""
        arrived, self._arrived = self._arrived, []
        return list(map(read_command, arrived))

    def hang_up(self) -> None:
        self.connection.lost()
        self._own.proceed()
