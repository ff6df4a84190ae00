"""Finding the subscriptions that a message is for, without trying them all.

A subscription whose filter demands an equality is found by the value that the message has; one for certain
records by their key. Only the filters of those found, and of those that demand nothing such, are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from emulator.topics.filters import Equality, Path, index_keys
from emulator.topics.subscription import Subscription, Test

_Bucket: TypeAlias = dict[Subscription, Test | None]
_Table: TypeAlias = dict[Any, _Bucket]


class Subscriptions:
    """The subscriptions of one topic, each with the test that a message must pass, None for no test."""

    def __init__(self) -> None:
        self._all: _Bucket = {}
        self._always: dict[Subscription, None] = {}
        self._tried: _Bucket = {}
        self._by_key: _Table = {}
        self._by_value: dict[Path, _Table] = {}
        self._equality: dict[Subscription, Equality] = {}
        self.needs_data = False

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Subscription]:
        return iter(self._all)

    def __contains__(self, subscription: Subscription) -> bool:
        return subscription in self._all

    def add(self, subscription: Subscription, test: Test | None) -> None:
        """Find ``subscription`` from now on for what passes ``test``."""
        self._all[subscription] = test
        if subscription.keys is not None:
            for sow_key in subscription.keys:
                self._by_key.setdefault(sow_key, {})[subscription] = test
        elif test is None:
            self._always[subscription] = None
        elif subscription.equalities:
            self._file(subscription, test)
        else:
            self._tried[subscription] = test
        self.needs_data = self.needs_data or test is not None

    def remove(self, subscription: Subscription) -> None:
        """Find ``subscription`` no more."""
        if subscription not in self._all:
            return
        del self._all[subscription]
        self._always.pop(subscription, None)
        self._tried.pop(subscription, None)
        for sow_key in subscription.keys or ():
            _take_out(self._by_key, sow_key, subscription)
        equality = self._equality.pop(subscription, None)
        if equality is not None:
            table = self._by_value[equality.path]
            for key in equality.keys:
                _take_out(table, key, subscription)
            if not table:
                del self._by_value[equality.path]
        self.needs_data = len(self._all) > len(self._always)

    def matching(self, data: Any, key: str) -> list[Subscription]:
        """Those that a message with ``data`` is for; ``key`` is its SOW key, if it has one."""
        found = list(self._always)
        if not self.needs_data:
            return found
        found += [one for one, test in self._tried.items() if test is None or test(data)]
        if key in self._by_key:
            found += [one for one, test in self._by_key[key].items() if test is None or test(data)]
        for path, table in self._by_value.items():
            hits: _Bucket = {}
            for value in index_keys(path, data):
                hits.update(table.get(value, ()))
            found += [one for one, test in hits.items() if test is None or test(data)]
        return found

    def _file(self, subscription: Subscription, test: Test) -> None:
        """File it under the equality that it shares with the fewest others."""
        equality = min(subscription.equalities, key=self._crowd)
        self._equality[subscription] = equality
        table = self._by_value.setdefault(equality.path, {})
        for key in equality.keys:
            table.setdefault(key, {})[subscription] = test

    def _crowd(self, equality: Equality) -> int:
        table = self._by_value.get(equality.path, {})
        return sum(len(table.get(key, ())) for key in equality.keys)


def _take_out(table: _Table, key: Any, subscription: Subscription) -> None:
    bucket = table[key]
    del bucket[subscription]
    if not bucket:
        del table[key]
