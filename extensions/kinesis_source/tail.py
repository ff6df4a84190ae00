"""Finds the end of a shard by arrival times, since reading the whole shard for that would double the work."""

from __future__ import annotations

from typing import Final

from .kinesis_client import AT_TIMESTAMP, KinesisClient, MarkPage, RecordMark
from .source_errors import ServiceError

GLANCE: Final = 1000
"""The number of records read at one position."""
_NEAR: Final = 2.0
_CLOSE: Final = 0.05


def find_time_before_end(client: KinesisClient, shard: str, low: float, high: float) -> float:
    """Find a time of arrival after which a shard has few more records, by binary search.

    ``low`` is the arrival of a record, ``high`` a time when all had arrived, in seconds since the epoch. A
    week takes about twenty steps.
    """
    at = max(low, high - _NEAR)
    while high - low > _CLOSE:
        page = read_since(client, shard, at)
        if page.millis_behind_latest and page.next_shard_iterator:
            low = max(at, page.records[-1].approximate_arrival_timestamp)
        elif page.records:
            return at
        else:
            high = at
        at = (low + high) / 2
    return low


def read_first_since(client: KinesisClient, shard: str, at: float) -> RecordMark | None:
    """The first record that arrived at or after a time; None when there is none."""
    return next(iter(read_since(client, shard, at).records), None)


def read_since(client: KinesisClient, shard: str, at: float) -> MarkPage:
    """Read the first records that arrived at or after a time; the page is empty if there are none yet."""
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
        # A page may be empty although more records follow.
        if page.records or not iterator or not page.millis_behind_latest:
            return page
