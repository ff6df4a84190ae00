"""The topic registry: the shared state of the engine, which is the topics, log, schedule and access rules."""

from __future__ import annotations

import threading
from typing import Protocol

from emulator.clock import Clock
from emulator.events import Events
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.downstream_links import NOWHERE, AwaitedPlace
from extensions.topics.engine.entitlements import AccessRules
from extensions.topics.engine.live_topic import LiveTopic, check_fields
from extensions.topics.engine.schedule import Schedule
from extensions.topics.engine.state_of_world import WorldRecord
from extensions.topics.engine.topic_name_patterns import NAME
from extensions.topics.engine.topic_subscription import TopicSubscription
from extensions.topics.engine.transaction_log import LoggedChange, TransactionLog

# By the rounding of floats, an alarm may come a hair early.
_EARLY_SECONDS = 0.001
_RETRY_SECONDS = 1.0


class HeldAcknowledgements(Protocol):
    """Acknowledgements that wait for downstream sandboxes."""

    def resume(self) -> None: ...


class TopicRegistry:
    """The topics and their shared state. Callers must hold ``lock``.

    ``sequences`` has the last sequence number of each publisher. ``conflates`` is True if a topic is logged;
    acknowledgements of persistence are then conflated. ``arrivals`` has the number of the last entry
    replicated from each other log. ``held`` are the acknowledgements that wait for downstream sandboxes.
    """

    def __init__(self, clock: Clock, events: Events, door: AccessRules, log: TransactionLog) -> None:
        self.clock = clock
        self.events = events
        self.door = door
        self.log = log
        self.schedule = Schedule(clock)
        self.lock = threading.RLock()
        self.topics: dict[str, LiveTopic] = {}
        self.sequences: dict[str, int] = {}
        self.conflates = False
        self.arrivals: dict[str, int] = {}
        self.held: dict[HeldAcknowledgements, None] = {}
        self._patterns: dict[TopicSubscription, None] = {}
        self._attached: dict[TopicSubscription, None] = {}

    def catch_up(self) -> None:
        """Run the scheduled actions that are due."""
        if self.clock.elapsed() >= self.schedule.due:
            self.schedule.run()

    def add(self, topic: LiveTopic) -> LiveTopic:
        """Add a topic, and attach the subscriptions whose pattern matches its name."""
        self.topics[topic.name] = topic
        for subscription in self._patterns:
            if subscription.pattern is not None and subscription.pattern.fits(topic.name):
                topic.attach(subscription)
        return topic

    def get_or_add(self, name: str) -> LiveTopic:
        """Find the topic ``name``, or add it as an undefined one."""
        return self.topics.get(name) or self.add(LiveTopic(name, None, self.door, None))

    def find_published(self, name: str) -> LiveTopic:
        """Find the topic that a publish to ``name`` goes to; an undefined one is kept only if subscribed to.

        Raises CommandRefusedError.
        """
        topic = self.topics.get(name)
        if topic is not None:
            return topic
        if not NAME.fullmatch(name):
            why = f"{name[:80]!r} is no topic's name; one has letters, digits and the characters . / : _ -"
            raise CommandRefusedError("invalid topic", why)
        topic = self.add(LiveTopic(name, None, self.door, None))
        self._prune(topic)
        return topic

    def find_readable(self, subscription: TopicSubscription) -> list[LiveTopic]:
        """Find the topics of ``subscription`` that its user may read.

        Raises CommandRefusedError.
        """
        user = subscription.session.user
        if subscription.pattern is None:
            if not self.door.rights(user, subscription.topic).read:
                raise CommandRefusedError(
                    "not entitled", f"{user!r} may not read topic {subscription.topic!r}"
                )
            topic = self.get_or_add(subscription.topic)
            if subscription.by_content:
                check_fields(topic)
            return [topic]
        return [
            topic
            for topic in self._meant(subscription)
            if self.door.rights(user, topic.name).read and topic.answers(subscription)
        ]

    def attach(self, subscription: TopicSubscription) -> None:
        """Start sending messages to ``subscription``, unless it has ended already."""
        if not subscription.live:
            return
        self._attached[subscription] = None
        if subscription.pattern is not None:
            self._patterns[subscription] = None
        for topic in self._meant(subscription):
            topic.attach(subscription)

    def detach(self, subscription: TopicSubscription) -> None:
        """Stop sending messages to ``subscription``."""
        self._attached.pop(subscription, None)
        self._patterns.pop(subscription, None)
        for topic in self._meant(subscription):
            topic.detach(subscription)
            self._prune(topic)
        for record in tuple(subscription.held):
            subscription.forget(record)

    def entitle(self, door: AccessRules) -> None:
        """Set the access rules, also for open subscriptions."""
        self.door = door
        for topic in self.topics.values():
            topic.reconsider(door)
        for subscription in self._attached:
            for topic in self._meant(subscription):
                topic.attach(subscription)

    def _meant(self, subscription: TopicSubscription) -> list[LiveTopic]:
        """Find the topics that ``subscription`` names, without regard to access."""
        if subscription.pattern is None:
            return [self.get_or_add(subscription.topic)]
        fits = subscription.pattern.fits
        # A pattern must not take messages out of a queue that it happens to fit.
        return [topic for name, topic in self.topics.items() if fits(name) and topic.queue is None]

    def _prune(self, topic: LiveTopic) -> None:
        if topic.definition is None and not len(topic.subscriptions):
            self.topics.pop(topic.name, None)

    def watch(self, topic: LiveTopic, record: WorldRecord) -> None:
        """Schedule the expiry of ``record``."""
        # An earlier alarm looks again, and plans the next.
        if record.expires is None or (record.alarm is not None and record.alarm <= record.expires):
            return
        record.alarm = record.expires
        self.schedule.put(record.expires - self.clock.time(), lambda: self._look(topic, record))

    def _look(self, topic: LiveTopic, record: WorldRecord) -> None:
        record.alarm = None
        if topic.store is None or topic.store.get(record.key) is not record or record.expires is None:
            return
        now = self.clock.time()
        if now < record.expires - _EARLY_SECONDS:
            self.watch(topic, record)
            return
        try:
            self.keep(topic, LoggedChange("expired", topic.name, now, record.key))
        except CommandRefusedError as refused:
            self.events.emit(
                "topic.expiry_failed", topic=topic.name, sow_key=record.key, reason=refused.reason
            )
            # The disk may have room again by then.
            self.schedule.put(_RETRY_SECONDS, lambda: self._look(topic, record))
            return
        topic.withdraw(record, "expired")

    def keep(self, topic: LiveTopic, *entries: LoggedChange) -> int:
        """Log entries of ``topic``, if it is logged; return the number of the first, or 0.

        Raises CommandRefusedError.
        """
        if not entries or not self.keeps(topic):
            return 0
        first = self.log.append(*entries)
        for link in topic.links:
            link.note_logged(first + len(entries) - 1)
        return first

    def place(self, topic: str, number: int) -> AwaitedPlace:
        """The place that the ``persisted`` ack of the entry ``number`` in ``topic`` waits for."""
        known = self.topics.get(topic)
        return (
            AwaitedPlace(number, tuple(known.links))
            if known is not None and known.links and number
            else NOWHERE
        )

    def release(self) -> None:
        """Send acknowledgements that no longer have to wait for a downstream sandbox."""
        for one in tuple(self.held):
            one.resume()

    def keeps(self, topic: LiveTopic) -> bool:
        """Whether changes of ``topic`` are logged."""
        # A state of the world outlives the process, also where nothing can be replayed.
        return topic.logged or (topic.store is not None and self.log.durable)
