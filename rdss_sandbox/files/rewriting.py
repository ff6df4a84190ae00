"""Files that are replaced whole: a crash, or a full disk, leaves the old content or the new one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

DRAFT: Final = ".draft"
"""The suffix of a file that has not taken its place yet. Nothing reads one that a crash left."""
_MODE: Final = 0o600


@contextmanager
def rewriting(path: Path, *, fsync: bool = True) -> Iterator[Path]:
    """Give an empty draft, private to the user, and put it in the place of ``path`` when the block ends.

    After an error the draft is removed. With ``fsync`` the new content survives loss of power.
    """
    # Two processes that rewrite one file must not write into one draft.
    draft = path.with_name(f"{path.name}.{os.getpid()}{DRAFT}")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE))
        yield draft
        put_in_place(draft, path, fsync=fsync)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def put_in_place(draft: Path, path: Path, *, fsync: bool = True) -> None:
    """Give a finished draft the name ``path``. With ``fsync`` it survives loss of power."""
    if fsync:
        _sync(draft)
    draft.replace(path)
    if fsync:
        sync_folders(path, levels=1)


def sync_folders(path: Path, *, levels: int) -> None:
    """Return when the names of ``path`` and of ``levels - 1`` folders above it survive loss of power."""
    for folder in path.parents[:levels]:
        _sync(folder)


def remove_drafts(folder: Path) -> None:
    """Remove the drafts in a folder, whose processes are gone."""
    for draft in folder.glob(f"*{DRAFT}"):
        draft.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
