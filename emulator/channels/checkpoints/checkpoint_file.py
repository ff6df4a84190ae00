"""Checkpoints of several streams in one file, for the sandbox's own readers, which go on after a restart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from emulator.channels.checkpoints import Checkpoints
from emulator.journal import KeyedLog

_GENERATION: Final = "stream"
"""The shard name under which the generation of a stream is kept. Shards have other names."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(tuple[str, str, str]).decode
_decode_place: Final = msgspec.json.Decoder(tuple[str, str]).decode


class CheckpointFile:
    """The checkpoint of each shard of each stream. With a ``path`` of None they last as long as the process.

    ``torn_bytes`` is how many bytes of an incomplete last entry were cut when the file was opened.
    """

    def __init__(self, path: Path | None) -> None:
        self._log = KeyedLog(path, read_old=_read_old)
        self._known = {_decode_place(key): number.decode() for key, number in self._log.read().items()}
        self.torn_bytes = self._log.torn_bytes

    def of(self, stream: str) -> Checkpoints:
        return _StreamCheckpoints(self, stream)

    def get(self, stream: str, shard: str) -> str | None:
        return self._known.get((stream, shard))

    def put(self, stream: str, shard: str, sequence_number: str) -> None:
        place = stream, shard
        if self._known.get(place) != sequence_number:
            self._log.append([(_encode(place), sequence_number.encode())])
            self._known[place] = sequence_number

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
        gone = [place for place in self._known if place[0] == stream]
        # A full disk must not keep anyone from deleting.
        self._log.append([(_encode(place), None) for place in gone], freeing=True)
        for place in gone:
            del self._known[place]

    def clear(self) -> None:
        """Forget every checkpoint."""
        self._known.clear()
        self._log.replace(())

    def save(self) -> list[bytes]:
        """Return a copy of every checkpoint, for ``load``."""
        return [_encode((*place, number)) for place, number in tuple(self._known.items())]

    def load(self, saved: Iterable[bytes | memoryview]) -> None:
        """Replace every checkpoint by those that were saved, and are in a snapshot too. Raises OSError."""
        entries = map(_decode, saved)
        self._known = {(stream, shard): sequence_number for stream, shard, sequence_number in entries}
        values = ((_encode(place), number.encode()) for place, number in self._known.items())
        self._log.replace(values, synced=False)

    def close(self) -> None:
        self._log.close()


def _read_old(payload: bytes, values: dict[bytes, bytes]) -> None:
    """Apply an entry as it was when the file had no keys: stream, shard and sequence number."""
    stream, shard, sequence_number = _decode(payload)
    values[_encode((stream, shard))] = sequence_number.encode()


class _StreamCheckpoints:
    """``Checkpoints`` of one stream."""

    def __init__(self, file: CheckpointFile, stream: str) -> None:
        self._file = file
        self._stream = stream

    def get(self, shard: str) -> str | None:
        return self._file.get(self._stream, shard)

    def put(self, shard: str, sequence_number: str) -> None:
        self._file.put(self._stream, shard, sequence_number)
