"""The stored form of moto's objects: MessagePack, with an object as the name of its class and its attributes.

Reading makes objects of moto's and the standard library's plain classes only, and runs no code of theirs.
"""

from __future__ import annotations

import enum
import importlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.msgpack import Ext

_PLAIN: Final = frozenset((type(None), bool, float, str, bytes))
_OBJECT, _MAP, _TUPLE, _SET, _TIME, _ENUM, _BIG, _SPAN, _UUID = range(1, 10)
_PACKAGES: Final = ("moto.", "requests.structures")
# MessagePack has integers of 64 bits.
_LARGEST: Final = 1 << 63
_encode: Final = msgspec.msgpack.Encoder().encode


class CannotStoreError(TypeError):
    """An object of a class that has no stored form."""


def pack(value: Any) -> bytes:
    """Return the stored form of ``value``. Raises ``CannotStoreError``."""
    return _encode(_plain(value))


def unpack(data: bytes | memoryview) -> Any:
    """Return the value that was packed. Raises ``msgspec.DecodeError``."""
    return _decoder.decode(data)


def make(kind: type[Any], attributes: dict[str, Any]) -> Any:
    """Make an object of a class with these attributes, without its initialiser."""
    made = object.__new__(kind)
    made.__dict__.update(attributes)
    return made


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    writer = _WRITERS.get(kind)
    if writer is not None:
        return writer(value)
    if isinstance(value, enum.Enum):
        return Ext(_ENUM, _encode((_path(kind), value.name)))
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return _plain_map(value, dict)
    if _path(kind).startswith(_PACKAGES) and hasattr(value, "__dict__"):
        return Ext(_OBJECT, _encode((_path(kind), _plain(vars(value)))))
    raise CannotStoreError(f"{kind.__module__}.{kind.__qualname__} has no stored form")


def _plain_dict(value: dict[Any, Any]) -> Any:
    if all(type(key) is str for key in value):
        return {key: _plain(each) for key, each in value.items()}
    return _plain_map(value, dict)


def _plain_map(value: dict[Any, Any], kind: type[Any]) -> Ext:
    pairs = [(_plain(key), _plain(each)) for key, each in value.items()]
    return Ext(_MAP, _encode((kind is OrderedDict, pairs)))


def _plain_int(value: int) -> Any:
    return value if -_LARGEST <= value < _LARGEST else Ext(_BIG, str(value).encode())


_WRITERS: Final[dict[type[Any], Callable[[Any], Any]]] = {
    int: _plain_int,
    dict: _plain_dict,
    OrderedDict: lambda value: _plain_map(value, OrderedDict),
    defaultdict: _plain_dict,
    list: lambda value: [_plain(each) for each in value],
    tuple: lambda value: Ext(_TUPLE, _encode([_plain(each) for each in value])),
    set: lambda value: Ext(_SET, _encode([_plain(each) for each in value])),
    frozenset: lambda value: Ext(_SET, _encode([_plain(each) for each in value])),
    datetime: lambda value: Ext(_TIME, value.isoformat().encode()),
    UUID: lambda value: Ext(_UUID, value.bytes),
    timedelta: lambda value: Ext(_SPAN, _encode((value.days, value.seconds, value.microseconds))),
}


def _path(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@cache
def _kind(path: str) -> Any:
    if not path.startswith(_PACKAGES):
        raise msgspec.DecodeError(f"{path} is no class of moto")
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _read_ext(code: int, data: memoryview) -> Any:
    if code not in _READERS:
        raise msgspec.DecodeError(f"a value of the unknown kind {code}")
    return _READERS[code](data)


def _read_object(data: memoryview) -> Any:
    path, attributes = unpack(data)
    return make(_kind(path), attributes)


def _read_map(data: memoryview) -> Any:
    ordered, pairs = unpack(data)
    return OrderedDict(pairs) if ordered else dict(pairs)


def _read_member(data: memoryview) -> Any:
    path, name = unpack(data)
    return _kind(path)[name]


_READERS: Final[dict[int, Callable[[memoryview], Any]]] = {
    _OBJECT: _read_object,
    _MAP: _read_map,
    _TUPLE: lambda data: tuple(unpack(data)),
    _SET: lambda data: set(unpack(data)),
    _TIME: lambda data: datetime.fromisoformat(str(data, "ascii")),
    _ENUM: _read_member,
    _BIG: lambda data: int(bytes(data)),
    _SPAN: lambda data: timedelta(*unpack(data)),
    _UUID: lambda data: UUID(bytes=bytes(data)),
}
_decoder: Final = msgspec.msgpack.Decoder(ext_hook=_read_ext)
