"""The link of one channel to both peers, which its publishes and deliveries share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from emulator.amqp.refusals import shorten
from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import Command, build_command
from emulator.amqp.wire.methods import ChannelClose, ChannelCloseOk
from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.fault_point import FaultPoint
from emulator.faults.waits import OnLoop
from emulator.relay.amqp.refusals import AmqpRefusal, Answer

_RETRY_SECONDS: Final = 0.1


class ConnectionPeers(Protocol):
    """The two peers of a connection, as a channel uses them."""

    frame_max: int

    def to_client(self, command: Command) -> None: ...
    def to_broker(self, command: Command) -> None: ...
    def cut(self) -> None: ...
    def close_connection(self, code: int, text: str) -> None: ...
    def block(self) -> None: ...
    def unblock(self) -> None: ...
    def count_held_for_client(self, size: int) -> None: ...
    def count_held_for_broker(self, size: int) -> None: ...
    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...


class RelayContext:
    """State shared by all AMQP channels of one relayed connection."""

    def __init__(self, fault_engine: FaultEngine, clock: Clock, peers: ConnectionPeers) -> None:
        self.clock = clock
        self.peers = peers
        self.loop = OnLoop(clock, peers.spawn)
        self.faults = FaultPoint(fault_engine, clock, "rabbitmq", self.loop, _RETRY_SECONDS)

    @property
    def frame_max(self) -> int:
        return self.peers.frame_max

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.peers.spawn(work)


class ChannelLink:
    """Both directions of one channel. After it is ``closed``, only the closing handshake passes.

    Nothing refers to its channel then, which is gone at once: the garbage collector has no work with it.
    """

    def __init__(self, context: RelayContext, number: int, on_close: Callable[[], None]) -> None:
        self.context = context
        self.number = number
        self.closed = False
        self._on_close = on_close
        self._client_answers = False
        self._farewell: methods.Method | None = None
        self._held = 0

    @property
    def is_over(self) -> bool:
        """Whether it is closed, and no peer has yet to be told so by the relay or to answer that."""
        return self.closed and self._farewell is None and not self._client_answers

    def to_client(self, command: Command) -> None:
        if not self.closed:
            self.context.peers.to_client(command)

    def to_broker(self, command: Command) -> None:
        if not self.closed:
            self.context.peers.to_broker(command)

    def send_method_to_client(self, method: methods.Method) -> None:
        if not self.closed:
            self.context.peers.to_client(build_command(self.number, method))

    def send_method_to_broker(self, method: methods.Method) -> None:
        if not self.closed:
            self.context.peers.to_broker(build_command(self.number, method))

    def count_held(self, size: int) -> None:
        """Count ``size`` more bytes that wait for the client."""
        self._held += size
        self.context.peers.count_held_for_client(size)

    def end(self) -> None:
        """Mark the channel as closed, and give up everything that waits."""
        self.closed = True
        on_close, self._on_close = self._on_close, _do_nothing
        on_close()
        self.count_held(-self._held)

    def refuse(self, refused: AmqpRefusal, method: int | None) -> None:
        """Cut or close the connection, or close the channel, as the refusal says."""
        if refused.answer is Answer.CUT:
            self.context.peers.cut()
        elif refused.answer is Answer.CONNECTION:
            self.context.peers.close_connection(refused.code, refused.text)
        else:
            self.close_channel(refused.code, refused.text, method)

    def close_channel(self, code: int, text: str, method: int | None) -> None:
        """Close the channel at both peers, as a broker does after an error of ``method``.

        The broker goes first. A client that knows of the end may open the channel again at once, and the
        broker would see a channel that is opened twice.
        """
        if self.closed:
            return
        class_id, method_id = divmod(method or 0, 1 << 16)
        self.send_method_to_broker(ChannelClose(200, "closed by the relay", 0, 0))
        self._farewell = ChannelClose(code, shorten(text), class_id, method_id)
        self.end()

    # Commands that arrive while the relay closes the channel

    def discard_from_client(self, command: Command) -> bool:
        """Return True to discard a command, since the client does not know yet that the channel is closed."""
        if self._farewell is not None:
            if command.kind is ChannelClose:
                self._farewell = ChannelCloseOk()
            return True
        if self._client_answers:
            self._client_answers = command.kind is not ChannelCloseOk
            if command.kind is ChannelClose:
                # Both peers closed at the same time: each must answer the other.
                self._tell_client(ChannelCloseOk())
            return True
        return False

    def discard_from_broker(self, command: Command) -> bool:
        """Return True to discard a command, since the broker does not know yet that the channel is closed."""
        if self._farewell is None:
            return False
        if command.kind is ChannelClose:
            self.context.peers.to_broker(build_command(self.number, ChannelCloseOk()))
        elif command.kind is ChannelCloseOk:
            self._client_answers = isinstance(self._farewell, ChannelClose)
            self._tell_client(self._farewell)
            self._farewell = None
        return True

    def _tell_client(self, method: methods.Method) -> None:
        self.context.peers.to_client(build_command(self.number, method))


def _do_nothing() -> None:
    pass
