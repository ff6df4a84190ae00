"""The mappings of every account and region, with how far each has read, and what is kept of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from emulator.journal import KeyedLog
from extensions.functions.engine.errors import NotFoundError
from extensions.functions.mappings.mapping import Mapping, Position

_encode: Final = msgspec.json.Encoder().encode
_decode_mapping: Final = msgspec.json.Decoder(Mapping).decode
_decode_position: Final = msgspec.json.Decoder(Position).decode
_MAPPING: Final = "mapping"
_UNKNOWN: Final = "The resource you requested does not exist."


class MappingStore:
    """Mappings by their UUID, and positions by mapping and shard. Every change is stored before it counts."""

    def __init__(self, log: Path | None, *, fsync: bool) -> None:
        self._log = KeyedLog(log, fsync=fsync)
        self.torn_bytes = self._log.torn_bytes
        self._mappings: dict[str, Mapping] = {}
        self._positions: dict[tuple[str, str], Position] = {}
        self._take(self._log.read().items())

    def get(self, uuid: str) -> Mapping:
        """Raises NotFoundError."""
        if uuid not in self._mappings:
            raise NotFoundError(_UNKNOWN)
        return self._mappings[uuid]

    def find(self, uuid: str) -> Mapping | None:
        return self._mappings.get(uuid)

    def list_in(self, account: str = "", region: str = "") -> list[Mapping]:
        """The mappings of an account and region, or all."""
        every = self._mappings.values()
        return [each for each in every if not account or (each.account, each.region) == (account, region)]

    def put(self, mapping: Mapping) -> None:
        self._log.append([(_key(mapping.uuid, _MAPPING), _encode(mapping))])
        self._mappings[mapping.uuid] = mapping

    def remove(self, uuid: str) -> None:
        """Remove a mapping and its positions; nothing where there is none."""
        self.forget_positions(uuid)
        self._log.append([(_key(uuid, _MAPPING), None)], freeing=True)
        self._mappings.pop(uuid, None)

    def position(self, uuid: str, shard: str) -> Position | None:
        return self._positions.get((uuid, shard))

    def set_position(self, uuid: str, shard: str, position: Position) -> None:
        if self._positions.get((uuid, shard)) != position:
            self._log.append([(_key(uuid, shard), _encode(position))])
            self._positions[uuid, shard] = position

    def forget_positions(self, uuid: str) -> None:
        """Have a mapping read its source from the start again."""
        gone = [key for key in self._positions if key[0] == uuid]
        self._log.append([(_key(*key), None) for key in gone], freeing=True)
        for key in gone:
            del self._positions[key]

    def save(self) -> list[bytes]:
        """A copy of everything, for ``load``."""
        return [msgspec.json.encode((key.decode(), value.decode())) for key, value in self._living()]

    def load(self, saved: Iterable[bytes | memoryview]) -> None:
        """Replace everything by what was saved. Raises OSError."""
        pairs = [msgspec.json.decode(each, type=tuple[str, str]) for each in saved]
        self._mappings.clear()
        self._positions.clear()
        self._take((key.encode(), value.encode()) for key, value in pairs)
        self._log.replace(self._living())

    def close(self) -> None:
        self._log.close()

    def _take(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        for key, value in pairs:
            uuid, _, name = key.decode().partition("/")
            if name == _MAPPING:
                self._mappings[uuid] = _decode_mapping(value)
            else:
                self._positions[uuid, name] = _decode_position(value)

    def _living(self) -> list[tuple[bytes, bytes]]:
        mappings = [(_key(uuid, _MAPPING), _encode(each)) for uuid, each in self._mappings.items()]
        return mappings + [(_key(*key), _encode(each)) for key, each in self._positions.items()]


def _key(uuid: str, name: str) -> bytes:
    return f"{uuid}/{name}".encode()
