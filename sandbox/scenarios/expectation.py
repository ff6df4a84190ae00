"""What must become of each message of a workload under the contract, after the faults' changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from emulator.rng import new_uuid
from sandbox.judging.arrivals import body_digest
from sandbox.scenarios.scenario import OWN_MESSAGE
from sandbox.scenarios.workload import Offered, identity
from schemas import bound
from schemas.contract import judge_sent


@dataclass(slots=True)
class Expectation:
    """The expected outcomes.

    ``parts`` counts the messages as they are sent, the parts of a sequence one by one. ``processed`` has the
    digest of the body for each messageId, and ``joined`` the messageIds that come in parts. ``rejected`` has
    the name and the code of each message for the queues. ``repeats`` have the messageId or the bytes of an
    earlier message. ``waiting`` are parts of incomplete sequences. ``echoes`` come back to their sender.
    """

    parts: int = 0
    processed: dict[str, str] = field(default_factory=dict)
    joined: set[str] = field(default_factory=set)
    rejected: list[tuple[str, str]] = field(default_factory=list)
    repeats: int = 0
    waiting: int = 0
    echoes: int = 0

    @property
    def codes(self) -> Counter[str]:
        """The number of messages to reject, by error code."""
        return Counter(code for _, code in self.rejected)


def expect(
    offered: Iterable[Offered], spoiled: Mapping[str, str], judged_at: Callable[[Offered], float]
) -> Expectation:
    """Compute what must become of the messages, of which some are ``spoiled``: they deserve this code.

    ``judged_at`` gives the time at which a message is judged, in seconds since the epoch.
    """
    found = Expectation()
    contract, judge = bound.CONTRACT, judge_sent(bound.CONTRACT)
    judge_part = contract.versions.judge if contract.versions else contract.judge
    known: set[str] = set()
    sequences: dict[tuple[str, int], dict[int, Offered]] = {}
    for each in offered:
        peek, name, digest = contract.peek(each.data), identity(each.data), sha256(each.data).hexdigest()
        parts, verdict = split(each.data), judge_part if peek.part else judge
        if digest not in known:
            found.parts += len(parts)
        if known & {digest, name}:
            found.repeats += 1
        elif each.failure == OWN_MESSAGE:
            found.echoes += 1
        elif code := each.code or spoiled.get(name) or verdict(each.data, now=judged_at(each)).code:
            known.add(digest)
            found.rejected.append((name, str(code)))
        else:
            known |= {digest, name}
            if part := peek.part:
                sequences.setdefault((part.sequence, part.total), {})[part.position] = each
            else:
                _process(found, each.data, len(parts))
    for (_, total), came in sequences.items():
        _join(found, list(came.values()), total, judged_at)
    return found


def split(data: bytes) -> list[bytes]:
    """The parts in which a message is sent. Raises ValueError for what cannot be split."""
    sequences = bound.CONTRACT.sequences
    return sequences.split(data, new_id=new_uuid) if sequences else [data]


def _process(found: Expectation, data: bytes, parts: int) -> None:
    name = identity(data)
    found.processed[name] = body_digest(data)
    if parts > 1:
        found.joined.add(name)


def _join(found: Expectation, came: list[Offered], total: int, judged_at: Callable[[Offered], float]) -> None:
    """Account for messages that are themselves parts of one sequence."""
    sequences, name = bound.CONTRACT.sequences, identity(came[0].data)
    assert sequences is not None
    if len(came) < total:
        found.waiting += len(came)
        return
    whole, verdict = sequences.judge_parts((each.data for each in came), now=judged_at(came[-1]))
    if verdict.code is not None:
        found.rejected += [(name, str(verdict.code))] * (1 if whole else len(came))
    elif whole is not None:
        _process(found, whole, len(came))
