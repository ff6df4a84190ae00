"""Putting unusable files aside, where a person can look at them. Nothing is deleted."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rdss_sandbox.files.rewriting import rewriting

FOLDER: Final = "put-aside"


def put_aside(path: Path, root: Path) -> Path:
    """Move ``path``, a file or a folder, into ``root``'s folder for such files and return its new path.

    ``streams/state.log`` becomes ``put-aside/1/streams/state.log``, or the next number that is free.
    """
    to = next(place for place in _places(path, root) if not place.exists())
    to.parent.mkdir(parents=True, exist_ok=True)
    path.rename(to)
    return to


def put_copy_aside(path: Path, root: Path) -> Path:
    """Keep the file ``path`` as it is among those put aside too, and return where. Raises OSError.

    The file itself stays until another takes its place, so that it is never missing. A second call for the
    same file finds the first copy.
    """
    to = next(place for place in _places(path, root) if not place.exists() or place.samefile(path))
    if to.exists():
        return to
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, to)
    except OSError:
        # Not every file system has a second name for a file.
        with rewriting(to) as draft:
            shutil.copyfile(path, draft)
    return to


def _places(path: Path, root: Path) -> Iterator[Path]:
    # A relative path and an absolute one may name the same file.
    inside = path.absolute().relative_to(root.absolute())
    return (root / FOLDER / str(number) / inside for number in itertools.count(1))


def list_put_aside(root: Path) -> list[Path]:
    """Return every file that was put aside below ``root``, and that nobody has removed."""
    # Streams have a folder of their own for records that their state does not name.
    folders = (root / FOLDER, *(each / FOLDER for each in sorted(root.glob("*/")) if each.name != FOLDER))
    return [
        path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*")) if path.is_file()
    ]
