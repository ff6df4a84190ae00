"""Queues, their messages and who holds them, as the control API shows them."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from rdss_sandbox.shapes.queue_limits import (
    CLAIM_GRACE,
    CLAIM_TTL,
    CLAIMED_AT_ONCE,
    DEFAULT_CLAIM_GRACE,
    DEFAULT_CLAIM_TTL,
    DEFAULT_CLAIMED,
)

PROJECT: Final = "rdss"
"""The project whose queues are views on streams: each has its stream's name."""
_Ttl = Annotated[int, msgspec.Meta(ge=CLAIM_TTL.least, le=CLAIM_TTL.most)]
_Grace = Annotated[int, msgspec.Meta(ge=CLAIM_GRACE.least, le=CLAIM_GRACE.most)]
_Limit = Annotated[int, msgspec.Meta(ge=CLAIMED_AT_ONCE.least, le=CLAIMED_AT_ONCE.most)]


class Queue(msgspec.Struct, frozen=True):
    """A queue as it is. ``view``: a view on the stream of its name. ``oldest`` in seconds since the epoch.

    ``claims`` are those that hold any message.
    """

    project: str
    name: str
    view: bool
    total: int
    claimed: int
    free: int
    claims: int
    subscriptions: int
    oldest: float | None


class QueueList(msgspec.Struct, frozen=True):
    """Every queue of every project; ``trouble`` says which views could not be brought up to date."""

    queues: tuple[Queue, ...]
    trouble: tuple[str, ...] = ()


class QueueMessage(msgspec.Struct, frozen=True):
    """A message in a queue. ``age`` and ``left``, until it is gone, are in seconds; ``size`` in bytes.

    ``claim`` holds it, null where it is free or delayed; ``claims`` counts how often it was claimed.
    ``message_id``, ``message_type`` and ``code`` are what an RDSS message says of itself.
    """

    id: str
    number: int
    age: float
    left: float
    size: int
    claim: str | None
    claims: int
    message_id: str | None
    message_type: str | None
    code: str | None
    body: msgspec.Raw


class QueueMessagePage(msgspec.Struct, frozen=True):
    """Messages, oldest first; more come after the ``number`` of the last."""

    messages: tuple[QueueMessage, ...]


class Claim(msgspec.Struct, frozen=True):
    """Messages that ``client`` holds. ``age`` and ``left``, until it expires, are in seconds."""

    id: str
    client: str
    ttl: int
    grace: int
    age: float
    left: float
    messages: tuple[QueueMessage, ...]


class ClaimList(msgspec.Struct, frozen=True):
    """Claims that hold any message, oldest first."""

    claims: tuple[Claim, ...]


class NewClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold up to ``limit`` messages for ``ttl`` seconds; each lives ``grace`` seconds longer than that."""

    client: str
    ttl: _Ttl = DEFAULT_CLAIM_TTL
    grace: _Grace = DEFAULT_CLAIM_GRACE
    limit: _Limit = DEFAULT_CLAIMED


class ClaimRenewal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Let a claim begin anew."""

    ttl: _Ttl = DEFAULT_CLAIM_TTL
    grace: _Grace = DEFAULT_CLAIM_GRACE


class Released(msgspec.Struct, frozen=True):
    """Whether there was a claim to release."""

    released: bool


class MessageDeleted(msgspec.Struct, frozen=True):
    """The message that is gone."""

    id: str
