"""The changes of queues, as the journal keeps them.

A change records the result of an operation, not the decision, so that the same
changes at the same times give the same queues. What expires by the clock is not
recorded, because a replay lets it expire again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from extensions.queues.engine.address import Address
from extensions.queues.engine.queued_message import QueuedMessage
from extensions.queues.engine.subscription import Subscription


class QueueSet(msgspec.Struct, array_like=True, tag="queue"):
    """The queue exists with this metadata. ``number`` is the least number of its next message."""

    at: Address
    metadata: dict[str, Any]
    number: int = 1


class QueueGone(msgspec.Struct, array_like=True, tag="queue gone"):
    """The queue was deleted, with everything in it."""

    at: Address


class Posted(msgspec.Struct, array_like=True, tag="posted"):
    """Messages came into the queue."""

    at: Address
    messages: list[QueuedMessage]


class Claimed(msgspec.Struct, array_like=True, tag="claimed"):
    """A claim was created. ``messages`` are pairs of a number and its count of claims, this one included."""

    at: Address
    claim: str
    client: str
    ttl: int
    grace: int
    since: float
    messages: list[tuple[int, int]]


class Renewed(msgspec.Struct, array_like=True, tag="renewed"):
    """A claim was renewed at ``since``."""

    at: Address
    claim: str
    ttl: int
    grace: int
    since: float


class ClaimReleased(msgspec.Struct, array_like=True, tag="released"):
    """A claim was released."""

    at: Address
    claim: str


class Removed(msgspec.Struct, array_like=True, tag="removed"):
    """Messages left the queue, by their numbers."""

    at: Address
    numbers: list[int]


class Subscribed(msgspec.Struct, array_like=True, tag="subscribed"):
    """A subscription was created or replaced."""

    at: Address
    subscription: Subscription


class Unsubscribed(msgspec.Struct, array_like=True, tag="unsubscribed"):
    """A subscription was deleted."""

    at: Address
    id: str


class SecretSet(msgspec.Struct, array_like=True, tag="secret"):
    """The key that signs pre-signed URLs."""

    text: str


Change = (
    QueueSet
    | QueueGone
    | Posted
    | Claimed
    | Renewed
    | ClaimReleased
    | Removed
    | Subscribed
    | Unsubscribed
    | SecretSet
)


class ChangeSet(msgspec.Struct, array_like=True):
    """Changes that happened together, at ``time`` (seconds since the epoch)."""

    time: float
    changes: list[Change]


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(ChangeSet).decode
