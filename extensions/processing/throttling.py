"""Throttling: a limit on the messages of one source system and operation in a number of seconds."""

from __future__ import annotations

import threading
from collections import deque

from emulator.clock import Clock
from extensions.processing.processing_errors import ThrottledError
from extensions.processing.processing_parameters import Limit, Parameters


class Throttling:
    """Counts the messages that one process accepts."""

    def __init__(self, parameters: Parameters, clock: Clock) -> None:
        self._limits = parameters.throttling
        self._clock = clock
        self._lock = threading.Lock()
        self._taken: dict[tuple[str, str], deque[float]] = {}

    def take(self, source: str, operation: str) -> None:
        """Count one message. Raises ThrottledError when the limit is reached; then it is not counted."""
        limit = self.limit(source, operation)
        if limit is None:
            return
        now = self._clock.time()
        with self._lock:
            taken = self._taken.setdefault((source, operation), deque())
            while taken and taken[0] <= now - limit.interval:
                taken.popleft()
            if len(taken) >= limit.count:
                raise ThrottledError(
                    f"{source} has sent {limit.count} messages {operation} in {limit.interval:g} s, "
                    "which is the limit; send again later"
                )
            taken.append(now)

    def limit(self, source: str, operation: str) -> Limit | None:
        """The most specific limit; one that names the source precedes one that names the operation."""
        names = (f"{source}.{operation}", f"{source}.*", f"*.{operation}", "*.*")
        return (
            next((self._limits[name] for name in names if name in self._limits), None)
            if self._limits
            else None
        )
