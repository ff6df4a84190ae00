"""Funnels and guaranteed order: which messages wait for which."""

from __future__ import annotations

from typing import Final

from extensions.processing.async_message_store import IS_OPEN_OR_FAILED, AsyncStore
from extensions.processing.processing_parameters import Parameters
from extensions.processing.stored_messages import Message

_RUNNING: Final = "state IN ('NEW', 'IN_QUEUE', 'PROCESSING', 'WAITING', 'WAITING_FOR_RES')"
_SAME_FUNNEL: Final = f"funnel = ? AND {IS_OPEN_OR_FAILED} AND number != ?"
_EARLIER: Final = "(timestamp < ? OR (timestamp = ? AND number > ?))"


class Ordering:
    """Finds messages of one funnel value, those of all processes."""

    def __init__(self, store: AsyncStore, parameters: Parameters) -> None:
        self._store = store
        self._parameters = parameters

    def find_in_funnel(self, message: Message, value: str) -> int | None:
        """The number of another message in the funnel; None when this one may continue.

        A message that started longer ago than ``funnel_idle`` does not count.
        """
        since = self._store.clock.time() - self._parameters.funnel_idle
        query = f"SELECT number FROM messages WHERE {_SAME_FUNNEL} AND {_RUNNING} AND started > ? LIMIT 1"  # noqa: S608
        found = self._store.rows(query, value, message.number, since)
        return found[0][0] if found else None

    def find_ahead(
        self, message: Message, value: str, component: str | None = None, *, without_failed: bool
    ) -> int | None:
        """The number of an open message of the funnel with an earlier timestamp; None when there is none.

        Of messages with the same timestamp, the one received later is ahead. ``component`` is the place in a
        route where the order is guaranteed; without one, the order holds for the whole route. A message that
        FAILED is open too, unless ``without_failed``.
        """
        not_done = IS_OPEN_OR_FAILED + (" AND state != 'FAILED'" if without_failed else "")
        place = " AND funnel_component = ?" if component else ""
        query = (
            f"SELECT number FROM messages WHERE {_SAME_FUNNEL} AND {not_done}{place} AND {_EARLIER} LIMIT 1"  # noqa: S608
        )
        values = [value, message.number, *([component] if component else [])]
        found = self._store.rows(query, *values, message.timestamp, message.timestamp, message.number)
        return found[0][0] if found else None

    def find_predecessor(self, message: Message) -> int | None:
        """The number of a message that must end before this one is processed; None when there is none."""
        if not message.guaranteed_order or message.funnel is None:
            return None
        return self.find_ahead(message, message.funnel, without_failed=message.without_failed)

    def has_waited_too_long(self, message: Message) -> bool:
        """Whether a message was received more than ``postponed_limit`` seconds ago."""
        return self._store.clock.time() - message.received > self._parameters.postponed_limit
