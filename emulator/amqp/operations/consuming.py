"""Consumers, their prefetch, and gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.amqp.operations.names import generate
from emulator.amqp.operations.queues import find
from emulator.amqp.operations.replying import NAME as REPLIES
from emulator.amqp.operations.replying import consume_replies
from emulator.amqp.queue import Consumer, Queue
from emulator.amqp.refusals import RefusedError
from emulator.amqp.virtual_host import NAME
from emulator.amqp.wire import methods
from emulator.amqp.wire.field_tables import INTEGERS, TYPE_NAMES, Table

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel


def set_qos(channel: Channel, asked: methods.BasicQos) -> None:
    if asked.prefetch_size:
        raise RefusedError(540, f"prefetch_size!=0 ({asked.prefetch_size})")
    if asked.global_:
        # That of the channel holds at once; the other one only for consumers that begin after it.
        channel.prefetch_of_channel = asked.prefetch_count
        channel.go_on()
    else:
        channel.prefetch = asked.prefetch_count
    channel.send(methods.BasicQosOk())


def consume(channel: Channel, asked: methods.BasicConsume) -> None:
    if asked.queue == REPLIES:
        consume_replies(channel, asked)
        return
    queue = find(channel, asked.queue)
    tag = asked.consumer_tag or generate("amq.ctag-")
    if tag in channel.consumers:
        raise RefusedError(530, f"attempt to reuse consumer tag '{tag}'")
    priority = _priority_of(asked.arguments, queue)
    _check_exclusive(queue, asked)
    if queue.is_quorum and channel.prefetch_of_channel:
        raise RefusedError(540, f"queue '{queue.name}' in vhost '{NAME}' does not support global qos")
    consumer = Consumer(
        tag,
        channel,
        queue,
        no_ack=asked.no_ack,
        exclusive=asked.exclusive,
        prefetch=channel.prefetch,
        priority=priority,
        arguments=asked.arguments,
    )
    channel.consumers[tag] = consumer
    if not asked.nowait:
        channel.send(methods.BasicConsumeOk(tag))
    queue.add_consumer(consumer)


def cancel(channel: Channel, asked: methods.BasicCancel) -> None:
    # A tag that is unknown is no error: its queue may have been deleted meanwhile.
    consumer = channel.consumers.get(asked.consumer_tag)
    ending = channel.remove_consumer(consumer) if consumer is not None else None
    if not asked.nowait:
        channel.send(methods.BasicCancelOk(asked.consumer_tag))
    if ending is not None and ending in channel.vhost.queues:
        channel.connection.delete_queue(ending)


def get(channel: Channel, asked: methods.BasicGet) -> None:
    queue = find(channel, asked.queue)
    if queue.is_quorum and queue.arguments.single_active:
        raise RefusedError(
            405,
            f"cannot obtain access to locked queue '{queue.name}' in vhost '{NAME}'. "
            "basic.get operations are not supported by quorum queues with single active consumer",
        )
    entry = queue.get()
    if entry is None:
        channel.send(methods.BasicGetEmpty(""))
        return
    message = queue.load(entry)
    tag = channel.hand_out((entry,), queue, None, no_ack=asked.no_ack)
    channel.send_content(
        methods.BasicGetOk(tag, entry.redelivered, message.exchange, message.routing_key, queue.ready),
        message,
    )
    if asked.no_ack:
        channel.vhost.settle(queue, (entry,))
    else:
        channel.vhost.release((entry,))


def _check_exclusive(queue: Queue, asked: methods.BasicConsume) -> None:
    taken = queue.exclusive_consumer is not None or (asked.exclusive and bool(queue.consumers))
    if taken or (asked.exclusive and queue.arguments.single_active):
        raise RefusedError(403, f"queue '{queue.name}' in vhost '{NAME}' in exclusive use")


def _priority_of(arguments: Table, queue: Queue) -> int:
    given = arguments.get("x-priority")
    if given is None:
        return 0
    if given.tag not in INTEGERS:
        why = f'"expected integer, got {TYPE_NAMES[given.tag]}"'
        raise RefusedError(406, f"invalid arg 'x-priority' for queue '{queue.name}' in vhost '{NAME}': {why}")
    return int(given.value)
