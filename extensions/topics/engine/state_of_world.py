"""The state of the world of a topic: its records by key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from extensions.topics.engine.keys import KeyFields
from extensions.topics.engine.topic_subscription import TopicSubscription
from extensions.topics.engine.update import Update


class WorldRecord:
    """One record: ``body`` as published or merged, ``data`` the same parsed, ``expires`` in epoch seconds.

    ``holders`` are the subscriptions that were sent the record and need an oof message when it leaves them.
    ``alarm`` is the time of the next scheduled expiry check, None without one.
    """

    __slots__ = ("alarm", "body", "correlation_id", "data", "expires", "holders", "key", "time", "user_id")

    def __init__(self, key: str) -> None:
        self.key = key
        self.body = msgspec.Raw(b"{}")
        self.data: Any = {}
        self.correlation_id = ""
        self.user_id = ""
        self.time = 0.0
        self.expires: float | None = None
        self.alarm: float | None = None
        self.holders: dict[TopicSubscription, None] = {}

    def show(self, update: Update) -> None:
        """Take over the content of ``update``."""
        # The copy releases the memory of the whole command, which ``Raw`` would keep.
        self.body, self.data = update.body.copy(), update.data
        self.correlation_id, self.user_id = update.correlation_id, update.user_id
        self.expires, self.time = update.expires, update.time

    def to_update(self, topic: str) -> Update:
        """Build an update with the current content of the record."""
        update = Update(topic, self.body, self.data, self.time, self.key, self.correlation_id)
        update.user_id, update.expires = self.user_id, self.expires
        return update


class RecordStore:
    """Records by key, in the order in which they came. Without ``key_fields`` the publisher gives the key."""

    def __init__(self, key_fields: KeyFields | None) -> None:
        self.key_fields = key_fields
        self._records: dict[str, WorldRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[WorldRecord]:
        return iter(self._records.values())

    def get(self, key: str) -> WorldRecord | None:
        return self._records.get(key)

    def add(self, record: WorldRecord) -> None:
        self._records[record.key] = record

    def drop(self, key: str) -> None:
        self._records.pop(key, None)
