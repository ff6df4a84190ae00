"""Files and directories for nobody but this user: there are messages in them, and tokens."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600
UMASK: Final = 0o077
"""For processes all of whose files are private."""


def make_directory(path: Path) -> None:
    """Make it where it is not there, and close it where it is open to others. OSError when it cannot be."""
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    _close(path)


def close_tree(path: Path) -> None:
    """Close what an earlier version left open to others: a file, or a directory with all that is in it."""
    _close(path)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            _close(Path(folder, name))


def touch(path: Path) -> Path:
    """Have the file there, for a library that would make it for everybody; the path again."""
    path.touch(mode=FILE_MODE)
    return path


def _close(path: Path) -> None:
    # What is another user's is for them to close; what a link leads to is not of this directory.
    with suppress(OSError):
        if not path.is_symlink() and (mode := stat.S_IMODE(path.stat().st_mode)) & UMASK:
            path.chmod(mode & ~UMASK)
