"""The image of the emulator: built from the checkout, or from what the wheel has."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from sandbox.profiles.in_process import CannotStartError
from sandbox.profiles.stack_files import provide_compose_file

_TARGET: Final = "emulator"
_STANDARD_ERROR: Final = 2


def build(tag: str) -> None:
    """Build the image under this tag; what the builder says is on standard error. Raises CannotStartError."""
    if shutil.which("docker") is None:
        raise CannotStartError("there is no docker command: install Docker Engine or Docker Desktop")
    with tempfile.TemporaryDirectory(prefix="rdss-sandbox-") as folder:
        context = provide_compose_file(Path(folder)).parents[1]
        file = context / "compose" / "Dockerfile"
        ran = subprocess.run(
            ["docker", "build", "--file", file, "--target", _TARGET, "--tag", tag, context],
            stdin=subprocess.DEVNULL,
            stdout=_STANDARD_ERROR,
            check=False,
        )
    if ran.returncode != 0:
        raise CannotStartError(
            f"docker build ended with exit code {ran.returncode}; see sandbox doctor compose"
        )
