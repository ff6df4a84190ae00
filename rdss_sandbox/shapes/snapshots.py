"""Snapshots of the whole state of a sandbox."""

from __future__ import annotations

import msgspec


class Snapshot(msgspec.Struct, frozen=True):
    """A snapshot. ``saved`` is when it was saved, by the sandbox's clock, in seconds since the epoch.

    ``records`` counts the records in its streams; ``bytes`` is what it takes, on disk or in memory.
    ``trouble`` says why it cannot be read, and what to do.
    """

    name: str
    saved: float = 0.0
    records: int = 0
    bytes: int = 0
    trouble: str | None = None


class SnapshotList(msgspec.Struct, frozen=True):
    """The snapshots, by name. ``folder`` is where they are; None when they end with the sandbox."""

    snapshots: tuple[Snapshot, ...]
    folder: str | None = None


class Loaded(msgspec.Struct, frozen=True):
    """A snapshot that was loaded. ``seconds`` is how long that took, in real time.

    ``left_out`` has a line for each thing that cannot be here, such as a fault on a process that is not.
    """

    snapshot: Snapshot
    seconds: float
    left_out: tuple[str, ...] = ()
