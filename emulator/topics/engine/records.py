"""The state of the world of a topic: its records by their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from emulator.topics.engine.keys import KeyFields
from emulator.topics.engine.subscription import Subscription
from emulator.topics.engine.update import Update


class Record:
    """One record: ``body`` as published or merged, ``data`` the same parsed, ``expires`` in epoch seconds.

    ``holders`` are the subscriptions that were sent it and want to know when it leaves them. ``alarm``
    is when somebody will next look whether it has expired, None when nobody will.
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
        self.holders: dict[Subscription, None] = {}

    def show(self, update: Update) -> None:
        """Become what ``update`` says."""
        # A copy of its own, so that it does not keep the whole command in memory that it came in.
        self.body, self.data = update.body.copy(), update.data
        self.correlation_id, self.user_id = update.correlation_id, update.user_id
        self.expires, self.time = update.expires, update.time

    def said(self, topic: str) -> Update:
        """What was said last of it in ``topic``."""
        update = Update(topic, self.body, self.data, self.time, self.key, self.correlation_id)
        update.user_id, update.expires = self.user_id, self.expires
        return update


class Store:
    """Records by key, in the order in which they came. ``key_fields`` None: the publisher gives the key."""

    def __init__(self, key_fields: KeyFields | None) -> None:
        self.key_fields = key_fields
        self._records: dict[str, Record] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())

    def get(self, key: str) -> Record | None:
        return self._records.get(key)

    def add(self, record: Record) -> None:
        """Have ``record`` among the others."""
        self._records[record.key] = record

    def drop(self, key: str) -> None:
        self._records.pop(key, None)
