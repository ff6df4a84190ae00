"""Numbers that say in which order things were put, across restarts."""

from __future__ import annotations

import threading


class Places:
    """Numbers that rise, beyond all that are in use. Thread-safe."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        """A number beyond all earlier ones."""
        with self._lock:
            self._last += 1
            return self._last

    def use(self, number: int) -> None:
        with self._lock:
            self._last = max(self._last, number)
