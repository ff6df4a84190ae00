"""The soak: every fault of the demonstration on, the receiver killed at random, the verdict exact.

Rounds of messages go through one stream in memory, faults first; then a receiver takes them, killed
at statements of its store that chance chooses, and begins anew each time. Waiting takes no time.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock, stopwatch
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.kinesis import Engine
from emulator.rng import Chance, Draws
from rdss_sandbox.shapes.events import Event
from sandbox.demo.demonstration import spread_reshards
from sandbox.gateway import Gateway
from sandbox.judging.arrivals import ARRIVALS, ArrivalsReader, record_arrival
from sandbox.receiver import Arrival, MemoryOriginals
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.repository import Repository
from sandbox.scenarios.expectation import expect, split
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.workload import Offered, make_messages
from schemas.rdss.error_codes import Queue
from schemas.rdss.peek import peek
from tests.bench.rows import US, Row
from tests.sandbox.demo.small_plan import shrink_plan
from tests.sandbox.receiver.mortal import Life, MortalStore

MESSAGES, KILLS, ROUND = 100_000, 50, 2_000
_NOW = 1_790_000_000.0
_LONGEST_LIFE = 16_000


class Killed(BaseException):
    """The receiver's process ends here."""


@dataclass
class Verdict:
    """What was wrong: messages by what became of them, none of which must be any."""

    messages: int = 0
    kills: int = 0
    injected: int = 0
    lost: int = 0
    twice: int = 0
    changed: int = 0
    rejects_off: int = 0


@dataclass
class Soak:
    """One stream with its faults, one sender, one receiver."""

    folder: Path
    kills: int
    longest_life: int = _LONGEST_LIFE
    clock: Clock = field(default_factory=lambda: Clock(frozen_at=_NOW, autojump=True))
    verdict: Verdict = field(default_factory=Verdict)
    grown: set[str] = field(default_factory=set)
    originals: MemoryOriginals = field(default_factory=MemoryOriginals)

    def __post_init__(self) -> None:
        events = Events(self.clock, keep=10)
        self.ended = ExitStack()
        self.ended.enter_context(events.subscribed(self._note))
        self.engine = Engine(self.folder / "streams", self.clock, events)
        self.fault_engine = FaultEngine(
            Chance(1),
            self.clock,
            events,
            control=lambda operation, asked: self.engine.call(operation, asked, DEFAULT_SCOPE),
        )
        self.arrivals = ArrivalsReader(self.folder / "receiver.sqlite3")
        self.arrived: Counter[str] = Counter()
        self.deaths: Draws = Chance(1).draws("soak", "deaths")
        for part in (self.engine, self.fault_engine, self.arrivals):
            self.ended.callback(part.close)
        for name, shards in ((INPUT, 2), ("error", 1), ("invalid", 1)):
            self.engine.call("CreateStream", {"StreamName": name, "ShardCount": shards}, DEFAULT_SCOPE)

    def _note(self, event: Event) -> None:
        if event.kind == "fault.injected":
            self.verdict.injected += 1
            if event.fields["type"] == "oversize":
                self.grown.add(event.fields["message_id"])

    def round(self, seed: int, messages: int) -> None:
        """Send and receive so many messages, and count what is off."""
        plan = shrink_plan(seed, messages=messages, sequences=1, bad=2, oversize=1, duplicates=0.05)
        offered = make_messages(plan.stream.workload, seed, self.clock.time())
        for fault in spread_reshards(plan.stream, sum(len(split(each.data)) for each in offered)).faults:
            self.fault_engine.add(fault)
        self._send(offered)
        while not self._receive(self.folder / "receiver.sqlite3"):
            self.verdict.kills += 1
        self.fault_engine.clear()
        self._judge(offered)

    def _send(self, offered: list[Offered]) -> None:
        with closing(Repository(self.folder / "sender.sqlite3", self.clock)) as repository:
            gateway = Gateway(self._channel(INPUT, None), repository, self.clock)
            for start in range(0, len(offered), 100):
                batch = offered[start : start + 100]
                gateway.send_serialised(*(part for each in batch for part in split(each.data)))

    def _receive(self, path: Path) -> bool:
        """One life of the receiver; whether it took everything there was."""
        alive = self.verdict.kills >= self.kills
        life = Life(None if alive else self.deaths.randrange(1, self.longest_life), Killed)
        repository = Repository(path, self.clock)
        with repository.transaction() as store:
            store.execute(ARRIVALS)
        repository._store = MortalStore(repository._store, life)  # type: ignore[assignment]

        def process(arrival: Arrival, store: Any) -> None:
            record_arrival(arrival, store, self.clock.time())

        try:
            whole = {"stream": INPUT, "repository": repository, "application": process}
            with assembled_receiver(self._channel, self.originals, clock=self.clock, **whole) as receiver:
                receiver.run(lambda: True, wait=5.0)
        except Killed:
            return False
        finally:
            repository.close()
        return True

    def _channel(self, name: str, checkpoints: Any) -> MemoryChannel:
        fault_engine = self.fault_engine if name == INPUT else None
        return MemoryChannel(
            self.engine, name, clock=self.clock, checkpoints=checkpoints, fault_engine=fault_engine
        )

    def _judge(self, offered: list[Offered]) -> None:
        now = self.clock.time()
        wanted = expect(offered, dict.fromkeys(self.grown, "GENERR006"), lambda _: now)
        arrived = self.arrivals.more()
        bodies = {each.message_id: each.body for each in arrived}
        self.arrived.update(each.message_id for each in arrived)
        self.verdict.messages += wanted.parts
        self.verdict.lost += len(wanted.processed.keys() - bodies.keys())
        self.verdict.twice = sum(count - 1 for count in self.arrived.values())
        self.verdict.changed += sum(wanted.processed.get(name) != body for name, body in bodies.items())
        self.verdict.rejects_off += self._rejects() != wanted.codes

    def _rejects(self) -> Counter[str]:
        """The codes in the queues, then emptied; a reject that a death sent again counts once."""
        found: dict[tuple[str | None, str | None], str] = {}
        for queue in Queue:
            for delivery in self._channel(queue.value, None).read(limit=1_000_000):
                seen = peek(delivery.data)
                found[seen.message_id, seen.published] = str(seen.error_code)
            self.engine.call("DeleteStream", {"StreamName": queue.value}, DEFAULT_SCOPE)
            self.engine.call("CreateStream", {"StreamName": queue.value, "ShardCount": 1}, DEFAULT_SCOPE)
        return Counter(found.values())

    def close(self) -> None:
        self.ended.close()


def soak(messages: int, kills: int, per_round: int = ROUND, longest_life: int = _LONGEST_LIFE) -> Verdict:
    """Run it; what was wrong."""
    with TemporaryDirectory(prefix="soak-") as folder, closing(Soak(Path(folder), kills, longest_life)) as it:
        for number in range(1, messages // per_round + 1):
            it.round(number, per_round)
        return it.verdict


def measure() -> list[Row]:
    """How long it takes, and that nothing is lost, doubled or changed. Raises AssertionError otherwise."""
    began = stopwatch()
    found = soak(MESSAGES, KILLS)
    seconds = stopwatch() - began
    assert found.kills == KILLS, found
    wrong = found.lost + found.twice + found.changed + found.rejects_off
    assert not wrong, found
    return [
        Row(f"soak: messages lost, doubled, changed or misrouted of {found.messages:,}", US, wrong, ""),
        Row(f"soak: messages through faults and {KILLS} kills", US, found.messages / seconds, "/s", "more"),
    ]
