"""A published message, its deaths, and its place in a queue."""

from __future__ import annotations

from typing import Final

import msgspec

from emulator.amqp.wire.field_tables import Field
from emulator.amqp.wire.properties import Properties

OVERHEAD_BYTES: Final = 600
"""What a message costs in memory besides its bytes, roughly."""


class Death(msgspec.Struct, array_like=True, frozen=True):
    """How often a message died in a queue of one reason. ``time`` is that of the first, in seconds.

    ``expiration`` is what its property of that name was.
    """

    queue: str
    reason: str
    count: int
    time: int
    exchange: str
    routing_keys: tuple[str, ...]
    expiration: str | None = None


class Message(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A message as it was published to ``exchange``. ``routing_keys`` has its own first, then those of CC.

    ``hidden_keys`` are those of BCC. ``properties`` are encoded. ``ttl`` is in milliseconds. ``deaths`` has
    the latest first.
    """

    exchange: str
    routing_keys: tuple[str, ...]
    properties: bytes
    body: bytes
    priority: int = 0
    ttl: int | None = None
    persistent: bool = False
    deaths: tuple[Death, ...] = ()
    hidden_keys: tuple[str, ...] = ()
    first_death: tuple[str, str, str] | None = None

    @property
    def routing_key(self) -> str:
        return self.routing_keys[0]

    @property
    def cost(self) -> int:
        """Roughly its bytes in memory."""
        return len(self.body) + len(self.properties) + OVERHEAD_BYTES


def count_attempts(message: Message, attempts: int) -> Message:
    """The message with the number of deliveries that came back in its header ``x-delivery-count``."""
    properties = Properties(message.properties)
    properties.set_headers(properties.headers() | {"x-delivery-count": Field("l", attempts)})
    return msgspec.structs.replace(message, properties=properties.encode())


class Entry(msgspec.Struct, eq=False, gc=False):
    """A message's place in one queue. ``number`` orders the queue. ``expires`` is by ``Clock.elapsed``.

    ``reference`` says where the message is stored; 0 means nowhere but in ``message``. ``size`` is the bytes
    of its body. ``attempts`` counts the deliveries that came back.
    """

    number: int
    message: Message | None
    size: int
    reference: int = 0
    expires: float | None = None
    redelivered: bool = False
    attempts: int = 0
