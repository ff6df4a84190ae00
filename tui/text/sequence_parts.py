"""The parts of a sequence: which came, which came twice, which are missing, and the body they make."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from rdss_sandbox.shapes.messages import MessageRow
from rdss_sandbox.shapes.sequences import SequenceRow
from schemas.sequence import PATIENCE_SECONDS, SequenceError, join

_NAMED = 20


def cells(row: SequenceRow, width: int) -> str:
    """A cell for each position, filled where it came; each stands for several if more than ``width``."""
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
    """The first positions that have not come, some more than are ever named."""
    there = set(row.positions)
    found: list[int] = []
    for position in range(1, row.total + 1):
        if position not in there:
            found.append(position)
            if len(found) > _NAMED:
                break
    return found


def state(row: SequenceRow) -> str:
    """``complete``, or which positions are missing; and whether some came more than once, or cannot be."""
    gaps = missing(row)
    named = ", ".join(str(position) for position in gaps[:_NAMED]) + (" …" if len(gaps) > _NAMED else "")
    said = [f"missing {named}" if gaps else "complete"]
    if (again := row.parts - len(row.positions)) > 0:
        said.append(f"{again} repeated")
    if stray := [position for position in row.positions if not 0 < position <= row.total]:
        said.append(f"no such position: {', '.join(map(str, stray[:_NAMED]))}")
    return "; ".join(said)


def deadline(row: SequenceRow) -> float:
    """When a part expires or the receiver gives up, whichever is first, in seconds since the epoch."""
    given_up = row.first + PATIENCE_SECONDS
    return given_up if row.expires is None else min(row.expires, given_up)


def repeated(rows: Iterable[MessageRow]) -> dict[int, int]:
    """The positions that came more than once, with how often."""
    counted = Counter(row.position for row in rows if row.position is not None)
    return {position: times for position, times in sorted(counted.items()) if times > 1}


def joined(parts: Iterable[bytes]) -> list[str]:
    """The whole body laid out as lines, or the reason why the parts make none."""
    try:
        body = json.loads(join(list(parts)))["messageBody"]
    except (SequenceError, ValueError, KeyError, TypeError) as error:
        return [f"the parts make no body: {error}"]
    return json.dumps(body, indent=2, ensure_ascii=False).split("\n")
