"""Acknowledgements: ack, nack, reject, recover."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from emulator.amqp.refusals import RefusedError
from emulator.amqp.turn import ITEMS_OF_A_STEP, Steps
from emulator.amqp.wire import methods

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel
    from emulator.amqp.message import Entry
    from emulator.amqp.queue import Delivery, Queue


def ack(channel: Channel, asked: methods.BasicAck) -> Steps | None:
    deliveries = _take(channel, asked.delivery_tag, multiple=asked.multiple)
    return _settle(channel, deliveries, lambda taken: _acknowledge(channel, taken))


def nack(channel: Channel, asked: methods.BasicNack) -> Steps | None:
    deliveries = _take(channel, asked.delivery_tag, multiple=asked.multiple)
    return _settle(channel, deliveries, lambda taken: _give_back(channel, taken, requeue=asked.requeue))


def reject(channel: Channel, asked: methods.BasicReject) -> Steps | None:
    deliveries = _take(channel, asked.delivery_tag, multiple=False)
    return _settle(channel, deliveries, lambda taken: _give_back(channel, taken, requeue=asked.requeue))


def recover(channel: Channel, asked: methods.BasicRecover) -> None:
    recover_async(channel, methods.BasicRecoverAsync(asked.requeue))
    channel.send(methods.BasicRecoverOk())


def recover_async(channel: Channel, asked: methods.BasicRecoverAsync) -> None:
    if not asked.requeue:
        raise RefusedError(540, "requeue=false")
    channel.put_back(channel.unacked)
    channel.go_on()


def _take(channel: Channel, tag: int, *, multiple: bool) -> dict[int, Delivery]:
    """Take the deliveries that a tag names off those that wait. Raises RefusedError 406."""
    unacked = channel.unacked
    if multiple and tag == 0:
        channel.unacked = {}
        return unacked
    if tag not in unacked:
        raise RefusedError(406, f"unknown delivery tag {tag}")
    if not multiple:
        return {tag: unacked.pop(tag)}
    # Deliveries are numbered as they go out, so the mapping is in the order of its tags.
    tags = list(takewhile(lambda each: each <= tag, unacked))
    return {each: unacked.pop(each) for each in tags}


def _settle(
    channel: Channel, deliveries: dict[int, Delivery], settle: Callable[[dict[int, Delivery]], Steps]
) -> Steps | None:
    """Settle the deliveries, in a transaction with its commit."""
    if channel.transaction is None:
        return settle(deliveries)
    channel.transaction.add_settlement(deliveries, settle)
    return None


def _acknowledge(channel: Channel, deliveries: dict[int, Delivery]) -> Steps:
    settled: dict[Queue, None] = {}
    left = iter(deliveries.values())
    while some := tuple(islice(left, ITEMS_OF_A_STEP)):
        by_queue: dict[Queue, list[Entry]] = {}
        for delivery in some:
            channel.take_back(delivery)
            by_queue.setdefault(delivery.queue, []).append(delivery.entry)
        for queue, entries in by_queue.items():
            queue.settle(entries)
        settled |= dict.fromkeys(by_queue)
        if len(some) == ITEMS_OF_A_STEP:
            yield
    channel.dispatch(settled)


def _give_back(channel: Channel, deliveries: dict[int, Delivery], *, requeue: bool) -> Steps:
    if requeue:
        channel.put_back(deliveries)
    else:
        for number, delivery in enumerate(deliveries.values(), 1):
            channel.take_back(delivery)
            delivery.queue.discard(delivery.entry)
            if not number % ITEMS_OF_A_STEP:
                yield
    channel.go_on()
