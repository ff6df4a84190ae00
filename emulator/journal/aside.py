"""Putting unusable files aside, where a person can look at them. Nothing is deleted."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

FOLDER: Final = "put-aside"


def put_aside(path: Path, root: Path) -> Path:
    """Move ``path``, a file or a folder, into ``root``'s folder for such files and return its new path.

    ``streams/state.log`` becomes ``put-aside/1/streams/state.log``, or the next number that is free.
    """
    inside = path.relative_to(root)
    for number in itertools.count(1):
        to = root / FOLDER / str(number) / inside
        if not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            path.rename(to)
            return to
    raise AssertionError("numbers do not end")
