"""A durable map: a log of changes in which the last value of a key counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import msgspec
from isal.isal_zlib import crc32

from emulator.journal import DamagedLogError, Log, frames
from rdss_sandbox.files.rewriting import rewriting

Change: TypeAlias = tuple[bytes, bytes | None]
"""A key and its new value; None when the key is gone."""

version: Final = cache(metadata.version)
"""The version of a package. Reading it takes milliseconds."""
_FORMAT: Final = 1
_HEAD: Final = b""
_REWRITE_ABOVE_BYTES: Final = 16 << 20
_GROWTH: Final = 4
_DRAFT_BYTES: Final = 1 << 20
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[tuple[bytes, bytes | None]]).decode
_decode_head: Final = msgspec.msgpack.Decoder(tuple[int, str]).decode


class OtherVersionError(Exception):
    """A log that another version of the sandbox, or of moto, wrote. The text says what to do."""


class Written(NamedTuple):
    """Who wrote a log: the number of our format, and moto's version."""

    format: int
    moto: str


class KeyedLog:
    """The map in the log at ``path``. All changes of one ``append`` survive together, or none.

    The log is rewritten with the present values when it has four times the size of these. ``torn_bytes``
    is how many bytes of an incomplete last entry were cut. Raises ``DamagedLogError``.
    """

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self._path = path
        self._fsync = fsync
        self._log = Log(path, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self._bytes = path.stat().st_size
        self._needed = 0

    @property
    def overgrown(self) -> bool:
        """Whether it should be rewritten."""
        return self._bytes > _REWRITE_ABOVE_BYTES and self._bytes > _GROWTH * self._needed

    def read(self) -> dict[bytes, bytes]:
        """The last value of each key, in the order in which the keys came first."""
        found: dict[bytes, bytes] = {}
        for payload in _payloads(self._path):
            for key, value in _decode(payload):
                if value is None:
                    found.pop(key, None)
                else:
                    found[key] = value
        found.pop(_HEAD, None)
        self._needed = sum(map(len, found)) + sum(map(len, found.values()))
        self._needed += frames.HEADER_BYTES * len(found)
        return found

    def append(self, changes: list[Change]) -> None:
        """Store ``changes`` before returning. OSError leaves the log as it was."""
        if not self._bytes:
            changes = [_head(), *changes]
        payload = _encode(changes)
        self._bytes = self._log.append(payload) + len(payload)

    def rewrite(self, values: Iterable[Change]) -> None:
        """Replace the log by one of ``values`` alone. The old one stays until the new one is complete."""
        try:
            with rewriting(self._path) as draft:
                size = _write_draft(draft, values)
        except OSError:
            # The old log stays valid. The next try comes when it has grown by the same factor again.
            self._needed = self._bytes
            return
        self._log.close()
        self._log = Log(self._path, fsync=self._fsync)
        self._bytes = self._needed = size

    def close(self) -> None:
        self._log.close()


def writer_of(path: Path) -> Written | None:
    """Who wrote the log at ``path``; None when it is empty, missing, or its first entry is damaged."""
    with suppress(OSError, msgspec.MsgspecError), path.open("rb") as file:
        frame = frames.parse(file.read(frames.HEADER_BYTES), 0)
        payload = file.read(frame.length) if frame is not None else b""
        if frame is not None and crc32(payload) == frame.check:
            key, value = _decode(payload)[0]
            return Written(*_decode_head(value)) if key == _HEAD and value is not None else None
    return None


def check_version(path: Path) -> None:
    """Raise ``OtherVersionError`` when the log at ``path`` was written by a version that differs."""
    writer = writer_of(path)
    if writer is None:
        return
    if writer.format != _FORMAT:
        raise OtherVersionError(
            f"{path} has the format {writer.format}, and this version of rdss-sandbox reads the format "
            f"{_FORMAT}: install the version that wrote it, or give another --data-dir"
        )
    if writer.moto != (here := version("moto")):
        raise OtherVersionError(
            f"{path} was written with moto {writer.moto}, and moto {here} is installed: "
            f"pip install moto=={writer.moto}, or give another --data-dir"
        )


def _head() -> Change:
    return _HEAD, _encode((_FORMAT, version("moto")))


def _write_draft(path: Path, values: Iterable[Change]) -> int:
    """Write a log with an entry for each of ``values`` and return its size."""
    size, waiting = 0, bytearray()
    with path.open("wb") as file:
        for change in chain((_head(),), values):
            payload = _encode([change])
            waiting += frames.header(payload) + payload
            if len(waiting) > _DRAFT_BYTES:
                size += file.write(waiting)
                waiting.clear()
        size += file.write(waiting)
    return size


def _payloads(path: Path) -> Iterator[memoryview]:
    """The payloads of a log that was checked when it was opened: here only the headers are."""
    raw = path.read_bytes()
    view, position = memoryview(raw), 0
    while position < len(raw):
        frame = frames.parse(raw, position, position)
        if frame is None or frame.end > len(raw):
            raise DamagedLogError(path, position, "the header of a block does not match its checksum")
        yield view[frame.start : frame.end]
        position = frame.end
