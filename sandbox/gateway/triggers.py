"""Which message a change of a work calls for (specification, Message Triggers)."""

from __future__ import annotations

from enum import StrEnum


class Trigger(StrEnum):
    """The messageType that a change calls for."""

    CREATE = "MetadataCreate"
    UPDATE = "MetadataUpdate"
    DELETE = "MetadataDelete"


def trigger(*, was_public: bool, is_public: bool, changed: bool = True) -> Trigger | None:
    """What to send of a work that others saw or not, and shall see now or not; None for nothing.

    One that becomes public is created, whether it was confidential or withdrawn before: nobody can update
    what nobody was told of, or was told to forget.
    """
    if not was_public:
        return Trigger.CREATE if is_public else None
    if not is_public:
        return Trigger.DELETE
    return Trigger.UPDATE if changed else None
