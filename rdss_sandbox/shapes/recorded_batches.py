"""What handlers were handed in batches, how they answered, and what they wrote meanwhile."""

from __future__ import annotations

import msgspec


class HandedRecord(msgspec.Struct, frozen=True):
    """A record of a batch. ``number`` is what its source knows it by.

    ``message_id`` is None where its bytes do not say it. ``bad`` is what the contract says is wrong with it,
    empty for a valid message, and for one that was not judged.
    """

    number: str
    message_id: str | None
    bad: str = ""


class Effect(msgspec.Struct, frozen=True):
    """What a handler wrote to ``place``: a stream, a queue, a topic, an object, or another service.

    ``identity`` is what its reader can know it by: the key of an object, or the messageId of a message;
    empty where there is none. ``ids`` are the UUIDs in it.
    """

    place: str
    identity: str
    ids: frozenset[str]


class HandledBatch(msgspec.Struct, frozen=True):
    """A batch of ``source`` that ``handler`` was handed between ``began`` and ``ended``.

    ``failed`` are the numbers of the records that it reported as failed: all, with an ``error``.
    ``complaint`` is the line of its log that tells of a failure, empty for none. The effects are in order.
    """

    handler: str
    source: str
    began: float
    ended: float
    records: tuple[HandedRecord, ...]
    failed: frozenset[str] = frozenset()
    error: str = ""
    complaint: str = ""
    effects: tuple[Effect, ...] = ()


class BatchSource(msgspec.Struct, frozen=True):
    """Where a handler's batches come from. Times are seconds.

    A batch is gathered for up to ``gathers``, and handled for up to ``timeout``; after ``hidden`` its
    messages come again.
    """

    handler: str
    source: str
    gathers: float
    timeout: float
    hidden: float
