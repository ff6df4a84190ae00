"""How many examples of a property are tried: a quarter in ``make test``, the others in ``make test-slow``.

Each run draws others. One test that is run by hand, without an expression of marks, tries all.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings

from tests.programs import MARKS

_FEWEST = 5


def share_examples(items: list[pytest.Item], marks: str) -> None:
    """Set how many examples each property tries in a run of ``marks``.

    What ``make test`` leaves out whole keeps all of its examples.
    """
    fast = marks.startswith("not (")
    if not fast and "hypothesis" not in marks:
        return
    shared = set()
    for item in items:
        if not isinstance(item, pytest.Function) or not is_hypothesis_test(item.obj):
            continue
        if any(map(item.get_closest_marker, MARKS)):
            continue
        holder, name = _find_settings(item)
        if holder in shared:  # another case of it
            continue
        shared.add(holder)
        every: settings = getattr(holder, name)
        quarter = max(_FEWEST, every.max_examples // 4)
        count = quarter if fast else max(_FEWEST, every.max_examples - quarter)
        setattr(holder, name, settings(every, max_examples=count))


def _find_settings(item: pytest.Function) -> tuple[Any, str]:
    """What has the settings of a property, and under which name: a machine's class, or the function."""
    if item.cls is not None and item.name == "runTest":
        return item.cls, "settings"
    return getattr(item.obj, "__func__", item.obj), "_hypothesis_internal_use_settings"
