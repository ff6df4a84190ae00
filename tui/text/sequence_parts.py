"""The parts of a sequence: arrived, repeated and missing positions, and the joined body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rdss_sandbox.shapes.messages import MessageRow
from rdss_sandbox.shapes.sequences import JoinedSequence, SequenceRow
from tui.text.pretty import pretty

_NAMED = 20


def cells(row: SequenceRow, width: int) -> str:
    """A bar with a cell for each position, filled where it arrived; a cell can stand for several."""
    there = {position for position in row.positions if 0 < position <= row.total}
    if row.total <= width:
        return "".join("■" if position in there else "□" for position in range(1, row.total + 1))
    filled = []
    for cell in range(width):
        first, last = cell * row.total // width + 1, (cell + 1) * row.total // width
        came = sum(first <= position <= last for position in there)
        filled.append("■" if came == last - first + 1 else "◧" if came else "□")
    return "".join(filled)


def missing(row: SequenceRow) -> list[int]:
    """The first missing positions, at most one more than are named on screen."""
    there = set(row.positions)
    found: list[int] = []
    for position in range(1, row.total + 1):
        if position not in there:
            found.append(position)
            if len(found) > _NAMED:
                break
    return found


def describe_parts(row: SequenceRow) -> str:
    """``complete`` or the missing positions, then repeated parts and impossible positions."""
    gaps = missing(row)
    named = ", ".join(str(position) for position in gaps[:_NAMED]) + (" …" if len(gaps) > _NAMED else "")
    words = [f"missing {named}" if gaps else "complete"]
    if (again := row.parts - len(row.positions)) > 0:
        words.append(f"{again} repeated")
    if stray := [position for position in row.positions if not 0 < position <= row.total]:
        words.append(f"no such position: {', '.join(map(str, stray[:_NAMED]))}")
    return "; ".join(words)


def deadline(row: SequenceRow, patience: float) -> float:
    """When a receiver gives the sequence up, in seconds since the epoch: a part expires, or none comes.

    ``patience`` is how long it waits for the next part, in seconds.
    """
    given_up = row.last + patience
    return given_up if row.expires is None else min(row.expires, given_up)


def repeated(rows: Iterable[MessageRow]) -> dict[int, int]:
    """The positions that arrived more than once, each with its number of arrivals."""
    counted = Counter(row.position for row in rows if row.position is not None)
    return {position: times for position, times in sorted(counted.items()) if times > 1}


def list_body(found: JoinedSequence) -> list[str]:
    """The joined body as lines of JSON, or the reason why the parts cannot be joined."""
    if found.raw is None and found.raw_base64 is None:
        return [f"the parts make no body: {found.violations[0].message}"]
    return pretty(found.body)
