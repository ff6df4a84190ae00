"""Methods of AMQP as tests write them: only what matters to a case, the rest as clients usually send it."""

from __future__ import annotations

from typing import Any

from emulator.amqp.wire import methods
from emulator.amqp.wire.field_tables import Field, Table, text


def table(given: dict[str, Any]) -> Table:
    """A field table: texts as long strings, numbers as signed integers, and so on."""
    return {name: _field(value) for name, value in given.items()}


def _field(value: Any) -> Field:  # noqa: PLR0911 -- a row for each type
    match value:
        case Field():
            return value
        case bool():
            return Field("t", value)
        case int():
            return Field("I", value)
        case float():
            return Field("d", value)
        case str():
            return text(value)
        case bytes():
            return Field("x", value)
        case dict():
            return Field("F", table(value))
        case list():
            return Field("A", [_field(each) for each in value])
    return Field("V", None)


def exchange(name: str, type_: str = "direct", **more: Any) -> methods.ExchangeDeclare:
    arguments = table(more.pop("arguments", {}))
    flags = {"passive": False, "durable": False, "auto_delete": False, "internal": False, "nowait": False}
    return methods.ExchangeDeclare(0, name, type_, **flags | more, arguments=arguments)


def queue(name: str = "q1", **more: Any) -> methods.QueueDeclare:
    arguments = table(more.pop("arguments", {}))
    flags = {"passive": False, "durable": False, "exclusive": False, "auto_delete": False, "nowait": False}
    return methods.QueueDeclare(0, name, **flags | more, arguments=arguments)


def bind(source: str, key: str = "", to: str = "q1", **arguments: Any) -> methods.QueueBind:
    return methods.QueueBind(0, to, source, key, False, table(arguments))


def unbind(source: str, key: str = "", to: str = "q1", **arguments: Any) -> methods.QueueUnbind:
    return methods.QueueUnbind(0, to, source, key, table(arguments))


def bind_exchange(source: str, to: str, key: str = "", **arguments: Any) -> methods.ExchangeBind:
    return methods.ExchangeBind(0, to, source, key, False, table(arguments))


def unbind_exchange(source: str, to: str, key: str = "", **arguments: Any) -> methods.ExchangeUnbind:
    return methods.ExchangeUnbind(0, to, source, key, False, table(arguments))


def delete(name: str = "q1", *, unused: bool = False, empty: bool = False) -> methods.QueueDelete:
    return methods.QueueDelete(0, name, unused, empty, False)


def delete_exchange(name: str, *, unused: bool = False) -> methods.ExchangeDelete:
    return methods.ExchangeDelete(0, name, unused, False)


def purge(name: str = "q1") -> methods.QueuePurge:
    return methods.QueuePurge(0, name, False)


def consume(name: str = "q1", tag: str = "t1", **more: Any) -> methods.BasicConsume:
    arguments = table(more.pop("arguments", {}))
    flags = {"no_local": False, "no_ack": False, "exclusive": False, "nowait": False}
    return methods.BasicConsume(0, name, tag, **flags | more, arguments=arguments)


def cancel(tag: str = "t1") -> methods.BasicCancel:
    return methods.BasicCancel(tag, False)


def get(name: str = "q1", *, no_ack: bool = False) -> methods.BasicGet:
    return methods.BasicGet(0, name, no_ack)


def publish(
    key: str = "q1", exchange: str = "", *, mandatory: bool = False, immediate: bool = False
) -> methods.BasicPublish:
    return methods.BasicPublish(0, exchange, key, mandatory, immediate)


def prefetch(count: int, *, of_channel: bool = False) -> methods.BasicQos:
    return methods.BasicQos(0, count, of_channel)


def closed(code: int, why: str, at: tuple[int, int]) -> methods.ChannelClose:
    return methods.ChannelClose(code, why, *at)


def hung_up(code: int, why: str, at: tuple[int, int] = (0, 0)) -> methods.ConnectionClose:
    return methods.ConnectionClose(code, why, *at)


def declared(name: str = "q1", messages: int = 0, consumers: int = 0) -> methods.QueueDeclareOk:
    return methods.QueueDeclareOk(name, messages, consumers)
