"""What the clauses on repeats share: which messages a consumer told again, and which repeats are excused."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from sandbox.certify.history import TIMED_OUT, History, Statement


class Repeat(NamedTuple):
    """A message that was reported again, for the ``times``-th time; ``last`` is the telling before."""

    told: Statement
    first: Statement
    last: Statement
    times: int


def definite_repeats(history: History) -> list[Repeat]:
    """The repeats that no kill excuses, in order.

    A consumer tells before it writes its checkpoint. A start that was ended with SIGKILL, or by a time-out,
    leaves one line indefinite, a message or a batch, which a later start may tell once more, whichever start
    comes to it.
    """
    excused: dict[int, int | None] = {
        life.number: None for life in history.lives if life.end in {"SIGKILL", "hung", "replaced", TIMED_OUT}
    }
    known = {sent.message_id for sent in history.sent}
    before: dict[str, list[Statement]] = defaultdict(list)
    found = []
    for each in history.told:
        earlier = before[each.message_id]
        if earlier and each.message_id in known:
            last = earlier[-1]
            unit = excused.get(last.life, 0)
            if last.life != each.life and (unit is None or (unit == last.line and unit > 0)):
                excused[last.life] = last.line
            else:
                found.append(Repeat(each, earlier[0], last, len(earlier) + 1))
        earlier.append(each)
    return found
