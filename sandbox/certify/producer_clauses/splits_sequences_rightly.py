"""A message that is too large is cut into a sequence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256

import msgspec

from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level
from schemas.peek import peek
from schemas.sequence import SequenceError, body_of, join


def judge(history: History) -> Judgement:
    """The parts of a sequence, joined, have the body that the file has."""
    parts: dict[str, dict[int, bytes]] = defaultdict(dict)
    for each in history.stored:
        seen = peek(each.data)
        if seen.sequence is not None and seen.position is not None and (seen.total or 1) > 1:
            parts[seen.sequence][seen.position] = each.data
    joined = {digest for found in parts.values() if (digest := _digest(found.values()))}
    findings = [
        Finding(
            f"no complete sequence in the stream joins to the body of {sequence.message_ids[0]}",
            Level.GOLD,
            {"messageId": sequence.message_ids[0]},
        )
        for sequence in history.sequences
        if sequence.digest not in joined
    ]
    return judged(len(history.sequences), findings)


def _digest(parts: Iterable[bytes]) -> str | None:
    try:
        return sha256(body_of(join(parts))).hexdigest()
    except (SequenceError, msgspec.MsgspecError):
        return None


CLAUSE = Clause(
    id="splits-sequences-rightly",
    role=Role.PRODUCER,
    group=Group.CONTRACT,
    level=Level.GOLD,
    demand="A message that is too large is cut into parts that join to its body.",
    source="RDSS Message API 4.0.0, Message Sequences",
    exercise="The file has messages that are too large for one record.",
    needed=1,
    judge=judge,
)
