"""Goals in a message list, as the user writes them: the five iterator types, numbers, times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from rdss_sandbox.text.durations import seconds

WORDS = ("TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER ", "AFTER_SEQUENCE_NUMBER ", "AT_TIMESTAMP ")
HINT = "a sequence number, 14:05 or -10m, #1234, LATEST, TRIM_HORIZON, AT_TIMESTAMP …"

_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")


@dataclass(frozen=True, slots=True)
class GoToEnd:
    """The first row or the last."""

    which: Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class GoToMessage:
    """The message with this id."""

    id: int


@dataclass(frozen=True, slots=True)
class SequenceNumber:
    """The record with this sequence number, or the first after it."""

    number: str
    after: bool = False


@dataclass(frozen=True, slots=True)
class GoToMoment:
    """The first message at this time or later, in seconds since the epoch."""

    time: float


Goal: TypeAlias = GoToEnd | GoToMessage | SequenceNumber | GoToMoment


def parse(text: str, now: float) -> Goal:
    """Parse a goal. Times of day and ``-10m`` are relative to ``now``. Raises ValueError."""
    word, _, rest = text.strip().partition(" ")
    match word.upper(), rest.strip():
        case "TRIM_HORIZON" | "LATEST" as end, "":
            return GoToEnd("first" if end == "TRIM_HORIZON" else "last")
        case "AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER" as how, number if number.isdigit():
            return SequenceNumber(number, after=how == "AFTER_SEQUENCE_NUMBER")
        case "AT_TIMESTAMP", time:
            return GoToMoment(_time(time, now))
        case number, "" if number.isdigit():
            return SequenceNumber(number)
        case message, "" if message[:1] == "#" and message[1:].isdigit():
            return GoToMessage(int(message[1:]))
    return GoToMoment(_time(text.strip(), now))


def _time(text: str, now: float) -> float:
    if text.startswith("-"):
        return now - seconds(text[1:])
    if day := _TIME_OF_DAY.fullmatch(text):
        midnight = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return (
            midnight + timedelta(hours=int(day[1]), minutes=int(day[2]), seconds=float(day[3] or 0))
        ).timestamp()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a place in the list; try {HINT}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
