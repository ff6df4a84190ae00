"""Operations on subscriptions. The webhooks read them here."""

from __future__ import annotations

from typing import Any, NamedTuple

from emulator.destinations import Destinations, ForbiddenError
from emulator.rng import new_uuid
from extensions.queues.engine import bounds as checks
from extensions.queues.engine.address import Address
from extensions.queues.engine.queue_changes import Change, QueueSet, Subscribed, Unsubscribed
from extensions.queues.engine.queue_errors import (
    BadValueError,
    SubscriberTakenError,
    SubscriptionNotThereError,
)
from extensions.queues.engine.queue_metadata import RETRY_POLICY, check_retry_policy
from extensions.queues.engine.store import QueueStore
from extensions.queues.engine.subscription import Subscription
from rdss_sandbox.shapes.queue_limits import DEFAULT_PAGE, DEFAULT_SUBSCRIPTION_TTL


class Creation(NamedTuple):
    """A subscription, and whether it is ``new`` or existed already."""

    subscription: Subscription
    new: bool


class SubscriptionOperations:
    """Operations on subscriptions. A queue has at most one for each subscriber.

    ``create`` and ``update`` ask ``destinations`` whether the subscriber is allowed. That asks the name
    service, so it may take long.
    """

    def __init__(self, store: QueueStore, destinations: Destinations) -> None:
        self._store = store
        self._destinations = destinations

    def create(
        self,
        at: Address,
        subscriber: str,
        *,
        ttl: int = DEFAULT_SUBSCRIPTION_TTL,
        options: dict[str, Any] | None = None,
    ) -> Creation:
        """Subscribe to the queue. A missing queue is created. Raises ``BadValueError``."""
        # Without the lock, for it may ask the name service.
        self._check_all(subscriber, ttl, options)
        with self._store.lock:
            now = self._store.now()
            queue = self._store.find_queue(at, now)
            there = self._find_by_subscriber(at, subscriber, now)
            if there is not None:
                return Creation(there, new=False)
            # Pages go by this number.
            number = max((each.number for each in queue.subscriptions.values()), default=0) if queue else 0
            made = Subscription(number + 1, new_uuid(), subscriber, ttl, now, options or {})
            changes: list[Change] = [] if queue else [QueueSet(at, {})]
            self._store.commit(now, *changes, Subscribed(at, made))
            self._store.emit("subscribed", at, subscription=made.id, subscriber=subscriber)
            return Creation(made, new=True)

    def page(self, at: Address, *, after: str = "", limit: int = DEFAULT_PAGE) -> list[Subscription]:
        """The subscriptions created after the one with the id ``after``, oldest first.

        Raises ``BadValueError``.
        """
        checks.page_limit(limit)
        with self._store.lock:
            queue = self._store.find_queue(at, self._store.now())
            found = sorted(queue.subscriptions.values(), key=lambda each: each.number) if queue else []
            number = next((each.number for each in found if each.id == after), 0)
            return [each for each in found if each.number > number][:limit]

    def get(self, at: Address, id_: str) -> Subscription:
        """One subscription. Raises ``SubscriptionNotThereError``."""
        with self._store.lock:
            queue = self._store.find_queue(at, self._store.now())
            if queue is None or id_ not in queue.subscriptions:
                raise SubscriptionNotThereError(id_)
            return queue.subscriptions[id_]

    def update(
        self,
        at: Address,
        id_: str,
        *,
        subscriber: str | None = None,
        ttl: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Change the given fields. A new ttl counts from now.

        Raises ``SubscriptionNotThereError``, ``SubscriberTakenError`` and ``BadValueError``.
        """
        self._check_all(subscriber, ttl, options)
        with self._store.lock:
            now = self._store.now()
            old = self.get(at, id_)
            other = self._find_by_subscriber(at, subscriber, now) if subscriber else None
            if other is not None and other.id != id_:
                raise SubscriberTakenError(other.subscriber)
            self._replace(
                at,
                Subscription(
                    old.number,
                    id_,
                    subscriber or old.subscriber,
                    old.ttl if ttl is None else ttl,
                    old.since if ttl is None else now,
                    old.options if options is None else options,
                    old.confirmed,
                ),
            )

    def confirm(self, at: Address, id_: str, *, confirmed: bool) -> Subscription:
        """Set whether the subscriber has agreed. Raises ``SubscriptionNotThereError``."""
        with self._store.lock:
            old = self.get(at, id_)
            fresh = Subscription(old.number, id_, old.subscriber, old.ttl, old.since, old.options, confirmed)
            self._replace(at, fresh)
            if confirmed != old.confirmed:
                self._store.emit("subscription_confirmed", at, subscription=id_, confirmed=confirmed)
            return fresh

    def delete(self, at: Address, id_: str) -> None:
        """Delete the subscription, if it is there."""
        with self._store.lock:
            now = self._store.now()
            queue = self._store.find_queue(at, now)
            if queue is not None and id_ in queue.subscriptions:
                self._store.commit(now, Unsubscribed(at, id_))
                self._store.emit("unsubscribed", at, subscription=id_)

    def _check_all(self, subscriber: str | None, ttl: int | None, options: Any) -> None:
        checks.storable([ttl, options])
        if subscriber is not None:
            checks.subscriber(subscriber)
        if ttl is not None:
            checks.subscription_ttl(ttl)
        if options is not None:
            if not isinstance(options, dict):
                raise BadValueError("Options must be a dict.")
            check_retry_policy(options.get(RETRY_POLICY))
        if subscriber is not None:
            try:
                self._destinations.check(subscriber.removeprefix("trust+"))
            except ForbiddenError as error:
                raise BadValueError(f"The subscriber cannot be called. {error}.") from error

    def _find_by_subscriber(self, at: Address, subscriber: str, now: float) -> Subscription | None:
        queue = self._store.find_queue(at, now)
        subscriptions = queue.subscriptions.values() if queue else ()
        return next((each for each in subscriptions if each.subscriber == subscriber), None)

    def _replace(self, at: Address, fresh: Subscription) -> None:
        self._store.commit(self._store.now(), Subscribed(at, fresh))
