"""The last published state of a work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """The last published state of a work: its objectUUID, a digest of its content, whether it is public."""

    object_uuid: str
    digest: str
    published: bool
