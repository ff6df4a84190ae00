"""Conflated topics: replicas that tell only the last of what changed in an interval."""

from __future__ import annotations

import msgspec

from emulator.topics.engine.definitions import ConflatedTopic
from emulator.topics.engine.live_topic import LiveTopic, Withdrawal
from emulator.topics.engine.messages import Reason
from emulator.topics.engine.records import Record
from emulator.topics.engine.topic_registry import TopicRegistry
from emulator.topics.engine.update import Update


class Conflator:
    """Keeps the records of ``topic`` as those of its origin are at the end of each interval.

    What it announces has the headers of the last message that was published; of a view it has none either.
    """

    def __init__(self, registry: TopicRegistry, topic: LiveTopic, definition: ConflatedTopic) -> None:
        self._registry = registry
        self._topic = topic
        self._interval = definition.interval
        self._pending: dict[str, Update | Reason] = {}

    def updated(self, update: Update) -> None:
        """A record of the origin is new or different."""
        self._wait(update.key, update)

    def withdrawn(self, withdrawal: Withdrawal) -> None:
        """A record of the origin is gone."""
        self._wait(withdrawal.record.key, withdrawal.reason)

    def tell(self) -> None:
        """Announce what has changed."""
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
        # Taken out first: what changed last is told last.
        self._pending.pop(key, None)
        self._pending[key] = change

    def _announce(self, change: Update, record: Record | None) -> None:
        if self._topic.store is None:
            return
        before = record.data if record is not None else None
        update = msgspec.structs.replace(change, topic=self._topic.name, before=before, bookmark="", number=0)
        update.message_type, update.made = self._topic.message_type, None
        record = record or Record(update.key)
        record.show(update)
        self._topic.store.add(record)
        self._topic.announce(update, record)
