"""Replay of the transaction log after a bookmark, followed by live messages."""

from __future__ import annotations

from typing import Any, Final

from extensions.topics.engine.acknowledging import CommandReceipt
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.live_topic import LiveTopic
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.topic_subscription import TopicSubscription
from extensions.topics.engine.transaction_log import LoggedChange, bookmark_of
from extensions.topics.engine.update import Update

SLICE: Final = 1000


class Replay:
    """Sends ``subscription`` the log from ``bookmark`` on, one slice at a time.

    Messages that are published meanwhile are in the log too, so their order is kept. At the end of the log,
    the replay sends a ``completed`` ack and attaches the subscription for live messages. Raises
    CommandRefusedError.
    """

    def __init__(
        self, registry: TopicRegistry, subscription: TopicSubscription, receipt: CommandReceipt, bookmark: str
    ) -> None:
        self._registry = registry
        self._subscription = subscription
        self._receipt = receipt
        self._next, self._left_out = registry.log.start(bookmark)
        if subscription.pattern is None and not registry.get_or_add(subscription.topic).replays:
            why = f"{subscription.topic!r} is not in the transaction log; subscribe without a bookmark"
            raise CommandRefusedError("invalid topic", why)

    def resume(self) -> None:
        """Send the next slice, and schedule the one after it, so that other commands get their turn."""
        registry, subscription = self._registry, self._subscription
        if not subscription.live:
            return
        for number, entry in registry.log.entries(self._next, SLICE):
            if number not in self._left_out and self._concerns(entry):
                self._send(number, entry)
        # The log may have been trimmed beyond this slice meanwhile.
        self._next = max(self._next + SLICE, registry.log.first)
        if self._next < registry.log.next:
            registry.schedule.put(0.0, self.resume)
            return
        # Still under the lock, so that nothing is published between the replay and what is live.
        registry.attach(subscription)
        self._receipt.acknowledge("completed", sub_id=subscription.sub_id)

    def _concerns(self, entry: LoggedChange) -> bool:
        pattern = self._subscription.pattern
        topic = self._registry.topics.get(entry.topic)
        if entry.kind != "published" or topic is None or not topic.replays:
            return False
        if pattern is None:
            return entry.topic == self._subscription.topic
        return pattern.fits(entry.topic) and topic.answers(self._subscription)

    def _send(self, number: int, entry: LoggedChange) -> None:
        registry, subscription = self._registry, self._subscription
        rights = registry.door.rights(subscription.session.user, entry.topic)
        test = rights.narrow(subscription.holds)
        if not rights.read or (
            test is not None and not test(_parse(registry.get_or_add(entry.topic), entry))
        ):
            return
        user_id = entry.user_id if registry.door.reveals_users else ""
        update = Update(entry.topic, entry.data, None, entry.time, entry.key, entry.correlation_id, user_id)
        update.bookmark = bookmark_of(number)
        subscription.session.deliver(update.message(subscription.sub_id, subscription, whole=True))


def _parse(topic: LiveTopic, entry: LoggedChange) -> Any:
    """The parsed data of ``entry``; None if ``topic`` had another message type then."""
    try:
        return topic.message_type.parse(entry.data)
    except CommandRefusedError:
        return None
