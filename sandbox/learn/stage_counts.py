"""What became of the messages of each stage: how many were sent, processed, lost, and processed twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

import msgspec

from sandbox.certify.clause import Role
from sandbox.certify.consumer_clauses.repeats import definite_repeats
from sandbox.certify.history import History, Level, Life
from sandbox.certify.stages import Stage

_ENDS: Final = {
    "SIGKILL": "killed",
    "SIGTERM": "restarted",
    "hung": "killed, as SIGTERM did not end it",
    "itself": "ended by itself",
}


class StageCount(msgspec.Struct, frozen=True):
    """The messages of a stage; of a producer ``processed`` are those that are in the stream.

    ``lost`` is None while the stage is under way. ``bad`` messages are to be rejected, and
    ``rejected`` of them are on their queue.
    ``happened`` counts what was done to the client, such as ``throttle`` or ``killed``.
    """

    stage: str
    sent: int
    processed: int
    lost: int | None
    twice: int
    bad: int
    rejected: int
    happened: dict[str, int]


def count_stages(
    role: Role, history: History, planned: Sequence[Stage], *, over: bool
) -> tuple[StageCount, ...]:
    """Count each stage that has begun; ``over`` says that no more is played."""
    if role is Role.CONSUMER:
        return _of_consumer(history, over=over)
    return _of_producer(history, planned, over=over)


def _of_consumer(history: History, *, over: bool) -> tuple[StageCount, ...]:
    # The run goes on meanwhile: what comes in a stage that begins now is counted next time.
    stages = tuple(history.stages)
    if not stages:
        return ()
    names = list(dict.fromkeys(name for _, name, _ in stages))
    times = history.times_told()
    queued = {
        (put.stream, entry.message_id)
        for put in history.puts_elsewhere()
        if not put.error
        for entry in put.entries
        if not entry.error
    }
    sent: dict[str, list[tuple[str, ...]]] = {name: [] for name in names}
    for message in history.sent:
        sent[_stage_at(stages, message.at)].append((message.message_id,))
    for older in history.older:
        sent[_stage_at(stages, older.at)].append((older.message_id,))
    for sequence in history.sequences:
        sent[_stage_at(stages, sequence.at)].append(sequence.message_ids)
    twice = Counter(_stage_at(stages, each.told.at) for each in definite_repeats(history))
    for sequence in history.sequences:
        tellings = sum(times[each] for each in sequence.message_ids)
        twice[_stage_at(stages, sequence.at)] += max(0, tellings - 1)
    found = []
    for name in names:
        processed = sum(any(each in times for each in ids) for ids in sent[name])
        bad = [each for each in history.bad if _stage_at(stages, each.at) == name]
        happened = Counter(
            each.type for each in history.injected if _stage_at(stages, each.at) == name
        ) + Counter(each.action for each in history.reshards if _stage_at(stages, each.at) == name)
        found.append(
            StageCount(
                name,
                len(sent[name]),
                processed,
                len(sent[name]) - processed if over or name != names[-1] else None,
                twice[name],
                len(bad),
                sum((each.queue, each.message_id) in queued for each in bad),
                dict(happened + _ends(name, history.lives)),
            )
        )
    return tuple(found)


def _of_producer(history: History, planned: Sequence[Stage], *, over: bool) -> tuple[StageCount, ...]:
    """A producer's messages lie in its file in the order of the stages."""
    messages = iter([each.message_id for each in history.sent])
    large = iter([each.message_ids[0] for each in history.sequences])
    stored = Counter(each.message_id for each in history.stored)
    accepted = {
        entry.message_id
        for put in history.puts()
        if not put.error
        for entry in put.entries
        if not entry.error
    } | stored.keys()
    times = history.times_told()
    found = []
    for stage in planned:
        is_large = stage.name == "sequences"
        ids = set(islice(large if is_large else messages, stage.messages))
        # The parts of a large message have ids of their own, so the producer's word is counted.
        processed = ids & times.keys() if is_large else ids & accepted
        happened = Counter(each.type for each in history.injected if each.message_id in ids)
        found.append(
            StageCount(
                stage.name,
                len(ids),
                len(processed),
                len(ids) - len(processed) if over else None,
                sum(stored[each] > 1 for each in ids),
                0,
                0,
                dict(happened + _ends(stage.name, history.lives)),
            )
        )
    return tuple(found)


def _stage_at(stages: Sequence[tuple[float, str, Level]], at: float) -> str:
    """The stage that had begun at a time."""
    return next(name for began, name, _ in reversed(stages) if began <= at)


def _ends(stage: str, lives: Iterable[Life]) -> Counter[str]:
    """How often the client ended in a stage, without the end of the whole check."""
    every = list(lives)
    last = every[-1] if every else None
    return Counter(
        _ENDS[life.end]
        for life in every
        if life.stage == stage
        and life.end in _ENDS
        and (life is not last or (life.end == "itself" and life.code))
    )
