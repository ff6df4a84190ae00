"""Packing a full file: its bytes are compressed, and its payloads go into files that others can refer to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from isal.isal_zlib import crc32

from emulator.journal.packed import STRETCH_BYTES, SUFFIX, Index, PackedFile, PackedStorage
from emulator.journal.payloads import FoundPayloads, PayloadFile, Payloads, payloads_of
from emulator.journal.spliced import (
    PART_BYTES,
    Cut,
    Find,
    Payload,
    Piece,
    Splice,
    end_of_lines,
    no_payloads,
    payloads_in,
    text_bytes,
)

_WINDOW_BYTES: Final = 1 << 18


def pack(path: Path, index: Index, find: Find, cut: Cut = end_of_lines) -> PackedStorage:
    """Write a compressed copy of a file beside it. Raises OSError, and what ``find`` raises.

    When this returns, the new file and every payload file that it refers to survive loss of power, so the
    old file can be removed. ``find`` finds the payloads in what ``cut`` says is complete. Without a
    ``Payloads`` for the directory, the payloads stay in the new file.
    """
    with path.open("rb") as source:
        text, payloads = _Text(source.fileno(), cut), payloads_of(path)
        if payloads is None:
            return _Packing(path, index, FoundPayloads({}, set()), None).run(text, no_payloads)
        with payloads.working:
            storage = _share(path, index, text, find, payloads)
    payloads.notify()
    return storage


def _share(path: Path, index: Index, text: _Text, find: Find, payloads: Payloads) -> PackedStorage:
    # The file is read twice: once for the keys of its payloads, so that only their places have to be
    # in memory, and once to write it.
    keys = {crc32(data) for window in text.windows() for _, _, data, _ in payloads_in(window, find)}
    found = payloads.find(keys)
    del keys
    try:
        return _Packing(path, index, found, payloads).run(text, find)
    finally:
        payloads.release(found.files)


class _Packing:
    """One file while it is packed. Payloads that no payload file has go into a new one."""

    def __init__(self, path: Path, index: Index, found: FoundPayloads, payloads: Payloads | None) -> None:
        self._index = index
        self._found = found.pieces
        self._payloads = payloads
        self._file = PackedFile(path.with_suffix(SUFFIX))
        self._fresh: PayloadFile | None = None
        self._files: set[int] = set()
        self._splice, self._skip, self._filled = Splice(), 0, 0

    def run(self, text: _Text, find: Find) -> PackedStorage:
        """Pack the file. OSError leaves no file behind."""
        try:
            for window in text.windows():
                self._add(window, payloads_in(window, find))
            self._end_stretch()
            return self._finish()
        except BaseException:
            self._file.discard()
            if self._fresh is not None:
                self._fresh.discard()
            raise

    def _finish(self) -> PackedStorage:
        files = tuple(sorted(self._files))
        if self._payloads is None:
            return self._file.finish(self._index)
        # Held before the packed file takes its place: it must never refer to a file that can be removed.
        self._payloads.hold(files)
        try:
            if self._fresh is not None:
                self._fresh.finish()
                self._payloads.release((self._fresh.number,))
                # Other packed files may refer to it from now on, so a failure must not discard it.
                self._fresh = None
            return self._file.finish(self._index, files, self._payloads)
        except OSError:
            self._payloads.release(files)
            raise

    def _add(self, window: bytes, payloads: list[Payload]) -> None:
        at = 0
        places = self._place([data for _, _, data, _ in payloads]) if payloads else []
        for (begin, end, _, in_base64), place in zip(payloads, places, strict=True):
            if self._filled + end - at < STRETCH_BYTES and place[2] <= PART_BYTES:
                self._splice.add_literal(window[at:begin])
                self._splice.add_piece(*place, in_base64)
                self._filled += end - at
            else:
                self._add_text(window[at:begin])
                self._add_payload(*place, in_base64)
            at = end
        self._add_text(window[at:])

    def _place(self, payloads: list[bytes]) -> list[Piece]:
        """Return a piece for each payload: of an older file that was read and compared, or of the new one."""
        assert self._payloads is not None
        keys = [*map(crc32, payloads)]
        places = [*map(self._found.get, keys)]
        if any(places):
            places = self._payloads.verify(places, payloads)
        self._files.update(place[0] for place in places if place is not None)
        new = [number for number, place in enumerate(places) if place is None]
        if not new:
            return [place for place in places if place is not None]
        if self._fresh is None:
            self._fresh = self._payloads.create_file()
            self._files.add(self._fresh.number)
        added = iter(self._fresh.add([payloads[i] for i in new], [keys[i] for i in new]))
        return [next(added) if place is None else place for place in places]

    def _add_text(self, text: bytes) -> None:
        while len(text) >= (room := STRETCH_BYTES - self._filled):
            self._splice.add_literal(text[:room])
            self._filled = STRETCH_BYTES
            self._end_stretch()
            text = text[room:]
        self._splice.add_literal(text)
        self._filled += len(text)

    def _add_payload(self, file: int, start: int, length: int, in_base64: bool) -> None:
        for at in range(0, length, PART_BYTES):
            part = file, start + at, min(PART_BYTES, length - at), in_base64
            size = text_bytes(part[2], in_base64)
            self._splice.add_piece(*part)
            self._filled += size
            if (beyond := self._filled - STRETCH_BYTES) >= 0:
                self._filled = STRETCH_BYTES
                self._end_stretch()
                if beyond:
                    # The part crosses the border of two stretches, so both refer to it. The first is cut
                    # at its end by its size, and the next skips what the first has.
                    self._splice.add_piece(*part)
                    self._skip, self._filled = size - beyond, beyond

    def _end_stretch(self) -> None:
        if len(self._splice.literals) > 1:
            self._file.add_spliced(self._splice.encode(self._skip, self._filled), self._filled)
        elif self._filled:
            self._file.add(self._splice.literals[0])
        self._splice, self._skip, self._filled = Splice(), 0, 0


class _Text(NamedTuple):
    """What is in an open file, and where it can be cut."""

    descriptor: int
    cut: Cut

    def windows(self) -> Iterator[bytes]:
        """The file in windows of about 256 KiB that hold whole lines, or entries, only."""
        position, rest = 0, b""
        while chunk := os.pread(self.descriptor, _WINDOW_BYTES, position):
            position += len(chunk)
            rest += chunk
            if end := self.cut(rest):
                yield rest[:end]
                rest = rest[end:]
        if rest:
            yield rest
