"""An index of subscriptions by the value that their filters require of one field."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from emulator.filters import Equality, Path, reader
from emulator.filters.indexing import Key, value_keys
from extensions.topics.engine.topic_subscription import Test, TopicSubscription

Bucket: TypeAlias = dict[TopicSubscription, Test | None]

_NONE: Final[Bucket] = {}


class ValueIndex:
    """Subscriptions that require a value of the field at ``path``, each with its whole test."""

    def __init__(self, path: Path) -> None:
        self._read = reader(path)
        self._buckets: dict[Key, Bucket] = {}
        self._numeric = 0

    def __len__(self) -> int:
        return len(self._buckets)

    def crowd(self, equality: Equality) -> int:
        """The number of subscriptions that share the buckets of ``equality``."""
        return sum(len(self._buckets.get(key, _NONE)) for key in equality.keys)

    def add(self, equality: Equality, subscription: TopicSubscription, test: Test) -> None:
        self._numeric += _is_numeric(equality)
        for key in equality.keys:
            self._buckets.setdefault(key, {})[subscription] = test

    def remove(self, equality: Equality, subscription: TopicSubscription) -> None:
        self._numeric -= _is_numeric(equality)
        for key in equality.keys:
            self._buckets[key].pop(subscription)
            if not self._buckets[key]:
                del self._buckets[key]

    def hits(self, data: Any) -> Bucket:
        """The subscriptions that a message with ``data`` may match."""
        value = self._read(data)
        # Without numeric requirements a text need not be parsed as a number.
        if type(value) is str and not self._numeric:
            return self._buckets.get(("text", value), _NONE)
        hits: Bucket = {}
        for key in value_keys(value):
            hits |= self._buckets.get(key, _NONE)
        return hits


def _is_numeric(equality: Equality) -> bool:
    return any(kind != "text" for kind, _ in equality.keys)
