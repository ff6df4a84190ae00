"""What can be set of the processing of messages, with the defaults of the published framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where the framework's documentation and its published code differ; the defaults follow the text.

    ``obsolete_is_skipped``: an obsolete message ends SKIPPED; in the code only its call is left out.
    ``newer_by_receipt``: newer is what was received later; in the code, what its sender dated later.
    ``only_success_outdates``: a newer message must have succeeded; in the code one that failed will do.
    ``entity_by_operation``: an object is the operation's or the entity type's; in the code the latter's only.
    ``cancel_is_confirmed``: the source system is told of CANCEL as well; in the code of OK and FAILED alone.
    ``custom_data_always``: custom data is kept after every attempt; in the code after one that failed.
    ``split_after_failures``: a message can be split at any attempt; in the code only if none failed before.
    ``stopping_spares``: an error while the process stops is an attempt like others; in the code it is final.
    """

    obsolete_is_skipped: bool = True
    newer_by_receipt: bool = True
    only_success_outdates: bool = True
    entity_by_operation: bool = True
    cancel_is_confirmed: bool = True
    custom_data_always: bool = True
    split_after_failures: bool = True
    stopping_spares: bool = True


AS_WRITTEN: Final = Dialect()
AS_CODED: Final = Dialect(
    obsolete_is_skipped=False,
    newer_by_receipt=False,
    only_success_outdates=False,
    entity_by_operation=False,
    cancel_is_confirmed=False,
    custom_data_always=False,
    split_after_failures=False,
    stopping_spares=False,
)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``count`` messages in ``interval`` seconds."""

    count: int = 60
    interval: float = 60.0


@dataclass(frozen=True, slots=True)
class Parameters:
    """Times in seconds of the clock.

    ``partly_fails_before_failed``: so many failed attempts are taken up again; the next one is final.
    ``poll_period``: how often the store is asked for messages of which ``partly_failed_interval`` or
    ``postponed_interval`` is over; so a retry comes after the interval and up to one period.
    ``postponed_limit``: a message received longer ago whose turn it still is not, fails.
    ``lease``: a message whose process has not been heard of for so long is stuck.
    ``skip_targets``: a regular expression; calls to targets that match are left out.
    ``throttling``: limits by ``SOURCE.operation``, each of which may be ``*``; None for none at all.
    """

    partly_fails_before_failed: int = 3
    poll_period: float = 60.0
    partly_failed_interval: float = 60.0
    postponed_interval: float = 5.0
    postponed_limit: float = 300.0
    funnel_idle: float = 600.0
    lease: float = 300.0
    consumers: int = 5
    confirmation_failures: int = 3
    confirmation_interval: float = 60.0
    skip_targets: str | None = None
    throttling: Mapping[str, Limit] | None = field(default_factory=lambda: {"*.*": Limit()})
    ways: Dialect = AS_WRITTEN
