"""The table of cases: what shows that a sentence holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.emulator.topics.engine.conftest import World


class Case(NamedTuple):
    """``of`` tells apart the cases of one sentence."""

    of: str
    shown: Callable[[World], None]


CASES: list[tuple[str, Case]] = []


def shows(*names: str) -> Callable[[Callable[[World], None]], Callable[[World], None]]:
    """Put the function into the table, as a case of the sentences ``names``."""

    def put(shown: Callable[[World], None]) -> Callable[[World], None]:
        CASES.extend((name, Case(shown.__name__, shown)) for name in names)
        return shown

    return put
