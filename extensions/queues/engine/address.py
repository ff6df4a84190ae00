"""The address of a queue: its project and its name."""

from __future__ import annotations

from typing import NamedTuple


class Address(NamedTuple):
    """A queue's ``name`` within its ``project``; projects do not see each other's queues."""

    project: str
    name: str
