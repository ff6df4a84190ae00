"""The table of all changes of a message's state; the code runs from it, and docs/processing.md shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from rdss_sandbox.shapes.processing import State

FINAL: Final = frozenset({State.OK, State.SKIPPED, State.FAILED, State.CANCEL})
"""A message in one of these has ended, unless somebody restarts it."""
TAKEN_UP_AGAIN: Final = frozenset({State.PARTLY_FAILED, State.POSTPONED})
"""Only messages in these states are taken from the store to be processed."""
HELD: Final = frozenset({State.NEW, State.IN_QUEUE, State.PROCESSING})
"""A message in one of these has an owner, and is stuck when that process dies."""


class Cause(StrEnum):
    """The cause of a change of state."""

    RECEIVED = "received"
    QUEUED = "queued"
    STARTED = "started"
    ANSWERED = "answered"
    RESUMED = "resumed"
    SUCCEEDED = "succeeded"
    FAILED_FOR_NOW = "failed for now"
    NO_EFFECT = "no effect"
    FAILED_FOR_GOOD = "failed for good"
    POSTPONED = "postponed"
    OUT_OF_ORDER = "out of order too long"
    OBSOLETE = "obsolete"
    SPLIT = "split"
    ASKED = "asked and waits"
    CHILDREN_DONE = "children done"
    CHILD_FAILED = "child failed"
    STUCK = "stuck"
    STUCK_TOO_OFTEN = "stuck too often"
    RESTARTED = "restarted"
    CANCELLED = "cancelled"


class Transition(NamedTuple):
    """A change from ``before`` (None for an unknown message) to ``after``."""

    before: State | None
    cause: Cause
    after: State
    why: str


class IllegalTransitionError(Exception):
    """The state of a message does not allow the change."""

    def __init__(self, before: State | None, cause: Cause) -> None:
        there = sorted(state.value for state in states_before(cause) if state is not None)
        super().__init__(
            f"a message that is {before or 'not known'} cannot be {cause}; one that is {', '.join(there)} can"
        )


def _transitions(
    states_before: tuple[State | None, ...], cause: Cause, after: State, why: str
) -> list[Transition]:
    return [Transition(before, cause, after, why) for before in states_before]


_S = State
_OPEN = tuple(state for state in State if state not in FINAL)

TABLE: Final = (
    *_transitions((None,), Cause.RECEIVED, _S.NEW, "it is persisted, and acknowledged then"),
    *_transitions(
        (_S.NEW,), Cause.QUEUED, _S.IN_QUEUE, "at once, in the memory of the process that received it"
    ),
    *_transitions(
        (_S.PARTLY_FAILED, _S.POSTPONED),
        Cause.QUEUED,
        _S.IN_QUEUE,
        "its interval is over and it is taken from the store",
    ),
    *_transitions((_S.WAITING_FOR_RES,), Cause.ANSWERED, _S.IN_QUEUE, "the answer it waits for came"),
    *_transitions((_S.IN_QUEUE,), Cause.STARTED, _S.PROCESSING, "a worker takes it from the queue"),
    *_transitions(
        (_S.WAITING_FOR_RES,),
        Cause.RESUMED,
        _S.PROCESSING,
        "the caller with the answer processes the message itself",
    ),
    *_transitions((_S.PROCESSING,), Cause.SUCCEEDED, _S.OK, "its route came to the end"),
    *_transitions((_S.PROCESSING,), Cause.FAILED_FOR_NOW, _S.PARTLY_FAILED, "an error, with attempts left"),
    *_transitions(
        (_S.PROCESSING,), Cause.NO_EFFECT, _S.PARTLY_FAILED, "a blank attempt, which does not count"
    ),
    *_transitions(
        (_S.PROCESSING,),
        Cause.FAILED_FOR_GOOD,
        _S.FAILED,
        "validation or business error, or the last attempt failed",
    ),
    *_transitions(
        (_S.NEW, _S.IN_QUEUE, _S.PROCESSING),
        Cause.POSTPONED,
        _S.POSTPONED,
        "another message of its funnel or order is ahead",
    ),
    *_transitions(
        (_S.IN_QUEUE, _S.PROCESSING),
        Cause.OUT_OF_ORDER,
        _S.FAILED,
        "it was postponed too long, and is still not its turn",
    ),
    *_transitions(
        (_S.PROCESSING,), Cause.OBSOLETE, _S.SKIPPED, "a newer message of the same object succeeded"
    ),
    *_transitions((_S.PROCESSING,), Cause.SPLIT, _S.WAITING, "it is split into children"),
    *_transitions((_S.PROCESSING,), Cause.ASKED, _S.WAITING_FOR_RES, "it waits for an answer from outside"),
    *_transitions((_S.WAITING,), Cause.CHILDREN_DONE, _S.OK, "all its hard children are done"),
    *_transitions((_S.WAITING,), Cause.CHILD_FAILED, _S.FAILED, "a hard child failed or was cancelled"),
    *_transitions(
        (_S.NEW, _S.IN_QUEUE, _S.PROCESSING),
        Cause.STUCK,
        _S.PARTLY_FAILED,
        "the process that had it is gone",
    ),
    *_transitions(
        (_S.NEW, _S.IN_QUEUE, _S.PROCESSING),
        Cause.STUCK_TOO_OFTEN,
        _S.FAILED,
        "the process that had it is gone, and no attempt is left",
    ),
    *_transitions((_S.OK, _S.FAILED, _S.CANCEL), Cause.RESTARTED, _S.PARTLY_FAILED, "somebody restarted it"),
    *_transitions(_OPEN, Cause.CANCELLED, _S.CANCEL, "somebody cancelled it"),
)

_AFTER: Final = {(each.before, each.cause): each.after for each in TABLE}


def states_before(cause: Cause) -> frozenset[State | None]:
    """The states that a change for this cause can start from."""
    return frozenset(each.before for each in TABLE if each.cause is cause)


def next_state(before: State | None, cause: Cause) -> State:
    """The state after a change. Raises IllegalTransitionError when the table has no such change."""
    found = _AFTER.get((before, cause))
    if found is None:
        raise IllegalTransitionError(before, cause)
    return found


def join_rows() -> dict[tuple[Cause, State, str], list[State | None]]:
    """The table by cause, state after and reason, each with the states before."""
    rows: dict[tuple[Cause, State, str], list[State | None]] = {}
    for each in TABLE:
        rows.setdefault((each.cause, each.after, each.why), []).append(each.before)
    return rows


def markdown_table() -> str:
    """The table in Markdown; rows with the same cause, end and reason are joined."""
    lines = ["| from | what happens | to | why |", "|---|---|---|---|"]
    lines += [
        f"| {', '.join(each or '(unknown)' for each in there)} | {cause} | {end} | {why} |"
        for (cause, end, why), there in join_rows().items()
    ]
    return "\n".join(lines)
