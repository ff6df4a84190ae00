"""The projection of the RDSS messages in the streams to the topic ``objects``: one record for each object.

MetadataCreate and MetadataUpdate write the whole object, MetadataDelete deletes it (RDSS Message API,
"Message Types"). The expiry of a message is the expiry of the record. Only the current version of a work has
a record (``schemas.rdss.versions``).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from typing import Final, Protocol

import msgspec

from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
from emulator.clock import Clock, stopwatch
from emulator.streams.merged_reading import IndexedStreams, ShardCursor, ShardKey, merge_by_arrival
from extensions.topics.current_versions import Change, ObjectVersions
from extensions.topics.engine.commands import Command, Publish, SowDelete
from rdss_sandbox.shapes.topics import OBJECTS
from schemas.message_timestamps import instant
from schemas.rdss.peek import Peek, identity, peek
from schemas.rdss.sequence import Assembly, SequenceError, body_of

_WRITES: Final = ("MetadataCreate", "MetadataUpdate")
_DELETE: Final = "MetadataDelete"
_REMEMBERED: Final = 100_000
_SEQUENCES: Final = 1_000
_ASIDE: Final = 1_000
"""Objects whose last message is kept, since another message may make them the current version."""


class CommandSession(Protocol):
    """The session that executes the commands."""

    def execute(self, command: Command) -> None: ...


class ObjectProjection:
    """Reads new messages of ``streams`` and executes the commands for them in a session. Thread-safe.

    A duplicate is skipped, also when it is in another stream. ``skipped`` names the streams of the error and
    the invalid queue, which are not read. ``positions`` stores the checkpoints, ``versions`` the versions.
    """

    def __init__(
        self,
        streams: IndexedStreams,
        clock: Clock,
        positions: CheckpointFile,
        versions: ObjectVersions,
        skipped: frozenset[str],
    ) -> None:
        self._versions = versions
        self._aside: OrderedDict[str, tuple[Peek, bytes]] = OrderedDict()
        self._streams = streams
        self._clock = clock
        self._positions = positions
        self._skipped = skipped
        self._lock = threading.Lock()
        self._readings: dict[ShardKey, ShardCursor] = {}
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._sequences: OrderedDict[str, Assembly] = OrderedDict()

    def step(self, session: CommandSession) -> int:
        """Read a batch of every shard and return the number of records read."""
        with self._lock:
            shards = [shard for shard in self._streams.shards() if shard.stream not in self._skipped]
            readings = [self._find_cursor(shard) for shard in shards]
            found = merge_by_arrival(readings, self._streams)
            for _, record in found:
                for command in self._commands(record.data):
                    session.execute(command)
            for reading in {id(reading): reading for reading, _ in found}.values():
                if reading.read_up_to is not None:
                    self._positions.put(reading.shard.stream, _place(reading.shard), reading.read_up_to)
        return len(found)

    def catch_up(self, session: CommandSession, seconds: float) -> bool:
        """Read new records for about ``seconds`` of real time; return True when none are left."""
        deadline = stopwatch() + seconds
        while self.step(session):
            if stopwatch() >= deadline:
                return False
        return True

    def _find_cursor(self, shard: ShardKey) -> ShardCursor:
        if shard not in self._readings:
            after = self._positions.get(shard.stream, _place(shard))
            self._readings[shard] = ShardCursor(shard, len(self._readings), after)
        return self._readings[shard]

    def _commands(self, raw: bytes) -> list[Command]:
        glance = peek(raw)
        if glance.damaged or glance.message_type not in {*_WRITES, _DELETE} or self._came_before(glance):
            return []
        try:
            whole = self._whole(glance, raw)
            return [] if whole is None else self._build_commands(glance, body_of(whole))
        except (SequenceError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return []  # The receivers of a message report its errors.

    def _build_commands(self, glance: Peek, body: bytes) -> list[Command]:
        given = msgspec.json.decode(body)
        uuid = given.get("objectUUID") if isinstance(given, dict) else None
        if not isinstance(uuid, str):
            return []
        at = instant(glance.published) if glance.published else None
        at = self._clock.time() if at is None else at
        if glance.message_type == _DELETE:
            return self._changing(self._versions.delete(uuid, at), None)
        left = self._left(glance)
        if left is not None and left <= 0:
            return []
        change = self._versions.publish(uuid, given, at)
        if change.newest:
            self._aside[uuid] = glance, body
            self._aside.move_to_end(uuid)
        if len(self._aside) > _ASIDE:
            self._aside.popitem(last=False)
        return self._changing(change, uuid if change.newest else None)

    def _changing(self, change: Change, published: str | None) -> list[Command]:
        """Build the commands for a change; ``published`` is the object of the message."""
        keys = (msgspec.json.encode({"objectUUID": uuid}) for uuid in change.hidden)
        commands: list[Command] = [SowDelete(topic=OBJECTS, data=msgspec.Raw(key)) for key in keys]
        again = (published,) if published is not None and self._versions.shows(published) else ()
        for uuid in sorted({*change.shown, *again} & self._aside.keys()):
            glance, body = self._aside[uuid]
            left = self._left(glance)
            if left is None or left > 0:
                origin = (glance.message_id or "").replace("-", "")
                data = msgspec.Raw(body)
                commands.append(Publish(topic=OBJECTS, data=data, expiration=left, correlation_id=origin))
        return commands

    def _left(self, glance: Peek) -> float | None:
        """Seconds until the message expires; None when it never does."""
        try:
            moment = datetime.fromisoformat(glance.expires) if glance.expires else None
        except ValueError:
            return None
        return moment.timestamp() - self._clock.time() if moment and moment.tzinfo else None

    def _came_before(self, glance: Peek) -> bool:
        if (who := identity(glance)) is None:
            return False
        known = who in self._ids
        self._ids[who] = None
        if len(self._ids) > _REMEMBERED:
            self._ids.popitem(last=False)
        return known

    def _whole(self, glance: Peek, raw: bytes) -> bytes | None:
        """The whole message, or None while parts of its sequence are missing."""
        part = glance.part
        if part is None:
            return raw
        assembly = self._sequences.setdefault(part.sequence, Assembly())
        if len(self._sequences) > _SEQUENCES:
            self._sequences.popitem(last=False)
        if not assembly.add(raw):
            return None
        del self._sequences[part.sequence]
        return assembly.message()


def _place(shard: ShardKey) -> str:
    return f"{shard.shard}/{shard.generation}"
