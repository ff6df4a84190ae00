"""An attempt of a handler: its processes come and go as Lambda has them, and time passes while it rests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from emulator.clock import Clock
from extensions.functions.verdict.handler_lab import HandlerLab
from sandbox.certify.attempt import UNBOUNDED, Attempt, Bounds, Client
from sandbox.certify.client_process import ClientNotStartedError
from sandbox.certify.history import TIMED_OUT, Life

_LOOK_SECONDS: Final = 0.05
_QUIET_SECONDS: Final = 0.25
_PASSING_SECONDS: Final = 31.0
"""More than a mapping pauses before a retry."""
_MOST_IN_VAIN: Final = 12


class HandlerAttempt(Attempt):
    """Deploys a handler, and ends its processes. Each death of one begins another start."""

    def __init__(
        self,
        client: Client,
        lab: HandlerLab,
        directory: Path,
        more: Mapping[str, str] | None = None,
        bounds: Bounds = UNBOUNDED,
    ) -> None:
        super().__init__(client, lab, directory, more, bounds)
        self._handler_lab = lab
        self._variables = {"SANDBOX_STATE_DIR": str(directory), **(more or {})}
        lab.on_line = lambda line: self._hear(line, lab.life)
        lab.on_time_out = lambda: self._begin_again(TIMED_OUT)

    def start(self) -> None:
        """Begin a start; deploy the handler at the first. Raises ``ClientNotStartedError``."""
        lives = self.lab.history.lives
        if not lives or lives[-1].ended is not None:
            self._begin_life()
        if len(lives) == 1:
            self._handler_lab.deploy({**self._handler_lab.environment, **self._variables})

    def kill(self, end: str = "SIGKILL") -> None:
        """Kill a process with an invocation, or all that wait for one."""
        self._handler_lab.kill()
        self._begin_again(end)

    def replace(self) -> None:
        """End every process, so that the next stage is not judged by what this one did to it."""
        self._handler_lab.end_environments()
        self._begin_again("replaced")

    def end(self) -> None:
        """End every process between two invocations."""
        self._handler_lab.end_environments()
        self._end_life("SIGTERM")

    def leave(self) -> None:
        self._handler_lab.note_given_up()
        super().leave()

    def wait(self, until: Callable[[], bool]) -> bool:
        """Wait until the history is so, and let time pass whenever nothing is invoked.

        Returns False when nothing comes any more, or time is up. Raises ``ClientNotStartedError`` for a
        handler that cannot be loaded.
        """
        lab, in_vain, news = self._handler_lab, 0, self._handler_lab.news
        while not lab.wait(_LOOK_SECONDS, until):
            if lab.broken:
                raise ClientNotStartedError(f"{self._client.command[0]} cannot be loaded: {lab.broken}")
            if self.worn_out or self.overdue:
                self._impatient = True
                return False
            if lab.news != news:
                in_vain, news = 0, lab.news
            if lab.seconds_quiet() < _QUIET_SECONDS:
                continue
            lab.note_given_up()
            if in_vain == _MOST_IN_VAIN or not lab.owes():
                return until()
            lab.pass_time(_PASSING_SECONDS)
            in_vain += 1
        return True

    def wait_for_rest(self) -> None:
        """Wait until nothing is invoked, for no longer than the client's patience."""
        clock = Clock()
        until = clock.elapsed() + self._client.patience
        while self._handler_lab.seconds_quiet() < _QUIET_SECONDS and clock.elapsed() < until:
            clock.wait(_LOOK_SECONDS)

    def _begin_again(self, end: str) -> None:
        if self.lab.history.lives[-1].ended is None:
            self._end_life(end)
            self._begin_life()

    def _begin_life(self) -> None:
        lab = self.lab
        lab.add(lab.history.lives, Life(len(lab.history.lives), lab.now))

    def _end_life(self, end: str) -> None:
        life = self.lab.history.lives[-1]
        life.ended, life.end, life.level = self.lab.now, end, self.lab.level
        if self._stage is not None:
            life.stage, life.clause = self._stage.name, self._stage.clause
