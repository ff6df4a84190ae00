"""All queues, as the result of their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from extensions.queues.engine.address import Address
from extensions.queues.engine.message_queue import LiveQueue
from extensions.queues.engine.queue_changes import (
    Change,
    Claimed,
    ClaimReleased,
    Posted,
    QueueGone,
    QueueSet,
    Removed,
    Renewed,
    SecretSet,
    Subscribed,
    Unsubscribed,
)
from extensions.queues.engine.queued_message import ClaimedMessages, QueuedMessage

_MESSAGES_IN_A_CHANGE: Final = 100


class QueueState:
    """All queues, and the signing key. Only ``apply`` and the clock change them."""

    def __init__(self) -> None:
        self.queues: dict[Address, LiveQueue] = {}
        self.secret = ""

    def apply(self, change: Change, now: float) -> None:
        """Apply a change. A change of a missing queue or claim has no effect."""
        if isinstance(change, SecretSet):
            self.secret = change.text
        elif isinstance(change, QueueSet):
            self._set(change)
        elif isinstance(change, QueueGone):
            self.queues.pop(change.at, None)
        elif (queue := self.queues.get(change.at)) is not None:
            _APPLY[type(change)](queue, change, now)

    def pass_time(self, change: Change, now: float) -> None:
        """Expire what was due by ``now`` in the queue of ``change``."""
        queue = None if isinstance(change, SecretSet) else self.queues.get(change.at)
        if queue is not None:
            queue.pass_time(now)

    def list_changes(self) -> Iterator[Change]:
        """Yield changes that produce this state from an empty one."""
        if self.secret:
            yield SecretSet(self.secret)
        for queue in self.queues.values():
            yield from _list_changes(queue)

    def _set(self, change: QueueSet) -> None:
        queue = self.queues.get(change.at)
        if queue is None:
            self.queues[change.at] = LiveQueue(change.at, change.metadata, change.number)
        else:
            queue.metadata = change.metadata


def _apply_posted(queue: LiveQueue, change: Posted, now: float) -> None:
    for message in change.messages:
        queue.add(message, now)


def _apply_claimed(queue: LiveQueue, change: Claimed, _now: float) -> None:
    claim = ClaimedMessages(change.claim, change.client, change.ttl, change.grace, change.since)
    queue.hold(claim, change.messages)


def _apply_renewed(queue: LiveQueue, change: Renewed, _now: float) -> None:
    if (claim := queue.claims.get(change.claim)) is not None:
        queue.renew(claim, change.ttl, change.grace, change.since)


def _apply_released(queue: LiveQueue, change: ClaimReleased, _now: float) -> None:
    if (claim := queue.claims.get(change.claim)) is not None:
        queue.release(claim)


def _apply_removed(queue: LiveQueue, change: Removed, _now: float) -> None:
    for number in change.numbers:
        queue.remove(number)


def _apply_subscribed(queue: LiveQueue, change: Subscribed, _now: float) -> None:
    queue.subscriptions[change.subscription.id] = change.subscription


def _apply_unsubscribed(queue: LiveQueue, change: Unsubscribed, _now: float) -> None:
    queue.subscriptions.pop(change.id, None)


_APPLY: Final[dict[type, Callable[[LiveQueue, Any, float], None]]] = {
    Posted: _apply_posted,
    Claimed: _apply_claimed,
    Renewed: _apply_renewed,
    ClaimReleased: _apply_released,
    Removed: _apply_removed,
    Subscribed: _apply_subscribed,
    Unsubscribed: _apply_unsubscribed,
}


def _list_changes(queue: LiveQueue) -> Iterator[Change]:
    yield QueueSet(queue.at, queue.metadata, queue.number)
    batch: list[QueuedMessage] = []
    for message in queue.messages:
        batch.append(message)
        if len(batch) == _MESSAGES_IN_A_CHANGE:
            yield Posted(queue.at, batch)
            batch = []
    if batch:
        yield Posted(queue.at, batch)
    for claim in queue.claims.values():
        counts = [(message.number, message.claims) for message in queue.held_by(claim)]
        yield Claimed(queue.at, claim.id, claim.client, claim.ttl, claim.grace, claim.since, counts)
    for subscription in queue.subscriptions.values():
        yield Subscribed(queue.at, subscription)
