"""The seam by which a queue is a view on a channel."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol
from uuid import UUID

from emulator.queues.engine.address import Address


class Arrival(NamedTuple):
    """A message of the channel as the queue takes it.

    ``ref`` is its place in the channel and unique to this delivery: what the queue holds under it is not
    taken twice, and a second delivery of the same record has a ``ref`` of its own. ``body`` is JSON text.
    ``ttl`` is in seconds, ``arrived`` seconds since the epoch.
    """

    ref: str
    body: bytes
    ttl: int
    arrived: float


class Source(Protocol):
    """Where a view's messages come from, and where it is said that they are done.

    ``arrivals`` and ``publish`` may wait for the channel, and raise ``SourceUnavailableError`` when it
    cannot be
    had; ``arrivals`` is never called twice at once. ``taken`` and ``gone`` are called while the queues are
    locked, and return at once.
    """

    def arrivals(self, limit: int) -> Sequence[Arrival]:
        """Up to ``limit`` messages not ``taken`` yet, oldest first; the same again until they are."""

    def taken(self, arrivals: Sequence[Arrival]) -> None:
        """They are in the queue's journal now and need not come again."""

    def publish(self, bodies: Sequence[bytes]) -> Sequence[str]:
        """Put what a client posted into the channel; the ``ref`` under which each will arrive."""

    def gone(self, refs: Sequence[str]) -> None:
        """These left the queue: deleted, popped, purged, expired or moved to the dead letters."""


def message_id(at: Address, ref: str) -> str:
    """The id that the message with this place in the channel has in the view."""
    digest = blake2b("\x1f".join((*at, ref)).encode(), digest_size=16).digest()
    return str(UUID(bytes=digest, version=4))
