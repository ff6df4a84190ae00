"""Where everything about topics comes together: their names, the log, the agenda, who may do what."""

from __future__ import annotations

import threading
from typing import Protocol

from emulator.clock import Clock
from emulator.events import Events
from emulator.topics.engine.access import AccessRules
from emulator.topics.engine.links import NOWHERE, Place
from emulator.topics.engine.live_topic import LiveTopic, check_fields
from emulator.topics.engine.records import Record
from emulator.topics.engine.refusals import CommandRefusedError
from emulator.topics.engine.schedule import Schedule
from emulator.topics.engine.subscription import Subscription
from emulator.topics.engine.topic_patterns import NAME
from emulator.topics.engine.transaction_log import Entry, TransactionLog

_EARLY_SECONDS = 0.001
_RETRY_SECONDS = 1.0


class Held(Protocol):
    """Acknowledgements that wait for downstream sandboxes."""

    def go_on(self) -> None: ...


class TopicRegistry:
    """The topics and what they share. Whoever calls holds ``lock``.

    ``sequences`` has the last sequence number of each publisher. ``conflates``: a transaction log is
    configured, so that acknowledgements of persistence are folded. ``arrivals`` has the number of the last
    entry taken from each other log, ``held`` whose acknowledgements wait for downstream sandboxes.
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
        self.held: dict[Held, None] = {}
        self._patterns: dict[Subscription, None] = {}
        self._attached: dict[Subscription, None] = {}

    def catch_up(self) -> None:
        """Do what is due."""
        if self.clock.elapsed() >= self.schedule.due:
            self.schedule.run()

    def add(self, topic: LiveTopic) -> LiveTopic:
        """Have ``topic`` among the others; whoever subscribed to a pattern that fits gets it as well."""
        self.topics[topic.name] = topic
        for subscription in self._patterns:
            if subscription.pattern is not None and subscription.pattern.fits(topic.name):
                topic.attach(subscription)
        return topic

    def named(self, name: str) -> LiveTopic:
        """The topic ``name``, which is undefined if it was not there."""
        return self.topics.get(name) or self.add(LiveTopic(name, None, self.door, None))

    def passing(self, name: str) -> LiveTopic:
        """The topic that is published to as ``name``; one that nobody wants is not kept.

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

    def fitting(self, subscription: Subscription) -> list[LiveTopic]:
        """The topics that ``subscription`` is about, as far as it may read them.

        Raises CommandRefusedError.
        """
        user = subscription.session.user
        if subscription.pattern is None:
            if not self.door.rights(user, subscription.topic).read:
                raise CommandRefusedError(
                    "not entitled", f"{user!r} may not read topic {subscription.topic!r}"
                )
            topic = self.named(subscription.topic)
            if subscription.by_content:
                check_fields(topic)
            return [topic]
        return [
            topic
            for topic in self._meant(subscription)
            if self.door.rights(user, topic.name).read and topic.answers(subscription)
        ]

    def attach(self, subscription: Subscription) -> None:
        """Have ``subscription`` sent what comes from now on, if it has not been ended by what came before."""
        if not subscription.live:
            return
        self._attached[subscription] = None
        if subscription.pattern is not None:
            self._patterns[subscription] = None
        for topic in self._meant(subscription):
            topic.attach(subscription)

    def detach(self, subscription: Subscription) -> None:
        """Have it sent nothing any more."""
        self._attached.pop(subscription, None)
        self._patterns.pop(subscription, None)
        for topic in self._meant(subscription):
            topic.detach(subscription)
            self._prune(topic)
        for record in tuple(subscription.held):
            subscription.let_go(record)

    def entitle(self, door: AccessRules) -> None:
        """Let ``door`` decide from now on, of subscriptions that are open too."""
        self.door = door
        for topic in self.topics.values():
            topic.reconsider(door)
        for subscription in self._attached:
            for topic in self._meant(subscription):
                topic.attach(subscription)

    def _meant(self, subscription: Subscription) -> list[LiveTopic]:
        """The topics that ``subscription`` names, whoever may read them."""
        if subscription.pattern is None:
            return [self.named(subscription.topic)]
        fits = subscription.pattern.fits
        return [topic for name, topic in self.topics.items() if fits(name) and topic.queue is None]

    def _prune(self, topic: LiveTopic) -> None:
        if topic.definition is None and not len(topic.subscriptions):
            self.topics.pop(topic.name, None)

    def watch(self, topic: LiveTopic, record: Record) -> None:
        """See to it that ``record`` expires when it must."""
        if record.expires is None or (record.alarm is not None and record.alarm <= record.expires):
            return
        record.alarm = record.expires
        self.schedule.put(record.expires - self.clock.time(), lambda: self._look(topic, record))

    def _look(self, topic: LiveTopic, record: Record) -> None:
        record.alarm = None
        if topic.store is None or topic.store.get(record.key) is not record or record.expires is None:
            return
        now = self.clock.time()
        if now < record.expires - _EARLY_SECONDS:
            self.watch(topic, record)
            return
        try:
            self.keep(topic, Entry("expired", topic.name, now, record.key))
        except CommandRefusedError as refused:
            self.events.emit(
                "topic.expiry_failed", topic=topic.name, sow_key=record.key, reason=refused.reason
            )
            self.schedule.put(_RETRY_SECONDS, lambda: self._look(topic, record))
            return
        topic.withdraw(record, "expired")

    def keep(self, topic: LiveTopic, *entries: Entry) -> int:
        """Log what happens to ``topic`` if that is kept; the number of the first entry, or 0.

        CommandRefusedError.
        """
        if not entries or not self.keeps(topic):
            return 0
        first = self.log.append(*entries)
        for link in topic.links:
            link.logged(first + len(entries) - 1)
        return first

    def place(self, topic: str, number: int) -> Place:
        """What persisted acknowledgement of ``number`` in ``topic`` waits for."""
        known = self.topics.get(topic)
        return Place(number, tuple(known.links)) if known is not None and known.links and number else NOWHERE

    def release(self) -> None:
        """A downstream sandbox has come further, or is waited for no longer."""
        for one in tuple(self.held):
            one.go_on()

    def keeps(self, topic: LiveTopic) -> bool:
        """Whether the log has what happens to ``topic``."""
        return topic.logged or (topic.store is not None and self.log.durable)
