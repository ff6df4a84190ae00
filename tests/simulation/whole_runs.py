"""A whole run from one seed: who takes part, what fails, and whether everything held.

Each seed draws who takes part and which faults are in force: runs that leave things out find what runs with
everything in them hide. A run that breaks something is made small by leaving more out, and is told as the one
line that repeats it.
"""

from __future__ import annotations

import logging
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.kinesis import KinesisError
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.error_codes import Queue
from tests.simulation.broker_clients import BrokerClient, BrokerModel
from tests.simulation.queue_workers import ClaimModel, QueueWorker
from tests.simulation.receiver_process import ReceiverProcess, Returner
from tests.simulation.service_clients import SqsClient, SqsModel, moto_by
from tests.simulation.simulated_sandbox import ConnectionLostError, without_chance_or_threads
from tests.simulation.simulated_world import BrokenInvariantError, SimulatedWorld
from tests.simulation.stream_clients import STREAM, KeyedProducer, Resharder, StreamHistory, StreamReader
from tests.simulation.virtual_time import Steps

_ROLES: Final = (
    *("reader", "receiver", "returner", "resharder", "queues", "broker"),
    *("death", "failure", "travel", "packing", "fsync", "services", "power"),
)
"""Who takes part, beside the producers, and what befalls the sandbox."""
_FAULTS: Final = {
    "duplicate": NewFault("duplicate", toxicity=0.1),
    "redelivery": NewFault("duplicate", direction="deliver", toxicity=0.1),
    "error": NewFault("error", toxicity=0.05),
    "throttle": NewFault("throttle", toxicity=0.05),
    "disconnect": NewFault("disconnect", toxicity=0.05),
    "partial_failure": NewFault("partial_failure", toxicity=0.1),
    "latency": NewFault("latency", toxicity=0.1, attributes={"delay": 1.5}),
    "hold": NewFault(
        "latency",
        direction="deliver",
        toxicity=0.1,
        attributes={"delay": 9_000, "most": 9_000, "on": "record"},
    ),
    "reorder": NewFault("reorder", toxicity=0.1),
    "stale_read": NewFault("stale_read", toxicity=0.1),
}
_OVERTAKING: Final = {"hold", "reorder"}
_PRODUCERS: Final = 3
_LEAST_STEPS: Final = 30
_MOST_STEPS: Final = 150


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run: its seed, how many steps it has before it ends, and the roles and faults that take part."""

    seed: int
    steps: int
    parts: tuple[str, ...]

    def __str__(self) -> str:
        """The arguments of ``python -m tests.simulation`` that repeat the run."""
        return f"{self.seed} --steps {self.steps} --parts {','.join(self.parts)}"


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of a run: its event log, and the invariant that it broke, with why; both empty if it held."""

    plan: RunPlan
    lines: tuple[str, ...]
    invariant: str = ""
    why: str = ""


def plan_run(seed: int) -> RunPlan:
    """Draw who takes part in the run of a seed."""
    chance = Chance(seed)
    # A draw for each part, so that one more leaves the others as they are.
    parts = [name for name in _ROLES if chance.draws("plan", name).random() < 0.45]
    parts += [name for name in _FAULTS if chance.draws("plan", name).random() < 0.15]
    if "travel" in parts and "queues" in parts:
        # What the clock has done to a claim while nobody looked depends on who looks.
        parts.remove("queues")
    if "power" in parts and not {"death", "fsync"} <= set(parts):
        # What was answered outlives the power only with --fsync.
        parts.remove("power")
    return RunPlan(seed, chance.draws("plan").randrange(_LEAST_STEPS, _MOST_STEPS), tuple(parts))


def play(plan: RunPlan) -> RunOutcome:
    """Play a run from its beginning to its end, in this process and in no time at all."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        world = SimulatedWorld(Path(folder), Chance(plan.seed), fsync="fsync" in plan.parts)
        services = moto_by(world) if "services" in plan.parts else nullcontext()
        try:
            with _alone(world, has_power_cuts="power" in plan.parts), services:
                _Run(world, plan).play()
        except BrokenInvariantError as broken:
            return RunOutcome(plan, tuple(world.lines), broken.invariant, str(broken))
        except Exception as error:  # noqa: BLE001 -- what a client is not told of is a fault of the sandbox
            world.tell(f"BROKEN no traceback: {''.join(traceback.format_exception(error))}")
            return RunOutcome(plan, tuple(world.lines), "no traceback", repr(error))
        return RunOutcome(plan, tuple(world.lines))


def shrink(outcome: RunOutcome) -> RunOutcome:
    """The smallest run found that breaks the same invariant: fewer parts, then fewer steps."""
    for part in outcome.plan.parts:
        left = tuple(each for each in outcome.plan.parts if each != part)
        outcome = _smaller(outcome, replace(outcome.plan, parts=left))
    by = outcome.plan.steps // 2
    while by:
        fewer = _smaller(outcome, replace(outcome.plan, steps=outcome.plan.steps - by))
        outcome, by = fewer, by if fewer is not outcome and fewer.plan.steps > by else by // 2
    return outcome


def describe(outcome: RunOutcome) -> str:
    """The one line that tells of a run that broke something, and how it is repeated."""
    return f"{outcome.why} -- python -m tests.simulation {outcome.plan}"


def list_broken(seeds: Iterable[int]) -> list[str]:
    """Play the runs of seeds; return the line of each that broke something, made small."""
    played = (play(plan_run(seed)) for seed in seeds)
    return [describe(shrink(outcome)) for outcome in played if outcome.invariant]


def _smaller(found: RunOutcome, plan: RunPlan) -> RunOutcome:
    tried = play(plan)
    return tried if tried.invariant == found.invariant else found


@contextmanager
def _alone(world: SimulatedWorld, *, has_power_cuts: bool) -> Iterator[None]:
    """Give the process to the run: its disk, its chance, and nobody who listens to what it logs."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    power = world.connect_power() if has_power_cuts else nullcontext()
    try:
        with power, world.disk.installed(world.root), without_chance_or_threads(world.chance.draws("bytes")):
            yield
    finally:
        logging.disable(disabled)


class _Run:
    """One run, put together from the parts of its plan."""

    def __init__(self, world: SimulatedWorld, plan: RunPlan) -> None:
        self._world = world
        self._plan = plan
        self._parts = frozenset(plan.parts)
        self._draws = world.chance.draws("run")
        self._history = StreamHistory()
        self._producers = [KeyedProducer(world, self._history, f"key-{n}") for n in range(_PRODUCERS)]
        self._reader = StreamReader(world, self._history)
        self._receiver = ReceiverProcess(world, self._history, world.root / "receiver.sqlite3")
        self._queues = ClaimModel(world)
        self._broker = BrokerModel(world)
        self._sqs = SqsModel(world)

    def play(self) -> None:
        world = self._world
        for stream in (STREAM, *Queue):
            world.sandbox.ask(
                lambda running, name=stream: running.engine.call(
                    "CreateStream", {"StreamName": name, "ShardCount": 1 + (name == STREAM)}, DEFAULT_SCOPE
                )
            )
        if self._parts & _OVERTAKING:
            self._receiver.stay()
        world.sandbox.dies_in_starts = "death" in self._parts
        self._begin_tasks()
        world.tasks.run(self._plan.steps)
        self._end()
        self._check()

    def _begin_tasks(self) -> None:
        add, parts = self._world.tasks.add, self._parts
        for producer in self._producers:
            add("producer", producer.steps())
        for name in sorted(parts & _FAULTS.keys()):
            self._world.sandbox.faults.add(msgspec.structs.replace(_FAULTS[name], name=name))
        tasks: dict[str, Any] = {
            "reader": [self._reader.steps],
            "receiver": [self._receiver.steps],
            "returner": [Returner(self._world, self._history).steps] if "receiver" in parts else [],
            "resharder": [Resharder(self._world).steps],
            "queues": [QueueWorker(self._queues, name).steps for name in ("anna", "ben", "cleo")],
            "broker": [
                BrokerClient(self._broker, "publisher").publishing,
                BrokerClient(self._broker, "left").consuming,
                BrokerClient(self._broker, "right").consuming,
            ],
            "services": [SqsClient(self._sqs, name).steps for name in ("eve", "finn")],
            "death": [partial(self._reaping, death=True)],
            "failure": [partial(self._reaping, death=False)],
            "travel": [self._travelling],
            "packing": [self._packing],
        }
        for name in _ROLES:
            for steps in tasks.get(name, ()) if name in parts else ():
                add(name, steps())
        add("timers", self._timers())

    def _reaping(self, *, death: bool) -> Steps:
        """End the sandbox, or fail a change of its disk, again and again, each at a change of its disk."""
        disk = self._world.disk
        while not self._world.is_ending:
            yield self._draws.random() * 15
            if self._world.is_ending:
                return
            way = self._draws.random()
            if not death:
                disk.fail(self._draws.randrange(8))
            elif way < 0.2:
                self._world.sandbox.kill()
            elif way < 0.3:
                self._world.sandbox.stop()
            else:
                disk.end_after(self._draws.randrange(40))

    def _travelling(self) -> Steps:
        """Set the clock ahead beyond retention and back, as a test does that wants something to expire."""
        clock = self._world.clock
        while not self._world.is_ending:
            yield 5 + self._draws.random() * 20
            if self._world.is_ending:
                return
            before = clock.time()
            self._world.tell("travel")
            self._history.excuse()
            clock.set_time(before + 90_000)
            for _ in range(self._draws.randrange(6)):
                self._world.tasks.step()
            self._ask_quietly(lambda running: running.engine.streams(DEFAULT_SCOPE))
            self._history.excuse()
            if "death" in self._parts and self._draws.random() < 0.5:
                self._world.sandbox.kill()
            if self._draws.random() < 0.7:
                clock.set_time(clock.time() - 90_000)

    def _packing(self) -> Steps:
        while True:
            yield 1 + self._draws.random() * 5
            self._ask_quietly(lambda running: running.engine.pack())

    def _timers(self) -> Steps:
        while True:
            yield 0.5
            self._world.sandbox.faults.run_due()
            self._ask_quietly(lambda running: (running.queues.end_expired(), running.amqp.proceed()))

    def _ask_quietly(self, call: Any) -> None:
        with suppress(ConnectionLostError, OSError, KinesisError):
            self._world.sandbox.ask(call)

    def _end(self) -> None:
        """Let everybody come to an end: nothing fails any more, and faults are gone."""
        world = self._world
        world.is_ending, world.sandbox.refuses, world.sandbox.dies_in_starts = True, False, False
        world.disk.spare()
        world.sandbox.faults.clear()
        for _ in range(400):
            if self._history.finished == _PRODUCERS:
                break
            world.tasks.run(10)
        world.require(
            self._history.finished == _PRODUCERS, "everything is taken in the end", "a producer does not end"
        )
        world.tasks.end()

    def _check(self) -> None:
        self._reader.check_end()
        # By a process that knows only what is on the disk.
        self._world.sandbox.kill()
        self._reader.check_end()
        models = {
            "receiver": self._receiver,
            "queues": self._queues,
            "broker": self._broker,
            "services": self._sqs,
        }
        for part, model in models.items():
            if part in self._parts:
                model.check_end()
