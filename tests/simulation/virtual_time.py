"""Tasks that one seed puts in order, on a clock that nothing but them moves.

A task is a generator: what it does between two yields is one step, and it yields the seconds until its next.
Whoever waits on the clock lets the others go on meanwhile, and so does whoever asks another process: a step
is cut in two wherever a real thread could lose its turn between two calls. Steps nest for that, so that the
code under test stays as it is, blocking and without threads of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final, TypeAlias

from emulator.clock import Clock
from emulator.rng import Draws

STARTED_AT: Final = 1_780_000_000.0
_DEEPEST: Final = 6
"""Tasks that wait within one another."""
_AHEAD_SECONDS: Final = 1.0
_SWITCHES: Final = 0.25
Steps: TypeAlias = Generator[float, None, None]


@dataclass(slots=True, eq=False)
class SeededTask:
    """A task, and when its next step is due by the clock."""

    name: str
    steps: Steps
    due: float
    in_step: bool = False


class SeededTasks:
    """Runs the steps of tasks one at a time, the one that is due first; a draw decides between equals."""

    def __init__(self, draws: Draws) -> None:
        self.clock: Clock = VirtualClock(self)
        self.taken = 0
        self._draws = draws
        self._tasks: list[SeededTask] = []
        self._depth = 0

    def add(self, name: str, steps: Steps) -> None:
        self._tasks.append(SeededTask(name, steps, self.clock.elapsed() + self._draws.random()))

    def end(self) -> None:
        """End every task, wherever it is."""
        self._tasks.clear()

    def run(self, steps: int) -> None:
        """Take so many steps; fewer where every task ends before."""
        until = self.taken + steps
        while self.taken < until and self.step():
            pass

    def step(self, until: float | None = None) -> bool:
        """Take the next step, of those that are due by ``until``; return False where there is none."""
        waiting = [task for task in self._tasks if not task.in_step]
        task = min(waiting, key=lambda each: each.due, default=None)
        if task is None or (until is not None and task.due > until):
            return False
        if task.due > (now := self.clock.elapsed()):
            self.clock.advance(task.due - now)
        self.taken += 1
        self._depth += 1
        task.in_step = True
        try:
            task.due = self.clock.elapsed() + next(task.steps) + self._draws.random() / 1000
        except StopIteration:
            if task in self._tasks:
                self._tasks.remove(task)
        finally:
            task.in_step = False
            self._depth -= 1
        return True

    def let_others_go_on(self) -> None:
        """Now and then take a step of another task, as if this one had lost its turn."""
        if self._depth < _DEEPEST and self._draws.random() < _SWITCHES:
            self.step(self.clock.elapsed() + _AHEAD_SECONDS)

    def pass_time(self, seconds: float, cancelled: Callable[[], bool]) -> None:
        """Let the others go on until ``seconds`` have passed, or whoever waits is ``cancelled``."""
        deadline = self.clock.elapsed() + max(seconds, 0.0)
        if self._depth < _DEEPEST:
            while not cancelled() and self.step(deadline):
                pass
        if not cancelled() and (left := deadline - self.clock.elapsed()) > 0:
            self.clock.advance(left)


class VirtualClock(Clock):
    """The clock of a simulation: it stands still but for what is waited for."""

    def __init__(self, tasks: SeededTasks) -> None:
        super().__init__(frozen_at=STARTED_AT)
        self._tasks = tasks

    def wait(self, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> bool:
        self._tasks.pass_time(seconds, cancelled)
        return not cancelled()
