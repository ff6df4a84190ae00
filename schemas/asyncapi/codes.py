"""The codes with which messages are refused: ours, under the names that a document gives them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import ReprEnum
from types import MappingProxyType
from typing import Any, Final, Self

from schemas.asyncapi.documents import Documents, Node
from schemas.asyncapi.object_reader import ObjectReader
from schemas.contract import Code

INVALID: Final = "invalid"
ERROR: Final = "error"

REASONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "oversize": ("The message is larger than its channel takes.", ERROR),
        "malformed": ("The bytes are not in the format of the message.", INVALID),
        "unknown-type": ("The contract has no message of this type.", INVALID),
        "invalid": ("The message does not meet its schema.", INVALID),
        "expired": ("The message came after it had expired.", ERROR),
        "failed": ("A system that the message needs failed.", ERROR),
        "not-undone": ("What was done for the message could not be undone.", ERROR),
        "unsent": ("The message could not be sent.", ERROR),
        "unexplained": ("The message could not be handled, and it is not known why.", ERROR),
        "misaddressed": ("The message names a place that does not exist.", INVALID),
    }
)
"""Why a message is refused, the gravest first: what that means, and the queue that it goes to."""


class DeclaredCode(Code, ReprEnum):
    """A code of a document; ``reason`` is one of ``REASONS``. Each document has an enumeration of its own."""

    reason: str

    def __new__(cls, code: str, reason: str, description: str, queue: str) -> Self:
        member = Code.__new__(cls, code)
        member._value_ = code
        member.reason, member.description, member.queue = reason, description, queue
        return member


def read_codes(documents: Documents, node: Node | None, reject: str | None) -> dict[str, DeclaredCode]:
    """The codes by reason. Those that ``x-sandbox`` does not name have the reasons' own names.

    All go to ``reject``, the channel for what is refused, where one is declared.
    """
    texts = {
        reason: (reason, reason, description, reject or queue)
        for reason, (description, queue) in REASONS.items()
    }
    node = documents.follow(node and node.get("codes"))
    if node is not None:
        holder = ObjectReader(documents, node, tuple(REASONS))
        for reason, (_, _, description, queue) in texts.items():
            if inner := holder.within(reason):
                text = ObjectReader(documents, inner, ("code", "description", "channel")).text
                texts[reason] = (
                    text("code") or reason,
                    reason,
                    text("description") or description,
                    text("channel") or queue,
                )
    # An enumeration, since what writes JSON knows those, and no other class of texts. Reasons that a document
    # gives the same code have one member between them.
    codes: Any = DeclaredCode("DeclaredCode", texts)  # type: ignore[arg-type,call-arg]
    return dict(codes.__members__)
