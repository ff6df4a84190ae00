"""What a snapshot has of moto's services: the keys and values of each, and the pieces of S3's objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from emulator.journal import Change

_VALUES_IN_A_BLOB: Final = 10_000


class SavedPiece(NamedTuple):
    """A piece of a body: its number, size and checksum, and its stored form."""

    id: tuple[int, int, int]
    stored: bytes


class SavedServices(NamedTuple):
    """The keys and values of each service by its name, and the pieces of S3's objects."""

    values: dict[str, list[Change]]
    pieces: list[SavedPiece]


class _Values(msgspec.Struct, array_like=True, tag="values"):
    service: str
    values: list[Change]


class _Piece(msgspec.Struct, array_like=True, tag="piece"):
    piece: SavedPiece


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Values | _Piece).decode


def save(values: Mapping[str, Iterable[Change]], pieces: Iterable[SavedPiece]) -> list[bytes]:
    """Encode what services hold, for ``read_saved``."""
    return [*map(_encode, _split(values)), *(_encode(_Piece(piece)) for piece in pieces)]


def read_saved(saved: Sequence[bytes | memoryview]) -> SavedServices:
    values: defaultdict[str, list[Change]] = defaultdict(list)
    pieces = []
    for blob in saved:
        found = _decode(blob)
        if isinstance(found, _Values):
            values[found.service] += found.values
        else:
            pieces.append(found.piece)
    return SavedServices(dict(values), pieces)


def _split(values: Mapping[str, Iterable[Change]]) -> Iterator[_Values]:
    for service, changes in values.items():
        left = iter(changes)
        while batch := list(islice(left, _VALUES_IN_A_BLOB)):
            yield _Values(service, batch)
