"""Publishing: the checks of a message, its queues, its return and its confirm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from struct import error
from typing import TYPE_CHECKING, Final, NamedTuple

from emulator.amqp.message import Message
from emulator.amqp.operations.names import strip
from emulator.amqp.operations.replying import address_replies, asks_for_replies
from emulator.amqp.queue import Queue
from emulator.amqp.refusals import RefusedError
from emulator.amqp.turn import ITEMS_OF_A_STEP, Steps, StepsTo
from emulator.amqp.virtual_host import NAME
from emulator.amqp.wire import methods
from emulator.amqp.wire.field_tables import TEXT, TYPE_NAMES, BadTableError, Field, Table
from emulator.amqp.wire.properties import Properties

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel

_PERSISTENT: Final = 2
# Longer ones mostly have an id: they never come twice, and would push out those that do.
_MOST_KNOWN_BYTES: Final = 32
# Erlang's timers go no further.
_MOST_MILLISECONDS: Final = 4_294_967_295
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def publish(channel: Channel, asked: methods.BasicPublish, contents: Sequence[tuple[bytes, bytes]]) -> Steps:
    """Take messages that came together. Raises RefusedError, and none behind that message is taken."""
    taken = yield from _publish_together(channel, asked, contents)
    for at, (encoded, body) in enumerate(contents[taken:]):
        if at:
            yield
        yield from _publish_one(channel, asked, encoded, body)


def _publish_together(
    channel: Channel, asked: methods.BasicPublish, contents: Sequence[tuple[bytes, bytes]]
) -> StepsTo[int]:
    """Take messages that all go into the same queues, which have no say in it; return how many were taken."""
    vhost = channel.vhost
    exchange = vhost.exchanges.get(strip(asked.exchange))
    if exchange is None or exchange.internal or channel.transaction is not None:
        return 0
    if exchange.name:
        first = contents[0][0]
        # Headers may lead each elsewhere.
        if any(encoded != first for encoded, _ in contents):
            return 0
        queues = yield from vhost.find_ends(exchange, asked.routing_key, first)
    else:
        queues = [queue] if (queue := vhost.queues.get(asked.routing_key)) is not None else []
    messages = _build_alike(channel, exchange.name, asked.routing_key, contents)
    if messages is None or not 0 < len(queues) <= ITEMS_OF_A_STEP:
        return 0
    many = ITEMS_OF_A_STEP // len(queues)
    for at in range(0, len(messages), many):
        if at:
            yield
        some = messages[at : at + many]
        # Other turns may have changed the queues.
        if not all(queue.takes_all for queue in queues):
            return at
        try:
            vhost.put_together(some, queues)
        except OSError:
            # One by one, the disk may take some of them.
            return at
        if channel.confirms is not None:
            channel.confirms.note_taken(len(some))
            channel.connection.note_confirms(channel)
    return len(messages)


def _build_alike(
    channel: Channel, exchange: str, key: str, contents: Sequence[tuple[bytes, bytes]]
) -> list[Message] | None:
    """The messages; None when one is wrong, asks for more than its routing key, or expires by itself."""
    keys, user, most = (key,), channel.connection.user, channel.vhost.max_message_size
    messages = []
    last: bytes | None = None
    for encoded, body in contents:
        if encoded is not last:
            try:
                found = (_read_known if len(encoded) <= _MOST_KNOWN_BYTES else _read)(encoded, user)
            except (RefusedError, BadTableError, error, IndexError):
                return None
            if found.copies or found.hidden or found.ttl is not None or asks_for_replies(encoded):
                return None
            last, (written, _, _, priority, _, persistent) = encoded, found
        if len(body) > most:
            return None
        messages.append(Message(exchange, keys, written, body, priority, None, persistent))
    return messages


def _publish_one(channel: Channel, asked: methods.BasicPublish, encoded: bytes, body: bytes) -> Steps:
    """Take a message whose body has arrived. Raises RefusedError."""
    vhost = channel.vhost
    if len(body) > (most := vhost.max_message_size):
        raise RefusedError(406, f"message size {len(body)} is larger than configured max size {most}")
    exchange = vhost.find_exchange(strip(asked.exchange))
    if exchange.internal:
        raise RefusedError(403, f"cannot publish to internal exchange '{exchange.name}' in vhost '{NAME}'")
    encoded = address_replies(channel, encoded)
    message = _build(exchange.name, asked.routing_key, encoded, body, user=channel.connection.user)
    keys = (*message.routing_keys, *message.hidden_keys)
    queues = yield from vhost.route(exchange, keys, message.properties)
    number = channel.confirms.note_passed() if channel.confirms is not None else 0
    if channel.transaction is not None:
        channel.transaction.add_publish(_put(channel, message, queues, number, mandatory=asked.mandatory))
    else:
        yield from _put(channel, message, queues, number, mandatory=asked.mandatory)


def _put(channel: Channel, message: Message, queues: list[Queue], number: int, *, mandatory: bool) -> Steps:
    # RabbitMQ counts an answer as not routed, although it delivers it.
    if mandatory and all(queue.name in channel.vhost.reply_queues for queue in queues):
        channel.send_content(
            methods.BasicReturn(312, "NO_ROUTE", message.exchange, message.routing_key), message
        )
    elif not queues and not message.exchange:
        channel.connection.note_unroutable(message.routing_key)
    try:
        taken = yield from channel.vhost.publish(message, queues)
    except OSError as error:
        if channel.confirms is None:
            # Without confirms nothing less than an error says that the message is lost.
            raise RefusedError(506, f"the message cannot be stored: {error.strerror}") from error
        taken = False
    # Behind the return, which tells a client that this confirm is of a message in no queue.
    if channel.confirms is not None:
        channel.confirms.answer(number, acked=taken)
        channel.connection.note_confirms(channel)


def _build(exchange: str, key: str, encoded: bytes, body: bytes, *, user: str) -> Message:
    read = _read_known if len(encoded) <= _MOST_KNOWN_BYTES else _read
    found = read(encoded, user)
    return Message(
        exchange=exchange,
        routing_keys=(key, *found.copies),
        properties=found.encoded,
        body=body,
        priority=found.priority,
        ttl=found.ttl,
        persistent=found.persistent,
        hidden_keys=found.hidden,
    )


class _Read(NamedTuple):
    """What the properties of a message say about it, and as what it gets them ``encoded``."""

    encoded: bytes
    copies: tuple[str, ...]
    hidden: tuple[str, ...]
    priority: int
    ttl: int | None
    persistent: bool


def _read(encoded: bytes, user: str) -> _Read:
    """Read the properties of a message that a user publishes. Raises RefusedError."""
    properties = Properties(encoded)
    _check_user(properties, user)
    headers = properties.headers()
    copies = _read_keys(headers, "CC")
    hidden = _read_keys(headers, "BCC")
    if "BCC" in headers:
        del headers["BCC"]
        properties.set_headers(headers)
    return _Read(
        properties.encode() if properties.changed else encoded,
        copies,
        hidden,
        properties.number("priority") or 0,
        _read_expiration(properties),
        properties.number("delivery_mode") == _PERSISTENT,
    )


_read_known: Final = lru_cache(maxsize=256)(_read)
"""The same for properties without an id, which are those of the message before."""


def _check_user(properties: Properties, user: str) -> None:
    given = properties.text("user_id")
    if given is not None and given != user:
        text = f"user_id property set to '{given}' but authenticated user was '{user}'"
        raise RefusedError(406, text)


def _read_keys(headers: Table, name: str) -> tuple[str, ...]:
    """The further routing keys that a header gives. Raises RefusedError 406."""
    given = headers.get(name)
    if given is None:
        return ()
    if given.tag != "A" or any(each.tag != "S" for each in given.value):
        raise RefusedError(
            406, f'invalid message: {{unacceptable_type_in_header,"{name}",{TYPE_NAMES[given.tag]}}}'
        )
    return tuple(_decode(each) for each in given.value)


def _decode(key: Field) -> str:
    return str(key.value.decode(*TEXT))


def _read_expiration(properties: Properties) -> int | None:
    """The time to live in milliseconds. Raises RefusedError 406 with Erlang's reason."""
    given = properties.text("expiration")
    if given is None:
        return None
    found = _NUMBER.match(given)
    if found is None:
        raise RefusedError(406, f"invalid expiration '{given}': no_integer")
    if found.end() < len(given):
        rest = given[found.end() :]
        raise RefusedError(406, f"invalid expiration '{given}': {{leftover_string,\"{rest}\"}}")
    # No number of more digits than these is below the limit, and long ones take long to read.
    milliseconds = int(found[0]) if len(found[0]) < 20 else _MOST_MILLISECONDS + 1
    if milliseconds < 0:
        raise RefusedError(406, f"invalid expiration '{given}': {{value_negative,{milliseconds}}}")
    if milliseconds > _MOST_MILLISECONDS:
        raise RefusedError(406, f"invalid expiration '{given}': {{value_too_large,{given}}}")
    return milliseconds
