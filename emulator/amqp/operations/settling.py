"""Acknowledgements: ack, nack, reject, recover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire import methods

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel
    from emulator.amqp.delivery import Delivery


def ack(channel: Channel, asked: methods.BasicAck) -> None:
    deliveries = _take(channel, asked.delivery_tag, multiple=asked.multiple)
    if channel.transaction is not None:
        channel.transaction.add_settlement(deliveries, lambda taken: _acknowledge(channel, taken))
    else:
        _acknowledge(channel, deliveries)


def nack(channel: Channel, asked: methods.BasicNack) -> None:
    _return(channel, _take(channel, asked.delivery_tag, multiple=asked.multiple), requeue=asked.requeue)


def reject(channel: Channel, asked: methods.BasicReject) -> None:
    _return(channel, _take(channel, asked.delivery_tag, multiple=False), requeue=asked.requeue)


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
    taken = {}
    for each in tuple(unacked):
        if each > tag:
            break
        taken[each] = unacked.pop(each)
    return taken


def _acknowledge(channel: Channel, deliveries: dict[int, Delivery]) -> None:
    for delivery in deliveries.values():
        channel.take_back(delivery)
        delivery.queue.settle(delivery.entry)
    channel.dispatch()


def _return(channel: Channel, deliveries: dict[int, Delivery], *, requeue: bool) -> None:
    if channel.transaction is not None:
        channel.transaction.add_settlement(
            deliveries, lambda taken: _give_back(channel, taken, requeue=requeue)
        )
    else:
        _give_back(channel, deliveries, requeue=requeue)


def _give_back(channel: Channel, deliveries: dict[int, Delivery], *, requeue: bool) -> None:
    if requeue:
        channel.put_back(deliveries)
    else:
        for delivery in deliveries.values():
            channel.take_back(delivery)
            delivery.queue.discard(delivery.entry)
    channel.go_on()
