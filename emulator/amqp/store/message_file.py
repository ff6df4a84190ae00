"""One file of messages, and how it shrinks when little of it is held any more.

    00000007.messages.log      messages, each with the queues that it is in
    00000007.messages.packed   the same, once it is full and at rest: compressed, and bodies that others
                               have too are references to files that are shared
    00000007.settled.log       what was delivered and what is gone of the messages of that file

Messages and marks are written anew with what is held, one after the other, as logs. Where a log is beside a
packed file, the log counts.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from emulator.amqp.message import Message
from emulator.amqp.store.packed_messages import PackedMessages, pack_messages
from emulator.amqp.turn import ITEMS_OF_A_STEP, Steps, StepsTo
from emulator.amqp.wire.field_tables import TEXT
from emulator.journal import DamagedLogError, Log
from emulator.journal.frames import HEADER_BYTES
from emulator.journal.inventory import sync_names, unlist
from emulator.journal.packed import SUFFIX

MESSAGES: Final = ".messages.log"
PACKED: Final = f".messages{SUFFIX}"
SETTLED: Final = ".settled.log"
_SPARSE: Final = 4
"""A file is sparse when less than one part in this many of its bytes is held."""
_LEAST_BYTES: Final = 4096
_STEP_BYTES: Final = 1 << 18
_MARKS_OF_A_STEP: Final = 1024
_NEAR_BYTES: Final = 4096
"""So far ahead of the last message that was read, the next one is looked for in what was read with it."""
_LARGE_BYTES: Final = 1 << 15
_SYNCING: Final = ThreadPoolExecutor(1, "amqp-sync")

Places: TypeAlias = list[tuple[int, int, float | None]]
"""The queues of a message: the queue's id, the number there, and when it expires by ``Clock.time``."""


class MessageOnDisk(msgspec.Struct, array_like=True, frozen=True):
    """A message on disk. Without ``places`` it is there only because memory has no room.

    A routing key may be any bytes. ``by_byte`` says that a key is not UTF-8, which msgpack's texts are: each
    character of the keys is one byte then.
    """

    places: Places
    message: Message
    by_byte: bool = False

    def encode(self) -> bytes:
        try:
            return _ENCODER.encode(self)
        except UnicodeEncodeError:
            written = _change_keys(self.message, lambda key: key.encode(*TEXT).decode("latin-1"))
            return _ENCODER.encode(MessageOnDisk(self.places, written, by_byte=True))

    @classmethod
    def decode(cls, payload: bytes) -> MessageOnDisk:
        found = _STORED.decode(payload)
        if not found.by_byte:
            return found
        return cls(found.places, _change_keys(found.message, lambda key: key.encode("latin-1").decode(*TEXT)))


def _change_keys(message: Message, change: Callable[[str], str]) -> Message:
    deaths = [
        msgspec.structs.replace(death, routing_keys=tuple(map(change, death.routing_keys)))
        for death in message.deaths
    ]
    return msgspec.structs.replace(
        message,
        routing_keys=tuple(map(change, message.routing_keys)),
        hidden_keys=tuple(map(change, message.hidden_keys)),
        deaths=tuple(deaths),
    )


class _OnlyPlaces(msgspec.Struct, array_like=True, frozen=True):
    """A stored message of which the rest is not read."""

    places: Places


class Marks(msgspec.Struct, array_like=True):
    """What happened to the messages of one file: queue id and number of each, and its attempts."""

    settled: list[tuple[int, int]] = []
    delivered: list[tuple[int, int, int]] = []


_ENCODER: Final = msgspec.msgpack.Encoder()
_STORED: Final = msgspec.msgpack.Decoder(MessageOnDisk)
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
        self._syncing: Future[None] | None = None
        self._fsync = fsync
        self.messages = self._open()
        self._reading: Iterator[tuple[int, bytes]] = iter(())
        self._read_to = 0
        # Where each message begins, and where the last one ends. One that was left out has no length.
        self._positions = array("I", [0])
        self._holders = array("I")
        self._settled: Log | None = None

    def _open(self) -> Log | PackedMessages:
        packed = self.path.with_suffix(SUFFIX)
        if packed.exists() and not self.path.exists():
            return PackedMessages(packed)
        # A process died that was writing the one from the other. The log is put in place whole.
        packed.unlink(missing_ok=True)
        log = Log(self.path)
        if self._fsync:
            sync_names(self.path)
        return log

    @property
    def is_packed(self) -> bool:
        return isinstance(self.messages, PackedMessages)

    @property
    def awaits_disk(self) -> bool:
        """Whether what is written anew is not on the disk yet."""
        return self._syncing is not None and not self._syncing.done()

    @property
    def torn_logs(self) -> list[Log]:
        """Its logs whose ends were not written whole when they were opened, and were cut."""
        return [each for each in (self.messages, self._settled) if isinstance(each, Log) and each.torn_bytes]

    @property
    def size(self) -> int:
        """The bytes of the messages, before they are packed, and of the marks."""
        return self.messages.end + (self._settled.end if self._settled is not None else 0)

    @property
    def is_sparse(self) -> bool:
        """Whether so little of the file is held that it should shrink."""
        return self.live_bytes * _SPARSE < self.size >= _LEAST_BYTES

    # Messages

    def append(self, messages: Sequence[MessageOnDisk], holders: int) -> int:
        """Write messages, each of which ``holders`` places refer to, in one go; return the first's index.

        ``flush`` puts them on the disk.
        """
        assert isinstance(self.messages, Log)
        payloads = [each.encode() for each in messages]
        end = begin = self.messages.append(*payloads)
        for payload in payloads:
            end += HEADER_BYTES + len(payload)
            self._positions.append(end)
            self._holders.append(holders)
        self.live_bytes += end - begin
        return len(self._holders) - len(payloads)

    def flush(self) -> None:
        """Return when its messages survive loss of power. Callable on any thread."""
        # What takes the place of a log is on the disk before.
        messages = self.messages
        if isinstance(messages, Log):
            messages.sync()

    def read(self, index: int) -> Message:
        position = self._positions[index]
        messages = self.messages
        # Behind a large one, little of the next would be read with it.
        if self._size(index) > _LARGE_BYTES and isinstance(messages, Log):
            return MessageOnDisk.decode(messages.read(position)).message
        return MessageOnDisk.decode(self._read(position)).message

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

    def recover(self) -> Iterator[tuple[int, MessageOnDisk]]:
        """Yield every message with its index, once after opening. ``hold`` counts what refers to it."""
        for position, payload in self.messages.entries():
            self._positions.append(position + HEADER_BYTES + len(payload))
            self._holders.append(0)
            try:
                found = MessageOnDisk.decode(payload)
            except (msgspec.MsgspecError, UnicodeError) as error:
                raise DamagedLogError(self.messages.path, position, f"it has no message: {error}") from error
            yield len(self._holders) - 1, found

    def _read(self, position: int) -> bytes:
        """Read what is at a position. Messages are mostly read in their order, so many are read at once."""
        if not 0 <= position - self._read_to < _NEAR_BYTES:
            self._read_to, self._reading = position, self.messages.entries(position)
        for at, payload in self._reading:
            self._read_to = at + HEADER_BYTES + len(payload)
            if at == position:
                return payload
        # What was read at once is over. A position that is not there is damage, of which the log tells.
        self._read_to, self._reading = position, self.messages.entries(position)
        at, payload = next(self._reading)
        self._read_to = at + HEADER_BYTES + len(payload)
        return payload

    def _size(self, index: int) -> int:
        return self._positions[index + 1] - self._positions[index]

    # What happened to them

    def mark(self, marks: Marks) -> None:
        """Write down what happened to messages."""
        if self._settled is None:
            self._settled = Log(self.settled_path, fsync=self._fsync)
        self._settled.append(_ENCODER.encode(marks))

    def read_marks(self) -> Iterator[Marks]:
        """Yield what happened to messages, once after opening."""
        if self.settled_path.exists():
            self._settled = Log(self.settled_path, fsync=self._fsync)
            for position, payload in self._settled.entries():
                try:
                    marks = _MARKS.decode(payload)
                except msgspec.MsgspecError as error:
                    raise DamagedLogError(self.settled_path, position, f"it has no marks: {error}") from error
                yield marks

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

    def pack(self, given_up: threading.Event) -> PackedMessages:
        """Write a packed copy of the full log, for ``replace_by``. Callable on any thread."""
        if self._fsync:
            # When power fails, the log that was removed may be there again, and it counts.
            self.flush()
        return pack_messages(self.path, len(self._holders), given_up)

    def replace_by(self, packed: PackedMessages) -> None:
        """Read from the packed copy from now on, and remove the log that it was made from."""
        self._exchange(packed)
        self.path.unlink()

    def close(self) -> None:
        if isinstance(self.messages, Log):
            self.messages.close()
        if self._settled is not None:
            self._settled.close()

    def delete(self) -> None:
        self.close()
        unlist(self.path)
        self.path.unlink(missing_ok=True)
        if isinstance(self.messages, PackedMessages):
            self.messages.delete()
        # Last, for a message without its mark would come back.
        unlist(self.settled_path)
        self.settled_path.unlink(missing_ok=True)

    def _exchange(self, fresh: Log | PackedMessages) -> None:
        old, self.messages = self.messages, fresh
        self._read_to, self._reading = 0, iter(())
        if isinstance(old, PackedMessages):
            old.delete()
        else:
            old.close()

    def _shrink_messages(self, kept: set[tuple[int, int]]) -> Steps:
        """Add to ``kept`` the places of the messages that stay."""
        positions = array("I", [0])
        end = stepped = 0
        with Log.rewriting(self.path, fsync=self._fsync, synced=False) as fresh:
            for index, holders in enumerate(self._holders):
                if holders:
                    payload = self._read(self._positions[index])
                    kept.update((queue, place) for queue, place, _ in _PLACES.decode(payload).places)
                    fresh.append(payload)
                    end = fresh.end
                positions.append(end)
                if end > stepped + _STEP_BYTES or not index % ITEMS_OF_A_STEP:
                    stepped = end
                    yield
            yield from self._sync(fresh)
        self._exchange(fresh)
        self._positions = positions

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
            yield from self._sync(fresh)
            # What was marked while the disk was waited for.
            for _, payload in old.entries(read):
                fresh.append(payload)
        old.close()
        self._settled = fresh

    def _sync(self, log: Log) -> Steps:
        """Have another thread see that a log survives loss of power: a disk may take long. Raises OSError."""
        self._syncing = _SYNCING.submit(log.sync)
        while self.awaits_disk:
            yield
        self._syncing.result()
