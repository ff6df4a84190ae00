"""How the control API refuses a request."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """What was wrong: a word for programs, a sentence for people."""

    code: str
    message: str


class Refusal(msgspec.Struct, frozen=True):
    """Every answer that is not a success."""

    error: Problem
