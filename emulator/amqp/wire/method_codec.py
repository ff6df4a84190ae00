"""Methods to bytes and back. Neighbouring bits share an octet, from its lowest bit (section 4.2.5.2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct, error
from typing import Any, Final, cast

from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire.field_tables import (
    MOST_NESTED,
    TEXT,
    BadTableError,
    DeepTableError,
    decode_table,
    encode_table,
)
from emulator.amqp.wire.methods import (
    CLASSES,
    IDS,
    BasicAck,
    BasicDeliver,
    BasicGet,
    BasicGetOk,
    BasicPublish,
    BasicReturn,
    Method,
)

_INTEGERS: Final = {
    "Octet": Struct(">B"),
    "Short": Struct(">H"),
    "Long": Struct(">I"),
    "LongLong": Struct(">Q"),
}
_ID: Final = Struct(">I")
_LENGTH: Final = Struct(">I")
_TICKET: Final = Struct(">H")
_EXCHANGE_AT: Final = _ID.size + _TICKET.size
_DELIVER: Final = _ID.pack(IDS[BasicDeliver])
_ACK: Final = Struct(">IQB")
_TAG: Final = Struct(">QBB")
"""A delivery tag, the octet with the bit of a redelivery, and the length of an exchange's name."""
_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    # NamedTuple wraps the names of types; each name says how an argument is written.
    cls: tuple(str(getattr(kind, "__forward_arg__", kind)) for kind in cls.__annotations__.values())
    for cls in CLASSES.values()
}


class UnknownMethodError(ValueError):
    """No method has this id, or a table among its arguments is none. RabbitMQ's reader fails at both."""


class TruncatedMethodError(ValueError):
    """The arguments of a method are not what its declaration says."""


def decode_method(payload: bytes) -> Method:
    """Decode the payload of a method frame.

    Raises UnknownMethodError, TruncatedMethodError for arguments that end too early, and RefusedError for
    tables that are nested too deep and for short strings that are not UTF-8. RabbitMQ takes those in what
    comes with a content, where a routing key may be any bytes.
    """
    if len(payload) < _ID.size:
        raise TruncatedMethodError
    cls = CLASSES.get(_ID.unpack_from(payload)[0])
    if cls is None:
        raise UnknownMethodError
    try:
        if (decode := _OF_MESSAGES.get(cls)) is not None:
            return decode(payload)
        arguments = _decode_arguments(payload, _FIELDS[cls])
        if cls not in _WITH_ANY_KEY:
            _check_texts(arguments)
        return cls(*arguments)
    except DeepTableError as why:
        deepest = f"tables and arrays are nested {MOST_NESTED} deep at most"
        raise RefusedError(502, deepest, method=_ID.unpack_from(payload)[0]) from why
    except BadTableError as why:
        raise UnknownMethodError from why
    except (error, IndexError) as why:
        raise TruncatedMethodError from why


def encode_method(method: Method) -> bytes:
    """Encode a method as the payload of its frame."""
    cls = type(method)
    if isinstance(method, BasicAck):
        return _ACK.pack(IDS[cls], method.delivery_tag, method.multiple)
    if isinstance(method, BasicDeliver):
        return _encode_deliver(method)
    parts = [_ID.pack(IDS[cls])]
    bits = width = 0
    for kind, value in zip(_FIELDS[cls], cast("tuple[Any, ...]", method), strict=True):
        if kind == "Bit":
            bits |= bool(value) << width
            width += 1
            continue
        if width:
            parts.append(bytes((bits,)))
            bits = width = 0
        parts.append(_encode_argument(kind, value))
    if width:
        parts.append(bytes((bits,)))
    return b"".join(parts)


@lru_cache(maxsize=512)
def _decode_publish(payload: bytes) -> BasicPublish:
    """Decode the one method that comes with each message, and often as it came with the last."""
    key_at = _EXCHANGE_AT + 1 + payload[_EXCHANGE_AT]
    end = key_at + 1 + payload[key_at]
    bits = payload[end]
    return BasicPublish(
        _TICKET.unpack_from(payload, _ID.size)[0],
        payload[_EXCHANGE_AT + 1 : key_at].decode(*TEXT),
        payload[key_at + 1 : end].decode(*TEXT),
        bool(bits & 1),
        bool(bits & 2),
    )


def _decode_deliver(payload: bytes) -> BasicDeliver:
    tag_at = _ID.size + 1 + payload[_ID.size]
    consumer = payload[_ID.size + 1 : tag_at].decode(*TEXT)
    delivery_tag, redelivered, exchange_bytes = _TAG.unpack_from(payload, tag_at)
    exchange_at = tag_at + _TAG.size
    key_at = exchange_at + exchange_bytes + 1
    end = key_at + payload[key_at - 1]
    if end > len(payload):
        raise TruncatedMethodError
    return BasicDeliver(
        consumer,
        delivery_tag,
        bool(redelivered & 1),
        payload[exchange_at : key_at - 1].decode(*TEXT),
        payload[key_at:end].decode(*TEXT),
    )


def _encode_deliver(method: BasicDeliver) -> bytes:
    consumer, delivery_tag, redelivered, *names = method
    exchange, key = (name.encode(*TEXT) for name in names)
    tag = _TAG.pack(delivery_tag, redelivered, len(exchange))
    return b"".join(
        (_DELIVER, _encode_argument("ShortString", consumer), tag, exchange, bytes((len(key),)), key)
    )


def _decode_ack(payload: bytes) -> BasicAck:
    _, delivery_tag, multiple = _ACK.unpack_from(payload)
    return BasicAck(delivery_tag, bool(multiple & 1))


@lru_cache(maxsize=512)
def _decode_get(payload: bytes) -> BasicGet:
    arguments = _decode_arguments(payload, _FIELDS[BasicGet])
    _check_texts(arguments)
    return BasicGet(*arguments)


_OF_MESSAGES: Final[dict[type, Callable[[bytes], Method]]] = {
    BasicPublish: _decode_publish,
    BasicGet: _decode_get,
    BasicDeliver: _decode_deliver,
    BasicAck: _decode_ack,
}
"""Those that come with each message have no time for their declarations."""


_WITH_ANY_KEY: Final = frozenset({BasicGetOk, BasicReturn})


def _check_texts(arguments: list[Any]) -> None:
    """Raise RefusedError for a short string that is not UTF-8."""
    for each in arguments:
        if type(each) is str and not each.isascii():
            try:
                each.encode()
            except UnicodeEncodeError:
                raise RefusedError(501, "Malformed UTF-8 in shortstr", method=0) from None


def _decode_arguments(payload: bytes, kinds: tuple[str, ...]) -> list[Any]:
    at, bit = _ID.size, 0
    arguments: list[Any] = []
    for kind in kinds:
        if kind == "Bit":
            # Only the first eight share an octet; no method has more.
            arguments.append(bool(payload[at - 1 if bit else at] & 1 << bit))
            at += not bit
            bit += 1
            continue
        bit = 0
        if kind == "ShortString":
            end = at + 1 + payload[at]
            if end > len(payload):
                raise TruncatedMethodError
            arguments.append(payload[at + 1 : end].decode(*TEXT))
            at = end
        elif kind == "LongString":
            end = at + _LENGTH.size + _LENGTH.unpack_from(payload, at)[0]
            if end > len(payload):
                raise TruncatedMethodError
            arguments.append(payload[at + _LENGTH.size : end])
            at = end
        elif kind == "FieldTable":
            if at + _LENGTH.size + _LENGTH.unpack_from(payload, at)[0] > len(payload):
                raise TruncatedMethodError
            table, at = decode_table(payload, at)
            arguments.append(table)
        else:
            arguments.append(_INTEGERS[kind].unpack_from(payload, at)[0])
            at += _INTEGERS[kind].size
    return arguments


def _encode_argument(kind: str, value: Any) -> bytes:
    if kind == "ShortString":
        short: bytes = value.encode(*TEXT)
        return bytes((len(short),)) + short
    if kind == "LongString":
        return _LENGTH.pack(len(value)) + cast("bytes", value)
    if kind == "FieldTable":
        return encode_table(value)
    return _INTEGERS[kind].pack(value)
