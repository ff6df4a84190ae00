"""Declaring, deleting, purging and binding queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.amqp.exchange import QUEUE, Binding, Destination
from emulator.amqp.operations.names import check_not_default, generate, is_reserved, strip
from emulator.amqp.operations.replying import NAME as REPLIES
from emulator.amqp.operations.replying import declare_replies
from emulator.amqp.queue import Queue
from emulator.amqp.queue_arguments import (
    QUORUM,
    QueueArguments,
    check_arguments,
    check_equivalent,
    read_arguments,
)
from emulator.amqp.refusals import RefusedError
from emulator.amqp.turn import Steps
from emulator.amqp.virtual_host import NAME
from emulator.amqp.wire import methods

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel


def declare(channel: Channel, asked: methods.QueueDeclare) -> None:
    name = strip(asked.queue)
    if name.startswith(REPLIES):
        found = declare_replies(channel, name)
    elif asked.passive:
        queue = channel.vhost.find_queue(name)
        check_access(channel, queue)
        queue.touch()
        found = _count(queue)
    else:
        found = _count(_declare(channel, name, asked))
    channel.last_queue = found.queue
    if not asked.nowait:
        channel.send(found)


def _count(queue: Queue) -> methods.QueueDeclareOk:
    return methods.QueueDeclareOk(queue.name, queue.ready, len(queue.consumers))


def _declare(channel: Channel, name: str, asked: methods.QueueDeclare) -> Queue:
    if is_reserved(name):
        raise RefusedError(403, f"queue name '{name}' contains reserved prefix 'amq.*'")
    table = asked.arguments
    existing = channel.vhost.queues.get(name) if name else None
    if existing is not None:
        _check_equivalent(channel, existing, asked)
        existing.touch()
        return existing
    check_arguments(table, name, NAME)
    arguments = read_arguments(table)
    _check_quorum(name, asked, arguments)
    owner = channel.connection if asked.exclusive else None
    return channel.vhost.add_queue(
        name or generate("amq.gen-"),
        arguments,
        table,
        durable=asked.durable,
        auto_delete=asked.auto_delete,
        owner=owner,
    )


def delete(channel: Channel, asked: methods.QueueDelete) -> None:
    name = name_of(channel, asked.queue)
    queue = channel.vhost.queues.get(name)
    count = 0
    # RabbitMQ departs from the specification, which has an error for what is not there.
    if queue is not None:
        check_access(channel, queue)
        if asked.if_unused and queue.consumers:
            raise RefusedError(406, f"queue '{name}' in vhost '{NAME}' in use")
        if asked.if_empty and queue.ready:
            raise RefusedError(406, f"queue '{name}' in vhost '{NAME}' not empty")
        count = channel.vhost.remove_queue(queue)
    if not asked.nowait:
        channel.send(methods.QueueDeleteOk(count))
    if queue is not None:
        queue.notify_consumers()


def purge(channel: Channel, asked: methods.QueuePurge) -> Steps:
    queue = find(channel, asked.queue)
    count = queue.ready
    yield from queue.purge()
    if not asked.nowait:
        channel.send(methods.QueuePurgeOk(count))


def bind(channel: Channel, asked: methods.QueueBind) -> None:
    name, key = _names_of(channel, asked.queue, asked.routing_key)
    exchange = strip(asked.exchange)
    check_not_default(exchange)
    source = channel.vhost.find_exchange(exchange)
    queue = channel.vhost.find_queue(name)
    check_access(channel, queue)
    binding = Binding(Destination(QUEUE, name), key, asked.arguments)
    source.check(binding)
    channel.vhost.bind(source, binding)
    if not asked.nowait:
        channel.send(methods.QueueBindOk())


def unbind(channel: Channel, asked: methods.QueueUnbind) -> None:
    name, key = _names_of(channel, asked.queue, asked.routing_key)
    exchange = strip(asked.exchange)
    check_not_default(exchange)
    source = channel.vhost.exchanges.get(exchange)
    if source is not None:
        channel.vhost.unbind(source, Binding(Destination(QUEUE, name), key, asked.arguments))
    channel.send(methods.QueueUnbindOk())


def find(channel: Channel, name: str) -> Queue:
    """The queue of a name, or the last declared one. Raises RefusedError."""
    queue = channel.vhost.find_queue(name_of(channel, name))
    check_access(channel, queue)
    return queue


def name_of(channel: Channel, name: str) -> str:
    """The name, or without one that of the queue that the channel declared last. Raises RefusedError 404."""
    name = strip(name)
    if name:
        return name
    if channel.last_queue is None:
        raise RefusedError(404, "no previously declared queue")
    return channel.last_queue


def _names_of(channel: Channel, queue: str, key: str) -> tuple[str, str]:
    """The names of a queue and a routing key, which is the queue's where neither is given."""
    name = name_of(channel, queue)
    return name, name if not queue and not key else key


def check_access(channel: Channel, queue: Queue) -> None:
    """Refuse another connection's exclusive queue. Raises RefusedError 405."""
    if queue.owner is not None and queue.owner is not channel.connection:
        raise _locked(queue.name)


def _locked(name: str) -> RefusedError:
    return RefusedError(
        405,
        f"cannot obtain exclusive access to locked queue '{name}' in vhost '{NAME}'. It could be originally "
        "declared on another connection or the exclusive property value does not match that of the original "
        "declaration.",
    )


def _check_equivalent(channel: Channel, queue: Queue, asked: methods.QueueDeclare) -> None:
    if asked.exclusive != (queue.owner is channel.connection) or (queue.owner and not asked.exclusive):
        raise _locked(queue.name)
    for name in ("durable", "auto_delete"):
        given, current = getattr(asked, name), getattr(queue, name)
        if given != current:
            received, present = str(given).lower(), str(current).lower()
            where = f"queue '{queue.name}' in vhost '{NAME}'"
            raise RefusedError(
                406,
                f"inequivalent arg '{name}' for {where}: received '{received}' but current is '{present}'",
            )
    check_equivalent(asked.arguments, queue.table, queue.name, NAME)


def _check_quorum(name: str, asked: methods.QueueDeclare, arguments: QueueArguments) -> None:
    """Refuse what a quorum queue cannot be. Raises RefusedError 406."""
    if arguments.type != QUORUM:
        return
    if not name:
        raise RefusedError(406, "Cannot declare a server-named queue for type rabbit_quorum_queue")
    wrong = {
        "non-durable": not asked.durable,
        "exclusive-owner": asked.exclusive,
        "auto-delete": asked.auto_delete,
    }
    for property_, holds in wrong.items():
        if holds:
            raise RefusedError(406, f"invalid property '{property_}' for queue '{name}' in vhost '{NAME}'")
