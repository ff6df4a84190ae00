"""Conflated topics: replicas that send only the last change of each record in an interval."""

from __future__ import annotations

import msgspec

from extensions.topics.engine.live_topic import LiveTopic, Withdrawal
from extensions.topics.engine.outgoing_messages import Reason
from extensions.topics.engine.state_of_world import WorldRecord
from extensions.topics.engine.topic_definitions import ConflatedTopic
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.update import Update


class Conflator:
    """Copies the records of the origin to ``topic`` at the end of each interval.

    An announced update has the headers of the last published message, if the origin has such headers.
    """

    def __init__(self, registry: TopicRegistry, topic: LiveTopic, definition: ConflatedTopic) -> None:
        self._registry = registry
        self._topic = topic
        self._interval = definition.interval
        self._pending: dict[str, Update | Reason] = {}

    def handle_update(self, update: Update) -> None:
        """Note that a record of the origin is new or different."""
        self._wait(update.key, update)

    def handle_withdrawal(self, withdrawal: Withdrawal) -> None:
        """Note that a record of the origin is deleted."""
        self._wait(withdrawal.record.key, withdrawal.reason)

    def tell(self) -> None:
        """Announce the changes of the interval."""
        pending, self._pending = self._pending, {}
        for key, change in pending.items():
            record = self._topic.store.get(key) if self._topic.store is not None else None
            if isinstance(change, Update):
                self._announce(change, record)
            elif record is not None:
                self._topic.withdraw(record, change)

    def _wait(self, key: str, change: Update | Reason) -> None:
        if not self._pending:
            self._registry.schedule.put(self._interval, self.tell)
        # Removing it first keeps the order of the last changes.
        self._pending.pop(key, None)
        self._pending[key] = change

    def _announce(self, change: Update, record: WorldRecord | None) -> None:
        if self._topic.store is None:
            return
        before = record.data if record is not None else None
        update = msgspec.structs.replace(change, topic=self._topic.name, before=before, bookmark="", number=0)
        # To these subscribers another record came before, so the delta is another.
        update.message_type, update.made = self._topic.message_type, None
        record = record or WorldRecord(update.key)
        record.show(update)
        self._topic.store.add(record)
        self._topic.announce(update, record)
