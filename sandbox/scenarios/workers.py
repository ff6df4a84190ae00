"""Workers that share a queue by claims: each holds some messages for a time, works on them, deletes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from emulator.channels import Channel, Checkpoints, Delivery, Outcome, Receipt
from emulator.queues.engine import Address, QueuesError
from rdss_sandbox.shapes.queues import PROJECT
from sandbox.receiver.assembly import assembled_receiver
from sandbox.repository import Repository
from sandbox.scenarios.client import Client, OurSender
from sandbox.scenarios.client_environment import ClientEnvironment, Crash, KillableProcess
from sandbox.scenarios.scenario import INPUT
from sandbox.scenarios.watched_channel import WatchedChannel

QUEUE: Final = Address(PROJECT, INPUT)


class ClaimedChannel:
    """A channel to read by claims: what is read is held, and what is committed is deleted with its claim."""

    def __init__(self, site: ClientEnvironment, worker: str) -> None:
        assert site.claims is not None
        self.name = INPUT
        self._rules = site.claims
        self._queues = site.claims.queues
        self._events = site.events
        self._worker = worker
        self._messages: dict[str, tuple[str, str]] = {}

    def read(self, *, limit: int = 100, wait: float = 0.0) -> list[Delivery]:
        """Claim up to ``limit`` messages. A queue answers at once: there is nothing to ``wait`` for."""
        del wait
        _, ttl, grace, most = self._rules
        held = self._queues.claims.create(
            QUEUE, ttl=ttl, grace=grace, limit=min(limit, most), client=self._worker
        )
        if held is None:
            return []
        self._messages |= {str(each.number): (each.id, held.claim.id) for each in held.messages}
        return [
            Delivery(each.body, each.id, "queue", str(each.number), each.created) for each in held.messages
        ]

    def holds(self, delivery: Delivery) -> bool:
        """Whether the message is still ours: its claim has not expired."""
        id_, claim = self._messages[delivery.sequence_number]
        try:
            held = self._queues.claims.get(QUEUE, claim)
        except QueuesError:
            return False
        return any(message.id == id_ for message in held.messages)

    def commit(self, delivery: Delivery) -> None:
        """Delete the message. Where its claim has expired meanwhile, it is not ours to delete."""
        id_, claim = self._messages.pop(delivery.sequence_number)
        try:
            self._queues.messages.delete(QUEUE, id_, claim)
        except QueuesError as error:
            self._events.emit("delete.refused", worker=self._worker, message=id_, why=str(error))

    def publish(self, data: bytes, key: str) -> Receipt:
        """Workers do not publish here."""
        raise NotImplementedError

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        """As ``publish``."""
        raise NotImplementedError

    def close(self) -> None:
        """What is held stays held until its claim expires, as when a process ends."""


class Worker:
    """One process: holds messages, and works on one of them a turn."""

    def __init__(self, site: ClientEnvironment, victim: KillableProcess, repository: Repository) -> None:
        self._victim = victim
        self._site = site
        self._claimed = ClaimedChannel(site, victim.name)
        self._channel = WatchedChannel(self._claimed, site.events, site.tell_processed)
        self._hand: deque[Delivery] = deque()
        with ExitStack() as stack:
            stack.callback(repository.close)
            self.receiver = stack.enter_context(
                assembled_receiver(
                    self._open,
                    site.originals,
                    stream=INPUT,
                    repository=repository,
                    application=site.process,
                    clock=site.clock,
                )
            )
            self._stack = stack.pop_all()

    def turn(self) -> int:
        """Claim when nothing is in hand, then work on one message; whether anything was done."""
        if self._victim.paused:
            return 0
        if not self._hand:
            self._hand.extend(self._channel.read())
        if not self._hand:
            return 0
        self._victim.die_if_doomed()
        if not self._victim.paused:
            self.work(self._hand.popleft())
        return 1

    def work(self, delivery: Delivery) -> None:
        """Take a message to its end, if it is still ours."""
        if self._claimed.holds(delivery):
            self.receiver.receive(delivery)
        else:
            self._site.events.emit("claim.lost", worker=self._victim.name, message=delivery.key)

    def close(self) -> None:
        self._stack.close()

    def _open(self, name: str, checkpoints: Checkpoints) -> Channel:
        return self._channel if name == INPUT else self._site.open(name, checkpoints)


class Workers:
    """The processes of a receiving side, taking turns; one that dies is started again with empty hands."""

    def __init__(self, site: ClientEnvironment) -> None:
        self._site = site
        self._workers = [self.worker(site, victim) for victim in site.workers]

    def worker(self, site: ClientEnvironment, victim: KillableProcess) -> Worker:
        """A process of ours, which knows what the others have done."""
        return Worker(site, victim, Repository(site.receiver_store, site.clock))

    def receive(self, _limit: int, _wait: float) -> int:
        return sum(self._turn(place) for place in range(len(self._workers)))

    def _turn(self, place: int) -> int:
        worker = self._workers[place]
        try:
            done = worker.turn()
        except Crash as crash:
            self._site.events.emit("receiver.crashed", target=str(crash))
            worker.close()
            self._workers[place] = self.worker(self._site, self._site.workers[place])
            return 1
        self._site.tell_processed()
        return done

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


OUR_WORKERS: Final = Client(OurSender, Workers)
