"""Chance: one seed, independent streams."""

import uuid
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.rng import Chance, new_seed, new_uuid


@given(st.integers(), st.text(), st.text())
def test_the_same_names_under_the_same_seed_draw_the_same(seed: int, fault: str, message: str) -> None:
    """A stream is fixed by its seed and names, however often it is asked for."""
    first, second = (Chance(seed).draws(fault, message) for _ in range(2))

    assert [first.random() for _ in range(5)] == [second.random() for _ in range(5)]


def test_streams_do_not_move_one_another() -> None:
    """Drawing from one fault's stream leaves another fault's draws as they were."""
    chance = Chance(7)
    alone = chance.draws("latency", "m-1").random()

    chance.draws("duplicate", "m-1").random()

    assert alone == chance.draws("latency", "m-1").random()


def test_names_are_kept_apart() -> None:
    """("ab", "c") and ("a", "bc") are different streams."""
    chance = Chance(7)

    assert chance.draws("ab", "c").random() != chance.draws("a", "bc").random()


def test_a_drawn_uuid_is_a_version_4_uuid_that_the_seed_repeats() -> None:
    """Identifiers drawn from chance are well formed and reproducible."""
    drawn = Chance(1).draws("sample").uuid4()

    assert UUID(drawn).version == 4
    assert drawn == Chance(1).draws("sample").uuid4()


def test_a_run_without_a_seed_gets_one_that_can_be_typed_again() -> None:
    """The seed drawn for a run is kept, so that the run can be repeated."""
    seed = Chance().seed

    assert 0 <= seed < 2**32
    assert 0 <= new_seed() < 2**32


def test_uuids_come_from_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of messages are made by Python's uuid (specification, UUID)."""
    made = UUID("6f1ed002-ab5c-4b0e-9c2d-3a8a3f0a4a11")
    monkeypatch.setattr(uuid, "uuid4", lambda: made)
    assert new_uuid() == str(made)


def test_a_fresh_uuid_is_a_version_4_uuid() -> None:
    """In its usual form, and never the same."""
    fresh = {new_uuid() for _ in range(100)}
    assert len(fresh) == 100
    assert all(str(UUID(text)) == text for text in fresh)
    assert {(UUID(text).version, UUID(text).variant) for text in fresh} == {(4, RFC_4122)}
