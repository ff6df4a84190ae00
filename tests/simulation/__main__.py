"""Play one run: ``python -m tests.simulation SEED``, with what its failure said behind the seed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from tests.simulation.whole_runs import describe, plan_run, play


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--steps", type=int, help="how many steps before the end; the seed draws it")
    parser.add_argument("--parts", help="who takes part, divided by commas; the seed draws it")
    given = parser.parse_args(arguments)
    plan = plan_run(given.seed)
    if given.steps is not None:
        plan = replace(plan, steps=given.steps)
    if given.parts is not None:
        plan = replace(plan, parts=tuple(part for part in given.parts.split(",") if part))
    outcome = play(plan)
    sys.stdout.write("".join(f"{line}\n" for line in outcome.lines))
    if outcome.invariant:
        sys.stderr.write(f"{describe(outcome)}\n")
    return bool(outcome.invariant)


if __name__ == "__main__":
    sys.exit(main())
