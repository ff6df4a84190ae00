"""Files and directories that only this user may read, because they hold messages and tokens."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600
UMASK: Final = 0o077
"""The umask of a process whose files are all private."""


def make_directory(path: Path) -> None:
    """Create a missing directory, and make an existing one private. Raises OSError."""
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    _close(path)


def close_tree(path: Path) -> None:
    """Make a file, or a directory with everything in it, private, since earlier versions did not."""
    _close(path)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            _close(Path(folder, name))


def touch(path: Path) -> Path:
    """Create a private file for a library that would create a public one, and return the path."""
    path.touch(mode=FILE_MODE)
    return path


def _close(path: Path) -> None:
    # Another user's file cannot be changed, and the target of a link is outside this directory.
    with suppress(OSError):
        if not path.is_symlink() and (mode := stat.S_IMODE(path.stat().st_mode)) & UMASK:
            path.chmod(mode & ~UMASK)
