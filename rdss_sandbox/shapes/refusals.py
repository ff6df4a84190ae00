"""The error answers of the control API."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """What was wrong: a code for programs and a sentence for people."""

    code: str
    message: str


class Refusal(msgspec.Struct, frozen=True):
    """The body of every answer with an error status."""

    error: Problem
