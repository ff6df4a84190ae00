"""A file of messages that is full, compressed: what other files have too, it refers to."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from isal.isal_zlib import crc32

from emulator.amqp.message import Message
from emulator.journal import frames
from emulator.journal.frames import DamagedLogError
from emulator.journal.packed import Index, PackedStorage
from emulator.journal.payloads import payloads_of
from emulator.journal.segment_packing import pack
from emulator.journal.spliced import Span

_READ_BYTES: Final = 1 << 16
_PAUSE_SECONDS: Final = 0.01
"""Real seconds, for each 256 KiB that are read, so that who uses the broker gets most of the processor."""
_ANY_TIME: Final = 1
"""Repair knows the block of the index by its time, which no other block of a packed file has."""


class _StoredBody(msgspec.Struct, array_like=True, frozen=True):
    """A message as ``Stored`` writes it, of which the queues are not read."""

    places: msgspec.Raw
    message: Message


_DECODER: Final = msgspec.msgpack.Decoder(_StoredBody)


class PackedMessages:
    """A packed file of messages, read at the positions that they had in the log that it was made from.

    Raises ``DamagedLogError`` and OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._storage, _ = PackedStorage.open(path, payloads_of(path))

    @property
    def end(self) -> int:
        """The position after the last message."""
        return self._storage.end

    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Every (position, message) from the position ``start`` on."""
        end, raw = self._storage.end, b""
        at = begin = start
        while at < end:
            frame = frames.parse(raw, at, at - begin)
            if frame is None or frame.end > begin + len(raw):
                begin = at
                raw = self._storage.read(at, _READ_BYTES)
                frame = frames.parse(raw, at)
                if frame is not None and frame.end > begin + len(raw):
                    # A message may be longer than what is read at once.
                    raw = self._storage.read(at, frame.end - at)
            payload = b"" if frame is None else raw[frame.start - begin : frame.end - begin]
            if frame is None or crc32(payload) != frame.check:
                raise DamagedLogError(self.path, at, "an entry does not match its checksum")
            yield at, payload
            at = frame.end

    def delete(self) -> None:
        """Remove the file, and give up the files that it refers to."""
        self._storage.delete()


def pack_messages(log: Path, count: int, given_up: threading.Event) -> PackedMessages:
    """Write a packed copy of a full log, which has ``count`` messages, beside it. Callable on any thread.

    It survives loss of power when this returns. Raises OSError, also once it is ``given_up``.
    """

    def find_bodies(text: bytes) -> Iterator[Span]:
        if given_up.wait(_PAUSE_SECONDS):
            raise OSError(errno.ECANCELED, "the file is not packed any more")
        return _find_bodies(text)

    index = Index(b"", log.stat().st_size, count, _ANY_TIME)
    return PackedMessages(pack(log, index, find_bodies, frames.end_of_frames).path)


def _find_bodies(text: bytes) -> Iterator[Span]:
    """Find the bodies of the messages in complete entries of a log."""
    at = 0
    while at < len(text):
        frame = frames.parse(text, at, at)
        payload = b"" if frame is None else text[frame.start : frame.end]
        if frame is None or crc32(payload) != frame.check:
            # What is damaged is packed as it is, and its reader is told.
            return
        body = _DECODER.decode(payload).message.body
        begin = text.find(body, frame.start, frame.end) if body else -1
        if begin >= 0:
            yield begin, begin + len(body), False
        at = frame.end
