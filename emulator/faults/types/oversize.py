"""A message that grows past a size limit and stays as valid as it was."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from schemas.rdss.envelope import MAX_MESSAGE_BYTES, serialise

_SPREAD = 1000
_PADDING = "x"
_MOST = 1 << 20


def inject(hit: Hit) -> Done | None:
    limit = hit.attributes["limit"]
    size = limit + 1 + hit.draws.randrange(_SPREAD)
    before = len(hit.item.data)
    if before > limit:
        return None
    grown = grow(hit.item.data, size)
    if grown is None:
        return None
    hit.item.data = grown
    return Done(f"grown from {before} to {len(grown)} bytes", {"before": before, "size": len(grown)})


def grow(data: bytes, size: int) -> bytes | None:
    """Pad a text in the message's body, so that the message has ``size`` bytes.

    Returns None for a fragment of a sequence, whose body is a piece of JSON. A payload
    that is no RDSS message gets spaces at its end.
    """
    try:
        message = msgspec.json.decode(data)
        header, body = message["messageHeader"], message["messageBody"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return data + b" " * (size - len(data))
    if isinstance(body, str):
        return None
    holder, name = _find_text(body) or (header, "generator")
    holder[name] = str(holder.get(name, ""))
    missing = size - len(serialise(message))
    holder[name] += _PADDING * missing
    return serialise(message) if missing > 0 else None


def _find_text(body: Any) -> tuple[dict[str, Any], str] | None:
    """The object and the field of a text that may have any length: a description, else a title."""
    for wanted in ("descriptionValue", "packageDescription", "preservationEventDetail", "objectTitle"):
        if found := _find_holder(body, wanted):
            return found, wanted
    return None


def _find_holder(node: Any, name: str) -> dict[str, Any] | None:
    if isinstance(node, dict):
        if isinstance(node.get(name), str):
            return node
        children = list(node.values())
    else:
        children = node if isinstance(node, list) else []
    return next((found for child in children if (found := _find_holder(child, name))), None)


TYPE = FaultType(
    "oversize",
    "A message grows past a size limit and stays valid otherwise: a description in its body is padded. With "
    "the default limit it still fits a Kinesis record, so it arrives and the receiver must judge it. With a "
    "limit of 1048576 Kinesis refuses it.",
    Phase.CHANGE,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
    (
        Attribute(
            "limit",
            "integer",
            MAX_MESSAGE_BYTES,
            "the size that the message exceeds",
            "bytes",
            least=1,
            most=_MOST,
        ),
    ),
)
