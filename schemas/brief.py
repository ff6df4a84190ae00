"""Short forms of values for messages to people."""

from __future__ import annotations

import json
from typing import Final

SHOWN: Final = 80
"""The most characters of a value that are shown."""


def show(value: object) -> str:
    """A value as JSON, cut short; an object or array only by its kind, since it may be nested very deep.

    >>> show("a"), show([1])
    ('"a"', 'an array')
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"
