"""The audit log: how far it is, and where its entries lie."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

AuditPlace: TypeAlias = Literal["stream", "bucket"]
"""Where entries of the audit log lie: the newest in its stream, and all that were delivered in its bucket."""


class AuditStatus(msgspec.Struct, frozen=True):
    """How far the audit log is: messages copied to ``stream``, delivered to ``bucket``, still ``pending``."""

    stream: str
    bucket: str
    taps: tuple[str, ...]
    copied: int
    delivered: int
    pending: int
    objects: int
