"""Which message a change of a work calls for (specification, Message Triggers)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Trigger(StrEnum):
    """The messageType that a change calls for."""

    CREATE = "MetadataCreate"
    UPDATE = "MetadataUpdate"
    DELETE = "MetadataDelete"


@dataclass(frozen=True, slots=True)
class Known:
    """What others were told of a work: its latest objectUUID, a digest of what it says, whether it is out."""

    object_uuid: str
    digest: str
    published: bool


def trigger(before: Known | None, digest: str | None) -> Trigger | None:
    """What to send of a work that now says ``digest``, which is None when the public is not to see it.

    One that becomes public is created, whether it was confidential or withdrawn before: nobody can update
    what nobody was told of, or was told to forget.
    """
    if before is None or not before.published:
        return None if digest is None else Trigger.CREATE
    if digest is None:
        return Trigger.DELETE
    return None if digest == before.digest else Trigger.UPDATE
