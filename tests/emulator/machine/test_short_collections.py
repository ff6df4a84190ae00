"""A full collection is short, however many objects live, and garbage goes all the same."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from emulator.machine.short_collections import ShortCollections, collecting_shortly


class Thing:
    """May refer to itself, as what only a collection finds."""

    itself: Thing


def in_a_cycle() -> weakref.ref[Thing]:
    thing = Thing()
    thing.itself = thing
    return weakref.ref(thing)


@pytest.fixture
def collections() -> Iterator[ShortCollections]:
    """As it follows the collector of this process, whose tests have set much apart already."""
    made = ShortCollections()
    gc.callbacks.append(made.follow)
    yield made
    gc.callbacks.remove(made.follow)


def test_what_survived_one_full_collection_is_not_looked_at_by_the_next() -> None:
    """A hundred thousand objects are set apart after the first."""
    with collecting_shortly():
        living = [Thing() for _ in range(100_000)]
        gc.collect()
        assert len(gc.get_objects()) < 10_000
    assert len(living) == 100_000


def test_garbage_among_what_was_set_apart_goes_in_a_calm_moment(collections: ShortCollections) -> None:
    thing = Thing()
    thing.itself = thing
    seen = weakref.ref(thing)
    gc.collect()
    more = [Thing() for _ in range(gc.get_freeze_count())]
    gc.collect()
    del thing
    gc.collect()
    assert seen() is not None, "nothing looks at what was set apart"

    collections.look_at_all()

    assert seen() is None
    assert more


def test_a_calm_moment_with_nothing_new_costs_no_look(collections: ShortCollections) -> None:
    gc.collect()
    seen = in_a_cycle()
    collections.look_at_all()
    assert seen() is not None
