"""Work that is done on a thread of its own whenever there is some."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

_GATHER_SECONDS: Final = 0.2
_RETRY_SECONDS: Final = 1.0
"""Real seconds both: housekeeping goes on when the sandbox's clock stands still."""


class BackgroundWorker:
    """Runs ``steps``, each of which says how much it moved, until all of them find nothing.

    The thread is started by the first ``wake``. A step that raises is tried
    again after a while, and ``failed`` is told.
    """

    def __init__(
        self, name: str, steps: Sequence[Callable[[], int]], failed: Callable[[Exception], None]
    ) -> None:
        self._name = name
        self._steps = steps
        self._failed = failed
        self._woken = threading.Event()
        self._closed = threading.Event()
        self._moving = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """There is something to do."""
        self._woken.set()
        if self._thread is None:
            with self._starting:
                if self._thread is None and not self._closed.is_set():
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()

    def drain(self) -> None:
        """Do all there is to do now, on this thread. Raises what a step raises."""
        with self._moving:
            while sum(step() for step in self._steps):
                pass

    def close(self) -> None:
        """Stop after the step under way."""
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
                self._move()
            except Exception as error:  # noqa: BLE001 -- whatever it was, what is there stays there
                self._failed(error)
                self._woken.set()
                self._closed.wait(_RETRY_SECONDS)

    def _move(self) -> None:
        moved = 1
        while moved and not self._closed.is_set():
            with self._moving:
                moved = sum(step() for step in self._steps)
