"""A message in a queue, and the claim that holds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from rdss_sandbox.shapes.queue_limits import LONGEST_LIFE

AT_ONCE: Final = 0.0
"""The ``ready`` of a message without a delay: not its arrival, as the clock may be set back before that."""


class QueuedMessage(msgspec.Struct, array_like=True, gc=False):
    """A message. ``number`` gives its order in the queue; ``body`` is the posted JSON, byte for byte.

    ``ttl`` is in seconds, as clients see it. The message expires at ``expires`` and cannot be claimed before
    ``ready``, both in seconds since the epoch. ``client`` posted it, and ``claims`` counts its claims. In a
    view ``ref`` is its position in the channel; elsewhere it is None.
    """

    number: int
    id: str
    body: bytes
    ttl: int
    created: float
    expires: float
    ready: float
    client: str
    claims: int = 0
    ref: str | None = None

    def age(self, now: float) -> int:
        """Whole seconds since it was posted."""
        return max(0, int(now - self.created))

    def extend_life(self, ends: float, grace: int, now: float) -> None:
        """Extend the life to ``grace`` seconds after a claim that ``ends`` later; never beyond 14 days.

        Zaqar counts whole seconds, so a message that expires in the same second as the claim is not extended.
        """
        if int(self.expires) < int(ends):
            self.expires = max(self.expires, min(ends + grace, self.created + LONGEST_LIFE))
            self.ttl = max(0, round(self.expires - now))


@dataclass(slots=True)
class ClaimedMessages:
    """Messages that ``client`` holds from ``since`` (seconds since the epoch) for ``ttl`` seconds.

    ``numbers`` are the messages that it still holds, oldest first.
    """

    id: str
    client: str
    ttl: int
    grace: int
    since: float
    numbers: dict[int, None] = field(default_factory=dict)

    @property
    def ends(self) -> float:
        """When it expires, in seconds since the epoch."""
        return self.since + self.ttl

    def age(self, now: float) -> int:
        """Whole seconds since it was created or last renewed."""
        return max(0, int(now - self.since))


class Found(NamedTuple):
    """A message, and the id of the claim that holds it, or None."""

    message: QueuedMessage
    claim: str | None


class Held(NamedTuple):
    """A claim and the messages it holds, oldest first."""

    claim: ClaimedMessages
    messages: list[QueuedMessage]
