"""Claims: messages that one worker holds for a time, so that no other has them meanwhile."""

from __future__ import annotations

from emulator.queues.engine import checks
from emulator.queues.engine.address import Address
from emulator.queues.engine.changes import Change, Claimed, Posted, QueueSet, Released, Removed, Renewed
from emulator.queues.engine.errors import ClaimNotThereError
from emulator.queues.engine.message import Claim, Held, Message
from emulator.queues.engine.metadata import DEAD_LETTERS, DEAD_LETTERS_TTL, MOST_CLAIMS
from emulator.queues.engine.queue import Queue
from emulator.queues.engine.store import Store
from emulator.rng import new_uuid
from rdss_sandbox.shapes.queue_limits import DEFAULT_CLAIM_GRACE, DEFAULT_CLAIM_TTL, DEFAULT_CLAIMED


class Claims:
    """Operations on claims. An id that nothing is known of is that of a claim that has expired."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(
        self,
        at: Address,
        *,
        ttl: int = DEFAULT_CLAIM_TTL,
        grace: int = DEFAULT_CLAIM_GRACE,
        limit: int = DEFAULT_CLAIMED,
        client: str = "",
    ) -> Held | None:
        """Hold up to ``limit`` of the oldest messages that nobody holds; None when there are none.

        A message that would end before the claim does lives until ``grace`` seconds after it. One that was
        claimed as often as the queue's metadata allows is moved to the dead letters instead of being given.
        Raises ``BadValueError``.
        """
        checks.new_claim(ttl, grace, limit)
        with self._store.opened(at) as now:
            queue = self._store.queue(at, now)
            if queue is None:
                return None
            given, dead = _chosen(queue, limit)
            try:
                self._bury(queue, dead, now)
                return self._give(queue, given, Claim(new_uuid(), client, ttl, grace, now)) if given else None
            except OSError:
                queue.put_back([*given, *dead])
                raise

    def get(self, at: Address, id_: str) -> Held:
        """Raises ``ClaimNotThereError``."""
        with self._store.opened(at):
            queue, claim = self._found(at, id_)
            return Held(claim, queue.held_by(claim))

    def renew(self, at: Address, id_: str, *, ttl: int, grace: int = 0) -> None:
        """Let the claim begin anew, with another ttl if wanted.

        Raises ``ClaimNotThereError`` and ``BadValueError``.
        """
        checks.claim_ttl(ttl)
        with self._store.opened(at) as now:
            _, claim = self._found(at, id_)
            self._store.commit(now, Renewed(at, id_, ttl, grace, now))
            self._store.tell("claim_renewed", at, claim=id_, client=claim.client, ttl=ttl)

    def release(self, at: Address, id_: str) -> bool:
        """Give up the claim, so that others may have its messages at once; False when there is none."""
        return self._end(at, id_, "released")

    def expire(self, at: Address, id_: str) -> bool:
        """End the claim as the clock would; False when there is none."""
        return self._end(at, id_, "claim_expired")

    def holding(self, at: Address) -> list[Held]:
        """The claims that hold messages, oldest first. Raises ``QueueNotThereError``."""
        with self._store.opened(at) as now:
            queue = self._store.existing(at, now)
            return [Held(claim, queue.held_by(claim)) for claim in queue.claims.values() if claim.numbers]

    def _found(self, at: Address, id_: str) -> tuple[Queue, Claim]:
        queue = self._store.queue(at, self._store.now())
        claim = queue.claims.get(id_) if queue else None
        if queue is None or claim is None:
            raise ClaimNotThereError(at, id_)
        return queue, claim

    def _end(self, at: Address, id_: str, told_as: str) -> bool:
        with self._store.opened(at) as now:
            try:
                queue, claim = self._found(at, id_)
            except ClaimNotThereError:
                return False
            ids = [message.id for message in queue.held_by(claim)]
            self._store.commit(now, Released(at, id_))
            self._store.tell(told_as, at, claim=id_, client=claim.client, messages=ids)
            return True

    def _give(self, queue: Queue, messages: list[Message], claim: Claim) -> Held:
        counts = [(message.number, message.claims + 1) for message in messages]
        change = Claimed(queue.at, claim.id, claim.client, claim.ttl, claim.grace, claim.since, counts)
        self._store.commit(claim.since, change)
        ids = [message.id for message in messages]
        self._store.tell(
            "claimed", queue.at, claim=claim.id, client=claim.client, ttl=claim.ttl, messages=ids
        )
        return Held(queue.claims[claim.id], messages)

    def _bury(self, queue: Queue, messages: list[Message], now: float) -> None:
        """Move messages to the queue's dead letters, where they begin with no claims."""
        if not messages:
            return
        there = Address(queue.at.project, queue.metadata[DEAD_LETTERS])
        target = self._store.queue(there, now)
        number = target.number if target else 1
        ttl = queue.metadata.get(DEAD_LETTERS_TTL)
        moved = []
        for place, message in enumerate(messages):
            life = ttl or message.ttl
            moved.append(
                Message(
                    number + place,
                    message.id,
                    message.body,
                    life,
                    message.created,
                    now + life,
                    now,
                    client=message.client,
                )
            )
        changes: list[Change] = [Removed(queue.at, [message.number for message in messages])]
        changes += [] if target else [QueueSet(there, {})]
        self._store.commit(now, *changes, Posted(there, moved))
        ids = [message.id for message in messages]
        self._store.tell("dead_lettered", queue.at, to=there.name, messages=ids)
        self._store.left(queue.at, messages)


def _chosen(queue: Queue, limit: int) -> tuple[list[Message], list[Message]]:
    """Taken out of the queue: the messages to give, and those claimed too often that lay before them."""
    most = queue.metadata.get(MOST_CLAIMS)
    if not most or not queue.metadata.get(DEAD_LETTERS):
        return queue.take(limit), []
    given: list[Message] = []
    dead: list[Message] = []
    while len(given) < limit and (taken := queue.take(limit - len(given))):
        for message in taken:
            (dead if message.claims >= most else given).append(message)
    return given, dead
