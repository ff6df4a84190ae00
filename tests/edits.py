"""Changes anywhere in a value of JSON, for tests in which two readers have to agree on what they read."""

from __future__ import annotations

from typing import Any, Final

from emulator.rng import Draws

_OTHERS: Final = (None, True, 0, -1, 3.5, 10**20, "", "text", [], {}, ["a", "a"], {"a": 1})


def edit(value: Any, draws: Draws) -> Any:
    """A copy with one value removed, replaced or left as it is."""
    if isinstance(value, dict) and value and draws.random() < 0.8:
        name = draws.choice(list(value))
        if draws.random() < 0.2:
            return {each: below for each, below in value.items() if each != name}
        return {**value, name: edit(value[name], draws)}
    if isinstance(value, list) and value and draws.random() < 0.8:
        at = draws.randrange(len(value))
        return [*value[:at], edit(value[at], draws), *value[at + 1 :]]
    return draws.choice((*_OTHERS, value))
