"""Funnels and guaranteed order: which messages have to wait for which."""

from __future__ import annotations

from typing import Final

from sandbox.processing.parameters import Parameters
from sandbox.processing.records import Message
from sandbox.processing.store import IS_OPEN_OR_FAILED, Store

_RUNNING: Final = "state IN ('NEW', 'IN_QUEUE', 'PROCESSING', 'WAITING', 'WAITING_FOR_RES')"
_SAME_FUNNEL: Final = f"funnel = ? AND {IS_OPEN_OR_FAILED} AND number != ?"
_EARLIER: Final = "(timestamp < ? OR (timestamp = ? AND number > ?))"


class Ordering:
    """Looks at the messages of one funnel value, of every process."""

    def __init__(self, store: Store, parameters: Parameters) -> None:
        self._store = store
        self._parameters = parameters

    def in_funnel(self, message: Message, value: str) -> int | None:
        """Another message that is in the funnel just now; None when this one may go on.

        One that began longer ago than the funnel may be idle does not count.
        """
        since = self._store.clock.time() - self._parameters.funnel_idle
        query = f"SELECT number FROM messages WHERE {_SAME_FUNNEL} AND {_RUNNING} AND started > ? LIMIT 1"  # noqa: S608
        found = self._store.rows(query, value, message.number, since)
        return found[0][0] if found else None

    def ahead(
        self, message: Message, value: str, component: str | None = None, *, without_failed: bool
    ) -> int | None:
        """A message of the funnel that is dated earlier and not done; of equals, the one received later.

        ``component`` is the place in a route where the order is guaranteed; without one, the whole of it.
        One that FAILED is not done, unless ``without_failed``.
        """
        not_done = IS_OPEN_OR_FAILED + (" AND state != 'FAILED'" if without_failed else "")
        place = " AND funnel_component = ?" if component else ""
        query = (
            f"SELECT number FROM messages WHERE {_SAME_FUNNEL} AND {not_done}{place} AND {_EARLIER} LIMIT 1"  # noqa: S608
        )
        values = [value, message.number, *([component] if component else [])]
        found = self._store.rows(query, *values, message.timestamp, message.timestamp, message.number)
        return found[0][0] if found else None

    def ahead_of(self, message: Message) -> int | None:
        """A message that must be done before this one may be processed at all."""
        if not message.guaranteed_order or message.funnel is None:
            return None
        return self.ahead(message, message.funnel, without_failed=message.without_failed)

    def too_late(self, message: Message) -> bool:
        """Whether it was received too long ago to wait any longer for its turn."""
        return self._store.clock.time() - message.received > self._parameters.postponed_limit
