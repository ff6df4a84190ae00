"""A thread that works whenever there is something to do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

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
        self._name = name
        self._steps = steps
        self._failed = failed
        self._woken = threading.Event()
        self._closed = threading.Event()
        self._running = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Make the thread run the steps."""
        self._woken.set()
        if self._thread is None:
            with self._starting:
                if self._thread is None and not self._closed.is_set():
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()

    def drain(self) -> None:
        """Run the steps on this thread until nothing is left. Raises what a step raises."""
        with self._running:
            while sum(step() for step in self._steps):
                pass

    def close(self) -> None:
        """Stop after the current step."""
        self._closed.set()
        self._woken.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(timeout=30)

    def _run(self) -> None:
        while not self._closed.is_set():
            self._woken.wait()
            self._closed.wait(_GATHER_SECONDS)
            self._woken.clear()
            try:
                self._run_steps()
            except Exception as error:  # noqa: BLE001 -- the steps lose nothing, and run again
                self._failed(error)
                self._woken.set()
                self._closed.wait(_RETRY_SECONDS)

    def _run_steps(self) -> None:
        moved = 1
        while moved and not self._closed.is_set():
            with self._running:
                moved = sum(step() for step in self._steps)
