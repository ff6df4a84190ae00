"""Direct reply-to: answers go straight to the channel that asked, without a queue that clients declare.

The asker consumes from ``amq.rabbitmq.reply-to`` and publishes with that name in ``reply_to``. The one who
answers finds there a name that leads to the asker's channel, for as long as that consumes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from emulator.amqp.operations.names import generate
from emulator.amqp.queue import Consumer
from emulator.amqp.refusals import RefusedError, not_found
from emulator.amqp.virtual_host import NAME as VHOST
from emulator.amqp.wire import methods
from emulator.amqp.wire.properties import Properties

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel

NAME: Final = "amq.rabbitmq.reply-to"
_ENCODED: Final = NAME.encode()


def consume_replies(channel: Channel, asked: methods.BasicConsume) -> None:
    """Have the answers to a channel delivered to it. Raises RefusedError."""
    tag = asked.consumer_tag or generate("amq.ctag-")
    if tag in channel.consumers:
        raise RefusedError(530, f"attempt to reuse consumer tag '{tag}'")
    if not asked.no_ack:
        raise RefusedError(406, "reply consumer cannot acknowledge")
    if channel.replies is not None:
        raise RefusedError(406, "reply consumer already set")
    queue = channel.replies = channel.vhost.add_reply_queue(generate(f"{NAME}."), channel.connection)
    consumer = channel.consumers[tag] = Consumer(tag, channel, queue, no_ack=True, arguments=asked.arguments)
    if not asked.nowait:
        channel.send(methods.BasicConsumeOk(tag))
    queue.add_consumer(consumer)


def declare_replies(channel: Channel, name: str) -> methods.QueueDeclareOk:
    """What a declare is answered whose name belongs to direct reply-to. Raises RefusedError 404."""
    if name != NAME and name not in channel.vhost.reply_queues:
        raise not_found("queue", name, VHOST)
    return methods.QueueDeclareOk(name, 0, 1)


def asks_for_replies(encoded: bytes) -> bool:
    """Whether properties may ask for direct replies."""
    # Few messages ask for this, and a look for the bytes costs less than reading properties.
    return _ENCODED in encoded


def address_replies(channel: Channel, encoded: bytes) -> bytes:
    """The properties of a publish, with the way to the channel where they ask for direct replies.

    Raises RefusedError 406 for a channel that does not consume them.
    """
    if not asks_for_replies(encoded):
        return encoded
    properties = Properties(encoded)
    if properties.text("reply_to") != NAME:
        return encoded
    if channel.replies is None:
        raise RefusedError(406, "fast reply consumer does not exist")
    properties.set_text("reply_to", channel.replies.name)
    return properties.encode()
