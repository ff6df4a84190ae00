"""Finds the subscriptions that match a message, without testing all of them.

A subscription with an equality in its filter is indexed by the required value, one for certain records by
their keys. Only the filters of the found ones, and of those that cannot be indexed, are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.filters import Equality, Path
from extensions.topics.engine.topic_subscription import Test, TopicSubscription
from extensions.topics.engine.value_index import Bucket, ValueIndex


class TopicSubscriptions:
    """The subscriptions of one topic, each with the test that a message must pass; None matches all."""

    def __init__(self) -> None:
        self._all: Bucket = {}
        self._always: dict[TopicSubscription, None] = {}
        self._tried: dict[TopicSubscription, Test] = {}
        self._by_key: dict[str, Bucket] = {}
        self._by_value: dict[Path, ValueIndex] = {}
        self._equality: dict[TopicSubscription, Equality] = {}
        self._tests = 0

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[TopicSubscription]:
        return iter(self._all)

    @property
    def needs_data(self) -> bool:
        """Whether a subscription has a test, which needs parsed data."""
        return self._tests > 0

    def add(self, subscription: TopicSubscription, test: Test | None) -> None:
        """Add a subscription to messages that pass ``test``."""
        self._all[subscription] = test
        self._tests += test is not None
        if subscription.keys is not None:
            for key in subscription.keys:
                self._by_key.setdefault(key, {})[subscription] = test
        elif test is None:
            self._always[subscription] = None
        elif subscription.equalities:
            # It is found by the equality that it shares with the fewest others.
            equality = min(subscription.equalities, key=self._crowd)
            self._equality[subscription] = equality
            index = self._by_value.get(equality.path)
            if index is None:
                index = self._by_value[equality.path] = ValueIndex(equality.path)
            index.add(equality, subscription, test)
        else:
            self._tried[subscription] = test

    def remove(self, subscription: TopicSubscription) -> None:
        if subscription not in self._all:
            return
        test = self._all.pop(subscription)
        self._always.pop(subscription, None)
        self._tried.pop(subscription, None)
        for key in subscription.keys or ():
            del self._by_key[key][subscription]
            if not self._by_key[key]:
                del self._by_key[key]
        equality = self._equality.pop(subscription, None)
        if equality is not None:
            index = self._by_value[equality.path]
            index.remove(equality, subscription)
            if not index:
                del self._by_value[equality.path]
        self._tests -= test is not None

    def matching(self, data: Any, key: str) -> list[TopicSubscription]:
        """The subscriptions that match a message with ``data``; ``key`` is its SOW key, if it has one."""
        found = list(self._always)
        # The usual case: nobody filters.
        if len(found) == len(self._all):
            return found
        if self._tried:
            found += [one for one, test in self._tried.items() if test(data)]
        if key in self._by_key:
            found += [one for one, test in self._by_key[key].items() if test is None or test(data)]
        for index in self._by_value.values():
            for one, test in index.hits(data).items():
                if test is None or test(data):
                    found.append(one)
        return found

    def _crowd(self, equality: Equality) -> int:
        index = self._by_value.get(equality.path)
        return 0 if index is None else index.crowd(equality)
