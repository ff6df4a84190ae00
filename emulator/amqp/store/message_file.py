"""One file of messages, and how it shrinks when little of it is held any more.

    00000007.messages.log   messages, each with the queues that it is in
    00000007.settled.log    what was delivered and what is gone of the messages of that file

Both are written anew with what is held, one after the other, under the same names.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from emulator.amqp.message import Message
from emulator.amqp.turn import ITEMS_OF_A_STEP, Steps, StepsTo
from emulator.journal import Log
from emulator.journal.frames import HEADER_BYTES
from emulator.journal.inventory import unlist

MESSAGES: Final = ".messages.log"
SETTLED: Final = ".settled.log"
_SPARSE: Final = 4
"""A file is sparse when less than one part in this many of its bytes is held."""
_LEAST_BYTES: Final = 4096
_STEP_BYTES: Final = 1 << 18
_MARKS_OF_A_STEP: Final = 1024
_LONGEST_WAIT: Final = 0.001
_SYNCING: Final = ThreadPoolExecutor(1, "amqp-sync")

Places: TypeAlias = list[tuple[int, int, float | None]]
"""The queues of a message: the queue's id, the number there, and when it expires by ``Clock.time``."""


class Stored(msgspec.Struct, array_like=True, frozen=True):
    """A message on disk. Without ``places`` it is there only because memory has no room."""

    places: Places
    message: Message


class _OnlyPlaces(msgspec.Struct, array_like=True, frozen=True):
    """A stored message of which the rest is not read."""

    places: Places


class Marks(msgspec.Struct, array_like=True):
    """What happened to the messages of one file: queue id and number of each, and its attempts."""

    settled: list[tuple[int, int]] = []
    delivered: list[tuple[int, int, int]] = []


_ENCODER: Final = msgspec.msgpack.Encoder()
_STORED: Final = msgspec.msgpack.Decoder(Stored)
_PLACES: Final = msgspec.msgpack.Decoder(_OnlyPlaces)
_MARKS: Final = msgspec.msgpack.Decoder(Marks)


class MessageFile:
    """Messages in the order in which they came; the first has the index 0, and keeps it.

    A message is held by the places in queues that refer to it. ``live_bytes`` counts what is held. Raises
    ``DamagedLogError`` and OSError.
    """

    def __init__(self, directory: Path, number: int, *, fsync: bool) -> None:
        self.path = directory / f"{number:08d}{MESSAGES}"
        self.settled_path = self.path.with_name(f"{number:08d}{SETTLED}")
        self.number = number
        self.live_bytes = 0
        self.messages = Log(self.path, fsync=fsync)
        # Where each message begins, and where the last one ends. One that was left out has no length.
        self._positions = array("I", [0])
        self._holders = array("I")
        self._settled: Log | None = None
        self._fsync = fsync

    @property
    def bytes(self) -> int:
        """The bytes on disk, with those of the marks."""
        return self.messages.end + (self._settled.end if self._settled is not None else 0)

    @property
    def is_sparse(self) -> bool:
        """Whether so little of the file is held that it should shrink."""
        return self.live_bytes * _SPARSE < self.bytes >= _LEAST_BYTES

    # Messages

    def append(self, stored: Stored, holders: int) -> int:
        """Write a message that ``holders`` places refer to, and return its index."""
        begin = self.messages.append(_ENCODER.encode(stored))
        self._positions.append(self.messages.end)
        self._holders.append(holders)
        self.live_bytes += self.messages.end - begin
        return len(self._holders) - 1

    def read(self, index: int) -> Message:
        return _STORED.decode(self.messages.read(self._positions[index])).message

    def hold(self, index: int) -> None:
        """Count one more place that refers to a message."""
        if not self._holders[index]:
            self.live_bytes += self._size(index)
        self._holders[index] += 1

    def release(self, index: int) -> None:
        """Undo one ``hold``."""
        self._holders[index] -= 1
        if not self._holders[index]:
            self.live_bytes -= self._size(index)

    def recover(self) -> Iterator[tuple[int, Stored]]:
        """Yield every message with its index, once after opening. ``hold`` counts what refers to it."""
        for position, payload in self.messages.entries():
            self._positions.append(position + HEADER_BYTES + len(payload))
            self._holders.append(0)
            yield len(self._holders) - 1, _STORED.decode(payload)

    def _size(self, index: int) -> int:
        return self._positions[index + 1] - self._positions[index]

    # What happened to them

    def mark(self, marks: Marks) -> None:
        """Write down what happened to messages."""
        if self._settled is None:
            self._settled = Log(self.settled_path, fsync=self._fsync)
        self._settled.append(_ENCODER.encode(marks))

    def read_marks(self) -> Iterator[Marks]:
        if self.settled_path.exists():
            self._settled = Log(self.settled_path, fsync=self._fsync)
            for _, payload in self._settled.entries():
                yield _MARKS.decode(payload)

    # The whole file

    def shrink(self) -> StepsTo[None]:
        """Leave out what is not held, in steps. No message may be added any more.

        Wherever it ends, the file says the same. The messages take their place first: a mark of a message
        that is gone is idle, while a message without its mark would come back.
        """
        kept: set[tuple[int, int]] = set()
        yield from self._shrink_messages(kept)
        if self._settled is not None:
            yield from self._shrink_marks(self._settled, kept)

    def close(self) -> None:
        self.messages.close()
        if self._settled is not None:
            self._settled.close()

    def delete(self) -> None:
        self.close()
        for path in (self.path, self.settled_path):
            unlist(path)
            path.unlink(missing_ok=True)

    def _shrink_messages(self, kept: set[tuple[int, int]]) -> Steps:
        """Add to ``kept`` the places of the messages that stay."""
        positions = array("I", [0])
        end = stepped = 0
        with Log.rewriting(self.path, fsync=self._fsync, synced=False) as fresh:
            for index, holders in enumerate(self._holders):
                if holders:
                    payload = self.messages.read(self._positions[index])
                    kept.update((queue, place) for queue, place, _ in _PLACES.decode(payload).places)
                    fresh.append(payload)
                    end = fresh.end
                positions.append(end)
                if end > stepped + _STEP_BYTES or not index % ITEMS_OF_A_STEP:
                    stepped = end
                    yield
            yield from _sync(fresh)
        self.messages.close()
        self.messages, self._positions = fresh, positions

    def _shrink_marks(self, old: Log, kept: set[tuple[int, int]]) -> Steps:
        gone: set[tuple[int, int]] = set()
        attempts: dict[tuple[int, int], int] = {}
        read = 0
        with Log.rewriting(self.settled_path, fsync=self._fsync, synced=False) as fresh:
            # Between two steps there may be new marks.
            while read < (end := old.end):
                for number, (_, payload) in enumerate(old.entries(read), 1):
                    if not number % ITEMS_OF_A_STEP:
                        yield
                    marks = _MARKS.decode(payload)
                    gone.update(kept.intersection(marks.settled))
                    attempts.update(
                        ((queue, place), times)
                        for queue, place, times in marks.delivered
                        if (queue, place) in kept
                    )
                read = end
            settled = [*gone]
            delivered = [(*place, times) for place, times in attempts.items() if place not in gone]
            for at in range(0, max(len(settled), len(delivered)), _MARKS_OF_A_STEP):
                some = slice(at, at + _MARKS_OF_A_STEP)
                fresh.append(_ENCODER.encode(Marks(settled[some], delivered[some])))
                yield
            yield from _sync(fresh)
            for _, payload in old.entries(read):
                fresh.append(payload)
        old.close()
        self._settled = fresh


def _sync(log: Log) -> Steps:
    """Have another thread see that a log survives loss of power: a disk may take long. Raises OSError."""
    synced = _SYNCING.submit(log.sync)
    while not synced.done():
        wait((synced,), _LONGEST_WAIT)
        yield
    synced.result()
