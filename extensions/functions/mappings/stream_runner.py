"""Runs a mapping of a stream: every shard after its parents, from where the mapping has got to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from emulator.channels.aws_answers import parse_shard
from emulator.channels.channel import Delivery
from emulator.clock import Clock
from emulator.kinesis import KinesisError, Scope
from emulator.streams.stream_service import StreamService
from extensions.functions.mappings.lane import GiveUp, HandedOver, Invoke
from extensions.functions.mappings.mapping import Mapping, Position
from extensions.functions.mappings.mapping_store import MappingStore
from extensions.functions.mappings.shard_follower import ShardFollower

_LOOK_SECONDS: Final = 1.0
"""Real seconds between looks at the shards, whatever comes to them."""
_READ: Final = 10_000


class StreamRunner:
    """The tasks of one mapping, on one event loop, from ``start`` to ``stop``."""

    def __init__(
        self,
        mapping: Mapping,
        streams: StreamService,
        store: MappingStore,
        clock: Clock,
        *,
        invoke: Invoke,
        give_up: GiveUp,
        report: Callable[[str], None],
        handed_over: HandedOver,
    ) -> None:
        self._mapping = mapping
        self._streams = streams
        self._store = store
        self._clock = clock
        self._invoke = invoke
        self._give_up = give_up
        self._report = report
        self._handed_over = handed_over
        self._scope = Scope(mapping.account, mapping.region)
        self._stopping = asyncio.Event()
        self._followers: dict[str, ShardFollower] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._running: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def start(self) -> None:
        self._unsubscribe = self._streams.on_records(self._note_records)
        self._running = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Read no more, and return when what is under way has ended."""
        self._stopping.set()
        if self._running is not None:
            self._unsubscribe()
            await self._running
            self._running = None

    def find_ends(self) -> None:
        """Keep the present end of each shard as the place to begin at (LATEST)."""
        for shard in self._list_shards():
            name, after = shard["ShardId"], None
            while records := self._read_records(name, after, _READ):
                after = records[-1].sequence_number
            self._store.set_position(self._mapping.uuid, name, Position(after))

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow_shards(self._list_shards())
            except KinesisError as error:
                self._report(f"PROBLEM: {error.message or error.code}")
                if error.code == "ResourceNotFoundException":
                    # A stream that is made again under its name is read from its beginning.
                    self._store.forget_positions(self._mapping.uuid)
            changed = [asyncio.ensure_future(self._stopping.wait()), *self._tasks.values()]
            await asyncio.wait(changed, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            changed[0].cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _follow_shards(self, shards: Sequence[dict[str, Any]]) -> None:
        """Begin with the shards whose parents have ended, and leave those that have ended themselves."""
        for name, task in tuple(self._tasks.items()):
            if task.done():
                del self._tasks[name], self._followers[name]
                if (error := task.exception()) is not None:
                    self._report(f"PROBLEM: {error}")
        known = {each["ShardId"] for each in shards}
        for listing in map(parse_shard, shards):
            if listing.id in self._tasks or self._has_ended(listing.id):
                continue
            if all(parent not in known or self._has_ended(parent) for parent in listing.parents):
                self._follow(listing.id)

    def _follow(self, shard: str) -> None:
        position = self._store.position(self._mapping.uuid, shard) or Position()
        follower = ShardFollower(
            self._mapping,
            shard,
            position,
            read=self._read,
            keep=lambda name, found: self._store.set_position(self._mapping.uuid, name, found),
            invoke=self._invoke,
            give_up=self._give_up,
            report=self._report,
            handed_over=self._handed_over,
            clock=self._clock,
            stopping=self._stopping,
        )
        self._followers[shard] = follower
        self._tasks[shard] = asyncio.ensure_future(follower.run())

    def _has_ended(self, shard: str) -> bool:
        position = self._store.position(self._mapping.uuid, shard)
        return position is not None and position.ended

    def _read(self, shard: str, after: str | None, limit: int) -> tuple[Sequence[Delivery], bool]:
        found = self._read_records(shard, after, limit)
        if found or not self._is_closed(shard):
            return found, False
        # Records may have come between the read and the end of the shard.
        found = self._read_records(shard, after, limit)
        return found, not found

    def _read_records(self, shard: str, after: str | None, limit: int) -> Sequence[Delivery]:
        records = self._streams.read(self._mapping.source_name, shard, after, limit, self._scope)
        return [
            Delivery(each.data, each.partition_key or "", shard, each.sequence_number, each.arrived)
            for each in records
        ]

    def _is_closed(self, shard: str) -> bool:
        return any(
            each["ShardId"] == shard and "EndingSequenceNumber" in each["SequenceNumberRange"]
            for each in self._list_shards()
        )

    def _list_shards(self) -> list[dict[str, Any]]:
        asked = {"StreamName": self._mapping.source_name}
        shards: list[dict[str, Any]] = self._streams.call("ListShards", asked, self._scope)["Shards"]
        return shards

    def _note_records(self, stream: str, shard: str) -> None:
        if stream == self._mapping.source_name:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake, shard)

    def _wake(self, shard: str) -> None:
        follower = self._followers.get(shard)
        if follower is not None:
            follower.arrived.set()
