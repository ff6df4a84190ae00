"""The expected outcome of each message of a workload under the contract, after the faults' changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from sandbox.demo.workload import Item
from sandbox.judging.arrivals import body_digest
from schemas.contract import Code
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import Peek, identity, peek
from schemas.rdss.verdicts import judge_parts


@dataclass(slots=True)
class Expectation:
    """The expected numbers of a run.

    ``messages`` counts all sent messages, parts one by one. ``processed`` has the digest of the body for each
    messageId, and ``joined`` the messageIds that come in parts. ``repeats`` have a messageId or bytes of an
    earlier message. ``waiting`` are parts of incomplete sequences. ``echoes`` come back to their sender.
    ``arranged`` is the part of ``rejects`` that the failure cases cause outside of the workload.
    """

    messages: int = 0
    processed: dict[str, str] = field(default_factory=dict)
    joined: set[str] = field(default_factory=set)
    rejects: Counter[Code] = field(default_factory=Counter)
    arranged: int = 0
    repeats: int = 0
    waiting: int = 0
    echoes: int = 0


def expect(items: Sequence[Item], grown: Collection[str], now: float) -> Expectation:
    """Compute the expected outcome of ``items``; those with a messageId in ``grown`` became oversize.

    An item with the messageId or the bytes of an earlier one is a duplicate, as for any receiver.
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
        elif part := seen.part:
            files_in_parts.setdefault(f"{part.sequence} {part.total}", {})[part.position] = item
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
    """Account for items that are themselves parts of one sequence."""
    if len(parts) < (peek(parts[0].data).total or 0):
        found.waiting += len(parts)
        return
    whole, verdict = judge_parts((part.data for part in parts), now=now)
    if verdict.code is not None:
        found.rejects[verdict.code] += 1 if whole else len(parts)
    elif whole is not None:
        _process(found, whole, peek(whole), in_parts=True)
