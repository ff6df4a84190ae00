"""The search finds what the sandbox once lost, doubled or put out of order, when it is put back."""

from __future__ import annotations

import pytest

from tests.simulation.past_bugs import PAGE, PAST_BUGS, SEEDS, PastBug, find, read_table
from tests.simulation.whole_runs import plan_run, play

_ENOUGH = 8
_SOON = 50


def test_the_table_has_every_bug_and_most_are_found() -> None:
    """CONTRIBUTING.md says of each at which seed it is found; the run of that seed holds without it."""
    table = read_table(PAGE.read_text())
    assert list(table) == [bug.name for bug in PAST_BUGS]
    found = [int(seed) for seed, _ in table.values() if seed.isdecimal()]
    assert len(found) >= _ENOUGH
    assert all(seed <= SEEDS for seed in found)
    assert not any(play(plan_run(seed)).invariant for seed in found)


@pytest.mark.slow
@pytest.mark.parametrize("bug", PAST_BUGS, ids=lambda bug: bug.commit)
def test_what_is_found_soon_is_found_again(bug: PastBug) -> None:
    """A bug that the table has at one of the first seeds is found among the first two hundred."""
    seed, _ = read_table(PAGE.read_text())[bug.name]
    if seed.isdecimal() and int(seed) <= _SOON:
        assert find(bug, range(1, 201)) is not None


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_most_bugs_are_found_within_ten_thousand_seeds() -> None:
    """Eight of them or more, of whatever part."""
    assert sum(find(bug, range(1, SEEDS + 1)) is not None for bug in PAST_BUGS) >= _ENOUGH
