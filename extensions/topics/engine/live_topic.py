"""A live topic: its records, its subscriptions and its followers."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from extensions.topics.engine.command_headers import CommandOptions
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import NO_DATA
from extensions.topics.engine.downstream_links import Link
from extensions.topics.engine.entitlements import AccessRules
from extensions.topics.engine.matching import TopicSubscriptions
from extensions.topics.engine.message_types import JSON, MessageType
from extensions.topics.engine.outgoing_messages import OofMessage, Reason
from extensions.topics.engine.state_of_world import RecordStore, WorldRecord
from extensions.topics.engine.topic_definitions import Definition, Queue, Topic
from extensions.topics.engine.topic_subscription import Subscriber, Test, TopicSubscription
from extensions.topics.engine.update import Update, send


class Withdrawal(NamedTuple):
    """The removal of ``record`` from the state of the world of ``topic``."""

    topic: str
    record: WorldRecord
    reason: Reason


class Follower(Protocol):
    """A topic that is derived from another: a queue, a view or a conflated topic."""

    def handle_update(self, update: Update) -> None:
        """Handle an update of the origin."""

    def handle_withdrawal(self, withdrawal: Withdrawal) -> None:
        """Handle the removal of a record of the origin."""


class WaitingMessages(Protocol):
    """The messages of a queue, and the subscriptions that take them."""

    takers: dict[TopicSubscription, Test | None]

    def __len__(self) -> int: ...
    def join(self, subscription: TopicSubscription, test: Test | None) -> None: ...
    def leave(self, subscription: TopicSubscription) -> None: ...
    def settle(self, session: Subscriber, bookmarks: list[str], options: CommandOptions) -> int: ...


class LiveTopic:
    """A topic in use. ``store`` is its state of the world, if it has one; ``links`` are its downstreams.

    ``logged`` means that it is in the transaction log. ``takes_publishes`` is False if it is derived from
    other topics.
    """

    def __init__(
        self,
        name: str,
        definition: Definition | None,
        door: AccessRules,
        store: RecordStore | None,
        message_type: MessageType = JSON,
    ) -> None:
        self.name = name
        self.message_type = message_type
        self.definition = definition
        self.store = store
        self.logged = isinstance(definition, Queue) or (isinstance(definition, Topic) and definition.logged)
        own_queue = isinstance(definition, Queue) and not definition.of
        self.takes_publishes = definition is None or isinstance(definition, Topic) or own_queue
        self.expiration = definition.expiration if isinstance(definition, Topic) else None
        self.subscriptions = TopicSubscriptions()
        self.followers: list[Follower] = []
        self.queue: WaitingMessages | None = None
        self.links: list[Link] = []
        self._door = door

    @property
    def replays(self) -> bool:
        """Whether its published messages can be replayed."""
        return self.logged and isinstance(self.definition, Topic)

    @property
    def parses(self) -> bool:
        """Whether its messages must be parsed."""
        needed = (
            self.store is not None or self.logged or self.subscriptions.needs_data or bool(self.followers)
        )
        return needed or not self.message_type.framed

    def answers(self, subscription: TopicSubscription) -> bool:
        """Whether its messages have fields, if the filter of ``subscription`` needs them."""
        return self.message_type.has_fields or not subscription.by_content

    def attach(self, subscription: TopicSubscription) -> None:
        """Start sending ``subscription`` the messages that it is entitled to."""
        if not self.answers(subscription):
            return
        rights = self._door.rights(subscription.session.user, self.name)
        if rights.read and self.queue is not None:
            self.queue.join(subscription, rights.narrow(subscription.holds))
        elif rights.read:
            self.subscriptions.add(subscription, rights.narrow(subscription.holds))

    def detach(self, subscription: TopicSubscription) -> None:
        """Stop sending it messages of this topic."""
        if self.queue is not None:
            self.queue.leave(subscription)
        else:
            self.subscriptions.remove(subscription)

    def announce(self, update: Update, record: WorldRecord | None = None) -> None:
        """Send ``update`` to matching subscriptions, and an oof to holders that no longer match."""
        matching = self.subscriptions.matching(update.data, update.key)
        entering: list[TopicSubscription] = []
        if record is not None:
            if record.holders:
                self._leave(record, matching)
            entering = [one for one in matching if one.oof and one not in record.holders]
            for one in entering:
                one.hold(record)
        if matching:
            send(update, matching, entering)
        # Behind its own subscribers, so that what follows from a message comes after it.
        for follower in self.followers:
            follower.handle_update(update)

    def withdraw(self, record: WorldRecord, reason: Reason) -> None:
        """Remove ``record`` from the state of the world, and send an oof to its holders."""
        if self.store is not None:
            self.store.drop(record.key)
        self._out(record, list(record.holders), reason)
        for follower in self.followers:
            follower.handle_withdrawal(Withdrawal(self.name, record, reason))

    def reconsider(self, door: AccessRules) -> None:
        """Apply new access rules; records that a subscription may no longer see leave it.

        Subscriptions must be attached again afterwards.
        """
        self._door = door
        self.subscriptions = TopicSubscriptions()
        for taker in tuple(self.queue.takers if self.queue is not None else ()):
            if not door.rights(taker.session.user, self.name).read:
                self.detach(taker)
        for record in self.store or ():
            lost = [one for one in record.holders if not self._entitled(one, record)]
            self._out(record, lost, "entitlement")

    def _leave(self, record: WorldRecord, matching: list[TopicSubscription]) -> None:
        staying = set(matching)
        lost = [one for one in record.holders if one not in staying]
        entitled = [one for one in lost if self._entitled(one, record)]
        self._out(record, entitled, "filter")
        if len(entitled) < len(lost):
            self._out(record, [one for one in lost if one in record.holders], "entitlement")

    def _entitled(self, subscription: TopicSubscription, record: WorldRecord) -> bool:
        rights = self._door.rights(subscription.session.user, self.name)
        return rights.read and rights.covers(record.data)

    def _out(self, record: WorldRecord, lost: list[TopicSubscription], reason: Reason) -> None:
        together: dict[object, list[TopicSubscription]] = {}
        for one in lost:
            one.forget(record)
            together.setdefault(one.session, []).append(one)
        # Whoever may no longer see a record must not get it with the news that it is gone.
        secret = reason == "entitlement"
        for folded in together.values():
            sids = ",".join(one.sub_id for one in folded)
            correlation_id, body = ("", NO_DATA) if secret else (record.correlation_id, record.body)
            folded[0].session.deliver(OofMessage(self.name, record.key, reason, sids, correlation_id, body))


def check_fields(topic: LiveTopic) -> None:
    """Raise CommandRefusedError if the messages of the topic have no fields for a filter."""
    if not topic.message_type.has_fields:
        kind = topic.message_type.name
        why = f"the messages of {topic.name!r} are {kind}, which has no fields that a filter could ask for"
        raise CommandRefusedError("bad filter", why)
