"""A process that ends at a statement of its store, as if it were killed there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any


class MortalStore:
    """A connection that dies with its process: before any statement, a commit among them."""

    def __init__(self, store: sqlite3.Connection, step: Callable[[], None]) -> None:
        self._store = store
        self._step = step

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        self._step()
        return self._store.execute(*statement)

    def executemany(self, *statement: Any) -> sqlite3.Cursor:
        self._step()
        return self._store.executemany(*statement)

    @property
    def in_transaction(self) -> bool:
        return self._store.in_transaction

    def close(self) -> None:
        self._store.close()


class Life:
    """Counts the steps of a process, which are its reads and writes, and ends it at one of them for good."""

    def __init__(self, ends_at: int | None, crash: type[BaseException]) -> None:
        self.steps = 0
        self.ends_at = ends_at
        self.crash = crash

    def __call__(self) -> None:
        self.steps += 1
        if self.ends_at is not None and self.steps >= self.ends_at:
            raise self.crash
