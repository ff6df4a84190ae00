"""Wait in a test for what another thread, another process or a browser brings about by itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import httpx

from rdss_sandbox.questions.deadline import Deadline

T = TypeVar("T")


def wait_until(
    look: Callable[[], T | None], *, seconds: float = 60, shown: Callable[[], object] | None = None
) -> T:
    """Return what ``look`` finds, once that is true or not empty.

    It fails after ``seconds`` of real time, with what is ``shown`` then.
    """
    deadline = Deadline(seconds)
    while not (found := look()):
        why = "" if shown is None else f": {shown()}"
        assert not deadline.passed, f"it did not come about within {seconds:g} s{why}"
        deadline.pause()
    return found


def wait_until_served(url: str) -> None:
    """Return as soon as somebody answers HTTP there."""

    def answers() -> bool:
        with suppress(httpx.TransportError):
            httpx.get(url, trust_env=False)
            return True
        return False

    wait_until(answers)
