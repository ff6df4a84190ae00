"""The first thing that went wrong in a run, with its cause and its effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from sandbox.judging.verdict import VerdictLine
from sandbox.scenarios.replay.causes import find_effects, find_root, link_causes
from sandbox.scenarios.replay.replay_steps import DEATHS, IDLE, READ_EMPTY, RESHARDED, ReplayStep

_WRONG: Final = {
    "fault.injected", "message.refused", "message.rejected", "sender.failed", "receiver.failed",
    "receiver.crashed", "queue.claim_expired", "claim.lost", "delete.refused",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """Indexes of steps: the one that went wrong, its cause, and its effects in order.

    ``cause`` is ``wrong`` where nothing else in the run caused it. ``fails`` are the verdict's claims that
    fail by it; there are none when a fault struck and the client coped.
    """

    wrong: int
    cause: int
    effects: tuple[int, ...]
    fails: tuple[str, ...] = ()


def find_first_failure(
    steps: Sequence[ReplayStep], lines: Iterable[VerdictLine], culprits: Mapping[str, AbstractSet[str]]
) -> FirstFailure | None:
    """The first step that made a claim fail, or else the first trouble of any kind.

    ``culprits`` has the messageIds behind the facts of the contract, as ``find_culprits`` gives them.
    None for a run in which nothing went wrong.
    """
    evidence = _Evidence(steps, culprits)
    failed = {
        line.claim: at
        for line in lines
        if line.holds is False and (at := evidence.find(line.claim)) is not None
    }
    wrong = min(failed.values(), default=None)
    if wrong is None:
        wrong = next((index for index, step in enumerate(steps) if step.kind in _WRONG), None)
    if wrong is None:
        return None
    causes = link_causes(steps)
    if wrong not in causes and (near := _nearest_cause(steps, wrong)) is not None:
        causes[wrong] = near
    cause = find_root(causes, wrong)
    effects = tuple(index for index in find_effects(causes, cause) if index != wrong)
    return FirstFailure(wrong, cause, effects, tuple(claim for claim, at in failed.items() if at == wrong))


def _nearest_cause(steps: Sequence[ReplayStep], wrong: int) -> int | None:
    """What a client may have erred about: a fault on the message, its shard's reshard, or its content."""
    event, message = steps[wrong].event, steps[wrong].message
    if event is None or not event.kind.startswith("message."):
        return None
    shard = event.fields.get("shard")
    before = range(wrong - 1, -1, -1)
    candidates = (
        (i for i in before if steps[i].kind == "fault.injected" and steps[i].message == message),
        (i for i in before if steps[i].kind == RESHARDED and shard in _opened(steps[i])),
        (i for i in before if steps[i].kind == "message.offered" and steps[i].message == message),
    )
    return next((found for each in candidates if (found := next(each, None)) is not None), None)


def _opened(step: ReplayStep) -> Sequence[str]:
    return step.event.fields["opened"] if step.event else ()


class _Evidence:
    """Finds the first step that speaks for a failed claim."""

    def __init__(self, steps: Sequence[ReplayStep], culprits: Mapping[str, AbstractSet[str]]) -> None:
        self._steps = steps
        self._culprits = culprits

    def find(self, claim: str) -> int | None:
        """The index of the first step behind a claim; None for a claim about numbers that no step shows."""
        fact, _, detail = claim.partition(".")
        if fact == "processed":
            fact = "lost"
        if fact in self._culprits:
            found = (self._of_message(fact, name) for name in self._culprits[fact])
            return min((at for at in found if at is not None), default=None)
        matches = _MATCHES.get(fact)
        return next(matches(self._steps, detail), None) if matches else None

    def _of_message(self, fact: str, name: str) -> int | None:
        life = [index for index, step in enumerate(self._steps) if step.message == name]
        ends = [
            index for index in life if self._steps[index].kind in {"message.processed", "message.rejected"}
        ]
        if fact == "lost":
            return self._lost_at(life)
        if fact == "twice":
            return next(iter(ends[1:]), None)
        return next(iter(ends), None)

    def _lost_at(self, life: Sequence[int]) -> int | None:
        """Where a message was lost: at its last step, or at the death of the process that then had it."""
        if not life:
            return None
        last = life[-1]
        for index in range(last + 1, len(self._steps)):
            kind = self._steps[index].kind
            if kind in DEATHS:
                return index
            if kind in {IDLE, READ_EMPTY, "receiver.started"}:
                break
        return last


def _by_kind(*kinds: str) -> Callable[[Sequence[ReplayStep], str], Iterator[int]]:
    return lambda steps, _: (index for index, step in enumerate(steps) if step.kind in kinds)


def _by_field(kind: str, name: str) -> Callable[[Sequence[ReplayStep], str], Iterator[int]]:
    """Steps of a kind; where the claim has a detail, those with the detail in the field."""
    return lambda steps, detail: (
        index
        for index, step in enumerate(steps)
        if step.kind == kind and step.event and detail in {"", step.event.fields[name]}
    )


def _again(key: Callable[[ReplayStep], object]) -> Callable[[Sequence[ReplayStep], str], Iterator[int]]:
    """Deliveries with a key that an earlier one had."""

    def find(steps: Sequence[ReplayStep], _: str) -> Iterator[int]:
        names: set[object] = set()
        for index, step in enumerate(steps):
            if step.kind == "message.delivered":
                if (found := key(step)) in names:
                    yield index
                names.add(found)

    return find


def _fields(*names: str) -> Callable[[ReplayStep], object]:
    return lambda step: tuple(step.event.fields[name] for name in names) if step.event else ()


_MATCHES: Final[dict[str, Callable[[Sequence[ReplayStep], str], Iterator[int]]]] = {
    "refused": _by_kind("message.refused"),
    "redelivered": _again(_fields("shard", "sequence_number")),
    "repeated": _again(_fields("message_id")),
    "rejected": _by_field("message.rejected", "code"),
    "injected": _by_field("fault.injected", "fault"),
    "crashes": _by_kind(*DEATHS),
    "expired": _by_kind("queue.claim_expired"),
}
