"""Checkpoints of several streams in one file, for the sandbox's own readers, which go on after a restart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from emulator.channels.checkpoints import Checkpoints
from emulator.journal import Log

_GENERATION: Final = "stream"
"""The shard name under which the generation of a stream is kept. Shards have other names."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(tuple[str, str, str]).decode


class CheckpointFile:
    """The checkpoint of each shard of each stream. With a ``path`` of None they last as long as the process.

    Each change is appended, and opening the file keeps the last entry of each shard. ``torn_bytes`` is how
    many bytes of an incomplete last entry were cut then.
    """

    def __init__(self, path: Path | None) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._log: Log | None = None
        self.torn_bytes = 0
        if path is not None:
            log = Log(path)
            entries = (_decode(payload) for _, payload in log.entries())
            self._known = {(stream, shard): sequence_number for stream, shard, sequence_number in entries}
            self.torn_bytes = log.torn_bytes
            log.close()
            try:
                self._log = self._build_log(path)
            except OSError:
                # The disk is full. The old log has the same last entries, only more of them.
                self._log = Log(path)

    def of(self, stream: str) -> Checkpoints:
        return _StreamCheckpoints(self, stream)

    def get(self, stream: str, shard: str) -> str | None:
        return self._known.get((stream, shard))

    def put(self, stream: str, shard: str, sequence_number: str) -> None:
        if self._log is not None and self._known.get((stream, shard)) != sequence_number:
            self._log.append(_encode((stream, shard, sequence_number)))
        self._known[stream, shard] = sequence_number

    def begin(self, stream: str, generation: str) -> bool:
        """Forget the checkpoints of a stream that was deleted and created again under its name.

        ``generation`` is the present one, as ``StreamView`` has it. Returns whether it is another stream.
        """
        known = self.get(stream, _GENERATION)
        is_another = known not in {None, generation}
        if is_another:
            self.forget(stream)
        self.put(stream, _GENERATION, generation)
        return is_another

    def forget(self, stream: str) -> None:
        self._known = {place: number for place, number in self._known.items() if place[0] != stream}
        self._rewrite()

    def clear(self) -> None:
        """Forget every checkpoint."""
        self._known.clear()
        self._rewrite()

    def save(self) -> list[bytes]:
        """Return a copy of every checkpoint, for ``load``."""
        return [_encode((*place, number)) for place, number in tuple(self._known.items())]

    def load(self, saved: Iterable[bytes | memoryview]) -> None:
        """Replace every checkpoint by those that were saved, and are in a snapshot too. Raises OSError."""
        entries = map(_decode, saved)
        self._known = {(stream, shard): sequence_number for stream, shard, sequence_number in entries}
        self._rewrite(synced=False)

    def _rewrite(self, *, synced: bool = True) -> None:
        if self._log is not None:
            rewritten = self._build_log(self._log.path, synced=synced)
            self._log.close()
            self._log = rewritten

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _build_log(self, path: Path, *, synced: bool = True) -> Log:
        entries = (_encode((*place, number)) for place, number in self._known.items())
        return Log.rewrite(path, entries, synced=synced)


class _StreamCheckpoints:
    """``Checkpoints`` of one stream."""

    def __init__(self, file: CheckpointFile, stream: str) -> None:
        self._file = file
        self._stream = stream

    def get(self, shard: str) -> str | None:
        return self._file.get(self._stream, shard)

    def put(self, shard: str, sequence_number: str) -> None:
        self._file.put(self._stream, shard, sequence_number)
