"""What clients did with queues over AMQP, as rules judge it: a part of the recorded exchange.

Times are in seconds since the epoch, by the sandbox's clock.
"""

from __future__ import annotations

import msgspec


class BrokenConnection(msgspec.Struct, frozen=True):
    """A connection that ended without a close, while the client consumed with automatic acknowledgement.

    ``recent`` deliveries were sent in the real second before. ``fault`` is the fault that cut it.
    """

    at: float
    recent: int
    fault: str = ""


class QueueReading(msgspec.Struct, frozen=True):
    """What one client consumed of one queue. ``prefetch`` is its lowest limit, 0 for a consumer without one.

    ``no_ack`` says that it asked for automatic acknowledgement. ``most_in_hand`` deliveries waited for
    their acknowledgement at once, and the one that still does for longest came at ``oldest``.
    ``longest_row`` is how often it put messages back without settling any other way in between, until
    ``row_at``. ``broken`` has the last connections of it that broke.
    """

    client: str
    queue: str
    no_ack: bool
    prefetch: int
    first: float
    last: float
    delivered: int = 0
    acked: int = 0
    requeued: int = 0
    discarded: int = 0
    most_in_hand: int = 0
    in_hand: int = 0
    oldest: float | None = None
    longest_row: int = 0
    row_at: float = 0.0
    breaks: int = 0
    broken: tuple[BrokenConnection, ...] = ()


class QueueWriting(msgspec.Struct):
    """What one client published to one queue, or to an exchange.

    ``nowhere`` is when a message of it first found no queue, and was not mandatory; None for never. The
    recorder counts on in its own, and hands out copies.
    """

    client: str
    queue: str
    messages: int
    first: float
    last: float
    nowhere: float | None = None
