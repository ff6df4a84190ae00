"""The codes with which messages are refused: ours, under the names that a document gives them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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


class DeclaredCode(Code):
    """A code of a document; ``reason`` is one of ``REASONS``."""

    reason: str


def make_code(reason: str, name: str = "", description: str = "", queue: str = "") -> DeclaredCode:
    """The code of a reason, with what is not given as it is in ``REASONS``."""
    code = DeclaredCode(name or reason)
    code.reason = reason
    usual_description, usual_queue = REASONS[reason]
    code.description, code.queue = description or usual_description, queue or usual_queue
    return code


def read_codes(documents: Documents, node: Node | None, reject: str | None) -> dict[str, DeclaredCode]:
    """The codes by reason. Those that ``x-sandbox`` does not name have the reasons' own names.

    All go to ``reject``, the channel for what is refused, where one is declared.
    """
    codes = {reason: make_code(reason, queue=reject or "") for reason in REASONS}
    node = documents.follow(node and node.get("codes"))
    if node is None:
        return codes
    holder = ObjectReader(documents, node, tuple(REASONS))
    for reason in REASONS:
        inner = holder.within(reason)
        if inner is None:
            continue
        reader = ObjectReader(documents, inner, ("code", "description", "channel"))
        queue = reader.text("channel") or reject or ""
        codes[reason] = make_code(reason, reader.text("code"), reader.text("description"), queue)
    if len(set(codes.values())) < len(codes):
        holder.problem("two reasons have the same code")
    return codes
