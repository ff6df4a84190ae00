"""Checkpoints of several streams in one file, for readers of ours that go on after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from emulator.channels import Checkpoints
from emulator.journal import Log

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(tuple[str, str, str]).decode


class CheckpointFile:
    """The last committed position of each shard of each stream; without a file, as long as the process lasts.

    Each change is appended; opening keeps the last word on each. ``torn_bytes`` is how much of one that was
    not written whole was cut then.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[tuple[str, str], str] = {}
        self._log: Log | None = None
        self.torn_bytes = 0
        if path is not None:
            self._known, self.torn_bytes = _last_words(path)
            try:
                self._log = self._written_anew(path)
            except OSError:
                # A full disk: the old one has the same words, and more of them.
                self._log = Log(path)

    def of(self, stream: str) -> Checkpoints:
        """The checkpoints of one stream."""
        return _StreamPositions(self, stream)

    def get(self, stream: str, shard: str) -> str | None:
        return self._known.get((stream, shard))

    def put(self, stream: str, shard: str, sequence_number: str) -> None:
        if self._log is not None and self._known.get((stream, shard)) != sequence_number:
            self._log.append(_encode((stream, shard, sequence_number)))
        self._known[stream, shard] = sequence_number

    def forget(self, stream: str) -> None:
        """Forget every position of one stream."""
        self._known = {place: number for place, number in self._known.items() if place[0] != stream}
        self._write_anew()

    def clear(self) -> None:
        """Forget every position."""
        self._known.clear()
        self._write_anew()

    def _write_anew(self) -> None:
        if self._path is not None and self._log is not None:
            anew = self._written_anew(self._path)
            self._log.close()
            self._log = anew

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _written_anew(self, path: Path) -> Log:
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        log = Log(new)
        try:
            for (stream, shard), sequence_number in self._known.items():
                log.append(_encode((stream, shard, sequence_number)))
            new.replace(path)
        finally:
            log.close()
            new.unlink(missing_ok=True)
        return Log(path)


class _StreamPositions:
    """``Checkpoints`` of one stream."""

    def __init__(self, positions: CheckpointFile, stream: str) -> None:
        self._positions = positions
        self._stream = stream

    def get(self, shard: str) -> str | None:
        return self._positions.get(self._stream, shard)

    def put(self, shard: str, sequence_number: str) -> None:
        self._positions.put(self._stream, shard, sequence_number)


def _last_words(path: Path) -> tuple[dict[tuple[str, str], str], int]:
    log = Log(path)
    words = (_decode(payload) for _, payload in log.entries())
    known = {(stream, shard): sequence_number for stream, shard, sequence_number in words}
    log.close()
    return known, log.torn_bytes
