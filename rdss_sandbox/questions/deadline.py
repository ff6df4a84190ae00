"""A point in real time up to which something is waited for.

The clock of a sandbox stands still or jumps as a test wants it. How long the test waits is real time.
"""

from __future__ import annotations

import threading
import time
from typing import Final

_LOOK_SECONDS: Final = 0.02
_never = threading.Event()


class Deadline:
    """A point in real time ``seconds`` from now; None never passes."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        """The remaining seconds, at least 0; None without an end."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        return self.left == 0

    def pause(self) -> None:
        """Wait a moment before the next look, and no longer than the deadline."""
        left = self.left
        _never.wait(_LOOK_SECONDS if left is None else min(_LOOK_SECONDS, left))
