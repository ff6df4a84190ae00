"""The sandbox's clock: a reading of it, and what can be done to it."""

from __future__ import annotations

from typing import Literal

import msgspec


class ClockReading(msgspec.Struct, frozen=True):
    """``time`` in seconds since the epoch; ``speed`` in clock seconds a real second, 0 when frozen.

    ``elapsed`` counts the clock's seconds since the sandbox started and never decreases: a wait is over when
    so many have passed, whatever happened to ``time``.
    """

    time: float
    speed: float
    real: bool
    elapsed: float


class ClockChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do to the clock: ``advance`` takes ``seconds``, ``speed`` takes ``speed``."""

    action: Literal["freeze", "advance", "speed", "real"]
    seconds: float | None = None
    speed: float | None = None
