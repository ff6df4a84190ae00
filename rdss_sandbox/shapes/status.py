"""The sandbox as a whole: where it answers, what it holds, which version it is."""

from __future__ import annotations

from typing import Literal

import msgspec

from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.shapes.streams import Stream
from rdss_sandbox.shapes.topology import Topology


class Status(msgspec.Struct, frozen=True):
    """The running sandbox: where it answers, what it holds, what to know about it.

    ``aws``, ``control``, ``amqp`` and ``queues`` are URLs (None where nothing answers), ``uptime`` real
    seconds, ``messages`` the number of messages in the index, ``events`` the newest event's id. ``topology``
    is what it was made with: its audit log and its error and invalid queues are named there.
    """

    version: str
    profile: str
    pid: int
    uptime: float
    aws: str
    control: str
    amqp: str | None
    data_dir: str
    seed: int
    clock: ClockReading
    streams: tuple[Stream, ...]
    messages: int
    events: int
    topology: Topology
    notes: tuple[str, ...]
    queues: str | None = None
    topics: str | None = None


class Version(msgspec.Struct, frozen=True):
    """The sandbox's version and that of the message specification it implements."""

    version: str
    specification: str


class Health(msgspec.Struct, frozen=True):
    """Whether it answers at all."""

    status: Literal["ok"]
