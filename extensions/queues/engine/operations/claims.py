"""Operations on claims, by which one worker holds messages for a time and no other gets them."""

from __future__ import annotations

from emulator.rng import new_uuid
from extensions.queues.engine import bounds as checks
from extensions.queues.engine.address import Address
from extensions.queues.engine.message_queue import LiveQueue
from extensions.queues.engine.queue_changes import (
    Change,
    Claimed,
    ClaimReleased,
    Posted,
    QueueSet,
    Removed,
    Renewed,
)
from extensions.queues.engine.queue_errors import ClaimNotThereError
from extensions.queues.engine.queue_metadata import DEAD_LETTERS, DEAD_LETTERS_TTL, MOST_CLAIMS
from extensions.queues.engine.queued_message import ClaimedMessages, Held, QueuedMessage
from extensions.queues.engine.store import QueueStore
from rdss_sandbox.shapes.queue_limits import DEFAULT_CLAIM_GRACE, DEFAULT_CLAIM_TTL, DEFAULT_CLAIMED


class ClaimOperations:
    """Operations on claims. An unknown id counts as that of an expired claim."""

    def __init__(self, store: QueueStore) -> None:
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
        """Claim up to ``limit`` of the oldest free messages; None when there are none.

        A message that would expire before the claim lives until ``grace`` seconds after it. A message with
        the most claims that the queue's metadata allows is moved to the dead letters instead. Raises
        ``BadValueError``.
        """
        checks.new_claim(ttl, grace, limit)
        with self._store.refreshed(at) as now:
            queue = self._store.find_queue(at, now)
            if queue is None:
                return None
            given, dead = _take_messages(queue, limit)
            try:
                self._move_to_dead_letters(queue, dead, now)
                return (
                    self._hold(queue, given, ClaimedMessages(new_uuid(), client, ttl, grace, now))
                    if given
                    else None
                )
            except OSError:
                # Nothing of it was stored, so all of them are free again.
                queue.put_back([*given, *dead])
                raise

    def get(self, at: Address, id_: str) -> Held:
        """A claim and its messages. Raises ``ClaimNotThereError``."""
        with self._store.refreshed(at):
            queue, claim = self._require_claim(at, id_)
            return Held(claim, queue.held_by(claim))

    def renew(self, at: Address, id_: str, *, ttl: int, grace: int = 0) -> None:
        """Restart the claim's time, with this ttl. Raises ``ClaimNotThereError`` and ``BadValueError``."""
        checks.claim_ttl(ttl)
        with self._store.refreshed(at) as now:
            _, claim = self._require_claim(at, id_)
            self._store.commit(now, Renewed(at, id_, ttl, grace, now))
            self._store.emit("claim_renewed", at, claim=id_, client=claim.client, ttl=ttl)

    def release(self, at: Address, id_: str) -> bool:
        """Release the claim, so that its messages are free at once. Returns False when there is none."""
        return self._end(at, id_, "released")

    def expire(self, at: Address, id_: str) -> bool:
        """Expire the claim, as the clock would. Returns False when there is none."""
        return self._end(at, id_, "claim_expired")

    def list_holding(self, at: Address) -> list[Held]:
        """The claims that hold messages, oldest first. Raises ``QueueNotThereError``."""
        with self._store.refreshed(at) as now:
            queue = self._store.require_queue(at, now)
            return [Held(claim, queue.held_by(claim)) for claim in queue.claims.values() if claim.numbers]

    def _require_claim(self, at: Address, id_: str) -> tuple[LiveQueue, ClaimedMessages]:
        queue = self._store.find_queue(at, self._store.now())
        claim = queue.claims.get(id_) if queue else None
        if queue is None or claim is None:
            raise ClaimNotThereError(at, id_)
        return queue, claim

    def _end(self, at: Address, id_: str, event: str) -> bool:
        with self._store.refreshed(at) as now:
            try:
                queue, claim = self._require_claim(at, id_)
            except ClaimNotThereError:
                return False
            ids = [message.id for message in queue.held_by(claim)]
            self._store.commit(now, ClaimReleased(at, id_))
            self._store.emit(event, at, claim=id_, client=claim.client, messages=ids)
            return True

    def _hold(self, queue: LiveQueue, messages: list[QueuedMessage], claim: ClaimedMessages) -> Held:
        counts = [(message.number, message.claims + 1) for message in messages]
        change = Claimed(queue.at, claim.id, claim.client, claim.ttl, claim.grace, claim.since, counts)
        self._store.commit(claim.since, change)
        ids = [message.id for message in messages]
        self._store.emit(
            "claimed", queue.at, claim=claim.id, client=claim.client, ttl=claim.ttl, messages=ids
        )
        return Held(queue.claims[claim.id], messages)

    def _move_to_dead_letters(self, queue: LiveQueue, messages: list[QueuedMessage], now: float) -> None:
        """Move messages to the queue's dead letters, where their count of claims starts at 0."""
        if not messages:
            return
        there = Address(queue.at.project, queue.metadata[DEAD_LETTERS])
        target = self._store.find_queue(there, now)
        number = target.number if target else 1
        ttl = queue.metadata.get(DEAD_LETTERS_TTL)
        moved = []
        for offset, message in enumerate(messages):
            life = ttl or message.ttl
            moved.append(
                QueuedMessage(
                    number + offset,
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
        self._store.emit("dead_lettered", queue.at, to=there.name, messages=ids)
        self._store.report_gone(queue.at, messages)


def _take_messages(queue: LiveQueue, limit: int) -> tuple[list[QueuedMessage], list[QueuedMessage]]:
    """Take messages out of the queue: those to claim, and those before them with too many claims."""
    most = queue.metadata.get(MOST_CLAIMS)
    if not most or not queue.metadata.get(DEAD_LETTERS):
        return queue.take(limit), []
    given: list[QueuedMessage] = []
    dead: list[QueuedMessage] = []
    while len(given) < limit and (taken := queue.take(limit - len(given))):
        for message in taken:
            (dead if message.claims >= most else given).append(message)
    return given, dead
