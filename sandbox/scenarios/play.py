"""Playing a scenario: one thread sends, receives and moves the clock, so that a run repeats from its seed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Final

import msgspec

from emulator.back_off import back_off
from emulator.channels.channel import Channel, ChannelUnavailableError
from emulator.channels.kind_registry import KINDS
from emulator.clock import Clock
from emulator.faults.fault import FaultRefusedError
from emulator.kinesis import ShardView
from emulator.rng import Chance
from rdss_sandbox.extension import import_place
from rdss_sandbox.installed_extensions import list_extensions
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.text.durations import seconds
from sandbox.scenarios.backend import Amqp, NotHereError, ScenarioBackend, open_backend
from sandbox.scenarios.client_environment import ClientEnvironment, Crash, KillableProcess
from sandbox.scenarios.driven_clock import DrivenClock
from sandbox.scenarios.scenario import INPUT, Claims, Scenario
from sandbox.scenarios.scenario_client import OURS, Client, ReceivingProcess, Sender
from sandbox.scenarios.workload import Offered, identity, make_messages
from schemas.bound import CONTRACT
from schemas.contract import list_queues

START: Final = 1_767_225_600.0
"""2026-01-01T00:00:00Z, the start of every scenario in seconds since the epoch."""
QUIET_SECONDS: Final = tuple(islice(back_off(0.25), 10))
"""The waits in seconds, four minutes in all, without activity before a run ends."""
_MOST_STARTS: Final = 20
_PAUSED_SECONDS: Final = 1.0
_MOST_ROUNDS: Final = 100_000


@dataclass(frozen=True, slots=True)
class ViewerOptions:
    """Options for people who watch a run.

    ``pace`` is the scenario's seconds per real second, None for no delay. ``watch`` is then called with the
    URL of the control API.
    """

    pace: float | None = None
    watch: Callable[[str], None] = lambda _: None


AT_ONCE: Final = ViewerOptions()


class UnplayableError(RuntimeError):
    """The scenario cannot be played: its channel does not support a fault, or a broker is missing."""


@dataclass(frozen=True, slots=True)
class Played:
    """The raw result of a run: the offered messages, the events, and the shards at the end.

    ``began`` is the time of the first message, in seconds since the epoch.
    ``judged_at`` has the time by a message's id at which a client with a clock of its own had to judge it, in
    seconds since the epoch; the time of an event is that of the delivery elsewhere.
    """

    offered: tuple[Offered, ...]
    events: tuple[Event, ...]
    shards: tuple[ShardView, ...]
    judged_at: Mapping[str, float] = field(default_factory=dict)
    began: float = START


def play(
    scenario: Scenario,
    folder: Path,
    *,
    seed: int,
    kind: str = "memory",
    client: Client | None = None,
    show: ViewerOptions = AT_ONCE,
    amqp: Amqp = "embedded",
) -> Played:
    """Play a scenario from its first message until nothing happens any more. Raises ``UnplayableError``."""
    clock = DrivenClock(START, show.pace)
    messages = offer(scenario, seed, START)
    try:
        watched = show.pace is not None
        with open_backend(scenario, seed, kind, clock, watched=watched, amqp=amqp) as backend:
            if show.pace is not None and backend.control:
                show.watch(backend.control)
            with open_environment(scenario, folder, seed, backend, clock) as environment:
                environment.failing = failing(messages)
                for fault in place_faults(scenario, messages, kind):
                    backend.components.fault_engine.add(fault)
                clock.on_move = backend.components.fault_engine.run_due
                backend.components.fault_engine.run_due()
                ProcessTurns(scenario, environment, client or _ours(scenario), backend.wait).run(messages)
                environment.emit_kept()
            events = backend.components.events
            return Played(messages, tuple(events.since(0, events.last)), tuple(input_shards(backend)))
    except (FaultRefusedError, NotHereError) as error:
        raise UnplayableError(str(error)) from error


def offer(scenario: Scenario, seed: int, start: float) -> tuple[Offered, ...]:
    """The messages of a scenario and then those of its failures; ``start`` is in seconds since the epoch."""
    messages = make_messages(scenario.workload, seed, start)
    if scenario.failures:
        # Their applications are of one contract, which others do not have to import.
        from sandbox.scenarios.rdss_failures import make_failing

        last = messages[-1].due if messages else 0.0
        due = last + seconds(scenario.workload.every)
        messages += make_failing(scenario.failures, seed, start, due)
    return tuple(messages)


def failing(messages: Iterable[Offered]) -> dict[str, str]:
    """The failure of each message at which something fails, by its messageId."""
    return {identity(each.data): each.failure for each in messages if each.failure}


def place_faults(scenario: Scenario, messages: Iterable[Offered], kind: str) -> Iterator[NewFault]:
    """The faults of a scenario and of its failures, placed on channels of this kind.

    Streams of the sandbox have the same names as its queues.
    """
    faults = [*scenario.faults]
    if scenario.failures:
        from sandbox.scenarios.rdss_failures import failure_faults

        faults += failure_faults(failing(messages))
    for fault in faults:
        elsewhere = KINDS[kind].streams or ":" in (fault.channel or "")
        yield fault if elsewhere else msgspec.structs.replace(fault, channel=f"{kind}:{fault.channel or '*'}")


def input_shards(backend: ScenarioBackend) -> list[ShardView]:
    """The shards of the scenario's channel, open and closed."""
    views = backend.components.streams.streams(backend.components.home)
    return next(view.shards for view in views if view.name == INPUT)


def _ours(scenario: Scenario) -> Client:
    if scenario.consumer.claims is None:
        return OURS
    found = [each.scenario_workers for each in list_extensions() if each.scenario_workers]
    if not found:
        raise UnplayableError(
            "its messages are claimed from a queue, and no extension that has queues is installed"
        )
    workers: Client = import_place(found[0])
    return workers


@contextmanager
def open_environment(
    scenario: Scenario, folder: Path, seed: int, backend: ScenarioBackend, clock: Clock
) -> Iterator[ClientEnvironment]:
    """Make the environment of a run's client, whose processes the faults can then strike."""
    environment = ClientEnvironment(
        folder,
        clock,
        backend.components.events,
        new_id=Chance(seed).draws("scenario", "parts").uuid4,
        takes=seconds(scenario.consumer.takes),
        channels=backend.channels,
        components=backend.components,
        claims=scenario.consumer.claims,
        workers=_workers(scenario.consumer.claims),
    )
    for victim in environment.victims:
        backend.components.fault_engine.add_target(victim.name, victim)
    try:
        yield environment
    finally:
        environment.close()


def _workers(claims: Claims | None) -> tuple[KillableProcess, ...]:
    return tuple(KillableProcess(f"worker-{number + 1}") for number in range(claims.workers if claims else 0))


class ProcessTurns:
    """Runs the sending and the receiving process in turns.

    Every round sends what is due, receives once, and reads the error and invalid queues. The clock is moved
    only after a round without work. ``wait`` is the real time in seconds that a read waits for messages, and
    ``start`` the time of the first message, in seconds since the epoch.
    """

    def __init__(
        self,
        scenario: Scenario,
        environment: ClientEnvironment,
        client: Client,
        wait: float = 0.0,
        start: float = START,
    ) -> None:
        self._start = start
        self._consumer = scenario.consumer
        self._environment = environment
        self._client = client
        self._wait = wait
        self._emit = environment.events.emit
        self._queues: dict[str, Channel] = {
            queue: environment.channels(queue, None) for queue in list_queues(CONTRACT)
        }
        self._receiver: ReceivingProcess | None = None
        self._starts = 0
        self._unsent = False

    def run(self, messages: tuple[Offered, ...]) -> None:
        """Send these messages and receive until nothing happens any more."""
        due = deque((when, [each.data for each in some]) for when, some in groupby(messages, _due))
        with ExitStack() as stack:
            sender = self._client.sender(self._environment)
            stack.callback(sender.close)
            stack.callback(self._stop_receiver)
            stack.callback(self._close_queues)
            quiet = 0
            for _ in range(_MOST_ROUNDS):
                busy = self._send(sender, due) + self._receive() + self._follow_queues()
                quiet = 0 if busy else quiet + 1
                if not busy and not self._let_time_pass(due, quiet):
                    return
            raise AssertionError("a scenario does not come to rest")

    def _send(self, sender: Sender, due: deque[tuple[float, list[bytes]]]) -> int:
        if due and self._start + due[0][0] <= self._environment.clock.time():
            batch = due.popleft()[1]
            for data in batch:
                self._emit("message.offered", message_id=identity(data), size=len(data))
        elif self._unsent:
            batch = []
        else:
            return 0
        try:
            sender.send(batch)
        except Exception as error:  # noqa: BLE001 -- whatever stops a client is an observation
            self._emit("sender.failed", why=f"{type(error).__name__}: {error}"[:300])
            self._unsent = True
        else:
            self._unsent = False
        return len(batch)

    def _receive(self) -> int:
        if self._environment.receiver.paused or self._starts > _MOST_STARTS:
            return 0
        try:
            if self._receiver is None:
                self._starts += 1
                self._emit("receiver.started")
                self._receiver = self._client.receiver(self._environment)
            came = self._receiver.receive(self._consumer.batch, self._wait)
        except Crash as crash:
            self._emit("receiver.crashed", target=str(crash))
            self._stop_receiver()
            came = 1
        except Exception as error:  # noqa: BLE001 -- whatever stops a client is an observation
            self._emit("receiver.failed", why=f"{type(error).__name__}: {error}"[:300])
            self._stop_receiver()
            came = 1
        self._environment.emit_processed()
        return came

    def _follow_queues(self) -> int:
        came = 0
        for queue, channel in self._queues.items():
            try:
                deliveries = channel.read(limit=1000)
            except ChannelUnavailableError:
                continue
            for each in deliveries:
                peek = CONTRACT.peek(each.data)
                self._emit(
                    "message.rejected",
                    queue=queue,
                    message_id=identity(each.data),
                    code=peek.error_code,
                    size=len(each.data),
                )
                channel.commit(each)
            came += len(deliveries)
        return came

    def _let_time_pass(self, due: deque[tuple[float, list[bytes]]], quiet: int) -> bool:
        """Move the clock to the next message, or by the next quiet wait; False when there is neither."""
        clock = self._environment.clock
        if self._environment.receiver.paused:
            clock.wait(_PAUSED_SECONDS)
        elif due:
            clock.wait(max(self._start + due[0][0] - clock.time(), 0.0))
        elif quiet <= len(QUIET_SECONDS):
            clock.wait(QUIET_SECONDS[quiet - 1])
        else:
            return False
        return True

    def _stop_receiver(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.close()

    def _close_queues(self) -> None:
        for channel in self._queues.values():
            channel.close()


def _due(message: Offered) -> float:
    return message.due
