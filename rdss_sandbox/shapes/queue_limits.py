"""The limits and defaults of the queues' messaging API, in seconds, bytes and counts."""

from __future__ import annotations

from typing import Final, NamedTuple


class Range(NamedTuple):
    """The allowed values from ``least`` to ``most``, both included."""

    least: int
    most: int

    def holds(self, value: int) -> bool:
        return self.least <= value <= self.most


MESSAGE_TTL: Final = Range(60, 1_209_600)
MESSAGE_DELAY: Final = Range(0, 900)
CLAIM_TTL: Final = Range(60, 43_200)
CLAIM_GRACE: Final = Range(60, 43_200)
CLAIMED_AT_ONCE: Final = Range(1, 20)
PAGE: Final = Range(1, 20)
SUBSCRIPTION_TTL_LEAST: Final = 60

DEFAULT_MESSAGE_TTL: Final = 3600
DEFAULT_CLAIM_TTL: Final = 300
DEFAULT_CLAIM_GRACE: Final = 60
DEFAULT_SUBSCRIPTION_TTL: Final = 3600
DEFAULT_CLAIMED: Final = 10
DEFAULT_PAGE: Final = 10

LONGEST_LIFE: Final = MESSAGE_TTL.most
"""The longest life of a message in seconds, claims included: 14 days."""

METADATA_BYTES: Final = 64 * 1024
POST_BYTES: Final = 256 * 1024
QUEUE_NAME_LENGTH: Final = 64
PROJECT_LENGTH: Final = 256
