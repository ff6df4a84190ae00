"""An attempt: the client is started in a lab, and started again after each of its deaths."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from math import inf
from pathlib import Path
from typing import Final, NamedTuple, Self

from emulator.clock import Clock, stopwatch
from emulator.machine.marked_processes import kill_marked
from emulator.rng import new_uuid
from sandbox.certify.client_process import ClientProcess
from sandbox.certify.history import Life, Statement
from sandbox.certify.kill_moments import measure_pause
from sandbox.certify.lab import Lab
from sandbox.certify.silence import Silence
from sandbox.certify.stages import Stage
from sandbox.certify.told_lines import ReadLine

_LOOK_SECONDS: Final = 0.05
_QUIET_SECONDS: Final = 0.5
_MOST_QUIET_SECONDS: Final = 2.0
_MOST_EARLY_ENDS: Final = 8
_HUNG: Final = 3
_SHORTEST_LIFE: Final = 0.5
_MOST_TOLD: Final = 100
_STAGE_PATIENCES: Final = 15
_RUN_PATIENCES: Final = 75
_VAIN_PATIENCES: Final = 9
_LEASE_SECONDS: Final = 240.0
"""The default KCL 3 needs 201 s until it reads again after a SIGKILL: two minutes of that are one lease."""


class KillMoment(Enum):
    """A moment in a message's life at which the client may be killed."""

    PUT = "put"
    TOLD = "told"


class Client(NamedTuple):
    """What is tried: the command, how its output is read, and its patience in seconds (see ``Silence``)."""

    command: tuple[str, ...]
    read_line: ReadLine
    patience: float


class Bounds(NamedTuple):
    """How long a stage and a run last at most, and how long a client is waited for in vain, in seconds."""

    stage: float = inf
    run: float = inf
    vain: float = inf

    @classmethod
    def of(cls, patience: float, run: float | None = None) -> Bounds:
        """The bounds of a certificate for a client of this patience; ``run`` is an earlier end of the run."""
        longest = _RUN_PATIENCES * patience if run is None else run
        return cls(_STAGE_PATIENCES * patience, longest, _VAIN_PATIENCES * patience)


UNBOUNDED: Final = Bounds()


class ClientGivesUpError(Exception):
    """The client ends by itself again and again."""


class Attempt:
    """Starts, kills and listens to one client while its context lasts.

    ``directory`` holds the client's state, which outlives its restarts. ``waits_for_leases`` tells whether
    the client may only be waiting for leases to run out.
    """

    def __init__(
        self,
        client: Client,
        lab: Lab,
        directory: Path,
        more: Mapping[str, str] | None = None,
        bounds: Bounds = UNBOUNDED,
    ) -> None:
        self.lab = lab
        self.waits_for_leases: Callable[[], bool] = lambda: False
        self._bounds = bounds
        self._silence = Silence(lab.history, client.patience)
        self._client = client
        self._directory = directory
        self._more = dict(more or {})
        self._process: ClientProcess | None = None
        self._stage: Stage | None = None
        self._early_ends = 0
        self._tellings: Counter[str] = Counter()
        self._lines = 0
        self._deaths: dict[tuple[KillMoment, str], tuple[signal.Signals, float]] = {}
        self._struck: signal.Signals | None = None
        self._starting = threading.Lock()
        self._mark = new_uuid()
        self._began = self._entered = stopwatch()
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._vain = 0.0
        self._impatient = False
        lab.listen = self._listen

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind, not even one that an interruption kept from being known here."""
        kill_marked(self._mark)

    def enter(self, stage: Stage) -> None:
        """Begin a stage, or go on with it: a producer works at several in turn."""
        now = stopwatch()
        if self._stage is not None:
            self._spent[self._stage.name] += now - self._entered
        self._stage, self._entered = stage, now
        self._impatient = False
        self.lab.begin_stage(stage.name, stage.level)

    def leave(self) -> None:
        """End a stage: what the client has not done by now, it has not done in time."""
        if self._stage is not None:
            self.lab.end_stage(self._stage.name, impatient=self._impatient)
        self._spent.clear()

    @property
    def overdue(self) -> bool:
        """Whether the present stage has had all of its time."""
        return self._stage is not None and (
            self._spent[self._stage.name] + stopwatch() - self._entered > self._bounds.stage
        )

    @property
    def worn_out(self) -> bool:
        """Whether the client was waited for in vain so long that no other stage is worth beginning."""
        return self._vain > self._bounds.vain or stopwatch() - self._began > self._bounds.run

    def start(self) -> None:
        """Start the client. Raises ``ClientNotStartedError``."""
        lab, number = self.lab, len(self.lab.history.lives)
        self._struck = None
        lab.add(lab.history.lives, Life(number, lab.now))
        environment = {
            # The caller's environment without what would lead an AWS client elsewhere.
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            **lab.environment,
            "SANDBOX_STATE_DIR": str(self._directory),
            **self._more,
        }
        with self._starting:
            self._process = ClientProcess(
                self._client.command,
                environment,
                Path.cwd(),
                lambda line: self._hear(line, number),
                self._mark,
            )

    def pause(self) -> None:
        """Stop the client with SIGSTOP, wherever it is."""
        if self._process is not None:
            self._process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a client that was stopped go on."""
        if self._process is not None:
            self._process.signal(signal.SIGCONT)

    def kill(self, end: str = "SIGKILL") -> None:
        """End the client with SIGKILL, wherever it is; the history calls it an ``end`` of its own."""
        if self._process is None:
            return
        if self._process.code is None:
            self._process.kill()
        if self._process.code == -signal.SIGKILL:
            self._close_life(end)
        else:
            self._note_early_end()

    def replace(self) -> None:
        """Start the client anew, so that the next stage is not judged by what this one did to it."""
        self.kill("replaced")
        if self.lab.remove_poison():
            self._early_ends = 0
        self.start()

    def end(self) -> None:
        """End the client with SIGTERM."""
        if self._process is None:
            return
        if self._process.code is not None:
            self._note_early_end()
            return
        orderly = self._process.end()
        self._close_life("SIGTERM" if orderly else "hung")

    def wait(self, until: Callable[[], bool]) -> bool:
        """Wait until the history is so; return False when before that the client is silent, or time is up.

        A client that ended by itself is started again. Raises ``ClientGivesUpError`` the ninth time.
        """
        self._silence.begin()
        while not self.lab.wait(_LOOK_SECONDS, until):
            if self._process is None or self._process.code is not None:
                self.revive()
            leases = self.waits_for_leases()
            if self._silence.lasts(leases=leases):
                self._vain += self._silence.seconds()
                self._impatient |= leases and self._silence.seconds() < _LEASE_SECONDS
                return False
            if self.worn_out or self.overdue:
                self._impatient = True
                return False
        return True

    def wait_for_rest(self) -> None:
        """Wait until the client has asked for more wherever it got something: it has nothing in hand.

        One that keeps something is not waited for longer than its patience.
        """
        self.lab.wait(self._client.patience, self._silence.rests)

    def wait_for_quiet(self) -> None:
        """Wait until the client has asked for nothing for half a second; one that polls, for two seconds."""
        began = stopwatch()
        while stopwatch() - max(began, self.lab.requested_at) < _QUIET_SECONDS:
            if stopwatch() - began > _MOST_QUIET_SECONDS:
                return
            Clock().wait(_LOOK_SECONDS)

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

    def plan_death(
        self, number: signal.Signals, moment: KillMoment, message_id: str, part: float = 0.0
    ) -> None:
        """Send the client a signal as soon as this message is put, before the answer, or is told.

        It comes later by ``part`` of the pause that this producer makes between a telling and a put.
        """
        self._deaths[moment, message_id] = number, part

    def strike_when(self, moment: KillMoment, ids: Iterable[str]) -> None:
        """Send the signal that was planned for this moment of one of these messages, once; open the gate."""
        for message_id in ids:
            # A large batch has several of these messages: the others are for later starts.
            # What a dead process had put is still read after its end, and is no moment of the next one.
            if self._process is None or not self._lives:
                return
            number, part = self._deaths.pop((moment, message_id), (None, 0.0))
            if number is None:
                continue
            if not part:
                self._strike(self._process, number)
                continue
            later = threading.Timer(
                part * measure_pause(self.lab.history), self._strike, (self._process, number)
            )
            later.daemon = True
            later.start()

    @property
    def _lives(self) -> bool:
        """Whether the client runs, and no signal of a plan is on its way to it."""
        return self._process is not None and self._process.code is None and self._struck is None

    def _strike(self, process: ClientProcess, number: signal.Signals) -> None:
        if process is self._process and self._struck is None:
            self._struck = number
            process.signal(number)
        self.lab.gate.open()

    def plans_death(self, moment: KillMoment, ids: Iterable[str]) -> bool:
        """Whether the client that runs gets a signal at this moment of one of these messages."""
        return self._lives and any((moment, message_id) in self._deaths for message_id in ids)

    def wait_for_end(self) -> int | None:
        """Wait until the client ends; return its exit code, None for a death that was planned.

        One that is silent is ended, and one whose stage is overdue.
        """
        process = self._process
        assert process is not None
        self._silence.begin()
        while not self.lab.wait(_LOOK_SECONDS, lambda: process.code is not None):
            silent = self._silence.lasts(reads=False) or self.worn_out
            if (silent or self.overdue) and process.code is None:
                self._vain += self._silence.seconds()
                self._early_ends += _HUNG * silent
                self._impatient = not silent
                self.lab.gate.open()
                self.end()
                return None
        # A message that was told while its client died is put no more, and nothing else would open the gate.
        self.lab.gate.open()
        process.finish()
        code, struck = process.code, self._struck
        # A signal that came too late, to a process that had ended, is no death that was planned.
        if struck is not None and (struck is not signal.SIGKILL or code == -struck):
            self._close_life(struck.name)
            return None
        self._close_life("itself")
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

    def _listen(self) -> None:
        """Take note of what the client has told so far."""
        # A quick client works before a busy machine has come to the end of its start.
        with self._starting:
            process = self._process
        if process is not None:
            process.listen()

    def _hear(self, line: str, life: int) -> None:
        lab = self.lab
        self._lines += 1
        for statement in self._client.read_line(line):
            # What a client tells without end must not fill this process.
            if statement.message_id not in lab.known or self._tellings[statement.message_id] >= _MOST_TOLD:
                continue
            self._tellings[statement.message_id] += 1
            lab.add(
                lab.history.told,
                Statement(statement.message_id, lab.now, life, statement.digest, self._lines),
            )
            self.strike_when(KillMoment.TOLD, (statement.message_id,))
