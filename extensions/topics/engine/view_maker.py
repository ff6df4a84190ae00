"""Views: records that are joined and aggregated from the records of other topics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from emulator.filters import read_path, reader
from emulator.filters.values import number_in
from extensions.topics.engine.keys import opaque_key
from extensions.topics.engine.live_topic import LiveTopic, Withdrawal
from extensions.topics.engine.state_of_world import WorldRecord
from extensions.topics.engine.topic_definitions import Aggregate, View, ViewColumn
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.update import Update

Member: TypeAlias = tuple[str, str]


class ViewMaker:
    """Updates the records of the view ``topic`` when its origins change, and announces the differences.

    An announced update has no user and no correlation id, since it has several origins. A record is rebuilt
    from all its members, so the cost of a change grows with their number.
    """

    def __init__(self, registry: TopicRegistry, topic: LiveTopic, definition: View) -> None:
        self._registry = registry
        self._topic = topic
        self._definition = definition
        self._keys = {str(read_path(path)[-1]): reader(read_path(path)) for path in definition.keys}
        self._columns = [(column, reader(read_path(column.path))) for column in definition.columns]
        self._members: dict[str, dict[Member, dict[str, Any]]] = {}
        self._group_of: dict[Member, str] = {}

    def handle_update(self, update: Update) -> None:
        """Handle a new or changed record of an origin."""
        member = (update.topic, update.key)
        group = opaque_key(self._topic.name, [read(update.data) for read in self._keys.values()])
        left = self._group_of.get(member)
        if left is not None and left != group:
            self._remove(member)
        members = self._members.setdefault(group, {})
        # Taken out first: the member that changed last stands at the end.
        members.pop(member, None)
        members[member] = update.data
        self._group_of[member] = group
        self._show(group)

    def handle_withdrawal(self, withdrawal: Withdrawal) -> None:
        """Handle the removal of a record of an origin."""
        member = (withdrawal.topic, withdrawal.record.key)
        if member in self._group_of:
            self._remove(member)

    def _remove(self, member: Member) -> None:
        group = self._group_of.pop(member)
        del self._members[group][member]
        if self._members[group]:
            self._show(group)
            return
        del self._members[group]
        record = self._topic.store.get(group) if self._topic.store is not None else None
        if record is not None:
            self._topic.withdraw(record, "deleted")

    def _show(self, group: str) -> None:
        if self._topic.store is None:
            return
        members = self._members[group]
        one = next(iter(members.values()))
        row = {name: read(one) for name, read in self._keys.items()}
        for column, read in self._columns:
            row[column.name] = _AGGREGATES[column.aggregate](_values(column, read, members))
        known = self._topic.store.get(group)
        record = known or WorldRecord(group)
        body = self._topic.message_type.render(row)
        # A change that the view does not show is no news to its subscribers.
        if known is not None and bytes(known.body) == bytes(body):
            return
        data = self._topic.message_type.parse(body)
        update = Update(self._topic.name, body, data, self._registry.clock.time(), group)
        update.message_type = self._topic.message_type
        update.before = known.data if known is not None else None
        update.kept = tuple(self._keys)
        record.show(update)
        self._topic.store.add(record)
        self._topic.announce(update, record)


def _values(
    column: ViewColumn, read: Callable[[Any], Any], members: Mapping[Member, dict[str, Any]]
) -> list[Any]:
    """The values of a column in the members, with the last changed member at the end."""
    values_of_column = [read(data) for (topic, _), data in members.items() if column.topic in ("", topic)]
    return [value for value in values_of_column if value is not None]


def _numbers(values: list[Any]) -> list[float]:
    values_of_column = [number_in(one) if isinstance(one, str) else one for one in values]
    return [one for one in values_of_column if isinstance(one, int | float)]


def _sum(values: list[Any]) -> float:
    numbers = _numbers(values)
    # A plain sum of floats would depend on their order.
    return sum(numbers) if all(isinstance(one, int) for one in numbers) else math.fsum(numbers)


def _average(values: list[Any]) -> float | None:
    numbers = _numbers(values)
    return _sum(values) / len(numbers) if numbers else None


_AGGREGATES: Final[dict[Aggregate, Callable[[list[Any]], Any]]] = {
    "last": lambda values: values[-1] if values else None,
    "count": len,
    "sum": _sum,
    "min": lambda values: min(_numbers(values), default=None),
    "max": lambda values: max(_numbers(values), default=None),
    "avg": _average,
}
