"""The object id in the body of a message, found by a JSON Pointer (RFC 6901)."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)+")
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")


def is_pointer(text: str) -> bool:
    """Whether the text is a pointer to something below the whole document."""
    return _POINTER.fullmatch(text) is not None


def find_object_id(body: bytes, pointer: str) -> str | None:
    """The text or the whole number that the pointer leads to; None when it leads to nothing of the kind."""
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and _INDEX.fullmatch(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return str(found) or None
