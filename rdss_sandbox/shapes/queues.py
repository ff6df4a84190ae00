"""Queues, their messages and the claims on these, as the control API shows them."""

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
"""The project whose queues are views of streams; each has the name of its stream."""
_Ttl = Annotated[int, msgspec.Meta(ge=CLAIM_TTL.least, le=CLAIM_TTL.most)]
_Grace = Annotated[int, msgspec.Meta(ge=CLAIM_GRACE.least, le=CLAIM_GRACE.most)]
_Limit = Annotated[int, msgspec.Meta(ge=CLAIMED_AT_ONCE.least, le=CLAIMED_AT_ONCE.most)]


class Queue(msgspec.Struct, frozen=True):
    """A queue. ``view`` says that it is a view of the stream of its name.

    ``free`` counts the messages that can be claimed now: neither held nor delayed. ``oldest`` is the time of
    the oldest message in seconds since the epoch. ``claims`` counts the claims that
    hold a message.
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
    """Every queue of every project; ``trouble`` names the views that could not be updated."""

    queues: tuple[Queue, ...]
    trouble: tuple[str, ...] = ()


class QueueMessage(msgspec.Struct, frozen=True):
    """A message in a queue. ``age`` and ``left``, its remaining life, are in seconds; ``size`` is in bytes.

    ``claim`` is the claim that holds it, null where it is free or delayed. ``claims`` counts its claims so
    far. ``message_id``, ``message_type`` and ``code`` are read from the header of an RDSS message.
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
    """Messages, oldest first. The next page is queried with ``after`` the ``number`` of the last one."""

    messages: tuple[QueueMessage, ...]


class Claim(msgspec.Struct, frozen=True):
    """Messages that ``client`` holds. ``age`` and ``left``, the time until it expires, are in seconds."""

    id: str
    client: str
    ttl: int
    grace: int
    age: float
    left: float
    messages: tuple[QueueMessage, ...]


class ClaimList(msgspec.Struct, frozen=True):
    """The claims that hold a message, oldest first."""

    claims: tuple[Claim, ...]


class NewClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim on up to ``limit`` messages for ``ttl`` seconds. They live ``grace`` seconds longer."""

    client: Annotated[str, msgspec.Meta(examples=["me"])]
    ttl: _Ttl = DEFAULT_CLAIM_TTL
    grace: _Grace = DEFAULT_CLAIM_GRACE
    limit: _Limit = DEFAULT_CLAIMED


class ClaimRenewal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """New values, in seconds, for a claim whose time starts again."""

    ttl: _Ttl = DEFAULT_CLAIM_TTL
    grace: _Grace = DEFAULT_CLAIM_GRACE


class Released(msgspec.Struct, frozen=True):
    """Whether there was a claim to release."""

    released: bool


class MessageDeleted(msgspec.Struct, frozen=True):
    """The message that was deleted."""

    id: str
