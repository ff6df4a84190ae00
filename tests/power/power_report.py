"""What the power cuts found, as a table of docs/security.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

RESULTS: Final = Path(__file__).with_name("results.json")
PAGE: Final = Path(__file__).parents[2] / "docs" / "security.md"
FAULTS: Final = (
    "the folder of the streams had no name on the disk, and with it all records were gone",
    "nor had the folder of what streams share: compressed records were lost",
    "nor had the folder of the snapshots, before the first restart",
    "an entry that lacked a page kept the sandbox from starting, whichever log it was in",
    "a full file of records was marked as whole before its records were on the disk",
    "records were read before they were on the disk: after a cut others had numbers that readers had passed",
    "of an object's bytes that were being moved, a part was served in the place of the whole",
    "a broker said nothing of acknowledgements that it cut",
    "without `--fsync`, the note of a load kept the sandbox from starting",
    "after a flush that had failed, records were promised that came behind what it was for",
    "a receiver ended where its disk was full at the end of a transaction, and goes on now",
    "a message was lost whose file was packed before the flush that it waited for",
    "a broker handled, and could confirm, what came behind a message whose flush had failed",
    "a packed file that was removed and came back referred to bytes that were gone",
)
"""What was found by cutting, or by looking for why something could not be, and is mended."""


class StoreReport(msgspec.Struct, frozen=True):
    """How often the workload of a store was cut, with and without ``--fsync``, and how many disks that left.

    ``refused`` starts without ``--fsync`` refused. ``calls`` is how many it makes that can fail, ``runs`` in
    how many runs one did. ``wrong`` counts what was not as promised.
    """

    store: str
    synced_places: int
    synced_states: int
    places: int
    states: int
    refused: int
    calls: int
    runs: int
    wrong: int


def read_results() -> list[StoreReport]:
    return msgspec.json.decode(RESULTS.read_bytes(), type=list[StoreReport])


def render(reports: Sequence[StoreReport]) -> str:
    """The lines of the page, of what the last whole run found."""
    states = sum(each.synced_states + each.states for each in reports)
    places = sum(each.synced_places + each.places for each in reports)
    runs, wrong = sum(each.runs for each in reports), sum(each.wrong for each in reports)
    lines = [
        "",
        f"{len(reports)} stores, {places:,} places and {states:,} disks that a cut left, each started on;",
        f"{runs:,} runs in which one call failed: {wrong} times something was not as promised.",
        "",
        "| store | cuts with `--fsync` | disks | cuts without | disks | refused | runs with a failing call |",
        "|---|---|---|---|---|---|---|",
        *map(_row, reports),
        "",
        f"{len(FAULTS)} faults were found so, or on the way, and are mended:",
        "",
        *(f"- {each};" for each in FAULTS[:-1]),
        f"- {FAULTS[-1]}.",
        "",
    ]
    return "\n".join(lines)


def _row(each: StoreReport) -> str:
    cells = (each.synced_places, each.synced_states, each.places, each.states, each.refused, each.runs)
    return f"| {each.store} | {' | '.join(f'{cell:,}' for cell in cells)} |"
