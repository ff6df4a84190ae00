"""Keeps the garbage collector's full collections short, however many objects live."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from time import process_time
from typing import Final

_FULL: Final = 2
"""The oldest generation of the collector."""
_GROWTH: Final = 1.5
_MOST_GROWTH: Final = 10
_COUNTED: Final = 16
"""Of so many full collections one counts what is set apart."""
_EVERY_SECONDS: Final = 5.0
_CALM: Final = 0.05
"""Seconds of the processor for each second: there is hardly a client then."""


class ShortCollections:
    """Lets a full collection look only at what is new since the last one.

    Otherwise it stops every thread for a quarter of a second when a client has a hundred thousand deliveries,
    and for longer when the machine is busy. What it leaves is set apart (``gc.freeze``). Garbage may come to
    be among that, in cycles: when more is set apart than at the last look, all of it is looked at in a calm
    moment, and when it is ten times as much, at once.
    """

    def __init__(self) -> None:
        self._everything = False
        self._collections = 0
        self._lived = 0
        self._note()

    def follow(self, phase: str, info: dict[str, int]) -> None:
        """Set apart what a full collection has left; the collector calls this (``gc.callbacks``)."""
        if phase == "stop" and info["generation"] >= _FULL:
            if self._everything:
                self._note()
            gc.freeze()
            self._collections += 1
            # To count takes milliseconds.
            if not self._collections % _COUNTED and gc.get_freeze_count() > _MOST_GROWTH * self._lived:
                self._take_all()

    def look_at_all(self) -> None:
        """Collect among everything, if there is more of it than at the last such look."""
        if gc.get_freeze_count() > _GROWTH * self._lived:
            self._take_all()
            gc.collect()

    def _take_all(self) -> None:
        gc.unfreeze()
        self._everything = True

    def _note(self) -> None:
        gc.freeze()
        self._everything = False
        self._lived = gc.get_freeze_count()


@contextlib.contextmanager
def collecting_shortly() -> Iterator[None]:
    """Keep full collections short while the context lasts. Before it, nothing need be collected."""
    ended = threading.Event()
    collections = ShortCollections()
    gc.callbacks.append(collections.follow)
    gc.enable()
    threading.Thread(target=_look_until, args=(ended, collections), name="garbage", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        gc.callbacks.remove(collections.follow)


def _look_until(ended: threading.Event, collections: ShortCollections) -> None:
    used = process_time()
    while not ended.wait(_EVERY_SECONDS):
        before, used = used, process_time()
        if used - before < _CALM * _EVERY_SECONDS:
            collections.look_at_all()
