"""What is wrong with a port, and how a path is read: for every table of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def check_port(name: str, port: int | None) -> None:
    """Raises ValueError for a number that no port has."""
    if not 0 <= (port or 0) <= 65535:
        raise ValueError(f"{name} is {port}; a port is 0 (any free one) to 65535")


def read_file(written: Any, directory: Path) -> Any:
    """The path of a file, seen from the directory; an empty text names none."""
    return (directory / written if written else None) if isinstance(written, str) else written
