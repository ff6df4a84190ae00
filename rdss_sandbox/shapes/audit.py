"""The audit log: its progress and the places of its entries."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

AuditPlace: TypeAlias = Literal["stream", "bucket"]
"""A place of audit entries: the stream has the newest ones, the bucket all that were delivered."""


class AuditStatus(msgspec.Struct, frozen=True):
    """The progress of the audit log, as numbers of messages.

    ``copied`` went to ``stream``, ``delivered`` went on to ``bucket``, ``pending`` are not there yet.
    ``taps`` are the streams it copies; ``objects`` is the number of objects in the bucket.
    """

    stream: str
    bucket: str
    taps: tuple[str, ...]
    copied: int
    delivered: int
    pending: int
    objects: int
