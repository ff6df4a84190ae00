"""The message that a change of a work triggers (specification, Message Triggers)."""

from __future__ import annotations

from enum import StrEnum


class Trigger(StrEnum):
    """The messageType that a change triggers."""

    CREATE = "MetadataCreate"
    UPDATE = "MetadataUpdate"
    DELETE = "MetadataDelete"


def trigger(*, was_public: bool, is_public: bool, changed: bool = True) -> Trigger | None:
    """The message for a work, by whether others saw it before and may see it now; None for no message.

    A work that becomes public is created again, even if it was public once: others cannot update an object
    that they never received or have deleted.
    """
    if not was_public:
        return Trigger.CREATE if is_public else None
    if not is_public:
        return Trigger.DELETE
    return Trigger.UPDATE if changed else None
