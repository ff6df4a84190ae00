"""The definition that a message's body has to meet, and whether the body is only a part of one."""

from __future__ import annotations

from typing import Any, Final

ANY_OBJECT: Final = "objects.ResearchObject"
REFERENCE: Final = "messages.ObjectReference"
PACKAGE: Final = "packages.InformationPackage"
KINDS: Final = {
    "dataset": "objects.Dataset",
    "article": "objects.Article",
    "thesisDissertation": "objects.ThesisDissertation",
}
"""The resource types with their own definition; all others are research objects."""
MOST_PARTS: Final = 2**31 - 1
"""The largest total of a sequence that is taken: what a column of the pipeline's tables can hold."""


def body_definition(message: dict[str, Any]) -> str | None:
    """The name of the definition for a message's messageType, messageClass and objectResourceType.

    None for a messageType that is not one of the five. A MetadataRead of the class
    Document is an answer, of another class a request.
    """
    header = message.get("messageHeader")
    if not isinstance(header, dict):
        return None
    kind = header.get("messageType")
    if kind in ("MetadataCreate", "MetadataUpdate"):
        return _object_definition(message.get("messageBody"))
    if kind == "MetadataRead":
        answer = header.get("messageClass") == "Document"
        return _object_definition(message.get("messageBody")) if answer else REFERENCE
    if kind == "MetadataDelete":
        return REFERENCE
    return PACKAGE if kind == "PreservationEvent" else None


def _object_definition(body: object) -> str:
    resource = body.get("objectResourceType") if isinstance(body, dict) else None
    return KINDS.get(resource, ANY_OBJECT) if isinstance(resource, str) else ANY_OBJECT


def is_part(message: dict[str, Any]) -> bool:
    """Whether a message is a part of a sequence and its body a slice of text (see ``sequence``)."""
    return isinstance(message.get("messageBody"), str) and 1 < total(message) <= MOST_PARTS


def total(message: dict[str, Any]) -> int:
    """The number of messages in the sequence, 1 where the header has none."""
    return _whole_number(message, "total")


def position_in_sequence(message: dict[str, Any]) -> int:
    """The position in the sequence, 1 where the header has none."""
    return _whole_number(message, "position")


def _whole_number(message: dict[str, Any], name: str) -> int:
    header = message.get("messageHeader")
    place = header.get("messageSequence") if isinstance(header, dict) else None
    value = place.get(name) if isinstance(place, dict) else None
    return int(value) if isinstance(value, int | float) and value == value // 1 else 1
