"""Checkpoints: the state after an entry of the transaction log, so that a start need not read all of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from isal.isal_zlib import crc32

from emulator.journal import DamagedLogError, frames
from extensions.topics.engine.leased_queues import MessageQueue
from extensions.topics.engine.live_topic import LiveTopic
from extensions.topics.engine.topic_definitions import Definition, Topic
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.transaction_log import LoggedChange, build_entry
from rdss_sandbox.files.rewriting import rewriting

ENTRIES_BETWEEN: Final = 100_000


class WaitingMessage(msgspec.Struct, array_like=True, gc=False):
    """A message that waits in the queue ``queue``; ``number`` is its entry in the log."""

    queue: str
    number: int
    entry: LoggedChange


class Checkpoint(msgspec.Struct, gc=False):
    """The sum of all entries before ``next``, under ``definitions``; ``arrivals`` as in ``TopicRegistry``."""

    next: int
    definitions: tuple[Definition, ...]
    sequences: dict[str, int]
    records: list[LoggedChange]
    waiting: list[WaitingMessage]
    arrivals: dict[str, int] = {}


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Checkpoint).decode


class TopicCheckpoints:
    """Writes checkpoints to ``path``, if it is not None, and trims the log.

    ``retention`` is the minimum age in seconds of entries that are trimmed; None trims nothing. In memory the
    state begins with a ``recalled`` checkpoint.
    """

    def __init__(
        self,
        registry: TopicRegistry,
        path: Path | None,
        definitions: Sequence[Definition],
        *,
        retention: float | None,
        fsync: bool,
        recalled: Checkpoint | None = None,
    ) -> None:
        self._recalled = recalled
        self._registry = registry
        self._path = path
        self._definitions = tuple(definitions)
        self._retention = retention
        self._fsync = fsync

    def read(self) -> Checkpoint | None:
        """The checkpoint that matches the log and the definitions; None when the log alone is complete.

        Raises DamagedLogError when a checkpoint is needed, and is missing or damaged.
        """
        log = self._registry.log
        found = read_checkpoint(self._path) if self._path is not None else self._recalled
        if found is not None and found.next <= log.next:
            # A topic that is defined anew gets what it had only from the log, while all of that is there.
            if log.first == 1 and found.definitions != self._definitions:
                return None
            return found
        if log.first > 1 and self._path is not None and not log.lost:
            raise DamagedLogError(
                self._path, 0, "the checkpoint is missing or damaged, and the log alone is not all"
            )
        return None

    def begin(self) -> None:
        """Schedule the next checkpoint, by the growth of the log."""
        size = sum(len(topic.store or ()) for topic in self._registry.topics.values())
        # A checkpoint writes every record, so that a large state has one less often.
        self._registry.log.when_grown(max(ENTRIES_BETWEEN, 2 * size), self._put)

    def write(self) -> None:
        """Write a checkpoint and trim the log. A disk error emits an event and loses nothing."""
        registry = self._registry
        try:
            if self._path is not None and registry.log.next > 1:
                # The log first: no checkpoint may be of entries that a power cut can take.
                registry.log.sync()
                save(self._path, self.build(), fsync=self._fsync)
            if self._retention is not None:
                registry.log.trim(min(registry.clock.time() - self._retention, self._needed_since()))
        except OSError as error:
            registry.events.emit("topic.checkpoint_failed", error=str(error))
        self.begin()

    def _needed_since(self) -> float:
        """The time of the oldest entry that a downstream sandbox may still need."""
        registry = self._registry
        reached = [link.acked for topic in registry.topics.values() for link in topic.links]
        oldest = next(registry.log.entries(min(reached) + 1, 1), None) if reached else None
        return math.inf if oldest is None else oldest[1].time

    def _put(self) -> None:
        # Not within the append that called this, whose entry is in no record yet.
        self._registry.schedule.put(0.0, self.write)

    def build(self) -> Checkpoint:
        """The state after the last entry of the log."""
        topics = self._registry.topics.values()
        return Checkpoint(
            self._registry.log.next,
            self._definitions,
            self._registry.sequences,
            [entry for topic in topics for entry in _records(topic)],
            [
                WaitingMessage(topic.name, update.number, build_entry(update))
                for topic in topics
                if isinstance(topic.queue, MessageQueue)
                for update in topic.queue.outstanding()
            ],
            self._registry.arrivals,
        )


def read_checkpoint(path: Path) -> Checkpoint | None:
    """Read the checkpoint at ``path``; None when it is missing or damaged."""
    try:
        raw = path.read_bytes()
        frame = frames.parse(raw, 0)
        payload = memoryview(raw)[frames.HEADER_BYTES :]
        if frame is None or frame.length != len(payload) or crc32(payload) != frame.check:
            return None
        return decode(payload)
    except FileNotFoundError:
        return None


def write_empty_checkpoint(path: Path, first: int) -> None:
    """Write a checkpoint without state, so that a log without entries before ``first`` can be read."""
    save(path, Checkpoint(first, (), {}, [], []), fsync=True)


def save(path: Path, checkpoint: Checkpoint, *, fsync: bool) -> None:
    """Write a checkpoint to ``path``. Raises OSError, and then the old one stays."""
    payload = encode(checkpoint)
    with rewriting(path, fsync=fsync) as draft, draft.open("wb") as file:
        file.write(frames.header(payload))
        file.write(payload)


def _records(topic: LiveTopic) -> Iterator[LoggedChange]:
    if topic.store is None or not isinstance(topic.definition, Topic):
        return
    for record in topic.store:
        yield build_entry(record.to_update(topic.name))
