"""One channel of one connection, as its publishes and deliveries see it: both ends, and what is shared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from pamqp import commands
from pamqp.base import Frame

from emulator.clock import Clock
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Direction, Kind
from emulator.relay.amqp.frames import Command, Method, encoded
from emulator.relay.amqp.refusals import Answer, Refusal


class ConnectionPeers(Protocol):
    """The two sides of a connection, as a channel uses them."""

    frame_max: int

    def to_client(self, frames: list[bytes]) -> None: ...
    def to_broker(self, frames: list[bytes]) -> None: ...
    def cut(self) -> None: ...
    def close_connection(self, code: int, text: str) -> None: ...
    def block(self) -> None: ...
    def unblock(self) -> None: ...
    def held_for_client(self, size: int) -> None: ...
    def held_for_broker(self, size: int) -> None: ...
    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...


class RelayContext:
    """What all channels of a relay share, with the ends of this one's connection."""

    def __init__(self, fault_engine: FaultEngine, clock: Clock, ends: ConnectionPeers) -> None:
        self.fault_engine = fault_engine
        self.clock = clock
        self.ends = ends
        self._seen: set[str] = set()

    @property
    def frame_max(self) -> int:
        return self.ends.frame_max

    def wants(self, direction: Direction, name: str) -> bool:
        return self.fault_engine.wants(direction, name, Kind.RABBITMQ)

    def note_channel(self, name: str) -> None:
        """Have the stage know that there is such a channel."""
        if name and name not in self._seen:
            self._seen.add(name)
            self.fault_engine.note_channel(name, Kind.RABBITMQ)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.ends.spawn(work)


class ChannelLink:
    """Both ways of one channel. Once ``closed``, nothing but the end of the closing passes."""

    def __init__(self, points: RelayContext, number: int, on_close: Callable[[], None]) -> None:
        self.points = points
        self.number = number
        self.closed = False
        self._on_close = on_close
        self._client_answers = False
        self._farewell: Frame | None = None
        self._held = 0

    def to_client(self, unit: Command) -> None:
        if not self.closed:
            self.points.ends.to_client(unit.frames)

    def to_broker(self, unit: Command) -> None:
        if not self.closed:
            self.points.ends.to_broker(unit.frames)

    def say_to_client(self, method: Frame) -> None:
        if not self.closed:
            self.points.ends.to_client([encoded(method, self.number)])

    def say_to_broker(self, method: Frame) -> None:
        if not self.closed:
            self.points.ends.to_broker([encoded(method, self.number)])

    def holds(self, size: int) -> None:
        """So many bytes more wait for the client."""
        self._held += size
        self.points.ends.held_for_client(size)

    def end(self) -> None:
        """The channel is closed by one of its ends, and nothing that waits will go."""
        self.closed = True
        self._on_close()
        self.holds(-self._held)

    def refuse(self, refused: Refusal, method: int | None) -> None:
        """Close what the refusal says: the connection, in an instant or with words, or the channel."""
        if refused.answer is Answer.CUT:
            self.points.ends.cut()
        elif refused.answer is Answer.CONNECTION:
            self.points.ends.close_connection(refused.code, refused.text)
        else:
            self.close_channel(refused.code, refused.text, method)

    def close_channel(self, code: int, text: str, method: int | None) -> None:
        """Close the channel at both ends, as a broker does that found a fault with ``method``.

        The broker first: a client that knows may open the channel anew at once,
        and to the broker that would be one opened twice.
        """
        if self.closed:
            return
        class_id, method_id = divmod(method or 0, 1 << 16)
        self.say_to_broker(commands.Channel.Close(200, "closed by the relay", 0, 0))
        self._farewell = commands.Channel.Close(code, text[:255], class_id, method_id)
        self.end()

    # What comes while the channel is being closed by us

    def swallowed_from_client(self, unit: Command) -> bool:
        """Whether the client is still to see that its channel is closed."""
        if self._farewell is not None:
            if unit.method == Method.CHANNEL_CLOSE:
                self._farewell = commands.Channel.CloseOk()
            return True
        if self._client_answers:
            self._client_answers = unit.method != Method.CHANNEL_CLOSE_OK
            if unit.method == Method.CHANNEL_CLOSE:
                # Both closed at once: each answers the other.
                self._tell_client(commands.Channel.CloseOk())
            return True
        return False

    def swallowed_from_broker(self, unit: Command) -> bool:
        """Whether the broker is still to see it; what it says of the channel until then is for nobody."""
        if self._farewell is None:
            return False
        if unit.method == Method.CHANNEL_CLOSE:
            self.points.ends.to_broker([encoded(commands.Channel.CloseOk(), self.number)])
        elif unit.method == Method.CHANNEL_CLOSE_OK:
            self._client_answers = isinstance(self._farewell, commands.Channel.Close)
            self._tell_client(self._farewell)
            self._farewell = None
        return True

    def _tell_client(self, method: Frame) -> None:
        self.points.ends.to_client([encoded(method, self.number)])
