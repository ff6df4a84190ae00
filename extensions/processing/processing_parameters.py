"""The parameters of asynchronous processing, with the defaults of the published framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Dialect:
    """The points where the framework's documentation and its published code differ.

    True follows the documentation and is the default; False follows the code.

    ``obsolete_is_skipped``: an obsolete message ends SKIPPED; in the code only its call is left out.
    ``newer_by_receipt``: the message received later is newer; in the code, the one with the later timestamp.
    ``only_success_outdates``: the newer message must have succeeded; in the code it may have failed.
    ``entity_by_operation``: an object belongs to the operation or entity type; in the code to the latter.
    ``cancel_is_confirmed``: the source system is told of CANCEL too; in the code only of OK and FAILED.
    ``custom_data_always``: custom data is kept after every attempt; in the code after a failed one.
    ``split_after_failures``: any attempt can split a message; in the code only those before a failure.
    ``stopping_spares``: an error while the process stops counts as one attempt; in the code it is final.
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
    """The parameters; times are seconds of the sandbox's clock.

    ``partly_fails_before_failed``: this many failed attempts are retried; the next failure is final.
    ``poll_period``: time between two searches of the store for messages whose ``partly_failed_interval`` or
    ``postponed_interval`` is over. A retry comes up to one period after its interval.
    ``postponed_limit``: a message that waits for its turn longer than this after its receipt fails.
    ``lease``: a message is stuck when its process has not renewed the lease for this long.
    ``skip_targets``: a regular expression; calls to matching targets are left out.
    ``throttling``: limits by ``SOURCE.operation``, where either part may be ``*``; None context no limits.
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
