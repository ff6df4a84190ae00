"""A receiver in a process of its own, which dies at any statement or call, and what it must have done.

Its application writes down what it gets, in the receiver's transaction.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.channels.channel import (
    ChannelUnavailableError,
    Delivery,
    Outcome,
    PublishRefusedError,
    PublishUnknownError,
)
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from sandbox.gateway import Gateway, Machine
from sandbox.gateway.gateway import SendFailedError
from sandbox.receiver import Arrival, MemoryOriginals, Receiver, Rejects
from sandbox.repository import Repository
from schemas.rdss.contract import RDSS
from schemas.rdss.error_codes import Queue
from tests.sandbox.receiver.mortal import Life, MortalStore
from tests.simulation.simulated_world import SimulatedWorld
from tests.simulation.stream_clients import STREAM, StreamHistory
from tests.simulation.virtual_time import Steps

PATIENCE: Final = 20.0
_IDLE: Final = 5
_MOST_TRIES: Final = 100
_TABLE: Final = "CREATE TABLE IF NOT EXISTS arrivals (body TEXT)"
_WAITING: Final = (
    "SELECT sequence, max(recorded) FROM messages WHERE outcome = 'waiting' "
    "GROUP BY sequence HAVING max(recorded) < ?"
)


class ReceiverDiedError(BaseException):
    """The receiver's process ends here."""


class MortalChannel:
    """A channel of a process that may die before or after each call."""

    def __init__(self, channel: MemoryChannel, life: Life) -> None:
        self.name = channel.name
        self._channel = channel
        self._life = life

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        self._life()
        done = self._channel.publish_many(entries)
        self._life()
        return done

    def publish(self, data: bytes, key: str) -> Any:
        raise NotImplementedError

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        self._life()
        found = self._channel.read(limit=limit, wait=wait, in_hand=in_hand)
        self._life()
        return found

    def commit(self, delivery: Delivery) -> None:
        self._life()
        self._channel.commit(delivery)

    def close(self) -> None: ...


class ReceiverProcess:
    """Receives the stream, life after life."""

    def __init__(self, world: SimulatedWorld, history: StreamHistory, path: Path) -> None:
        self._world = world
        self._history = history
        self._path = path
        self._draws = world.chance.draws("receiver")
        self._repository: Repository | None = None
        self._receiver: Receiver | None = None
        self._life = Life(None, ReceiverDiedError)
        self._stays = False

    def steps(self) -> Steps:
        while True:
            yield 0.1 + self._draws.random() * 2
            self.step(self._draws.randrange(1, 12))

    def step(self, limit: int) -> int:
        """Receive at most so many messages, in a new process if the last has died; return how many."""
        began = self._world.clock.time()
        try:
            receiver = self._start()
            came = receiver.step(limit=limit)
        except ReceiverDiedError:
            self._world.tell("receiver died")
            self._end()
            return 1
        except (ChannelUnavailableError, SendFailedError) as error:
            self._world.tell(f"receiver was refused: {error}")
            return 1
        self._check_waiting(began)
        return came

    def stay(self) -> None:
        """Die no more. A reader that dies has lost what was held back while it took what came later."""
        self._stays = True
        self._life.ends_at = None

    def check_end(self) -> None:
        """Whether everything was processed once, and what is bad is in a queue once."""
        self.stay()
        idle = 0
        for _ in range(_MOST_TRIES):
            idle = 0 if self.step(200) else idle + 1
            if idle == _IDLE:
                break
            self._world.clock.advance(PATIENCE / 3)
        self._world.require(idle == _IDLE, "everything is taken in the end", "the receiver does not end")
        processed = Counter(self._list_arrivals())
        rejected = self._list_rejected()
        for message in self._history.sent.values():
            if self._is_excused(message.parts):
                continue
            times = processed.pop(message.body_id, 0)
            may_be = (0, 1) if message.rejects > 1 else (1,)
            self._world.require(
                times in may_be if message.fate == "processed" else not times,
                "exactly once in the receiver's transaction",
                f"{message.body_id}, to be {message.fate}, was processed {times} times",
            )
            if not times:
                there = len({data for data in rejected if message.mark.encode() in data})
                self._world.require(
                    there == message.rejects, "rejected once",
                    f"{message.mark} is in the queues {there} times, not {message.rejects}",
                )  # fmt: skip
        self._end()

    def _start(self) -> Receiver:
        if self._receiver is None:
            ends_at = self._draws.randrange(1, 400)
            self._life = life = Life(None if self._stays else ends_at, ReceiverDiedError)
            repository = Repository(self._path, self._world.clock, contract=RDSS)
            self._repository = repository
            with repository.transaction() as store:
                store.execute(_TABLE)
            repository._store = MortalStore(repository._store, life)  # type: ignore[assignment]
            self._receiver = self._build(repository, life)
            self._world.tell("receiver started")
        return self._receiver

    def _build(self, repository: Repository, life: Life) -> Receiver:
        clock = self._world.clock

        def channel(name: str, *, faulted: bool = False) -> MortalChannel:
            checkpoints: Checkpoints = repository.transactional_checkpoints(name)
            return MortalChannel(
                self._world.open_channel(name, self._draws, checkpoints, faulted=faulted), life
            )

        gateways = {queue: Gateway(channel(queue), repository, clock, contract=RDSS) for queue in Queue}  # type: ignore[arg-type]
        machine = Machine("simulated", "localhost")
        buckets = {queue: f"rdss-{queue}" for queue in Queue}
        rejects = Rejects(gateways, buckets, MemoryOriginals(), clock, machine, contract=RDSS)
        return Receiver(
            channel(STREAM, faulted=True), repository, self._remember, rejects, clock,  # type: ignore[arg-type]
            contract=RDSS, patience=PATIENCE,
        )  # fmt: skip

    def _remember(self, arrival: Arrival, store: sqlite3.Connection) -> None:
        body = msgspec.json.decode(arrival.data)["messageBody"]["objectUUID"]
        store.execute("INSERT INTO arrivals VALUES (?)", (body,))
        self._world.tell(f"receiver {body}")

    def _end(self) -> None:
        if self._repository is not None:
            self._repository.close()
        self._repository = self._receiver = None

    def _check_waiting(self, began: float) -> None:
        assert self._repository is not None
        found = self._repository._store._store.execute(_WAITING, (began - PATIENCE,)).fetchone()  # type: ignore[attr-defined]
        self._world.require(found is None, "late sequences are given up", f"{found} still waits at {began}")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        store = sqlite3.connect(self._path)
        yield store
        store.close()

    def _list_arrivals(self) -> list[str]:
        with self._opened() as store:
            return [body for (body,) in store.execute("SELECT body FROM arrivals")]

    def _list_rejected(self) -> list[bytes]:
        engine = self._world.sandbox.start().engine
        found: list[bytes] = []
        for queue in Queue:
            for view in engine.call("ListShards", {"StreamName": queue}, DEFAULT_SCOPE)["Shards"]:
                found += [each.data for each in engine.read(queue, view["ShardId"], None, 10_000)]
        return found

    def _is_excused(self, parts: list[bytes]) -> bool:
        """Whether retention may have taken a part before it was read."""
        places = [self._history.numbers[part] for part in parts if part in self._history.numbers]
        return any(number <= self._history.excused.get(key, 0) for key, number in places)


class Returner:
    """Sends what is in the invalid queue back to the stream, as an operator does by mistake."""

    def __init__(self, world: SimulatedWorld, history: StreamHistory) -> None:
        self._world = world
        self._history = history
        self._draws = world.chance.draws("returner")
        self._from = world.open_channel(Queue.INVALID, self._draws)
        self._to = world.open_channel(STREAM, self._draws)

    def steps(self) -> Steps:
        number = 0
        while not self._world.is_ending:
            yield 1 + self._draws.random() * 4
            try:
                found = self._from.read(limit=3)
            except ChannelUnavailableError:
                continue
            for each in found:
                if each.data in self._history.numbers:
                    continue
                number += 1
                self._history.numbers[each.data] = "returner", number
                while not self._send(each.data):
                    yield 0.5
                self._history.acknowledged["returner"] = number

    def _send(self, data: bytes) -> bool:
        try:
            self._to.publish(data, "returner")
        except (PublishRefusedError, PublishUnknownError):
            return False
        self._world.tell("returner sent a reject back")
        return True
