"""The folders in which runs leave what they found: ``runs/<name>/<UTC>/``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from emulator.clock import Clock

RUNS: Final = Path("runs")
_MOST: Final = 1000


class NoFolderError(RuntimeError):
    """A thousand runs began in one second; the message names them."""


def new_folder(name: str, runs: Path = RUNS) -> Path:
    """A new folder for a run, named after the time in UTC. Raises ``NoFolderError``, and OSError."""
    began = f"{Clock().now():%Y-%m-%dT%H-%M-%SZ}"
    for number in range(_MOST):
        folder = runs / name / (f"{began}-{number}" if number else began)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise NoFolderError(f"{runs / name} holds a thousand folders of {began}")
