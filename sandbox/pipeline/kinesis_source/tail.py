"""Where a shard ends, found by times of arrival: reading all of it for that would take twice as long."""

from __future__ import annotations

from typing import Final

from .client import AT_TIMESTAMP, Client, Mark, MarkPage
from .errors import ServiceError

GLANCE: Final = 1000
"""Records that are looked at in one place."""
_NEAR: Final = 2.0
_CLOSE: Final = 0.05


def shortly_before_end(client: Client, shard: str, low: float, high: float) -> float:
    """A time of arrival behind which a shard has few records more.

    ``low`` is when a record arrived, ``high`` when all had; seconds since the epoch. Each step halves what is
    between them, so a week takes twenty.
    """
    at = max(low, high - _NEAR)
    while high - low > _CLOSE:
        page = glance(client, shard, at)
        if page.millis_behind_latest and page.next_shard_iterator:
            low = max(at, page.records[-1].approximate_arrival_timestamp)
        elif page.records:
            return at
        else:
            high = at
        at = (low + high) / 2
    return low


def first_since(client: Client, shard: str, at: float) -> Mark | None:
    """The first record that arrived at a time or later; None where none did."""
    return next(iter(glance(client, shard, at).records), None)


def glance(client: Client, shard: str, at: float) -> MarkPage:
    """The first records that arrived at a time or later; without any, there were none when this was asked."""
    start = f"{AT_TIMESTAMP}{at}"
    iterator: str | None = None
    while True:
        try:
            page, _ = client.page(iterator or client.iterator(shard, start), GLANCE, MarkPage)
        except ServiceError as refused:
            if refused.code != "ExpiredIteratorException":
                raise
            iterator = None
            continue
        iterator = page.next_shard_iterator
        # A page may be empty though there is more behind it.
        if page.records or not iterator or not page.millis_behind_latest:
            return page
