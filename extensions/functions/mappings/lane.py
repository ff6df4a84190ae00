"""A lane: records of some partition keys of one shard, which go to the function in order, batch by batch.

    ShardFollower -> Lane.put -> batches -> the function -> Lane.settled -> ShardFollower

A shard has as many lanes as its mapping's ParallelizationFactor says.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Final, Protocol

from emulator.archive.kinesis_event import count_fitting
from emulator.channels.channel import Delivery
from emulator.clock import Clock
from extensions.functions.engine.errors import LambdaError
from extensions.functions.mappings.batches import (
    EXHAUSTED,
    OLD,
    Batch,
    GivenUp,
    count_done,
    follow_failure,
    reports_failures,
    split_old,
)
from extensions.functions.mappings.mapping import Mapping
from extensions.functions.mappings.source_events import kinesis_event
from extensions.functions.mappings.windows import TumblingWindow
from extensions.functions.runtime.environment import Outcome

Invoke = Callable[[bytes], Awaitable[Outcome]]
"""Invokes the mapping's function with an event. Raises LambdaError where it cannot be invoked."""
GiveUp = Callable[[GivenUp], Awaitable[None]]
"""Tells the mapping's destination of records."""
HandedOver = Callable[[Sequence[Delivery]], None]
"""Notes the records of a batch that the function took."""
_LONGEST_PAUSE: Final = 30.0
FAILED: Final = "PROBLEM: Function call failed"


class Follower(Protocol):
    """What a lane is of: it is told what is done with, and what was given up."""

    mapping: Mapping
    clock: Clock
    invoke: Invoke
    give_up: GiveUp
    report: Callable[[str], None]
    handed_over: HandedOver
    stopping: asyncio.Event

    def settled(self, records: Sequence[Delivery]) -> None: ...


class Lane:
    """Records that wait, and what hands them over. With a ``window``, each batch is of one window."""

    def __init__(self, follower: Follower, window: TumblingWindow | None = None) -> None:
        self._follower = follower
        self.window = window
        self._waiting: deque[Delivery] = deque()
        self._changed = asyncio.Event()
        self._since = 0.0
        self._pauses = 0

    def put(self, record: Delivery) -> None:
        if not self._waiting:
            self._since = self._follower.clock.elapsed()
        self._waiting.append(record)
        self._changed.set()

    async def run(self) -> None:
        """Hand over batches until the mapping stops; an invocation that is under way then is finished."""
        follower = self._follower
        while not follower.stopping.is_set():
            if self.window and self._is_over(self.window):
                await self.close_window()
            elif await self._wait_for_batch():
                batch = [self._waiting.popleft() for _ in range(self._count_next())]
                self._since = follower.clock.elapsed()
                await self._hand_over(batch)

    async def close_window(self) -> None:
        """Have the function process what its window has gathered, until it succeeds, or the mapping stops."""
        follower, window = self._follower, self.window
        while window and window.start is not None and not follower.stopping.is_set():
            event = json.dumps(window.make_event({"Records": []}, final=True)).encode()
            try:
                outcome = await follower.invoke(event)
            except LambdaError as error:
                follower.report(f"PROBLEM: {error.message}")
            else:
                if not outcome.error:
                    window.close()
                    follower.settled(())
                    self._pauses = 0
                    return
                follower.report(FAILED)
            await self._pause()

    def _count_next(self) -> int:
        most = self._follower.mapping.batch_size
        records = tuple(islice(self._waiting, most))
        if self.window:
            most = min(most, self.window.count_same(records))
        return count_fitting(records, most)

    def _is_over(self, window: TumblingWindow) -> bool:
        """Whether the open window ends before the next record, or has ended and nothing waits."""
        if self._waiting:
            return window.is_full or window.is_behind(self._waiting[0])
        return window.end is not None and (window.is_full or self._follower.clock.time() >= window.end)

    async def _wait_for_batch(self) -> bool:
        """Wait for a full batch, or for the end of the batching window. False when there is none yet."""
        seconds = self._count_seconds_to_wait()
        if seconds is not None and seconds <= 0:
            return True
        self._changed.clear()
        works: list[Awaitable[object]] = [self._changed.wait(), self._follower.stopping.wait()]
        if seconds is not None:
            works.append(self._follower.clock.sleep(seconds))
        await _first(*works)
        return False

    def _count_seconds_to_wait(self) -> float | None:
        """Seconds until there is something to do, if nothing comes; None without an end."""
        mapping, clock = self._follower.mapping, self._follower.clock
        if not self._waiting:
            end = self.window.end if self.window else None
            return None if end is None else max(end - clock.time(), 0.001)
        if len(self._waiting) >= mapping.batch_size:
            return 0.0
        return self._since + mapping.batching_seconds - clock.elapsed()

    async def _hand_over(self, records: Sequence[Delivery]) -> None:
        """Invoke the function until every record is settled or given up, or the mapping stops."""
        follower = self._follower
        pending = deque([Batch(records)])
        calls, outcome = 0, None
        while pending and not follower.stopping.is_set():
            batch = pending.popleft()
            old = split_old(batch.records, follower.mapping, follower.clock.time())
            if old:
                await self._give_up(GivenUp(batch.records[:old], OLD, calls, outcome))
                batch = Batch(batch.records[old:], batch.failures)
                if not batch.records:
                    continue
            try:
                outcome = await follower.invoke(self._make_event(batch.records))
            except LambdaError as error:
                # Nothing was invoked, so it is no retry (Lambda, "Error handling").
                follower.report(f"PROBLEM: {error.message}")
                pending.appendleft(batch)
                await self._pause()
                continue
            if outcome.error and follower.stopping.is_set():
                return  # It may have been ended with the mapping, which will hand over the batch again.
            calls += 1
            done = self._count_done(batch.records, outcome)
            follower.settled(batch.records[:done])
            if done:
                follower.handed_over(batch.records[:done])
            if done == len(batch.records):
                follower.report("OK")
                self._pauses, calls = 0, 0
                continue
            follower.report(FAILED)
            following = follow_failure(batch, done, follower.mapping)
            pending.extendleft(reversed(following.again))
            if following.given_up:
                await self._give_up(GivenUp(following.given_up, EXHAUSTED, calls, outcome))
                calls = 0
            elif following.again[0].failures > batch.failures:
                await self._pause()

    def _make_event(self, records: Sequence[Delivery]) -> bytes:
        event = kinesis_event(self._follower.mapping, records)
        if self.window:
            self.window.open_for(records[0])
            event = self.window.make_event(event)
        return json.dumps(event).encode()

    def _count_done(self, records: Sequence[Delivery], outcome: Outcome) -> int:
        if outcome.error or (self.window and not self.window.take_state(outcome)):
            return 0
        if not reports_failures(self._follower.mapping):
            return len(records)
        return count_done(outcome.payload, [each.sequence_number for each in records])

    async def _give_up(self, given_up: GivenUp) -> None:
        await self._follower.give_up(given_up)
        self._follower.settled(given_up.records)
        self._pauses = 0

    async def _pause(self) -> None:
        """Wait a second before the first retry, and twice as long before each further one."""
        seconds = min(2.0**self._pauses, _LONGEST_PAUSE)
        self._pauses += 1
        await _first(self._follower.clock.sleep(seconds), self._follower.stopping.wait())


async def _first(*works: Awaitable[object]) -> None:
    """Wait for the first of these, and leave the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
