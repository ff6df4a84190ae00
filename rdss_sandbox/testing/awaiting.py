"""A sandbox for tests that are coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rdss_sandbox.testing.records import Record

if TYPE_CHECKING:
    from rdss_sandbox.shapes.clock import ClockReading
    from rdss_sandbox.shapes.faults import Fault, NewFault
    from rdss_sandbox.shapes.messages import Sent
    from rdss_sandbox.shapes.streams import StreamDetail
    from rdss_sandbox.testing.sandbox import Message, Sandbox


class AsyncSandbox:
    """``Sandbox`` with methods that are awaited, from ``async with Sandbox()`` or around a fixture's.

    ``sandbox`` is the one that it asks, each time on a thread, so that the event loop goes on.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.aws = sandbox.aws
        self.control = sandbox.control
        self.amqp = sandbox.amqp
        self.queues = sandbox.queues
        self.topics = sandbox.topics
        self.region = sandbox.region
        self.seed = sandbox.seed

    async def send(
        self, messages: Message | Iterable[Message], stream: str = "input", *, key: str | None = None
    ) -> tuple[Sent, ...]:
        return await asyncio.to_thread(self.sandbox.send, messages, stream, key=key)

    async def records(self, stream: str, matching: str = "") -> list[Record]:
        return await asyncio.to_thread(self.sandbox.stream(stream).records, matching)

    async def error_messages(self) -> list[Record]:
        return await asyncio.to_thread(_list_rejects, self.sandbox, "error")

    async def invalid_messages(self) -> list[Record]:
        return await asyncio.to_thread(_list_rejects, self.sandbox, "invalid")

    async def add_fault(self, fault: str | NewFault, **given: Any) -> Fault:
        return await asyncio.to_thread(self.sandbox.faults.add, fault, **given)

    async def remove_fault(self, name: str) -> Fault:
        return await asyncio.to_thread(self.sandbox.faults.remove, name)

    async def advance(self, duration: float | str) -> ClockReading:
        return await asyncio.to_thread(self.sandbox.clock.advance, duration)

    async def split(self, stream: str, shard: str | None = None) -> StreamDetail:
        return await asyncio.to_thread(self.sandbox.reshard.split, stream, shard)

    async def merge(self, stream: str, shard: str | None = None, adjacent: str | None = None) -> StreamDetail:
        return await asyncio.to_thread(self.sandbox.reshard.merge, stream, shard, adjacent)

    def processed(self, message_id: str) -> None:
        self.sandbox.processed(message_id)

    async def wait_until(self, condition: str | Callable[[], Any], timeout: float | str = "10s") -> None:  # noqa: ASYNC109 -- in real time, and told by what was seen
        """As ``Sandbox.wait_until``; a function is called on a thread."""
        await asyncio.to_thread(self.sandbox.wait_until, condition, timeout)

    async def assert_processed_once(self, ids: Iterable[str]) -> None:
        await asyncio.to_thread(self.sandbox.assert_processed_once, ids)

    async def assert_all_shards_read(self, stream: str) -> None:
        await asyncio.to_thread(self.sandbox.assert_all_shards_read, stream)

    async def assert_rejected(self, message_id: str, code: str | None = None) -> None:
        await asyncio.to_thread(self.sandbox.assert_rejected, message_id, code)


def _list_rejects(sandbox: Sandbox, queue: str) -> list[Record]:
    return (sandbox.error_queue if queue == "error" else sandbox.invalid_queue).messages()
