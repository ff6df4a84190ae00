"""A thread for each shard: work at the same time, in order within a shard, every message once."""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from emulator.channels.channel import Delivery
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from sandbox.receiver import Arrival, MemoryOriginals, Receiver
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.receiver.shard_threads import ShardThreads
from sandbox.repository import Repository
from schemas.rdss.envelope import serialise
from tests.sandbox.receiver.receiver_on_tapes import NOW, Messages

SHARDS = 8
PATIENCE = 30.0


class Workshop:
    """A stream of eight shards, and an application whose preparation is ``work``."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock(frozen_at=NOW, autojump=True)
        self.engine = Engine(None, self.clock, Events(self.clock))
        for name, count in (("keys", SHARDS), ("input", SHARDS), ("error", 1), ("invalid", 1)):
            self.engine.call("CreateStream", {"StreamName": name, "ShardCount": count}, DEFAULT_SCOPE)
        self.repository = Repository(folder / "local.sqlite3", self.clock)
        self.messages = Messages()
        self.work: Callable[[Arrival], None] = lambda _arrival: None
        self.prepared: list[str | None] = []
        self.processed: list[str | None] = []
        channel = self.channel("keys")
        self.keys = {channel.publish(b"", key).shard: key for key in map(str, range(100))}
        assert len(self.keys) == SHARDS

    def channel(self, name: str, checkpoints: object = None) -> MemoryChannel:
        return MemoryChannel(self.engine, name, clock=self.clock, checkpoints=checkpoints)  # type: ignore[arg-type]

    def prepare(self, arrival: Arrival, /) -> None:
        self.prepared.append(arrival.header.message_id)
        self.work(arrival)

    def __call__(self, arrival: Arrival, _store: sqlite3.Connection, /) -> None:
        self.processed.append(arrival.header.message_id)

    def put(self, each: int) -> dict[str, list[str]]:
        """Put so many messages on each shard; their ids by shard."""
        ids: defaultdict[str, list[str]] = defaultdict(list)
        for _ in range(each):
            for shard in sorted(self.keys):
                message = self.messages.small()
                self.put_on(shard, serialise(message))
                ids[shard].append(message["messageHeader"]["messageId"])
        return ids

    def put_on(self, shard: str, data: bytes) -> None:
        self.channel("input").publish(data, self.keys[shard])

    def rejected(self) -> int:
        return len(self.channel("error").read()) + len(self.channel("invalid").read())


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path)
    with closing(workshop.repository):
        yield workshop
    workshop.engine.close()


@pytest.fixture
def receiver(workshop: Workshop) -> Iterator[Receiver]:
    with assembled_receiver(
        workshop.channel,
        MemoryOriginals(),
        stream="input",
        repository=workshop.repository,
        application=workshop,
        clock=workshop.clock,
    ) as receiver:
        yield receiver


def test_eight_shards_are_worked_on_at_the_same_time_each_in_order(
    workshop: Workshop, receiver: Receiver
) -> None:
    """Each message waits until one of each other shard is being worked on: one after another none would end.

    So work of 100 ms a message takes an eighth of the time, and the order within a shard is kept.
    """
    together = threading.Barrier(SHARDS, timeout=PATIENCE)

    def work(_arrival: Arrival) -> None:
        together.wait()

    workshop.work = work
    ids = workshop.put(5)
    receiver.run(lambda: True, wait=0)
    assert workshop.rejected() == 0
    assert len(workshop.processed) == len(workshop.prepared) == 5 * SHARDS
    for shard, wanted in ids.items():
        for order in (workshop.prepared, workshop.processed):
            assert [each for each in order if each in wanted] == wanted, shard


def test_a_shard_whose_work_does_not_end_stops_no_other(workshop: Workshop, receiver: Receiver) -> None:
    """The others go on, message after message, and what the held one has is processed when it goes on."""
    held = threading.Event()
    ids = workshop.put(3)
    first = next(iter(ids))

    def work(arrival: Arrival) -> None:
        if arrival.header.message_id == ids[first][0]:
            held.wait(PATIENCE)

    workshop.work = work
    while len(workshop.processed) < 3 * (SHARDS - 1):
        assert receiver.step(limit=4, wait=0.1)
    assert not set(ids[first]) & set(workshop.processed)
    more = workshop.put(1)
    while len(workshop.processed) < 4 * (SHARDS - 1):
        assert receiver.step(limit=4, wait=0.1)
    held.set()
    receiver.run(lambda: True, wait=0.1)
    its = ids[first] + more[first]
    assert [each for each in workshop.processed if each in its] == its


def test_work_that_fails_rejects_its_message_and_stops_no_other(
    workshop: Workshop, receiver: Receiver
) -> None:
    """Of one shard every message fails: they are in the error queue, and all the others are processed."""
    ids = workshop.put(2)
    failing = ids[next(iter(ids))]

    def work(arrival: Arrival) -> None:
        if arrival.header.message_id in failing:
            raise OSError("no disk")

    workshop.work = work
    receiver.run(lambda: True, wait=0)
    assert set(workshop.processed) == {each for its in ids.values() for each in its} - set(failing)
    assert workshop.rejected() == len(failing)


def test_a_message_on_several_shards_at_once_is_worked_on_once(
    workshop: Workshop, receiver: Receiver
) -> None:
    """While one thread works on it, those of the other shards come to it, wait, and drop theirs."""
    held, message = threading.Event(), workshop.messages.small()
    message_id = message["messageHeader"]["messageId"]
    first, *others = workshop.keys

    def work(arrival: Arrival) -> None:
        if arrival.header.message_id == message_id:
            held.wait(PATIENCE)

    workshop.work = work
    workshop.put_on(first, serialise(message))
    assert receiver.step(wait=0.1)
    for shard in others:
        workshop.put_on(shard, serialise(workshop.messages.small()))
        workshop.put_on(shard, serialise(message))
    while len(workshop.processed) < len(others) or len(workshop.prepared) <= len(others):
        assert receiver.step(wait=0.1)
    for _ in range(100):
        assert receiver.step(wait=0.1)
    held.set()
    receiver.run(lambda: True, wait=0.1)
    assert workshop.rejected() == 0
    assert workshop.prepared.count(message_id) == workshop.processed.count(message_id) == 1


def test_a_sequence_whose_parts_come_on_all_shards_at_once_is_worked_on_once(
    workshop: Workshop, receiver: Receiver
) -> None:
    """Whichever part is the last one: it is joined, prepared and processed."""
    for shard, part in zip(workshop.keys, workshop.messages.parts(SHARDS), strict=True):
        workshop.put_on(shard, part)
    receiver.run(lambda: True, wait=0)
    assert workshop.rejected() == 0
    assert len(workshop.processed) == len(workshop.prepared) == 1


def test_what_fails_on_the_thread_of_a_shard_fails_the_step() -> None:
    """As it was raised, so that a store that cannot be written ends the receiver with its reason."""

    def work(_delivery: Delivery) -> None:
        raise OSError("disk on fire")

    threads = ShardThreads(work)
    threads.start([Delivery(b"", "key", "shardId-0", "1", NOW)])
    with pytest.raises(OSError, match="disk on fire"):
        threads.give_back(None)


def test_what_is_in_hand_at_the_end_is_not_done() -> None:
    """It is given up, and no further message of the shard is begun."""
    begun: list[str] = []
    go_on = threading.Event()

    def work(delivery: Delivery) -> None:
        begun.append(delivery.sequence_number)
        go_on.wait(PATIENCE)

    threads = ShardThreads(work)
    threads.start([Delivery(b"", "key", "shardId-0", number, NOW) for number in "12"])
    threads.close()
    go_on.set()
    assert threads.give_back(None) == ([], 0)
    assert begun == ["1"]
