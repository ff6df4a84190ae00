"""The protocol by which a queue is a view on a channel."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol
from uuid import UUID

from extensions.queues.engine.address import Address


class ViewedMessage(NamedTuple):
    """A message of the channel, for the queue.

    ``ref`` identifies this delivery by its position in the channel. The queue takes each ``ref`` once, and a
    redelivery of the same record has another ``ref``. ``body`` is JSON text. ``ttl`` is in seconds, and
    ``arrived`` in seconds since the epoch.
    """

    ref: str
    body: bytes
    ttl: int
    arrived: float


class ViewSource(Protocol):
    """The channel of a view.

    ``fetch_arrivals`` and ``publish`` may wait for the channel. They raise ``SourceUnavailableError`` when it
    cannot be used. ``fetch_arrivals`` is never called twice at the same time. ``mark_taken`` and
    ``mark_gone`` are called with the queues locked, so they return at once.
    """

    def fetch_arrivals(self, limit: int) -> Sequence[ViewedMessage]:
        """Up to ``limit`` messages, oldest first. The same ones are returned again until they are taken."""

    def mark_taken(self, arrivals: Sequence[ViewedMessage]) -> None:
        """Note that these are in the queue's journal now and need not come again."""

    def publish(self, bodies: Sequence[bytes]) -> Sequence[str]:
        """Put what a client posted into the channel, and return the ``ref`` of each future arrival."""

    def mark_gone(self, refs: Sequence[str]) -> None:
        """Note that these left the queue: deleted, popped, purged, expired or moved to the dead letters."""

    def start_over(self) -> None:
        """Read on from the checkpoints, which have been replaced."""


def message_id(at: Address, ref: str) -> str:
    """The id in the view of the message with this ``ref``."""
    # An id has to look like a UUID, as Zaqar's do.
    digest = blake2b("\x1f".join((*at, ref)).encode(), digest_size=16).digest()
    return str(UUID(bytes=digest, version=4))
