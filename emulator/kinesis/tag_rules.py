"""The rules for tags: valid characters, and how many a stream or consumer can have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from emulator.kinesis.errors import invalid_argument

MAX_TAGS = 50
# "White space" in AWS's message is the blank only: tabs and newlines are refused.
_VALID = r"[\w\u00C0-\u1FFF\u2C00-\uD7FF ./:=+\-@%]*"


def add_tags(name: str, account: str, tags: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    """Return ``tags`` with ``more`` added. Raises InvalidArgumentException when they break the rules."""
    _require_characters((*more.keys(), *more.values()), f"add tags to stream {name} under account {account}")
    together = tags | more
    if len(together) > MAX_TAGS:
        raise invalid_argument(
            f"Failed to add tags to stream {name} under account {account} because a given stream cannot have "
            f"more than {MAX_TAGS} tags associated with it."
        )
    return together


def remove_tags(name: str, account: str, tags: dict[str, str], keys: list[str]) -> dict[str, str]:
    """Return ``tags`` without ``keys``. Raises InvalidArgumentException for keys that no tag can have."""
    _require_characters(keys, f"remove tags from stream {name} under account {account}")
    return {key: value for key, value in tags.items() if key not in keys}


def _require_characters(texts: Iterable[str], action: str) -> None:
    given = tuple(texts)
    if not all(re.fullmatch(_VALID, text) for text in given):
        raise invalid_argument(
            "Some tags contain invalid characters. Valid characters: "
            "Unicode letters, digits, white space, _ . / = + - % @ :."
        )
    # AWS's first message names "%" as valid, and its second check refuses it.
    if any("%" in text for text in given):
        raise invalid_argument(
            f"Failed to {action} because some tags contained illegal characters. The allowed characters are "
            "Unicode letters, white-spaces, '_',',','/','=','+','-','@',':'."
        )
