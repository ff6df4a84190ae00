"""Messages on disk, and in memory as far as there is room.

    00000007.messages.log   messages, each with the queues that it is in
    00000007.settled.log    what was delivered and what is gone of the messages of that file

A file goes with the last of its messages, whatever is in the others. A queue's message is known by the id of
the queue and its number there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from emulator.amqp.message import Entry, Message
from emulator.journal import Log
from emulator.journal.inventory import unlist

MESSAGES: Final = ".messages.log"
SETTLED: Final = ".settled.log"
FILE_BYTES: Final = 16 << 20
MEMORY_BYTES: Final = 32 << 20
"""Of messages that are in memory beside the disk. Beyond, a message is read again when it is delivered."""
_PLACE_BITS: Final = 32

Places: TypeAlias = list[tuple[int, int, float | None]]
"""The queues of a message: the queue's id, the number there, and when it expires by ``Clock.time``."""


class Stored(msgspec.Struct, array_like=True, frozen=True):
    """A message on disk. Without ``places`` it is there only because memory has no room."""

    places: Places
    message: Message


class Marks(msgspec.Struct, array_like=True):
    """What happened to the messages of one file: queue id and number of each, and its attempts."""

    settled: list[tuple[int, int]] = []
    delivered: list[tuple[int, int, int]] = []


_ENCODER: Final = msgspec.msgpack.Encoder()
_STORED: Final = msgspec.msgpack.Decoder(Stored)
_MARKS: Final = msgspec.msgpack.Decoder(Marks)


class _File:
    """One file of messages. ``live`` counts the places in queues that refer to it."""

    def __init__(self, directory: Path, number: int, *, fsync: bool) -> None:
        self.path = directory / f"{number:08d}{MESSAGES}"
        self.number = number
        self.live = 0
        self._fsync = fsync
        self.messages = Log(self.path, fsync=fsync)
        self._settled: Log | None = None

    @property
    def settled_path(self) -> Path:
        return self.path.with_name(f"{self.number:08d}{SETTLED}")

    def mark(self, marks: Marks) -> None:
        """Write down what happened to messages. Raises OSError."""
        if self._settled is None:
            self._settled = Log(self.settled_path, fsync=self._fsync)
        self._settled.append(_ENCODER.encode(marks))

    def read_marks(self) -> Iterator[Marks]:
        if self.settled_path.exists():
            self._settled = Log(self.settled_path, fsync=self._fsync)
            for _, payload in self._settled.entries():
                yield _MARKS.decode(payload)

    def close(self) -> None:
        self.messages.close()
        if self._settled is not None:
            self._settled.close()

    def delete(self) -> None:
        self.close()
        for path in (self.path, self.settled_path):
            unlist(path)
            path.unlink(missing_ok=True)


class MessageStore:
    """Messages of all queues. ``directory`` None keeps them in memory.

    Raises ``DamagedLogError`` for a file that is damaged, OSError when the disk takes no more.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        fsync: bool = False,
        file_bytes: int = FILE_BYTES,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._directory = directory
        self._fsync = fsync
        self._file_bytes = file_bytes
        self._memory_left = memory_bytes
        self._files: dict[int, _File] = {}
        self._marks: dict[int, Marks] = defaultdict(Marks)
        self._last = 0
        if directory is not None and directory.is_dir():
            numbers = sorted(int(path.name.split(".")[0]) for path in directory.glob(f"*{MESSAGES}"))
            for number in numbers:
                self._files[number] = _File(directory, number, fsync=fsync)
                self._last = number

    @property
    def is_durable(self) -> bool:
        return self._directory is not None

    @property
    def is_short_of_memory(self) -> bool:
        return self._memory_left <= 0

    @property
    def torn_files(self) -> Iterator[tuple[Path, int]]:
        """The files whose end was torn, each with the bytes that were cut."""
        for file in self._files.values():
            if file.messages.torn_bytes:
                yield file.path, file.messages.torn_bytes

    def append(self, message: Message, places: Places, holders: int) -> int:
        """Write a message that ``holders`` queues refer to, and return its reference. Raises OSError."""
        file = self._files.get(self._last)
        if file is None or file.messages.end >= self._file_bytes:
            file = self._roll()
        position = file.messages.append(_ENCODER.encode(Stored(places, message)))
        file.live += holders
        return file.number << _PLACE_BITS | position

    def keep(self, entry: Entry, message: Message) -> None:
        """Keep a message in memory if there is room, or if it is nowhere else."""
        if not entry.reference or self._memory_left > 0:
            entry.message = message
            self._memory_left -= message.cost

    def release(self, entry: Entry) -> None:
        """Give up an entry's message in memory, if it is stored."""
        if entry.reference:
            self._drop(entry)

    def load(self, entry: Entry) -> Message:
        """Return an entry's message, from memory or from disk. Raises ``DamagedLogError``."""
        if entry.message is not None:
            return entry.message
        file = self._files[entry.reference >> _PLACE_BITS]
        place = entry.reference & ((1 << _PLACE_BITS) - 1)
        return _STORED.decode(file.messages.read(place)).message

    def settle(self, queue: int, entry: Entry, *, durable: bool) -> None:
        """Forget an entry for good. For a ``durable`` queue, ``commit`` writes that down."""
        self._drop(entry)
        if not entry.reference:
            return
        number = entry.reference >> _PLACE_BITS
        file = self._files.get(number)
        if file is None:
            # Everything was cleared meanwhile.
            return
        file.live -= 1
        if durable:
            self._marks[number].settled.append((queue, entry.number))
        if not file.live and number != self._last:
            self._marks.pop(number, None)
            del self._files[number]
            file.delete()

    def note_delivered(self, queue: int, entry: Entry) -> None:
        """Note that an entry is out with a consumer: if it comes back, that is a redelivery."""
        if entry.reference:
            marks = self._marks[entry.reference >> _PLACE_BITS]
            marks.delivered.append((queue, entry.number, entry.attempts))

    def commit(self) -> None:
        """Write down what was noted. Raises OSError, and tries again with the next call."""
        while self._marks:
            number, marks = next(iter(self._marks.items()))
            self._files[number].mark(marks)
            del self._marks[number]

    def recover(self) -> Iterator[tuple[int, Entry, int, float | None]]:
        """Yield (queue id, entry, priority, expiry by ``Clock.time``) of what is not settled, by file.

        The caller counts what it takes with ``count``, and drops the rest by ``sweep``.
        """
        for number, file in self._files.items():
            gone: set[tuple[int, int]] = set()
            attempts: dict[tuple[int, int], int] = {}
            for marks in file.read_marks():
                gone.update(marks.settled)
                attempts.update(((queue, place), times) for queue, place, times in marks.delivered)
            for position, payload in file.messages.entries():
                stored = _STORED.decode(payload)
                for queue, place, expires in stored.places:
                    if (queue, place) in gone:
                        continue
                    tried = attempts.get((queue, place))
                    entry = Entry(
                        place,
                        None,
                        size=len(stored.message.body),
                        reference=number << _PLACE_BITS | position,
                        redelivered=tried is not None,
                        attempts=0 if tried is None else tried + 1,
                    )
                    yield queue, entry, stored.message.priority, expires

    def count(self, entry: Entry) -> None:
        """Count a recovered entry that a queue took."""
        self._files[entry.reference >> _PLACE_BITS].live += 1

    def sweep(self) -> None:
        """Remove the files that nothing refers to."""
        for number, file in tuple(self._files.items()):
            if not file.live:
                del self._files[number]
                file.delete()
        self._last += 1

    def clear(self) -> None:
        """Remove everything."""
        self._marks.clear()
        for file in self._files.values():
            file.delete()
        self._files.clear()

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _drop(self, entry: Entry) -> None:
        if entry.message is not None:
            self._memory_left += entry.message.cost
            entry.message = None

    def _roll(self) -> _File:
        assert self._directory is not None
        full = self._files.get(self._last)
        if full is not None and not full.live:
            del self._files[self._last]
            self._marks.pop(self._last, None)
            full.delete()
        file = _File(self._directory, self._last + 1, fsync=self._fsync)
        self._last += 1
        self._files[self._last] = file
        return file
