"""A message in a queue, and the claim that holds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from rdss_sandbox.shapes.queue_limits import LONGEST_LIFE


class Message(msgspec.Struct, array_like=True, gc=False):
    """A message. ``number`` is its place in the queue, ``body`` the JSON that was posted, byte for byte.

    ``ttl`` is in seconds as it is shown; the message is gone at ``expires`` and cannot be claimed before
    ``ready`` (both seconds since the epoch). ``client`` posted it, ``claims`` counts how often it was
    claimed. ``ref`` is its place in the channel that the queue is a view on, None where it stands alone.
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

    def outlive(self, ends: float, grace: int, now: float) -> None:
        """Live ``grace`` seconds longer than a claim that ``ends`` after it would; never beyond 14 days.

        Zaqar counts whole seconds: what ends in the same one as the claim is left alone.
        """
        if int(self.expires) < int(ends):
            self.expires = max(self.expires, min(ends + grace, self.created + LONGEST_LIFE))
            self.ttl = max(0, round(self.expires - now))


@dataclass(slots=True)
class Claim:
    """Messages that ``client`` holds from ``since`` (seconds since the epoch) for ``ttl`` seconds.

    ``numbers`` are those still held, oldest first.
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
        """Whole seconds since it was made or last renewed."""
        return max(0, int(now - self.since))


class Found(NamedTuple):
    """A message, and the id of the claim that holds it, if one does."""

    message: Message
    claim: str | None


class Held(NamedTuple):
    """A claim and the messages it holds, oldest first."""

    claim: Claim
    messages: list[Message]
