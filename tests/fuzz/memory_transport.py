"""Connections without a socket, on an event loop that runs until nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from typing import Any, Final, TypeVar

from emulator.events import Events
from rdss_sandbox.shapes.events import Event

_Result = TypeVar("_Result")

_TURNS: Final = 12
"""Of the event loop after each piece: a request, its body and its answer take that many at most."""


class MemoryTransport(asyncio.Transport):
    """Takes what is written, up to nothing. ``closed`` says that the protocol has closed it."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__({"peername": ("127.0.0.1", 50000), "sockname": ("127.0.0.1", 4566)})
        self.protocol = protocol
        self.closed = False
        self.paused = False

    def write(self, data: Any) -> None:
        """Forget it."""

    def write_eof(self) -> None:
        """Do nothing."""

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def is_reading(self) -> bool:
        return not self.paused

    def get_write_buffer_size(self) -> int:
        return 0

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol | asyncio.BufferedProtocol)
        self.protocol = protocol  # type: ignore[assignment]

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol


class ByteLoop:
    """An event loop of this thread's. ``failures`` gets what a port would report."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.failures: list[BaseException] = []
        self._watching = ExitStack()
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(self._note)

    def watch(self, events: Events) -> None:
        """Take the events that tell of a traceback for failures."""
        self._watching.enter_context(events.subscribed(self._note_event))

    def converse(self, build: Callable[[], asyncio.Protocol], first: bytes, data: bytes) -> None:
        """Have a new connection receive ``first`` and ``data``, and lose it. Raises what failed meanwhile."""
        self.run(self._converse(build, first, data))

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run to its end, and what it left to do. Raises what failed meanwhile."""
        result = self.loop.run_until_complete(self._finish(work))
        if self.failures:
            failure = self.failures[0]
            self.failures.clear()
            raise failure
        return result

    async def _finish(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        result = await work
        await self._settle()
        return result

    async def _converse(self, build: Callable[[], asyncio.Protocol], first: bytes, data: bytes) -> None:
        protocol = build()
        transport = MemoryTransport(protocol)
        protocol.connection_made(transport)
        for piece in (*([first] if first else ()), *_cut(data)):
            _receive(transport, piece)
            await self._settle()
            if transport.closed:
                break
        transport.closed = True
        transport.protocol.connection_lost(None)

    async def _settle(self) -> None:
        for _ in range(_TURNS):
            # Nothing of asyncio's says it in public, and twelve turns of nothing cost more than a parser.
            if not self.loop._ready:  # type: ignore[attr-defined]
                break
            await asyncio.sleep(0)

    def _note_event(self, event: Event) -> None:
        if "trace" in event.fields:
            self.failures.append(RuntimeError(f"{event.kind}: {event.fields['trace']}"))

    def _note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(context.get("exception") or RuntimeError(context["message"]))


def _cut(data: bytes) -> Iterator[bytes]:
    """Half of the inputs come whole, the others in two pieces: where, their own last byte says."""
    at = len(data) * data[-1] // 255 if data and data[-1] % 2 else 0
    yield from (piece for piece in (data[:at], data[at:]) if piece)


def _receive(transport: MemoryTransport, data: bytes) -> None:
    protocol: Any = transport.protocol
    while data:
        if isinstance(protocol, asyncio.BufferedProtocol):
            buffer = protocol.get_buffer(len(data))
            taken = min(len(buffer), len(data))
            memoryview(buffer)[:taken] = data[:taken]
            protocol.buffer_updated(taken)
            data, protocol = data[taken:], transport.protocol
        else:
            protocol.data_received(data)
            return
