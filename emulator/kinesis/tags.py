"""What tags may be: which characters are in them, and how many a stream or consumer has."""

from __future__ import annotations

import re
from collections.abc import Iterable

from emulator.kinesis.errors import invalid_argument

MAX_TAGS = 50
# "White space" of AWS's message is the blank: tabs and new lines are refused.
_VALID = r"[\w\u00C0-\u1FFF\u2C00-\uD7FF ./:=+\-@%]*"


def require_tags(name: str, account: str, tags: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    """``tags`` and ``more`` of them together. Raises InvalidArgumentException when they may not be."""
    _require_characters((*more.keys(), *more.values()), f"add tags to stream {name} under account {account}")
    together = tags | more
    if len(together) > MAX_TAGS:
        raise invalid_argument(
            f"Failed to add tags to stream {name} under account {account} because a given stream cannot have "
            f"more than {MAX_TAGS} tags associated with it."
        )
    return together


def without(name: str, account: str, tags: dict[str, str], keys: list[str]) -> dict[str, str]:
    """``tags`` without those ``keys``. Raises InvalidArgumentException for keys that no tag can have."""
    _require_characters(keys, f"remove tags from stream {name} under account {account}")
    return {key: value for key, value in tags.items() if key not in keys}


def _require_characters(texts: Iterable[str], deed: str) -> None:
    given = tuple(texts)
    if not all(re.fullmatch(_VALID, text) for text in given):
        raise invalid_argument(
            "Some tags contain invalid characters. Valid characters: "
            "Unicode letters, digits, white space, _ . / = + - % @ :."
        )
    # Valid says the first check of AWS, and then the second refuses it.
    if any("%" in text for text in given):
        raise invalid_argument(
            f"Failed to {deed} because some tags contained illegal characters. The allowed characters are "
            "Unicode letters, white-spaces, '_',',','/','=','+','-','@',':'."
        )
