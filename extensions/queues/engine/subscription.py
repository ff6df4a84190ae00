"""A subscription: who is notified of a queue's messages, and for how long."""

from __future__ import annotations

from typing import Any

import msgspec


class Subscription(msgspec.Struct, array_like=True):
    """``subscriber`` is a URI (http, https, mailto, trust+http, trust+https), ``ttl`` in seconds.

    ``since`` and ``expires`` are seconds since the epoch. ``options`` are the client's, among them
    ``post_data``, ``post_headers`` and ``_retry_policy``. ``number`` orders a queue's subscriptions.
    """

    number: int
    id: str
    subscriber: str
    ttl: int
    since: float
    options: dict[str, Any]
    confirmed: bool = False

    @property
    def expires(self) -> float:
        return self.since + self.ttl

    def age(self, now: float) -> int:
        """Whole seconds since it was created or its ttl was last set."""
        return max(0, int(now - self.since))
