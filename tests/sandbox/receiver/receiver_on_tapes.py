"""A broker in memory that a test can script, messages of every kind, and an application that remembers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from emulator.channels.channel import Delivery, Outcome, Receipt
from emulator.channels.checkpoints import Checkpoints
from emulator.clock import Clock
from emulator.rng import Chance, Draws
from sandbox.gateway import Gateway, Machine
from sandbox.receiver import Application, Arrival, MemoryOriginals, Receiver, Rejects
from sandbox.repository import Repository
from schemas.contract import Contract, Sample, SampleMaker
from schemas.rdss.contract import RDSS
from schemas.rdss.error_codes import Queue
from schemas.rdss.sequence import split

NOW = 1_780_000_000.0


class Crash(BaseException):
    """The process dies here."""


@dataclass
class FakeStream:
    """What a stream holds in the order in which it is delivered: (shard, data); kept beyond any reader."""

    name: str
    deliveries: list[Delivery] = field(default_factory=list)

    def put(self, data: bytes, shard: str = "shardId-0", *, key: str = "key") -> Delivery:
        delivery = Delivery(data, key, shard, str(len(self.deliveries) + 1), NOW)
        self.deliveries.append(delivery)
        return delivery

    def put_again(self, at: int) -> None:
        """Deliver once more what is at a place of the tape."""
        self.deliveries.append(self.deliveries[at])


class TapeChannel:
    """A reader and writer of a tape, from the checkpoints on; ``step`` is called at every await."""

    def __init__(self, tape: FakeStream, checkpoints: Checkpoints, step: Callable[[], None]) -> None:
        self.name = tape.name
        self._tape = tape
        self._checkpoints = checkpoints
        self._step = step
        self._at = 0
        self._start = {d.shard: checkpoints.get(d.shard) for d in tape.deliveries}

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        receipts: list[Outcome] = []
        for data, _ in entries:
            self._step()
            receipts.append(Receipt("shardId-0", self._tape.put(data).sequence_number))
            self._step()
        return receipts

    def publish(self, data: bytes, key: str) -> Receipt:
        raise NotImplementedError

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        assert not in_hand, "a step that does not wait leaves nothing in hand"
        self._step()
        found: list[Delivery] = []
        while self._at < len(self._tape.deliveries) and len(found) < limit:
            delivery = self._tape.deliveries[self._at]
            self._at += 1
            start = self._start.get(delivery.shard)
            if start is None or int(delivery.sequence_number) > int(start):
                found.append(delivery)
        return found

    def commit(self, delivery: Delivery) -> None:
        self._step()
        self._checkpoints.put(delivery.shard, delivery.sequence_number)
        self._step()

    def close(self) -> None: ...


@dataclass
class Tapes:
    """An application with its repository and its three tapes, which can be restarted at any time."""

    folder: Path
    clock: Clock
    input: FakeStream = field(default_factory=lambda: FakeStream("input"))
    queues: dict[Queue, FakeStream] = field(default_factory=lambda: {q: FakeStream(q.value) for q in Queue})
    originals: MemoryOriginals = field(default_factory=MemoryOriginals)
    step: Callable[[], None] = lambda: None
    patience: float | None = 3600.0
    contract: Contract = RDSS
    application: Application | None = None
    crash: ClassVar[type[BaseException]] = Crash

    def open(self) -> Repository:
        return Repository(self.folder / "receiver.sqlite3", self.clock, contract=self.contract)

    def put(self, *samples: Sample, shard: str = "shardId-0") -> None:
        """Deliver messages under the keys that their sender gave them."""
        for each in samples:
            self.input.put(each.data, shard, key=each.key)

    def receive(self) -> None:
        """Start a receiver, take everything there is, stop it."""
        repository = self.open()
        try:
            self.receiver(repository).run(lambda: True, wait=0)
        finally:
            repository.close()

    def receiver(self, repository: Repository) -> Receiver:
        with repository.transaction() as store:
            store.execute("CREATE TABLE IF NOT EXISTS arrivals (messageId TEXT, data BLOB, parts INTEGER)")

        def channel(tape: FakeStream) -> TapeChannel:
            return TapeChannel(tape, repository.transactional_checkpoints(tape.name), self.step)

        contract = self.contract
        gateways = {
            queue: Gateway(channel(tape), repository, self.clock, contract=contract)
            for queue, tape in self.queues.items()
        }
        buckets = {queue: f"rdss-{queue}" for queue in Queue}
        machine = Machine("test", "localhost")
        rejects = Rejects(gateways, buckets, self.originals, self.clock, machine, contract=contract)
        return Receiver(
            channel(self.input), repository, self.application or self.remember, rejects, self.clock,
            contract=contract, patience=self.patience,
        )  # fmt: skip

    def remember(self, arrival: Arrival, store: sqlite3.Connection) -> None:
        self.step()
        row = (arrival.header.message_id, arrival.data, arrival.parts)
        store.execute("INSERT INTO arrivals VALUES (?, ?, ?)", row)
        self.step()

    def arrivals(self) -> list[tuple[str, bytes, int]]:
        """What the application has processed, in order: messageId, bytes, parts."""
        repository = self.open()
        with repository.transaction() as store:
            found = store.execute("SELECT * FROM arrivals").fetchall()
        repository.close()
        return found

    def received(self) -> list[tuple[str | None, str, str | None]]:
        """What the repository has of the input, in order: messageId, outcome, errorCode."""
        repository = self.open()
        query = "SELECT messageId, outcome, errorCode FROM messages WHERE status = 'RECEIVED' AND channel = ?"
        with repository.transaction() as store:
            found = store.execute(f"{query} ORDER BY row", (self.input.name,)).fetchall()
        repository.close()
        return found

    def refused(self) -> list[tuple[str | None, bytes]]:
        """What is in all queues: the code of each message, and what it carries."""
        peek, tapes = self.contract.peek, self.queues.values()
        return [
            (peek(each.data).error_code, self.carried(each.data))
            for tape in tapes
            for each in tape.deliveries
        ]

    def carried(self, refused: bytes) -> bytes:
        """What a refused message carries, without what its refusal says."""
        return self.contract.body(self.contract.redrive(refused, now=NOW))

    def rejected(self, queue: Queue) -> list[dict[str, Any]]:
        """What is in a queue."""
        return [json.loads(delivery.data) for delivery in self.queues[queue].deliveries]

    def counted(self, name: str) -> int:
        repository = self.open()
        count = repository.counted(name)
        repository.close()
        return count


class Preparing:
    """The application of the tapes, behind a step of preparation."""

    def __init__(self, tapes: Tapes) -> None:
        self._tapes = tapes

    def prepare(self, _arrival: Arrival) -> None:
        self._tapes.step()

    def __call__(self, arrival: Arrival, store: sqlite3.Connection) -> None:
        self._tapes.remember(arrival, store)


@dataclass
class Messages:
    """Small valid messages; ``big`` ones in parts of a few hundred bytes."""

    draws: Draws = field(default_factory=lambda: Chance(1).draws("messages"))

    def small(self, **header: Any) -> dict[str, Any]:
        return {
            "messageHeader": {
                "messageId": self.draws.uuid4(),
                "messageClass": "Command",
                "messageType": "MetadataDelete",
                "messageTimings": {"publishedTimestamp": "2026-01-01T00:00:00Z"},
                "messageSequence": {"sequence": self.draws.uuid4(), "position": 1, "total": 1},
                "version": "4.0.0",
                "generator": "test",
                "tenantJiscID": 1,
                **header,
            },
            "messageBody": {"objectUUID": self.draws.uuid4()},
        }

    def parts(self, count: int = 3) -> list[bytes]:
        """A message of which every part has a few bytes of the body."""
        message = self.small()
        for limit in range(700, 300, -1):
            if len(found := split(message, limit=limit, new_id=self.draws.uuid4)) == count:
                return found
        raise AssertionError(f"no limit gives {count} parts")


def make_parts(contract: Contract, samples: SampleMaker, count: int, draws: Draws) -> list[Sample]:
    """A message in so many parts; none of a contract whose messages are whole."""
    if contract.sequences is None:
        return []
    whole = samples.big_message(count, limit=8_000)
    return [
        Sample(part, whole.key)
        for part in contract.sequences.split(whole.data, new_id=draws.uuid4, limit=8_000)
    ]
