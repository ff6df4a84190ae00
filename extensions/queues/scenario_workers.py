"""Workers that share a queue by claims: each claims messages for a time, processes and deletes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import Final

from emulator.channels.channel import Channel, Delivery, Outcome, Receipt
from emulator.channels.checkpoints import Checkpoints
from extensions.queues.component import QueueComponent
from extensions.queues.engine import Address, QueuesError
from rdss_sandbox.shapes.queues import PROJECT
from rdss_sandbox.text.durations import seconds
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.repository import Repository
from sandbox.scenarios.client_environment import ClientEnvironment, Crash, KillableProcess
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.scenario_client import Client, OurSender
from sandbox.scenarios.watched_channel import WatchedChannel

QUEUE: Final = Address(PROJECT, INPUT)


class ClaimedChannel:
    """A channel that reads by claims: a read claims messages, and a commit deletes one with its claim."""

    def __init__(self, environment: ClientEnvironment, worker: str) -> None:
        rules, components = environment.claims, environment.components
        assert rules is not None
        assert components is not None
        component = components.find("queues")
        assert isinstance(component, QueueComponent)
        self.name = INPUT
        self._rules = rules
        self._queues = component.engine
        self._events = environment.events
        self._worker = worker
        self._messages: dict[str, tuple[str, str]] = {}

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        """Claim up to ``limit`` messages. A queue answers at once and has no shards."""
        del wait, in_hand
        rules = self._rules
        held = self._queues.claims.create(
            QUEUE,
            ttl=round(seconds(rules.ttl)),
            grace=round(seconds(rules.grace)),
            limit=min(limit, rules.limit),
            client=self._worker,
        )
        if held is None:
            return []
        self._messages |= {str(each.number): (each.id, held.claim.id) for each in held.messages}
        return [
            Delivery(each.body, each.id, "queue", str(each.number), each.created) for each in held.messages
        ]

    def holds(self, delivery: Delivery) -> bool:
        """Whether this worker still holds the message: its claim has not expired."""
        id_, claim = self._messages[delivery.sequence_number]
        try:
            held = self._queues.claims.get(QUEUE, claim)
        except QueuesError:
            return False
        return any(message.id == id_ for message in held.messages)

    def commit(self, delivery: Delivery) -> None:
        """Delete the message; emit ``delete.refused`` if its claim has expired."""
        id_, claim = self._messages.pop(delivery.sequence_number)
        try:
            self._queues.messages.delete(QUEUE, id_, claim)
        except QueuesError as error:
            self._events.emit("delete.refused", worker=self._worker, message=id_, why=str(error))

    def publish(self, data: bytes, key: str) -> Receipt:
        """Not supported: workers do not publish to the queue."""
        raise NotImplementedError

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        """Not supported, as ``publish``."""
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: claimed messages stay claimed until the claim expires, as when a process ends."""


class Worker:
    """One process: it claims messages and processes one of them in each turn."""

    def __init__(
        self, environment: ClientEnvironment, victim: KillableProcess, repository: Repository
    ) -> None:
        self._victim = victim
        self._environment = environment
        self._claimed = ClaimedChannel(environment, victim.name)
        self._channel = WatchedChannel(self._claimed, environment.events, environment.emit_processed)
        self._hand: deque[Delivery] = deque()
        with ExitStack() as stack:
            stack.callback(repository.close)
            self.receiver = stack.enter_context(
                assembled_receiver(
                    self._open,
                    environment.originals,
                    stream=INPUT,
                    repository=repository,
                    application=environment.process,
                    clock=environment.clock,
                )
            )
            self._stack = stack.pop_all()

    def turn(self) -> int:
        """Claim messages if none are left, then process one. Returns the number of processed messages."""
        if self._victim.paused:
            return 0
        if not self._hand:
            self._hand.extend(self._channel.read())
        if not self._hand:
            return 0
        self._victim.die_if_killed()
        if not self._victim.paused:
            self.work(self._hand.popleft())
        return 1

    def work(self, delivery: Delivery) -> None:
        """Process a message if this worker still holds it; else emit ``claim.lost``."""
        if self._claimed.holds(delivery):
            self.receiver.receive(delivery)
        else:
            self._environment.events.emit("claim.lost", worker=self._victim.name, message=delivery.key)

    def close(self) -> None:
        self._stack.close()

    def _open(self, name: str, checkpoints: Checkpoints) -> Channel:
        return self._channel if name == INPUT else self._environment.open(name, checkpoints)


class Workers:
    """The workers of a receiving side, in turns; one that dies is started again without messages."""

    def __init__(self, environment: ClientEnvironment) -> None:
        self._environment = environment
        self._workers = [self.worker(environment, victim) for victim in environment.workers]

    def worker(self, environment: ClientEnvironment, victim: KillableProcess) -> Worker:
        """Start a worker; its repository is on the file that all workers share."""
        return Worker(environment, victim, Repository(environment.receiver_store, environment.clock))

    def receive(self, _limit: int, _wait: float) -> int:
        return sum(self._turn(place) for place in range(len(self._workers)))

    def _turn(self, place: int) -> int:
        worker = self._workers[place]
        try:
            done = worker.turn()
        except Crash as crash:
            self._environment.events.emit("receiver.crashed", target=str(crash))
            worker.close()
            self._workers[place] = self.worker(self._environment, self._environment.workers[place])
            return 1
        self._environment.emit_processed()
        return done

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


OUR_WORKERS: Final = Client(OurSender, Workers)
