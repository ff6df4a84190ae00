"""The folders of recorded runs: ``runs/<name>/<UTC>/``, with the link ``latest`` to the last one."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from emulator.clock import Clock

RUNS: Final = Path("runs")
LATEST: Final = "latest"
_MOST: Final = 1000


class NoFolderError(RuntimeError):
    """A thousand runs started in the same second; the message names them."""


def new_folder(name: str, runs: Path = RUNS) -> Path:
    """Create a folder for a run, named after the time in UTC. Raises ``NoFolderError`` and OSError."""
    began = f"{Clock().now():%Y-%m-%dT%H-%M-%SZ}"
    for number in range(_MOST):
        folder = runs / name / (f"{began}-{number}" if number else began)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            # Private to the user: it will hold messages.
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise NoFolderError(f"{runs / name} holds a thousand folders of {began}")


def point_latest(folder: Path) -> None:
    """Point the link ``latest`` beside a run's folder to it; on a file system without links, do nothing."""
    link = folder.with_name(LATEST)
    new = folder.with_name(f".{LATEST}-{folder.name}")
    with contextlib.suppress(OSError):
        new.symlink_to(folder.name, target_is_directory=True)
        new.replace(link)
