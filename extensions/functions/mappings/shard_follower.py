"""Follows one shard of a stream: reads it, spreads records over lanes, and notes how far it is done with."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from emulator.channels.channel import Delivery
from emulator.clock import Clock
from extensions.functions.mappings.event_patterns import read_pattern
from extensions.functions.mappings.lane import GiveUp, HandedOver, Invoke, Lane
from extensions.functions.mappings.mapping import Mapping, Position
from extensions.functions.mappings.source_events import kinesis_event, passes_filters
from extensions.functions.mappings.windows import TumblingWindow

_AHEAD: Final = 2
"""How many batches of each lane are read before they are handed over."""
Read = Callable[[str, str | None, int], tuple[Sequence[Delivery], bool]]
"""Reads up to so many records of a shard after a sequence number, and whether it has ended with them."""


class ShardFollower:
    """One shard of a mapping, from ``position`` on. ``keep`` stores how far it has got."""

    def __init__(
        self,
        mapping: Mapping,
        shard: str,
        position: Position,
        *,
        read: Read,
        keep: Callable[[str, Position], None],
        invoke: Invoke,
        give_up: GiveUp,
        report: Callable[[str], None],
        handed_over: HandedOver,
        clock: Clock,
        stopping: asyncio.Event,
    ) -> None:
        self.mapping = mapping
        self.clock = clock
        self.invoke = invoke
        self.give_up = give_up
        self.report = report
        self.handed_over = handed_over
        self.stopping = stopping
        self._shard = shard
        self._position = position
        self._read = read
        self._keep = keep
        self._patterns = [read_pattern(each) for each in mapping.filters]
        window = TumblingWindow(mapping, shard, position) if mapping.window_seconds else None
        self._lanes = [Lane(self, window) for _ in range(mapping.lanes)]
        self._window = window
        self._under_way: deque[str] = deque()
        self._done: set[str] = set()
        self._moved = asyncio.Event()
        self.arrived = asyncio.Event()

    async def run(self) -> None:
        """Read and hand over until the shard has ended, or the mapping stops."""
        lanes = [asyncio.ensure_future(lane.run()) for lane in self._lanes]
        reading = asyncio.ensure_future(self._read_all())
        try:
            stopped = asyncio.ensure_future(self.stopping.wait())
            await asyncio.wait([reading, stopped, *lanes], return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if self.stopping.is_set():
                await asyncio.gather(*lanes)
            # An error in a lane or a read is raised here.
            for task in (reading, *lanes):
                if task.done():
                    task.result()
        finally:
            for task in (reading, *lanes):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def settled(self, records: Sequence[Delivery]) -> None:
        """Note that records are done with, and keep how far all are, in the order of the shard."""
        self._done.update(each.sequence_number for each in records)
        after = self._position.after
        while self._under_way and self._under_way[0] in self._done:
            after = self._under_way.popleft()
            self._done.discard(after)
        self._store(after)
        self._moved.set()

    async def _read_all(self) -> None:
        after = self._position.after
        while not self.stopping.is_set():
            await self._wait_for_room()
            self.arrived.clear()
            records, ended = self._read(self._shard, after, self._most_under_way())
            for record in records:
                after = record.sequence_number
                self._under_way.append(after)
            if skipped := [record for record in records if not self._take(record)]:
                self.settled(skipped)
            if ended and not records:
                await self._finish()
                return
            if not records:
                await self.arrived.wait()

    def _take(self, record: Delivery) -> bool:
        """Put a record into its lane. False for one that no filter lets through, which is done with."""
        start = self.mapping.start_time
        early = start is not None and record.arrived < start
        if early or not self._passes(record):
            return False
        digest = hashlib.md5(record.key.encode(), usedforsecurity=False).digest()
        self._lanes[int.from_bytes(digest[:8]) % len(self._lanes)].put(record)
        return True

    def _passes(self, record: Delivery) -> bool:
        if not self._patterns:
            return True
        event = kinesis_event(self.mapping, [record])["Records"][0]
        return passes_filters(self._patterns, event, record.data)

    def _most_under_way(self) -> int:
        return self.mapping.batch_size * len(self._lanes) * _AHEAD

    async def _wait_for_room(self) -> None:
        while len(self._under_way) >= self._most_under_way():
            self._moved.clear()
            await self._moved.wait()

    async def _finish(self) -> None:
        """Wait until all is done with, close the window, and keep that the shard has ended."""
        while self._under_way:
            self._moved.clear()
            await self._moved.wait()
        # The child shards start windows of their own (Lambda, "Time windows").
        await self._lanes[0].close_window()
        if not self.stopping.is_set():
            self._position = Position(self._position.after, ended=True)
            self._keep(self._shard, self._position)

    def _store(self, after: str | None) -> None:
        window = self._window
        position = Position(after, window=window.start, state=window.state) if window else Position(after)
        if position != self._position:
            self._position = position
            self._keep(self._shard, position)
