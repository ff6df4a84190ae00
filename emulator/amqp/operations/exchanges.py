"""Declaring, deleting and binding exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.amqp.exchange import EXCHANGE, TYPES, Binding, Destination, Exchange
from emulator.amqp.operations.names import check_not_default, is_reserved, strip
from emulator.amqp.queue_arguments import compare_argument
from emulator.amqp.refusals import RefusedError
from emulator.amqp.virtual_host import NAME
from emulator.amqp.wire import methods
from emulator.amqp.wire.field_tables import TYPE_NAMES

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel


def declare(channel: Channel, asked: methods.ExchangeDeclare) -> None:
    name = strip(asked.exchange)
    check_not_default(name)
    vhost = channel.vhost
    if asked.passive:
        vhost.find_exchange(name)
    else:
        if asked.type not in TYPES:
            why = f"unknown exchange type '{asked.type}'" if asked.type else "invalid exchange type ''"
            raise RefusedError(406, why)
        existing = vhost.exchanges.get(name)
        if existing is not None:
            _check_equivalent(existing, asked)
        else:
            vhost.add_exchange(_build(name, asked))
    if not asked.nowait:
        channel.send(methods.ExchangeDeclareOk())


def delete(channel: Channel, asked: methods.ExchangeDelete) -> None:
    name = strip(asked.exchange)
    check_not_default(name)
    if is_reserved(name):
        raise RefusedError(403, f"deletion of system exchange '{name}' in vhost '{NAME}' not allowed")
    found = channel.vhost.exchanges.get(name)
    # RabbitMQ departs from the specification, which has an error for what is not there.
    if found is not None:
        if asked.if_unused and found.bindings:
            raise RefusedError(406, f"exchange '{name}' in vhost '{NAME}' in use")
        channel.vhost.remove_exchange(found)
    if not asked.nowait:
        channel.send(methods.ExchangeDeleteOk())


def bind(channel: Channel, asked: methods.ExchangeBind) -> None:
    destination, source = strip(asked.destination), strip(asked.source)
    check_not_default(destination)
    check_not_default(source)
    vhost = channel.vhost
    vhost.find_exchange(destination)
    found = vhost.find_exchange(source)
    binding = Binding(Destination(EXCHANGE, destination), asked.routing_key, asked.arguments)
    found.check(binding)
    vhost.bind(found, binding)
    if not asked.nowait:
        channel.send(methods.ExchangeBindOk())


def unbind(channel: Channel, asked: methods.ExchangeUnbind) -> None:
    destination, source = strip(asked.destination), strip(asked.source)
    check_not_default(destination)
    check_not_default(source)
    found = channel.vhost.exchanges.get(source)
    if found is not None:
        binding = Binding(Destination(EXCHANGE, destination), asked.routing_key, asked.arguments)
        channel.vhost.unbind(found, binding)
    if not asked.nowait:
        channel.send(methods.ExchangeUnbindOk())


def _build(name: str, asked: methods.ExchangeDeclare) -> Exchange:
    if is_reserved(name):
        raise RefusedError(403, f"exchange name '{name}' contains reserved prefix 'amq.*'")
    alternate = asked.arguments.get("alternate-exchange")
    if alternate is not None and alternate.tag != "S":
        kind = TYPE_NAMES[alternate.tag]
        where = f"in exchange '{name}' in vhost '{NAME}'"
        raise RefusedError(406, f"invalid type '{kind}' for arg 'alternate-exchange' {where}")
    return Exchange(
        name,
        asked.type,
        durable=asked.durable,
        auto_delete=asked.auto_delete,
        internal=asked.internal,
        arguments=asked.arguments,
    )


def _check_equivalent(existing: Exchange, asked: methods.ExchangeDeclare) -> None:
    where = f"exchange '{existing.name}' in vhost '{NAME}'"
    for name in ("type", "durable", "auto_delete", "internal"):
        given, current = getattr(asked, name), getattr(existing, name)
        if given != current:
            received, present = str(given).lower(), str(current).lower()
            raise RefusedError(
                406,
                f"inequivalent arg '{name}' for {where}: received '{received}' but current is '{present}'",
            )
    # RabbitMQ compares no other argument of an exchange.
    compare_argument(asked.arguments, existing.arguments, "alternate-exchange", where)
