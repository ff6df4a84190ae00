"""Fuzz parsers: ``python -m tests.fuzz PARSER ... [--seconds S | --inputs N]``; without one, all of them.

Each runs in a process of its own, one after the other, and stops at its first fault. Its input is left in
``runs/fuzz``; ``python -m tests.fuzz PARSER --again FILE`` parses it once more. With atheris a run is guided
by coverage; where that has no wheel, the corpus is changed by chance. With ``--seed`` a run gives the same
inputs each time. ``--page`` renews the table in ``tests/fuzz/README.md``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.fuzz.fuzzed_parser import NAMES, BoundedParse, load_parser
from tests.fuzz.results_page import Outcome, write_page

_COVERED = re.compile(r"cov: (\d+)")
_INSTRUMENTED = re.compile(r"^INFO: Instrumenting .*\n", re.MULTILINE)


def fuzz(name: str, *bound: str) -> Outcome:
    """Run one parser in a process, and return what came of it."""
    command = [sys.executable, "-m", "tests.fuzz.one_run", name, *bound]
    # The order of a set decides what is parsed first, and with it what atheris learns of an input.
    ordered = {**os.environ, "PYTHONHASHSEED": "0"}
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=ordered)
    covered = _COVERED.findall(ran.stderr)
    try:
        done = msgspec.json.decode(ran.stdout.strip().rpartition("\n")[2], type=dict)
    except msgspec.DecodeError:
        # It died, or was ended for an input that did not end.
        said = _INSTRUMENTED.sub("", ran.stdout + ran.stderr)
        done = {"inputs": 0, "slowest": 0.0, "peak": 0, "fault": said}
    return Outcome(name=name, covered=int(covered[-1]) if covered else None, **done)


def parse_again(name: str, place: Path) -> None:
    """Parse the file at a place, or those in its folder of the parser's name. Raises what is a fault."""
    parse = load_parser(name).open()
    inputs = sorted((place / name).iterdir()) if place.is_dir() else [place]
    # Once without bounds: what is loaded for the first input is no input's cost.
    for take in (parse, BoundedParse(parse)):
        for path in inputs:
            try:
                take(path.read_bytes())
            except Exception as error:
                error.add_note(f"{name}: {path}")
                raise


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("parsers", nargs="*", metavar="PARSER", help=", ".join(NAMES))
    arguments.add_argument("--seconds", default="10")
    arguments.add_argument("--inputs")
    arguments.add_argument("--seed", default="0")
    arguments.add_argument("--again", type=Path, metavar="PLACE")
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    names = given.parsers or NAMES
    if given.again:
        for name in names:
            parse_again(name, given.again)
        return 0
    bound = ("--inputs", given.inputs) if given.inputs else ("--seconds", given.seconds)
    outcomes = []
    for name in names:
        outcome = fuzz(name, *bound, "--seed", given.seed)
        outcomes.append(outcome)
        sys.stdout.write(f"{outcome.line}\n")
        sys.stdout.flush()
        if outcome.fault:
            sys.stderr.write(f"{outcome.fault[-6000:]}\n")
    if given.page:
        write_page(outcomes)
    return int(any(outcome.fault for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
