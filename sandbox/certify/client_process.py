"""The client's process: it is started, listened to, killed with all of its children, and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from emulator.machine.marked_processes import add_mark, kill_marked
from emulator.rng import new_uuid
from rdss_sandbox.machine.watchdog import start_watchdog, stop_watchdog
from sandbox.certify.line_reader import LineReader

_LAST_LINES: Final = 20
_LAST_CHARACTERS: Final = 500
_END_SECONDS: Final = 10.0
_DRAIN_SECONDS: Final = 2.0


class ClientNotStartedError(Exception):
    """The command cannot be started; the text names it and says why."""


class ClientProcess:
    """One start of the command, in a process group of its own.

    ``on_line`` gets each line of its standard output, on a thread of this object.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        on_line: Callable[[str], None],
        mark: str | None = None,
    ) -> None:
        """Start the command. Raises ``ClientNotStartedError``.

        The processes that it starts carry ``mark``, by default one of their own; see ``kill_marked``.
        """
        self._mark = mark or new_uuid()
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        try:
            self._process = subprocess.Popen(
                command,
                # A line that Python keeps in a buffer dies with the process, although it was told.
                env={**add_mark(environment, self._mark), "PYTHONUNBUFFERED": "1"},
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ClientNotStartedError(f"{command[0]} cannot be started: {why}") from error
        self._watchdog = start_watchdog(-self._process.pid)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._out = LineReader(self._process.stdout, on_line)
        self._errors = LineReader(self._process.stderr, self._last.append)

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def last_lines(self) -> tuple[str, ...]:
        """The last lines that it wrote to standard error."""
        return tuple(line[:_LAST_CHARACTERS] for line in tuple(self._last))

    def listen(self) -> None:
        """Hand over every whole line that it has written to standard output so far."""
        self._out.drain()

    def kill(self) -> None:
        """Kill it and all that it started, with SIGKILL."""
        self.signal(signal.SIGKILL)
        self.finish()

    def end(self) -> bool:
        """Ask it to end with SIGTERM; return False when it had to be killed after ten seconds."""
        self.signal(signal.SIGTERM)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        self.finish()
        return True

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to all that it started."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return

    def finish(self) -> None:
        """Clear up after its end: read the rest of its output, and kill what it left running."""
        readers = (self._out, self._errors)
        for reader in readers:
            reader.join(_DRAIN_SECONDS / 2)
        self.signal(signal.SIGKILL)
        kill_marked(self._mark)
        self._process.wait()
        for reader in readers:
            reader.join(_DRAIN_SECONDS)
            reader.close()
        stop_watchdog(self._watchdog)


def check_command(command: Sequence[str]) -> None:
    """Raise ``ClientNotStartedError`` where there is no such program; nothing is started."""
    if shutil.which(command[0]) is None:
        raise ClientNotStartedError(f"{command[0]} cannot be started: there is no such program")
