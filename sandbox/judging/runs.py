"""The folders in which runs leave what they found: ``runs/<name>/<UTC>/``, the last as ``latest``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from emulator.clock import Clock

RUNS: Final = Path("runs")
LATEST: Final = "latest"
_MOST: Final = 1000


class NoFolderError(RuntimeError):
    """A thousand runs began in one second; the message names them."""


def new_folder(name: str, runs: Path = RUNS) -> Path:
    """A new folder for a run, named after the time in UTC. Raises ``NoFolderError``, and OSError."""
    began = f"{Clock().now():%Y-%m-%dT%H-%M-%SZ}"
    for number in range(_MOST):
        folder = runs / name / (f"{began}-{number}" if number else began)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            # Messages are in it.
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise NoFolderError(f"{runs / name} holds a thousand folders of {began}")


def point_latest(folder: Path) -> None:
    """Have ``latest`` beside a run's folder lead to it; where there can be no such link, there is none."""
    link = folder.with_name(LATEST)
    new = folder.with_name(f".{LATEST}-{folder.name}")
    with contextlib.suppress(OSError):
        new.symlink_to(folder.name, target_is_directory=True)
        new.replace(link)
