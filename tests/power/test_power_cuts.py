"""A power cut, wherever: with ``--fsync`` nothing that was answered is lost, and nothing torn is served."""

from __future__ import annotations

import pytest

from tests.docs.page_parts import renew_part
from tests.power.cut_runs import DurableStore, cut_everywhere
from tests.power.durable_stores import STORES
from tests.power.failing_calls import fail_everywhere
from tests.power.power_report import PAGE, read_results, render

SEED = 1
SLOW = "services"
"""It is read by a whole sandbox, which takes a quarter of a second."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" not in metafunc.fixturenames:
        return
    stores = [each for each in STORES if each.name != SLOW or "most" in metafunc.fixturenames]
    metafunc.parametrize("store", stores, ids=lambda store: store.name.replace(" ", "-"))
    if "fsync" in metafunc.fixturenames:
        metafunc.parametrize("fsync", [True, False], ids=["fsync", "without"])


def judge_cuts(store: DurableStore, most: int | None, seed: int = SEED, *, fsync: bool) -> None:
    found = cut_everywhere(store, seed, fsync=fsync, most=most)
    assert found.wrong == []
    assert found.states > found.places


def test_a_cut_leaves_what_was_promised(store: DurableStore, *, fsync: bool) -> None:
    """At some places of each workload; every place is for the long tests."""
    judge_cuts(store, 5, fsync=fsync)


def test_a_call_that_fails_is_refused_and_nothing_else(store: DurableStore) -> None:
    """A write, flush, opening or renaming that fails costs what it was for: what comes later is stored."""
    assert fail_everywhere(store, SEED, most=4).wrong == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("most", [40])
def test_cuts_at_more_places(store: DurableStore, most: int, *, fsync: bool) -> None:
    judge_cuts(store, most, seed=SEED + 1, fsync=fsync)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("most", [25])
def test_more_calls_that_fail(store: DurableStore, most: int) -> None:
    if store.name != SLOW:
        assert fail_everywhere(store, SEED + 1, most=most).wrong == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("most", [None])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cuts_at_every_place(store: DurableStore, most: None, seed: int, *, fsync: bool) -> None:
    judge_cuts(store, most, seed=seed, fsync=fsync)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("most", [None])
def test_every_call_that_fails(store: DurableStore, most: None) -> None:
    if store.name != SLOW:
        assert fail_everywhere(store, SEED, most=most).wrong == []


def test_the_page_has_the_numbers_of_the_last_run() -> None:
    """And in that nothing was wrong; ``python -m tests.power`` makes both."""
    reports = read_results()
    page = PAGE.read_text(encoding="utf-8")
    assert page == renew_part(page, "power", render(reports))
    assert not any(each.wrong for each in reports)
    assert {each.name for each in STORES} <= {each.store for each in reports}
