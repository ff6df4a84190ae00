"""Reads what a function writes out of CloudWatch Logs, as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from extensions.functions.runtime.function_logs import group_of


class WrittenLine(NamedTuple):
    """A line that a function wrote. ``time`` is seconds since the epoch."""

    time: float
    stream: str
    message: str


class LogFollower:
    """The lines of one function, each of them once. ``client`` is boto3's for CloudWatch Logs."""

    def __init__(self, client: Any, function: str) -> None:
        self._client = client
        self._group = group_of(function)
        self._latest = 0
        self._ids: set[str] = set()

    def read(self) -> Iterator[WrittenLine]:
        """The lines that have come since the last call; none of a function that never ran."""
        pages = self._client.get_paginator("filter_log_events")
        try:
            for page in pages.paginate(logGroupName=self._group, startTime=self._latest):
                for event in page["events"]:
                    if self._is_new(event["eventId"], event["timestamp"]):
                        text = event["message"].rstrip("\n")
                        yield WrittenLine(event["timestamp"] / 1000, event["logStreamName"], text)
        except self._client.exceptions.ResourceNotFoundException:
            return

    def _is_new(self, event: str, time: int) -> bool:
        """Whether an event was not read before. Those of the latest millisecond come again."""
        if event in self._ids:
            return False
        if time > self._latest:
            self._latest = time
            self._ids.clear()
        self._ids.add(event)
        return True
