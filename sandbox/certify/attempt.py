"""An attempt: the client is started in a lab, and started again after each of its deaths."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple, Self

from emulator.clock import Clock, stopwatch
from emulator.rng import new_uuid
from sandbox.certify import lab as streams
from sandbox.certify.client_process import ClientProcess, kill_marked
from sandbox.certify.history import Life, Told
from sandbox.certify.lab import Lab
from sandbox.certify.stages import Stage
from sandbox.certify.told_lines import ReadLine

_LOOK_SECONDS: Final = 0.05
_MOST_EARLY_ENDS: Final = 8
_SHORTEST_LIFE: Final = 0.5


class Moment(Enum):
    """A moment in a message's life at which the client may be killed."""

    PUT = "put"
    TOLD = "told"


class Client(NamedTuple):
    """What is tried: the command, how its output is read, and how long it may be silent, in seconds."""

    command: tuple[str, ...]
    read_line: ReadLine
    patience: float


class ClientGivesUpError(Exception):
    """The client ends by itself again and again."""


class Attempt:
    """Starts, kills and listens to one client while its context lasts.

    ``directory`` holds the client's state, which outlives its restarts.
    """

    def __init__(
        self, client: Client, lab: Lab, directory: Path, more: Mapping[str, str] | None = None
    ) -> None:
        self.lab = lab
        self.patience = client.patience
        self._client = client
        self._directory = directory
        self._more = dict(more or {})
        self._process: ClientProcess | None = None
        self._stage: Stage | None = None
        self._early_ends = 0
        self._deaths: dict[tuple[Moment, str], signal.Signals] = {}
        self._struck = ""
        self._mark = new_uuid()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind, not even one that an interruption kept from being known here."""
        kill_marked(self._mark)

    def enter(self, stage: Stage) -> None:
        """Begin a stage."""
        self._stage = stage
        self.lab.begin_stage(stage.name, stage.level)

    def start(self) -> None:
        """Start the client. Raises ``ClientNotStartedError``."""
        lab, number = self.lab, len(self.lab.history.lives)
        lab.life = number
        lab.note(lambda history: history.lives.append(Life(number, lab.now)))
        self._process = ClientProcess(
            self._client.command,
            {**_inherited(), **client_environment(lab, self._directory), **self._more},
            Path.cwd(),
            lambda line: self._hear(line, number),
            self._mark,
        )

    def kill(self) -> None:
        """End the client with SIGKILL, wherever it is."""
        if self._process is not None and self._process.code is None:
            self._process.kill()
            self._close_life("SIGKILL")

    def end(self) -> None:
        """End the client with SIGTERM."""
        if self._process is None:
            return
        if self._process.code is not None:
            self._note_early_end()
            return
        orderly = self._process.end()
        self._close_life("SIGTERM" if orderly else "hung")

    def wait(self, until: Callable[[], bool], patience: float | None = None) -> bool:
        """Wait until the history is so, or nothing has come from the client for ``patience`` seconds.

        A client that ended by itself is started again. Raises ``ClientGivesUpError`` the ninth time.
        """
        patience = self.patience if patience is None else patience
        seen, silent_since = -1, stopwatch()
        while not self.lab.wait(_LOOK_SECONDS, until):
            if self._process is None or self._process.code is not None:
                self.revive()
            told = len(self.lab.history.told)
            if told != seen:
                seen, silent_since = told, stopwatch()
            if stopwatch() - silent_since > patience:
                return False
        return True

    def revive(self) -> None:
        """Start the client again when it ended by itself. Raises ``ClientGivesUpError``."""
        if self._process is not None and self._process.code is None:
            return
        if self._process is not None:
            self._note_early_end()
            if self.gave_up:
                raise ClientGivesUpError
            Clock().wait(_SHORTEST_LIFE)
        self.start()

    def plan_death(self, number: signal.Signals, moment: Moment, message_id: str) -> None:
        """Send the client a signal as soon as this message is put, before the answer, or is told."""
        self._deaths[moment, message_id] = number

    def strike_when(self, moment: Moment, ids: Iterable[str]) -> None:
        """Send the signal that was planned for this moment of one of these messages, once."""
        for message_id in ids:
            number = self._deaths.pop((moment, message_id), None)
            if number is not None and self._process is not None:
                self._struck = number.name
                self._process.signal(number)

    def wait_for_end(self) -> int | None:
        """Wait until the client ends; return its exit code, None for a death that was planned.

        One that does nothing for the time of its patience is ended.
        """
        assert self._process is not None
        seen, silent_since = -1, stopwatch()
        while not self.lab.wait(_LOOK_SECONDS, lambda: self._process.code is not None):  # type: ignore[union-attr]
            done = len(self.lab.history.told) + len(self.lab.history.exchanges)
            if done != seen:
                seen, silent_since = done, stopwatch()
            if stopwatch() - silent_since > self.patience:
                self._early_ends += 1
                self.end()
                return None
        planned, self._struck = self._struck, ""
        self._process.finish()
        code = self._process.code
        self._close_life(planned or "itself")
        if planned:
            return None
        self._early_ends += code != 0
        return code

    @property
    def gave_up(self) -> bool:
        """Whether the client has failed, or done nothing, too often to be started once more."""
        return self._early_ends > _MOST_EARLY_ENDS

    def _note_early_end(self) -> None:
        self._early_ends += 1
        assert self._process is not None
        self._process.finish()
        self._close_life("itself")

    def _close_life(self, end: str) -> None:
        process, life = self._process, self.lab.history.lives[-1]
        assert process is not None
        life.ended, life.end, life.code = self.lab.now, end, process.code
        life.level, life.output = self.lab.level, process.last_lines()
        if self._stage is not None:
            life.stage, life.clause = self._stage.name, self._stage.clause
        self._process = None

    def _hear(self, line: str, life: int) -> None:
        told = self._client.read_line(line)
        if told is not None:
            lab = self.lab
            lab.note(lambda history: history.told.append(Told(told.message_id, lab.now, life, told.digest)))
            self.strike_when(Moment.TOLD, (told.message_id,))


def _inherited() -> dict[str, str]:
    """The caller's environment without what would lead an AWS client elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}


def client_environment(lab: Lab, state: Path) -> dict[str, str]:
    """The variables by which a client is told where everything is."""
    return {
        "AWS_ENDPOINT_URL": lab.endpoint,
        "AWS_ACCESS_KEY_ID": "certify",
        "AWS_SECRET_ACCESS_KEY": "certify",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "SANDBOX_CONTROL": lab.control,
        "SANDBOX_STREAM": streams.INPUT,
        "SANDBOX_OUTPUT_STREAM": streams.OUTPUT,
        "SANDBOX_ERROR_STREAM": streams.ERROR,
        "SANDBOX_INVALID_STREAM": streams.INVALID,
        "SANDBOX_STATE_DIR": str(state),
    }
