"""What others know of a work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """What others were told of a work: its latest objectUUID, a digest of what it says, whether it is out."""

    object_uuid: str
    digest: str
    published: bool
