"""What a reset begins with."""

from __future__ import annotations

import msgspec


class Reset(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the sandbox begins with after a reset, so that a run can be repeated in it.

    ``seed`` is the seed of everything random from then on; by default the seed stays. ``time``, in seconds
    since the epoch, is what the clock shows; by default it shows real time.
    """

    seed: int | None = None
    time: float | None = None
