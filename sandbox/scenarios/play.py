"""Playing a scenario: one thread sends, receives and lets time pass, so that a seed decides everything."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from emulator.channels import Channel, ChannelUnavailableError
from emulator.faults.fault import FaultRefusedError, Kind
from emulator.kinesis import ShardView
from emulator.queues.engine import QueueEngine
from emulator.rng import Chance
from rdss_sandbox.durations import seconds
from rdss_sandbox.shapes.events import Event
from sandbox.scenarios.backend import NotHereError, ScenarioBackend, stage_set
from sandbox.scenarios.client import OURS, Client, Receiver, Sender
from sandbox.scenarios.client_environment import Claiming, ClientEnvironment, Crash, KillableProcess
from sandbox.scenarios.driven_clock import DrivenClock
from sandbox.scenarios.scenario import INPUT, Claims, Scenario
from sandbox.scenarios.workers import OUR_WORKERS
from sandbox.scenarios.workload import Offered, identity, offered
from schemas.error_codes import Queue
from schemas.peek import peek

START: Final = 1_767_225_600.0
"""2026-01-01T00:00:00Z, when every scenario begins."""
QUIET_SECONDS: Final = tuple(0.25 * 2**n for n in range(10))
"""The waits, four minutes in all, after which nothing more is awaited."""
_MOST_STARTS: Final = 20
_PAUSED_SECONDS: Final = 1.0
_MOST_ROUNDS: Final = 100_000


@dataclass(frozen=True, slots=True)
class ViewerOptions:
    """For people who watch: seconds of the scenario a real second, and who is told where to look at it.

    ``watch`` is called with the URL of the control API, where the channel's kind has one.
    """

    pace: float | None = None
    watch: Callable[[str], None] = lambda _: None


AT_ONCE: Final = ViewerOptions()


class UnplayableError(RuntimeError):
    """This scenario means nothing here: a fault that its channel cannot have, or a broker that is missing."""


@dataclass(frozen=True, slots=True)
class Played:
    """What is left of a play: what was offered, everything that happened, the shards at the end."""

    offered: tuple[Offered, ...]
    events: tuple[Event, ...]
    shards: tuple[ShardView, ...]


def play(
    scenario: Scenario,
    folder: Path,
    *,
    seed: int,
    kind: Kind = Kind.MEMORY,
    client: Client | None = None,
    show: ViewerOptions = AT_ONCE,
) -> Played:
    """Play a scenario from its first message until nothing moves any more. Raises ``UnplayableError``."""
    clock = DrivenClock(START, show.pace)
    messages = tuple(offered(scenario.workload, seed, START))
    try:
        with stage_set(scenario, seed, kind, clock) as scene:
            if scene.control:
                show.watch(scene.control)
            with _site(scenario, folder, seed, scene, clock) as site:
                for fault in scenario.faults:
                    scene.parts.fault_engine.add(fault)
                clock.on_move = scene.parts.fault_engine.run_due
                scene.parts.fault_engine.run_due()
                _Play(scenario, site, scene, client or _ours(scenario)).run(messages)
                site.tell_kept()
            views = scene.parts.streams.streams(scene.parts.home)
            shards = next(view.shards for view in views if view.name == INPUT)
            events = scene.parts.events
            return Played(messages, tuple(events.since(0, events.last)), tuple(shards))
    except (FaultRefusedError, NotHereError) as error:
        raise UnplayableError(str(error)) from error


def _ours(scenario: Scenario) -> Client:
    return OUR_WORKERS if scenario.consumer.claims else OURS


@contextmanager
def _site(
    scenario: Scenario, folder: Path, seed: int, scene: ScenarioBackend, clock: DrivenClock
) -> Iterator[ClientEnvironment]:
    site = ClientEnvironment(
        folder,
        clock,
        scene.parts.events,
        new_id=Chance(seed).draws("scenario", "parts").uuid4,
        takes=seconds(scenario.consumer.takes),
        channels=scene.channels,
        claims=_claiming(scenario.consumer.claims, scene.parts.queues),
        workers=_workers(scenario.consumer.claims),
    )
    for victim in site.victims:
        scene.parts.fault_engine.targets[victim.name] = victim
    try:
        yield site
    finally:
        site.close()


def _claiming(claims: Claims | None, queues: QueueEngine) -> Claiming | None:
    if claims is None:
        return None
    return Claiming(queues, round(seconds(claims.ttl)), round(seconds(claims.grace)), claims.limit)


def _workers(claims: Claims | None) -> tuple[KillableProcess, ...]:
    return tuple(KillableProcess(f"worker-{number + 1}") for number in range(claims.workers if claims else 0))


class _Play:
    """The sending and the receiving process, taking turns."""

    def __init__(
        self, scenario: Scenario, site: ClientEnvironment, scene: ScenarioBackend, client: Client
    ) -> None:
        self._consumer = scenario.consumer
        self._site = site
        self._client = client
        self._wait = scene.wait
        self._emit = site.events.emit
        self._queues: dict[str, Channel] = {queue: scene.channels(queue, None) for queue in Queue}
        self._receiver: Receiver | None = None
        self._starts = 0
        self._unsent = False

    def run(self, messages: tuple[Offered, ...]) -> None:
        due = deque((when, [each.data for each in some]) for when, some in groupby(messages, _due))
        with ExitStack() as stack:
            sender = self._client.sender(self._site)
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
        if due and START + due[0][0] <= self._site.clock.time():
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
        if self._site.receiver.paused or self._starts > _MOST_STARTS:
            return 0
        try:
            if self._receiver is None:
                self._starts += 1
                self._emit("receiver.started")
                self._receiver = self._client.receiver(self._site)
            came = self._receiver.receive(self._consumer.batch, self._wait)
        except Crash as crash:
            self._emit("receiver.crashed", target=str(crash))
            self._stop_receiver()
            came = 1
        except Exception as error:  # noqa: BLE001 -- whatever stops a client is an observation
            self._emit("receiver.failed", why=f"{type(error).__name__}: {error}"[:300])
            self._stop_receiver()
            came = 1
        self._site.tell_processed()
        return came

    def _follow_queues(self) -> int:
        came = 0
        for queue, channel in self._queues.items():
            try:
                deliveries = channel.read(limit=1000)
            except ChannelUnavailableError:
                continue
            for each in deliveries:
                seen = peek(each.data)
                self._emit(
                    "message.rejected",
                    queue=queue,
                    message_id=identity(each.data),
                    code=seen.error_code,
                    size=len(each.data),
                )
                channel.commit(each)
            came += len(deliveries)
        return came

    def _let_time_pass(self, due: deque[tuple[float, list[bytes]]], quiet: int) -> bool:
        """Until the next thing that is to happen; False when nothing is."""
        clock = self._site.clock
        if self._site.receiver.paused:
            clock.wait(_PAUSED_SECONDS)
        elif due:
            clock.wait(max(START + due[0][0] - clock.time(), 0.0))
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
