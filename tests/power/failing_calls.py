"""A store's workload on a disk of which one call fails, and what the store and the next start have then."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from emulator.rng import Draws
from tests.power.cut_runs import DurableStore, Promises, choose, idle_disk, temporary_folder
from tests.power.recorded_disk import RecordedDisk, Said

ERRORS: Final = {"no space": errno.ENOSPC, "input or output": errno.EIO, "interrupted": errno.EINTR}
PART: Final = "a part"
"""Of a write a part is taken, and the rest finds no space."""


class Failure(NamedTuple):
    """What was wrong after the ``at``-th call failed, in this way."""

    at: int
    call: str
    way: str
    wrong: str


class FailedStore(NamedTuple):
    """How many calls the workload makes, in how many runs one of them failed, and what was wrong."""

    calls: int
    runs: int
    wrong: Sequence[Failure]


class _Strikes:
    """Has the ``at``-th call fail, once; counts them all."""

    def __init__(self, at: int, way: str) -> None:
        self.calls = 0
        self.struck = ""
        self._at = at
        self._way = way

    def __call__(self, call: str, path: str) -> int | None:
        self.calls += 1
        if self.calls == self._at + 1 and self._way == PART and self.struck:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        if self.calls != self._at:
            return None
        self.struck = call
        if self._way == PART:
            return 7 if call == "write" else None
        raise OSError(ERRORS[self._way], self._way, path)


def fail_everywhere(store: DurableStore, seed: int, *, most: int | None = None) -> FailedStore:
    """Run the workload once for every call that changes the disk, or ``most`` of them, and each way to fail.

    The other calls succeed, and so must what is asked of the store later. With ``fsync``, since that makes
    the most calls.
    """
    strikes = _Strikes(-1, "")
    _run(store, seed, strikes)
    wrong: list[Failure] = []
    runs = 0
    for at in choose(range(1, strikes.calls + 1), most):
        for way in (*ERRORS, PART):
            failing = _Strikes(at, way)
            runs += 1
            if why := _run(store, seed, failing):
                wrong.append(Failure(at, failing.struck, way, why))
    return FailedStore(strikes.calls, runs, wrong)


def _run(store: DurableStore, seed: int, strikes: _Strikes) -> str:
    with temporary_folder() as folder:
        disk = RecordedDisk(folder, strikes)
        with idle_disk(), disk.recording():
            try:
                store.work(disk, Draws(seed), fsync=True)
            except (OSError, sqlite3.OperationalError) as error:
                # A start that refuses, and says why.
                if any(isinstance(change, Said) for change in disk.changes):
                    return f"{type(error).__name__}: {error}"
                return ""
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is a fault
                return f"{type(error).__name__}: {error}"
        promises = Promises()
        for change in disk.changes:
            if isinstance(change, Said):
                promises.take(change)
        with idle_disk():
            return promises.judge(store.read(folder, fsync=True), fsync=True, way="kept")
