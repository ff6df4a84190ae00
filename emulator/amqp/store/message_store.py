"""Messages on disk, and in memory as far as there is room.

A file goes with the last of its messages, whatever is in the others. One of which little is held for a while
shrinks, and one that is full and at rest is packed. A queue's message is known by the id of the queue and its
number there.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from emulator.amqp.message import OVERHEAD_BYTES, Entry, Message
from emulator.amqp.store.message_file import (
    MESSAGES,
    PACKED,
    SETTLED,
    Marks,
    MessageFile,
    MessageOnDisk,
)
from emulator.amqp.store.packed_messages import PackedMessages
from emulator.amqp.turn import StepsTo, Turn
from emulator.clock import stopwatch
from emulator.journal import DamagedLogError
from emulator.journal.inventory import unlist
from rdss_sandbox.files.rewriting import remove_drafts

FILE_BYTES: Final = 16 << 20
MEMORY_BYTES: Final = 32 << 20
"""Of messages that are in memory beside the disk. Beyond, a message is read again when it is delivered."""
_LEAST_ROLLED: Final = 1 << 20
"""Bytes of the last file from which on another is begun, so that it can shrink."""
_INDEX_BITS: Final = 32
_INDEX: Final = (1 << _INDEX_BITS) - 1
_PACKING: Final = ThreadPoolExecutor(1, "amqp-packing")
"""One thread, so that what is given up is removed behind its packing."""
_LOOK_SECONDS: Final = 0.1
_SYNCED_SECONDS: Final = 0.002
"""How long to wait before looking again whether a file is packed, or on the disk."""


class Rests(NamedTuple):
    """How long files are let be, in real seconds, before they shrink and before they are packed.

    Of one of which little is held, the consumer mostly takes the rest in a moment.
    """

    sparse: float = 1.0
    full: float = 5.0


DEFAULT_RESTS: Final = Rests()


class _MessagePacking(NamedTuple):
    """A file that another thread packs, from its log, until it is ``given_up``."""

    file: MessageFile
    given_up: threading.Event
    packed: Future[PackedMessages]


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
        rests: Rests = DEFAULT_RESTS,
    ) -> None:
        self._directory = directory
        self._fsync = fsync
        self._file_bytes = file_bytes
        self._memory_left = memory_bytes
        self._files: dict[int, MessageFile] = {}
        self._unflushed: dict[MessageFile, None] = {}
        self._doubtful: MessageFile | None = None
        self._marks: dict[int, Marks] = defaultdict(Marks)
        self._last = 0
        self.torn_files: list[tuple[Path, int]] = []
        """What ``recover`` found of which the end was torn, each with the bytes that were cut."""
        self._rests = rests
        # When each is to be looked at; for one that is not packed, with where it ended then.
        self._sparse: dict[int, float] = {}
        self._unpacked: dict[int, tuple[float, int]] = {}
        self._shrinking: tuple[MessageFile, StepsTo[None]] | None = None
        self._packing: _MessagePacking | None = None
        self._removing: Future[None] | None = None
        if directory is not None and directory.is_dir():
            remove_drafts(directory)
            for number in sorted({*_list_numbers(directory, MESSAGES), *_list_numbers(directory, PACKED)}):
                self._files[number] = MessageFile(directory, number, fsync=fsync)
                self._last = number
            for number in _list_numbers(directory, SETTLED):
                if number not in self._files:
                    # Its messages went when the process died. Those of another file may get its number.
                    path = directory / f"{number:08d}{SETTLED}"
                    unlist(path)
                    path.unlink()

    @property
    def is_durable(self) -> bool:
        return self._directory is not None

    @property
    def is_short_of_memory(self) -> bool:
        return self._memory_left <= 0

    def append(self, messages: Sequence[MessageOnDisk], holders: int) -> int:
        """Write messages, each of which ``holders`` queues refer to; return the reference of the first.

        The references of the others follow it. Raises OSError, and then none is written.
        """
        file = self._files.get(self._last)
        if file is None or file.messages.end >= self._file_bytes or file is self._doubtful:
            file = self._roll()
        if self._fsync:
            self._unflushed[file] = None
        if file.number not in self._unpacked:
            self._await_rest(file)
        return file.number << _INDEX_BITS | file.append(messages, holders)

    def keep(self, entry: Entry, message: Message) -> None:
        """Keep a message in memory if there is room, or if it is nowhere else."""
        if not entry.reference or self._memory_left > 0:
            entry.message = message
            self._memory_left -= message.cost

    def keep_together(self, entries: Sequence[Entry], messages: Sequence[Message]) -> None:
        """Do what ``keep`` does for each."""
        left = self._memory_left
        for entry, message in zip(entries, messages, strict=True):
            if not entry.reference or left > 0:
                entry.message = message
                left -= len(message.body) + len(message.properties) + OVERHEAD_BYTES
        self._memory_left = left

    def release(self, entries: Iterable[Entry]) -> None:
        """Give up the messages of entries in memory, where they are stored."""
        for entry in entries:
            if entry.reference:
                self._drop(entry)

    def load(self, entry: Entry) -> Message:
        """Return an entry's message, from memory or from disk. Raises ``DamagedLogError``."""
        if entry.message is not None:
            return entry.message
        return self._files[entry.reference >> _INDEX_BITS].read(entry.reference & _INDEX)

    def settle(self, queue: int, entries: Iterable[Entry], *, durable: bool) -> None:
        """Forget entries for good. For a ``durable`` queue, ``commit`` writes that down."""
        for entry in entries:
            if entry.message is not None:
                self._drop(entry)
            if not entry.reference:
                continue
            number = entry.reference >> _INDEX_BITS
            file = self._files.get(number)
            if file is None:
                # Everything was cleared meanwhile.
                continue
            if durable:
                self._marks[number].settled.append((queue, entry.number))
            file.release(entry.reference & _INDEX)
            if not file.live_bytes and number != self._last:
                self._delete(file)
            # With a mark it is commit that looks: marks are part of the file's size.
            elif not durable:
                self._note_if_sparse(file)

    def note_delivered(self, queue: int, entries: Iterable[Entry]) -> None:
        """Note that entries are out with a consumer: if they come back, that is a redelivery."""
        for entry in entries:
            if entry.reference:
                marks = self._marks[entry.reference >> _INDEX_BITS]
                marks.delivered.append((queue, entry.number, entry.attempts))

    @property
    def awaits_flush(self) -> bool:
        """Whether there are messages that loss of power would take, and must not: with ``fsync``."""
        return bool(self._unflushed)

    def begin_flush(self) -> Callable[[], None]:
        """Return what puts every message so far on the disk, or raises OSError; for any thread."""
        files, self._unflushed = self._unflushed, {}
        return partial(self._flush, files)

    def _flush(self, files: Iterable[MessageFile]) -> None:
        for file in files:
            try:
                file.flush()
            except OSError:
                # What of it is on the disk is not known, even when another flush succeeds.
                self._doubtful = file
                raise

    def commit(self) -> None:
        """Write down what was noted. Raises OSError, and tries again with the next call."""
        while self._marks:
            number, marks = next(iter(self._marks.items()))
            file = self._files[number]
            file.mark(marks)
            del self._marks[number]
            self._note_if_sparse(file)

    @property
    def is_busy(self) -> bool:
        """Whether ``proceed`` has something to do."""
        return self.idle_seconds == 0

    @property
    def is_shrinking(self) -> bool:
        """Whether a file is written anew, which may be waiting for the disk."""
        return self._shrinking is not None

    @property
    def idle_seconds(self) -> float | None:
        """In how many real seconds ``proceed`` has something to do; None for never."""
        if self._shrinking is not None:
            return _SYNCED_SECONDS if self._shrinking[0].awaits_disk else 0
        # Each rests for as long as the others, so the first that was noted is the first that is due.
        due = [at - stopwatch() for at in islice(self._sparse.values(), 1)]
        if self._packing is not None:
            due.append(0 if self._packing.packed.done() else _LOOK_SECONDS)
        else:
            due += [at - stopwatch() for at, _ in islice(self._unpacked.values(), 1)]
        return max(0, min(due)) if due else None

    def proceed(self, turn: Turn) -> None:
        """Shrink files of which little is held, as far as the turn goes, and pack one that is at rest."""
        while self.is_busy and not turn.is_over:
            try:
                if self._shrinking is not None:
                    if turn.run(self._shrinking[1]):
                        self._shrinking = None
                elif self._sparse and next(iter(self._sparse.values())) <= stopwatch():
                    self._begin_to_shrink(next(iter(self._sparse)))
                elif self._packing is not None:
                    self._take_packed(self._packing)
                else:
                    self._begin_to_pack(*next(iter(self._unpacked.items())))
            except (DamagedLogError, OSError):
                # The file stays as it was, until more of it is settled.
                self._stop_shrinking()

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
            self.torn_files += ((log.path, log.torn_bytes) for log in file.torn_logs)
            for index, stored in file.recover():
                for queue, place, expires in stored.places:
                    if (queue, place) in gone:
                        continue
                    tried = attempts.get((queue, place))
                    entry = Entry(
                        place,
                        None,
                        size=len(stored.message.body),
                        reference=number << _INDEX_BITS | index,
                        redelivered=tried is not None,
                        # A delivery that is not settled came back when the process ended, if not before.
                        attempts=0 if tried is None else tried + 1,
                    )
                    yield queue, entry, stored.message.priority, expires

    def count(self, entry: Entry) -> None:
        """Count a recovered entry that a queue took."""
        self._files[entry.reference >> _INDEX_BITS].hold(entry.reference & _INDEX)

    def sweep(self) -> None:
        """Remove the files that nothing refers to, and note those to which little does."""
        # No file that was found takes new messages, so that each of them can shrink and go.
        self._last += 1
        for file in tuple(self._files.values()):
            if not file.live_bytes:
                self._delete(file)
            else:
                self._note_if_sparse(file)
                if not file.is_packed:
                    self._await_rest(file)

    def clear(self) -> None:
        """Remove everything."""
        self._marks.clear()
        for file in tuple(self._files.values()):
            self._delete(file)

    def close(self) -> None:
        self._stop_shrinking()
        if self._packing is not None:
            self._give_up_packing(self._packing.file)
        if self._removing is not None:
            # What is removed later could be what the next store of this directory has.
            wait((self._removing,))
        for file in self._files.values():
            file.close()

    def _drop(self, entry: Entry) -> None:
        if entry.message is not None:
            self._memory_left += entry.message.cost
            entry.message = None

    def _roll(self) -> MessageFile:
        assert self._directory is not None
        full = self._files.get(self._last)
        # Files are numbered from 1, so that no reference is 0.
        file = MessageFile(self._directory, self._last + 1, fsync=self._fsync)
        self._last += 1
        self._files[self._last] = file
        if full is not None and not full.live_bytes:
            self._delete(full)
        return file

    def _delete(self, file: MessageFile) -> None:
        self._marks.pop(file.number, None)
        self._unflushed.pop(file, None)
        self._sparse.pop(file.number, None)
        self._unpacked.pop(file.number, None)
        if self._shrinking is not None and self._shrinking[0] is file:
            self._stop_shrinking()
        self._give_up_packing(file)
        del self._files[file.number]
        file.delete()

    def _note_if_sparse(self, file: MessageFile) -> None:
        if (
            file.is_sparse
            and file.number not in self._sparse
            and (file.number != self._last or file.messages.end >= _LEAST_ROLLED)
        ):
            self._sparse[file.number] = stopwatch() + self._rests.sparse

    def _begin_to_shrink(self, number: int) -> None:
        del self._sparse[number]
        file = self._files[number]
        if not file.is_sparse:
            # It was noted while it shrank.
            return
        if number == self._last:
            # What takes new messages is never written anew.
            self._roll()
        if file.live_bytes:
            # What is small now is packed no more.
            self._unpacked.pop(number, None)
            self._give_up_packing(file)
            self._shrinking = file, file.shrink()

    def _stop_shrinking(self) -> None:
        if self._shrinking is not None:
            self._shrinking[1].close()
            self._shrinking = None

    def _await_rest(self, file: MessageFile) -> None:
        self._unpacked.pop(file.number, None)
        self._unpacked[file.number] = stopwatch() + self._rests.full, file.messages.end

    def _begin_to_pack(self, number: int, noted: tuple[float, int]) -> None:
        """Pack a file if it is full, or has grown no more, and much of it is held."""
        del self._unpacked[number]
        file = self._files[number]
        if number == self._last and file.messages.end > noted[1]:
            self._await_rest(file)
        elif file.messages.end >= _LEAST_ROLLED and file.live_bytes > file.messages.end // 2:
            if number == self._last:
                self._roll()
            given_up = threading.Event()
            self._packing = _MessagePacking(file, given_up, _PACKING.submit(file.pack, given_up))

    def _take_packed(self, packing: _MessagePacking) -> None:
        """Read from the packed copy. Raises what kept the file from being packed: it stays as it was."""
        self._packing = None
        packing.file.replace_by(packing.packed.result())

    def _give_up_packing(self, file: MessageFile) -> None:
        """Have the other thread leave off, if it packs this file, and remove what it has made."""
        if self._packing is not None and self._packing.file is file:
            packing, self._packing = self._packing, None
            packing.given_up.set()
            self._removing = _PACKING.submit(_delete_packed, packing.packed)


def _delete_packed(packed: Future[PackedMessages]) -> None:
    with suppress(DamagedLogError, OSError):
        packed.result().delete()


def _list_numbers(directory: Path, suffix: str) -> list[int]:
    return sorted(int(path.name.split(".")[0]) for path in directory.glob(f"*{suffix}"))
