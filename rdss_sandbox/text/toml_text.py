"""TOML that a person wrote."""

from __future__ import annotations

import tomllib
from typing import Any


def read_toml(text: str) -> dict[str, Any]:
    """Parse a document. Raises ``tomllib.TOMLDecodeError``, also for values too deep within each other."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("its values are too deep within each other") from None
