"""Limits the memory that this process keeps after freeing it."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Final

_ARENA_MAX: Final = -8
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_FREED_BYTES: Final = 32 << 20
_LARGE_BYTES: Final = 16 << 20
"""More than a Kinesis answer has. Mapping memory for each answer would cost a quarter of the reads."""
_EVERY_SECONDS: Final = 4.0
"""Real seconds. A look at the heap takes 10 ms after much was freed, and under 1 ms after little was."""


@contextlib.contextmanager
def returning_freed_memory() -> Iterator[None]:
    """Make the C library use one heap for all threads, and return freed memory every few seconds.

    Otherwise a process with many threads and large bodies keeps tens of megabytes unused. This works with
    glibc (mallopt(3), malloc_trim(3)); elsewhere it does nothing.
    """
    ended = threading.Event()
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        mallopt, trim = library.mallopt, library.malloc_trim
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _FREED_BYTES)
        mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        threading.Thread(target=_trim_until, args=(ended, trim), name="memory", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _trim_until(ended: threading.Event, trim: Callable[[int], object]) -> None:
    while not ended.wait(_EVERY_SECONDS):
        trim(0)


def give_back_now() -> None:
    """Give back what is free anywhere in the heap, after work that needed much for a while."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
