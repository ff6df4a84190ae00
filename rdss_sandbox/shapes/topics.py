"""Topics, their records, changes and entitlements, as the control API shows them."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

OBJECTS: Final = "objects"
"""The topic of the digital objects."""
OURS: Final = "sandbox"
"""The user name under which the sandbox itself publishes and queries."""


class Entitlement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What ``user`` may do with ``topic``; both may end with ``*``. ``filter`` selects the messages."""

    user: str
    topic: str
    read: bool = True
    write: bool = True
    filter: str = ""


class Access(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The entitlements, in order: the first that fits decides, and a request that fits none is refused.

    ``None`` instead of a list entitles every user to everything. ``reveal_users`` shows the publisher's name
    to subscribers.
    """

    entitlements: tuple[Entitlement, ...] | None = None
    reveal_users: bool = True


class Downstream(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Another sandbox, by the ``url`` of its topics port, that topics go on to by ``name``.

    ``sync``: what is published is ``persisted`` when it has it; ``async``: when it was sent it, if it is
    there. ``downgrade_after``: a synchronous one that has acknowledged nothing for so many seconds is treated
    as asynchronous until it has caught up; None waits for ever. ``token`` and ``user`` say who asks there.
    """

    name: str
    url: str
    mode: Literal["sync", "async"] = "sync"
    downgrade_after: float | None = None
    token: str = ""
    user: str = ""


class DownstreamList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every sandbox that topics go on to."""

    downstreams: tuple[Downstream, ...]


class TopicLink(msgspec.Struct, frozen=True):
    """How a downstream sandbox stands. ``behind``: how many entries of the log it has not acknowledged.

    ``state``: ``up``, ``down``, or ``refusing`` what it is sent; ``why`` unless it is up. ``downgraded``: it
    is synchronous, and not waited for until it has caught up.
    """

    name: str
    url: str
    mode: Literal["sync", "async"]
    state: Literal["up", "down", "refusing"]
    behind: int
    topics: tuple[str, ...]
    downgraded: bool = False
    why: str = ""


class TopicLinkList(msgspec.Struct, frozen=True):
    """Every downstream sandbox, by name."""

    downstreams: tuple[TopicLink, ...]


class Topic(msgspec.Struct, frozen=True):
    """A topic. ``kind``: topic, queue, view or conflated; empty for one that only has subscriptions.

    ``records`` counts the records of the state of the world, or the unacknowledged messages of a queue; None
    for a topic with neither. ``logged`` says that the topic is in the transaction log.
    ``downstreams`` are the sandboxes that the topic is replicated to.
    """

    name: str
    kind: str
    records: int | None
    subscriptions: int
    logged: bool
    message_type: str = "json"
    downstreams: tuple[TopicLink, ...] = ()


class TopicList(msgspec.Struct, frozen=True):
    """Every topic that is defined or was used so far, by name."""

    topics: tuple[Topic, ...]


class TopicRecord(msgspec.Struct, frozen=True):
    """A record of a state of the world; ``data`` is the published JSON."""

    sow_key: str
    data: msgspec.Raw
    correlation_id: str | None = None


class TopicRecordPage(msgspec.Struct, frozen=True):
    """A page of the ``total`` records that match."""

    records: tuple[TopicRecord, ...]
    total: int


class TopicChange(msgspec.Struct, frozen=True):
    """A message to a subscriber: ``publish``, or ``oof`` with the ``reason`` why a record left the result.

    ``id`` counts from 1; it starts with the first query for changes of the topic. ``time`` is in seconds
    since the epoch. ``data`` is the record; for an ``oof`` it is the updated or the last record, or null.
    """

    id: int
    time: float
    cmd: Literal["publish", "oof"]
    topic: str
    sow_key: str | None
    data: msgspec.Raw
    reason: Literal["deleted", "expired", "filter", "entitlement"] | None = None
    correlation_id: str | None = None
    user_id: str | None = None
    bookmark: str | None = None


class TopicChangePage(msgspec.Struct, frozen=True):
    """A page of changes; ``last`` is the id of the newest change of all."""

    changes: tuple[TopicChange, ...]
    last: int
