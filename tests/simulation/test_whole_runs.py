"""Whole runs from one seed: whatever dies, fails, reshards or waits, what was promised holds."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from tests.simulation import past_bugs
from tests.simulation.__main__ import main
from tests.simulation.past_bugs import PAST_BUGS, find
from tests.simulation.whole_runs import describe, list_broken, plan_run, play, shrink


def test_a_few_runs_hold() -> None:
    """The first twenty seeds: nothing acknowledged lost, doubled, out of order or held twice."""
    assert not list_broken(range(1, 21))


@pytest.mark.slow
def test_two_hundred_runs_hold() -> None:
    """As the first twenty."""
    assert not list_broken(range(21, 201))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_runs_hold() -> None:
    """As the first twenty."""
    assert not list_broken(range(201, 10_001))


def test_the_same_seed_gives_the_same_log_to_the_byte() -> None:
    """In another process, with another order of sets, and after another run."""
    logs = {
        subprocess.run(
            [sys.executable, "-m", "tests.simulation", "3"],
            capture_output=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    play(plan_run(4))
    assert logs == {"".join(f"{line}\n" for line in play(plan_run(3)).lines).encode()}


def test_a_run_that_breaks_something_is_made_small_and_told_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The line has what was broken and what repeats it, which fails in the same way."""
    bug = next(each for each in PAST_BUGS if each.put_back is past_bugs.DROPPED)
    with bug.put_back():
        outcome = find(bug, range(1, 201))
        assert outcome is not None
        smaller = shrink(outcome)
        assert len(smaller.plan.parts) < len(outcome.plan.parts)
        assert smaller.plan.steps <= outcome.plan.steps
        line = describe(smaller)
        assert "\n" not in line
        assert main(shlex.split(line.rpartition("python -m tests.simulation ")[2])) == 1
    assert capsys.readouterr().err == f"{line}\n"
