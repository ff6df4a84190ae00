"""The certifications that an agent started: commands of their own, which end with the server."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rdss_sandbox.shapes.certificate import FILE

_PRINTED: Final = "printed.txt"
_LAST_LINES: Final = 20
_END_SECONDS: Final = 10.0


class CertificationFailedError(RuntimeError):
    """A command ended without what was asked of it; the text is what it printed last."""


class StartedCertifications:
    """The commands that were started, by the folders of their certificates."""

    def __init__(self) -> None:
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}

    def begin(self, folder: Path, command: Sequence[str]) -> None:
        """Start a command that writes its certificate into the folder, and prints there. Raises OSError."""
        with (folder / _PRINTED).open("wb") as printed:
            self._processes[folder] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT
            )

    def wait(self, folder: Path, seconds: float) -> list[str] | None:
        """Wait until the command of a folder ends, if one runs, or until so much time has passed.

        Returns the last lines that it printed where it still runs. Raises ``CertificationFailedError`` where
        it ended without a certificate.
        """
        if (process := self._processes.get(folder)) is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        running = process.poll() is None
        if not running and (folder / FILE).exists():
            return None
        printed = (folder / _PRINTED).read_text(encoding="utf-8", errors="replace").splitlines()
        if running:
            return printed[-_LAST_LINES:]
        last = printed[-1] if printed else f"it ended with exit code {process.returncode}"
        raise CertificationFailedError(last)

    def end(self) -> None:
        """End those that still run, with the clients that they started."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
