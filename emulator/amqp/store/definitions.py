"""The durable exchanges, queues and bindings, as a log of what is declared."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from emulator.journal import KeyedLog


class ExchangeMade(msgspec.Struct, array_like=True, tag_field="what", tag="exchange"):
    """A declared exchange; ``arguments`` is its encoded table."""

    name: str
    type: str
    auto_delete: bool
    internal: bool
    arguments: bytes


class QueueMade(msgspec.Struct, array_like=True, tag_field="what", tag="queue"):
    """A declared queue; ``arguments`` is its encoded table."""

    id: int
    name: str
    auto_delete: bool
    arguments: bytes


class Bound(msgspec.Struct, array_like=True, tag_field="what", tag="binding"):
    """A binding of an exchange to a queue or an exchange, by ``kind``."""

    source: str
    kind: str
    name: str
    routing_key: str
    arguments: bytes


class LastId(msgspec.Struct, array_like=True, tag_field="what", tag="last id"):
    """The highest id that a queue has had, so that none has it again."""

    id: int


Definition: TypeAlias = ExchangeMade | QueueMade | Bound | LastId
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Definition).decode
_LAST_ID: Final = _encode(("last id", ""))


class DefinitionLog:
    """The definitions in the log at ``path``; None keeps nothing. Raises ``DamagedLogError`` and OSError."""

    def __init__(self, path: Path | None, *, fsync: bool = False) -> None:
        self._log = KeyedLog(path, fsync=fsync, read_old=_read_old)
        self.torn_bytes = self._log.torn_bytes

    def read(self) -> list[Definition]:
        """What is defined, in an order in which it can be declared again."""
        return [_decode(value or key) for key, value in self._log.read().items()]

    def add(self, *definitions: Definition) -> None:
        self._log.append([(_key_of(each), _value_of(each)) for each in definitions])

    def remove(self, *definitions: Definition) -> None:
        # A full disk must not keep anyone from deleting.
        self._log.append([(_key_of(each), None) for each in definitions], freeing=True)

    def clear(self) -> None:
        self._log.replace(())

    def close(self) -> None:
        self._log.close()


def _value_of(definition: Definition) -> bytes:
    """A binding is its own key."""
    return b"" if isinstance(definition, Bound) else _encode(definition)


def _key_of(definition: Definition) -> bytes:
    match definition:
        case ExchangeMade():
            return _encode(("exchange", definition.name))
        case QueueMade():
            return _encode(("queue", definition.name))
        case LastId():
            return _LAST_ID
    return _encode(definition)


def _read_old(payload: bytes, values: dict[bytes, bytes]) -> None:
    """Apply an entry as it was when the log had no keys, and what was deleted had entries of its own."""
    what, name, *more = msgspec.msgpack.decode(payload)
    match what:
        case "no exchange" | "no queue":
            # Its bindings went without a word.
            kind = what.removeprefix("no ")
            values.pop(_encode((kind, name)), None)
            for key in tuple(values):
                defined, source, *end = msgspec.msgpack.decode(key)
                is_from, is_to = (kind, source) == ("exchange", name), end[:2] == [kind, name]
                if defined == "binding" and (is_from or is_to):
                    del values[key]
        case "no binding":
            values.pop(_encode(("binding", name, *more)), None)
        case _:
            definition = _decode(payload)
            values[_key_of(definition)] = _value_of(definition)
            if isinstance(definition, QueueMade):
                known = values.get(_LAST_ID)
                last = max(definition.id, msgspec.msgpack.decode(known)[1] if known else 0)
                values[_LAST_ID] = _encode(LastId(last))
