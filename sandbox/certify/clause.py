"""A clause: one thing that a certificate demands, how it is tried, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from sandbox.certify.history import History, Level

_MOST_FINDINGS: Final = 20


class Role(StrEnum):
    """What a client does with the stream."""

    CONSUMER = "consumer"
    PRODUCER = "producer"


class Group(StrEnum):
    """``delivery`` needs a client that knows the messageId; ``contract`` one that knows the specification."""

    DELIVERY = "delivery"
    CONTRACT = "contract"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A breach of a clause: a sentence, the level of the stage in which it happened, and its facts."""

    said: str
    level: Level
    facts: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Judgement:
    """``exposure`` counts how often what the clause is about reached the client.

    ``reason`` says why that was not often enough.
    """

    exposure: int
    findings: tuple[Finding, ...] = ()
    reason: str = "stimulus-never-landed"


@dataclass(frozen=True, slots=True)
class Clause:
    """``needed`` is the least exposure for a verdict; ``source`` the section of the document behind it."""

    id: str
    role: Role
    group: Group
    level: Level
    demand: str
    source: str
    exercise: str
    needed: int
    judge: Callable[[History], Judgement]


def judged(exposure: int, findings: Iterable[Finding], reason: str = "stimulus-never-landed") -> Judgement:
    """Build a judgement that keeps the first findings only."""
    return Judgement(exposure, tuple(findings)[:_MOST_FINDINGS], reason)
