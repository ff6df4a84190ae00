"""Everything that an engine holds, as blobs from which it can go on later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from emulator.journal import Block
from emulator.kinesis.stream_registry import Registry
from emulator.kinesis.stream_state import Change

_BLOB_BYTES: Final = 4 << 20


class _States(msgspec.Struct, array_like=True, tag="states"):
    """The states of accounts and streams."""

    changes: list[Change]


class _Records(msgspec.Struct, array_like=True, tag="records"):
    """Blocks of the shard with this index, of the stream with this number."""

    stream: int
    shard: int
    blocks: list[Block]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_States | _Records).decode


def save(registry: Registry) -> list[bytes]:
    """Copy every state and record. Callers hold the lock. Raises ``DamagedLogError`` and OSError."""
    states = registry.list_states()
    return [_encode(_States(states)), *map(_encode, _list_records(registry))]


def load(registry: Registry, saved: Sequence[bytes | memoryview], leap: int) -> None:
    """Replace every state and record. Callers hold the lock. Raises OSError, and then a mixture is left."""
    changes: list[Change] = []
    records: defaultdict[tuple[int, int], list[Block]] = defaultdict(list)
    for blob in saved:
        found = _decode(blob)
        if isinstance(found, _States):
            changes += found.changes
        else:
            records[found.stream, found.shard] += found.blocks
    registry.replace(changes, records, leap)


def _list_records(registry: Registry) -> Iterator[_Records]:
    for stream in registry.list_streams():
        for shard in stream.shards.values():
            blocks, size = [], 0
            for block in () if shard.unused else shard.records.copy():
                blocks.append(block)
                size += len(block.payload)
                if size >= _BLOB_BYTES:
                    yield _Records(stream.state.number, shard.state.index, blocks)
                    blocks, size = [], 0
            if blocks:
                yield _Records(stream.state.number, shard.state.index, blocks)
