"""A kind of channel that an extension has: what scenarios ask of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from emulator.channels.channel import Delivery, Outcome, Receipt
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.faulted_channel import FaultedChannel
from emulator.channels.kind_registry import KINDS
from emulator.channels.kinds import Broker, ChannelKind, QueueAsShard
from emulator.clock import Clock
from sandbox.cli import main
from sandbox.scenarios.scenario import find_scenario
from sandbox.scenarios.scenario_run import run_scenario


class Pigeonhole:
    """A queue that keeps a message until it is committed; what a reader left is there for the next."""

    def __init__(self, name: str, kept: list[tuple[bytes, str]], committed: list[int]) -> None:
        self.name = name
        self._kept = kept
        self._committed = committed
        self._read = max(committed, default=0)

    def publish(self, data: bytes, key: str) -> Receipt:
        self._kept.append((data, key))
        return Receipt(self.name, str(len(self._kept)))

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        return [self.publish(*each) for each in entries]

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        found = self._kept[self._read : self._read + limit]
        self._read += len(found)
        first = self._read - len(found) + 1
        return [Delivery(*each, self.name, str(first + at), 0.0) for at, each in enumerate(found)]

    def commit(self, delivery: Delivery) -> None:
        self._committed.append(int(delivery.sequence_number))

    def close(self) -> None:
        self._read = max(self._committed, default=0)


class Pigeonholes:
    """The queues of a scenario, in this process."""

    def __init__(self, broker: Broker, clock: Clock) -> None:
        self._broker = broker
        self._clock = clock
        self._kept: defaultdict[str, tuple[list[Any], list[int]]] = defaultdict(lambda: ([], []))

    def channel(self, name: str, _checkpoints: Checkpoints | None = None) -> FaultedChannel:
        hole = Pigeonhole(name, *self._kept[name])
        return FaultedChannel(hole, "pigeonhole", self._broker.fault_engine, self._clock)

    def shards(self, name: str) -> QueueAsShard:
        return QueueAsShard(self.channel(name))

    def close(self) -> None:
        pass


@pytest.fixture
def _pigeonholes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "pigeonhole", ChannelKind("pigeonhole", Pigeonholes, "here"))


@pytest.mark.usefixtures("_pigeonholes")
@pytest.mark.parametrize("name", ["producer-retry", "redelivery-after-a-crash"])
def test_a_scenario_is_played_over_it(name: str, tmp_path: Path) -> None:
    """With its faults, which strike, and the command that repeats the run names the kind."""
    run = run_scenario(find_scenario(name), name, seed=7, kind="pigeonhole", runs=tmp_path)
    assert run.judgement.verdict == "pass", run.judgement
    assert run.command == f"sandbox scenario run {name} --seed 7 --channel pigeonhole"
    assert "fault.injected" in {each.kind for each in run.events}


@pytest.mark.usefixtures("_pigeonholes")
def test_what_its_channels_cannot_do_is_said(tmp_path: Path) -> None:
    """A queue has no shards to split: the run is inconclusive, with the kinds that have them."""
    split = run_scenario(
        find_scenario("split-under-load"), "split-under-load", seed=7, kind="pigeonhole", runs=tmp_path
    )
    assert split.judgement.note.startswith("reshard means nothing on 'pigeonhole:input', which is pigeonhole")


def test_a_kind_without_a_broker_in_a_sandbox_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """The gateway's mock is in the gateway's own process, where no scenario is played."""
    assert main(["scenario", "run", "happy-path", "--channel", "mock"]) == 2
    said = capfd.readouterr().err
    assert "'mock' is not one of memory, kinesis, rabbitmq" in said
    assert "its kind does not say where in a sandbox its broker answers" in said
