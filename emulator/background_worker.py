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
        self._running = threading.Lock()
        self._scheduler = Scheduler(Clock(), name, self._try_again)

    def wake(self) -> None:
        """Make the thread run the steps."""
        if not self._woken:
            self._woken = True
            self._scheduler.later(_GATHER_SECONDS, self._run)

    def drain(self) -> None:
        """Run the steps on this thread until nothing is left. Raises what a step raises."""
        with self._running:
            while sum(step() for step in self._steps):
                pass

    def close(self) -> None:
        """Stop after the current step."""
        self._closed = True
        self._scheduler.close()

    def _run(self) -> None:
        # Before the steps: what comes while they run plans the next run.
        self._woken = False
        moved = 1
        while moved and not self._closed:
            with self._running:
                moved = sum(step() for step in self._steps)

    def _try_again(self, error: Exception) -> None:
        # Planned first, for what tells of the failure may fail too.
        self._scheduler.later(_RETRY_SECONDS, self._run)
        self._failed(error)
