"""The sandbox's clock: a reading and a change of it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class ClockReading(msgspec.Struct, frozen=True):
    """``time`` is in seconds since the epoch, ``speed`` in clock seconds per real second, 0 when frozen.

    ``elapsed`` is the clock seconds since the sandbox started. It never decreases, so waits are measured by
    it and not by ``time``. ``real`` says that the clock shows real time.
    """

    time: float
    speed: float
    real: bool
    elapsed: float


class ClockChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of the clock.

    ``advance`` needs ``seconds``, ``speed`` needs ``speed``, and ``set`` needs ``time``, in seconds since the
    epoch; the clock goes on from there at its speed.
    """

    action: Annotated[Literal["freeze", "advance", "speed", "real", "set"], msgspec.Meta(examples=["freeze"])]
    seconds: float | None = None
    speed: float | None = None
    time: float | None = None
