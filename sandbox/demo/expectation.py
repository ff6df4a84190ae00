"""What the contract says must become of each message of a workload, given what the faults did to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from sandbox.demo.workload import Item
from sandbox.judging.arrivals import body_digest
from schemas.error_codes import ErrorCode
from schemas.peek import Peek, identity, peek
from schemas.sequence import SequenceError, join
from schemas.validation import judge


@dataclass(slots=True)
class Expectation:
    """``processed``: for each messageId the digest of the body; ``joined``: those of them that come in parts.

    ``messages`` are all that go out, parts one by one; ``repeats`` have a messageId, or
    bytes, that came before; ``waiting`` are parts of sequences of which other parts are not in the workload.
    ``echoes`` come back to who sent them. ``arranged`` are those of the ``rejects`` that failures cause in
    applications apart from the workload.
    """

    messages: int = 0
    processed: dict[str, str] = field(default_factory=dict)
    joined: set[str] = field(default_factory=set)
    rejects: Counter[ErrorCode] = field(default_factory=Counter)
    arranged: int = 0
    repeats: int = 0
    waiting: int = 0
    echoes: int = 0


def expect(items: Sequence[Item], grown: Collection[str], now: float) -> Expectation:
    """What must become of ``items``, of which those with the messageIds ``grown`` became oversize on the way.

    A messageId or bytes that were there before are a duplicate, as for any receiver.
    """
    found = Expectation(messages=len({part for item in items for part in item.parts}))
    known: set[str] = set()
    files_in_parts: dict[str, dict[int, Item]] = {}
    for item in items:
        seen = peek(item.data)
        digest = sha256(item.data).hexdigest()
        who = None if seen.damaged else identity(seen)
        if digest in known or who in known:
            found.repeats += 1
            continue
        code = ErrorCode.GENERR006 if not seen.damaged and seen.message_id in grown else item.code
        known.add(who if code is None and who else digest)
        if code is not None:
            found.rejects[code] += 1
        elif seen.total is not None and seen.total > 1:
            files_in_parts.setdefault(f"{seen.sequence} {seen.total}", {})[seen.position or 0] = item
        else:
            _process(found, item.data, seen, in_parts=len(item.parts) > 1)
    for parts in files_in_parts.values():
        _join(found, list(parts.values()), now)
    return found


def _process(found: Expectation, data: bytes, seen: Peek, *, in_parts: bool) -> None:
    assert seen.message_id is not None
    found.processed[seen.message_id] = body_digest(data)
    if in_parts:
        found.joined.add(seen.message_id)


def _join(found: Expectation, parts: list[Item], now: float) -> None:
    """Files that are parts of one sequence themselves."""
    if len(parts) < (peek(parts[0].data).total or 0):
        found.waiting += len(parts)
        return
    try:
        whole = join(part.data for part in parts)
    except SequenceError:
        found.rejects[ErrorCode.GENERR001] += len(parts)
        return
    code = judge(whole, now=now, joined=True).code
    if code is None:
        _process(found, whole, peek(whole), in_parts=True)
    else:
        found.rejects[code] += 1
