"""Mutate the code of an area, and have its tests notice: ``python -m tests.mutants [AREA ...]``; else of all.

mutmut changes one thing at a time in a copy of the project under ``runs/mutants``, and runs the tests that
reach it in a forked process. Exits with 1 when a mutant lives that ``survivors.toml`` gives no reason for,
and names it. ``--sample N`` tries N mutants of each area, the same each time; ``--again`` only those that
lived the last time, after tests were added. The table in ``tests/mutants/README.md`` is renewed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from emulator.rng import Chance
from tests.mutants.known_survivors import read_reasons
from tests.mutants.mutants_outcome import MutantsOutcome, read_outcome, refuse_by_types
from tests.mutants.mutated_areas import AREAS, MutatedArea
from tests.mutants.mutated_copy import ROOT, copy_project, write_mutants

PAGE: Final = Path(__file__).with_name("README.md")
_BEGIN: Final = "<!-- made by make mutants -->\n"
_END: Final = "<!-- end -->\n"
_HEAD: Final = (
    "| area | mutants | tried | killed | refused by mypy | live | dead, % |\n"
    "|---|---:|---:|---:|---:|---:|---:|\n"
)
_SEED: Final = 1


def mutate(area: MutatedArea, jobs: int, sample: int | None, *, again: bool) -> MutantsOutcome:
    """Run an area's mutants. Raises ``SystemExit`` where its tests fail without a mutant."""
    place = ROOT / "runs" / "mutants" / area.name
    if not again:
        shutil.rmtree(place, ignore_errors=True)
    mutated = copy_project(area, place)
    every = write_mutants(place, mutated)
    names = [each.name for each in read_outcome(place).living] if again else []
    if sample and sample < len(every):
        names = Chance(_SEED).draws("mutants").sample(every, sample)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    log = place.with_suffix(".log")
    with log.open("w", encoding="utf-8") as said:
        ran = subprocess.run(
            ["mutmut", "run", "--max-children", str(jobs), *names],
            cwd=place,
            env={**os.environ, "PATH": path},
            stdout=said,
            stderr=said,
            check=False,
        )
    if ran.returncode:
        sys.exit(f"mutmut could not run {area.name}: the end of {log} says why")
    refuse_by_types(place)
    return read_outcome(place)


def write_row(area: MutatedArea, outcome: MutantsOutcome) -> None:
    """Renew the row of an area in the page's table; the others' stay."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    table, _, after = rest.partition(_END)
    rows = {name: row for row in table.splitlines()[2:] for name in [row.split("`")[1]]}
    rows[area.name] = (
        f"| `{area.name}` | {outcome.every:,} | {outcome.tried:,} | {outcome.killed:,} | {outcome.refused:,} "
        f"| {len(outcome.living):,} | {outcome.share:.1f} |"
    )
    written = "".join(f"{rows[name]}\n" for name in AREAS if name in rows)
    PAGE.write_text(f"{before}{_BEGIN}{_HEAD}{written}{_END}{after}", encoding="utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    arguments.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    arguments.add_argument("--again", action="store_true")
    arguments.add_argument("--sample", type=int, metavar="N")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = arguments.parse_args()
    if strange := [name for name in given.areas if name not in AREAS]:
        arguments.error(f"no area {', '.join(strange)}; there are {', '.join(AREAS)}")
    reasons, new = read_reasons(), 0
    for name in given.areas or AREAS:
        outcome = mutate(AREAS[name], given.jobs, given.sample, again=given.again)
        write_row(AREAS[name], outcome)
        unexplained = [each for each in outcome.living if each.line not in reasons]
        counts = f"{outcome.share:.1f} % of {outcome.tried:,} mutants died"
        said = [f"{name}: {counts}, {len(unexplained)} live without a reason"]
        said += [f"  {each.line}\n    {each.name}" for each in unexplained]
        sys.stdout.write("\n".join(said) + "\n")
        new += len(unexplained)
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
