"""A thread that works whenever there is something to do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from emulator.clock import Clock
from emulator.scheduler import Scheduler

_GATHER_SECONDS: Final = 0.2
_RETRY_SECONDS: Final = 1.0
"""Both in real seconds: housekeeping goes on while the sandbox's clock is frozen."""
_LAST_STEPS_SECONDS: Final = 30.0
"""How many real seconds ``close`` waits for a drain in progress."""


class BackgroundWorker:
    """Runs ``steps`` in turn until all return 0. A step returns how many items it processed.

    The first ``wake`` starts the thread. When a step raises, ``failed`` is called,
    and the steps run again after a pause.
    """

    def __init__(
        self, name: str, steps: Sequence[Callable[[], int]], failed: Callable[[Exception], None]
    ) -> None:
        self._steps = steps
        self._failed = failed
        self._woken = False
        self._closed = False
        self._running = threading.RLock()  # a step may close its own worker
        self._scheduler = Scheduler(Clock(), name, self._try_again)

    def wake(self) -> None:
        """Make the thread run the steps."""
        if not self._woken:
            self._woken = True
            self._scheduler.later(_GATHER_SECONDS, self._run)

    def drain(self) -> None:
        """Run the steps on this thread until nothing is left, or it is closed. Raises what a step raises."""
        moved = 1
        while moved and not self._closed:
            moved = self._run_steps()

    def close(self) -> None:
        """Stop, and return when no step is in progress on any thread."""
        self._closed = True
        self._scheduler.close()
        # A drain is on a thread of its caller.
        if self._running.acquire(timeout=_LAST_STEPS_SECONDS):
            self._running.release()

    def _run(self) -> None:
        # Before the steps: what comes while they run plans the next run.
        self._woken = False
        moved = 1
        while moved and not self._closed:
            moved = self._run_steps()

    def _run_steps(self) -> int:
        with self._running:
            return 0 if self._closed else sum(step() for step in self._steps)

    def _try_again(self, error: Exception) -> None:
        # Planned first, for what tells of the failure may fail too.
        self._scheduler.later(_RETRY_SECONDS, self._run)
        self._failed(error)
