"""Beginning a query again where Spark lost one of its Python processes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

# Of a process that plans a stream and died, Spark has nothing to say: its reason is empty.
_LOST = re.compile(
    r"Python worker (?:failed to connect back|exited unexpectedly)|terminated with exception:\s+SQLSTATE"
)
_Ended = TypeVar("_Ended")


def has_lost_python(error: Exception) -> bool:
    """Whether this is Spark's error for a Python process that died or did not start in time."""
    return _LOST.search(str(error)) is not None


def begin_again(
    job: Callable[[], _Ended],
    *,
    lost: Callable[[Exception], bool] = has_lost_python,
    tell: Callable[[], None] = lambda: None,
    times: int = 5,
) -> _Ended:
    """Call ``job``, and up to ``times`` more where it raises an error that is ``lost``; return what it does.

    A query with a checkpoint goes on at its current batch. ``tell`` is called before each further try.
    """
    for _ in range(times):
        try:
            return job()
        except Exception as error:
            if not lost(error):
                raise
        tell()
    return job()
