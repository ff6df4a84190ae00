"""Replays of tapes: how far they are."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rdss_sandbox.shapes.tape import TapeTime


class ReplayPosition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the replay of a ``tape`` is: ``at``, from ``first`` to ``last``, after so many ``messages``.

    The times are those of the tape, in seconds since the epoch. ``ended`` says that it goes no further.
    """

    tape: Annotated[str, msgspec.Meta(max_length=1_000, examples=["yesterday.tape"])]
    at: TapeTime
    first: TapeTime
    last: TapeTime
    messages: Annotated[int, msgspec.Meta(ge=0)]
    ended: bool = False
