"""Lets requests run side by side, and holds them back while everything is saved or replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LONGEST_WAIT_SECONDS: Final = 5.0
"""Real seconds. A request that takes longer, such as one that calls a slow subscriber, is not waited for."""


class RequestGate:
    """Thread-safe. A thread that is inside may enter again."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False
        self._own = threading.local()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be inside while the context lasts; wait first while the gate is closed."""
        nested = getattr(self._own, "inside", False)
        with self._changed:
            self._changed.wait_for(lambda: nested or not self._closed)
            self._inside += 1
        self._own.inside = True
        try:
            yield
        finally:
            self._own.inside = nested
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Let nobody in while the context lasts, once those inside have left."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._closed = True
            self._changed.wait_for(lambda: not self._inside, _LONGEST_WAIT_SECONDS)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
