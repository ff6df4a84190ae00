"""How this process asks the system for memory."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_ARENA_MAX: Final = -8
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_FREED_BYTES: Final = 32 << 20
_LARGE_BYTES: Final = 16 << 20
"""More than an answer of Kinesis has: what is mapped anew each time costs a quarter of the reads."""


def give_back_what_is_freed() -> None:
    """Have the C library keep no heap for each thread, and no more than 32 MiB of what was freed.

    Without it a process of many threads that handles large bodies keeps tens of megabytes for nothing. Only
    glibc can be told (mallopt(3)); elsewhere this does nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _FREED_BYTES)
        mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
