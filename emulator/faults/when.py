"""When a fault strikes: a window of time, a count of messages, a match on their headers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from emulator.faults.fault import LONGEST_SECONDS, LONGEST_TEXT, FaultRefusedError
from emulator.faults.message import FIELDS, Message
from rdss_sandbox.durations import seconds

_TIMES = ("at", "for")
_COUNTS = ("every", "first", "after", "fails")


@dataclass(frozen=True, slots=True)
class When:
    """The conditions of one fault; those not given are met.

    ``at`` and ``lasts`` (written ``for``) are seconds since the fault was
    added. ``after``, ``first`` and ``every`` count the different messages
    that met the other conditions: skip so many, then of the following strike
    only so many, and of those every n-th. ``fails``: strike each chosen
    message so many times, then let it pass. ``match``: header fields, or
    ``channel``, against values in which ``*`` stands for anything.
    """

    at: float = 0.0
    lasts: float | None = None
    every: int | None = None
    first: int | None = None
    after: int = 0
    fails: int | None = None
    match: dict[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether a message's place among the others matters."""
        return bool(self.every or self.first or self.after)

    @property
    def strikes(self) -> int | None:
        """How often one message may be struck; None for any number."""
        if self.fails is None and (self.every or self.first):
            return 1
        return self.fails

    def matches(self, message: Message, channel: str) -> bool:
        """Whether the message's headers and the channel are as wanted."""
        return all(
            fnmatchcase(channel if name == "channel" else _text(message.header(name)), wanted)
            for name, wanted in self.match.items()
        )

    def counted(self, ordinal: int) -> bool:
        """Whether the ``ordinal``-th message, from 1, is one of those wanted."""
        place = ordinal - self.after
        if place < 1 or (self.first is not None and place > self.first):
            return False
        return self.every is None or place % self.every == 0


def read_when(written: dict[str, Any]) -> When:
    """The conditions as they come in a request. FaultRefusedError says which one cannot be."""
    known = (*_TIMES, *_COUNTS, "match")
    for name in written:
        if name not in known:
            raise FaultRefusedError(f"when has no {name!r}; it has {', '.join(known)}")
    found: dict[str, Any] = {name: _count(name, written[name]) for name in _COUNTS if name in written}
    try:
        found |= {name: _moment(name, written[name]) for name in _TIMES if name in written}
    except ValueError as error:
        raise FaultRefusedError(f"when: {error}") from error
    if "for" in found:
        found["lasts"] = found.pop("for")
    return When(**found, match=_match(written.get("match", {})))


def _moment(name: str, value: object) -> float:
    found = seconds(value)
    if found > LONGEST_SECONDS:
        raise ValueError(f"{name} is {found:g} s, and may be {LONGEST_SECONDS:.0f}")
    return found


def _count(name: str, value: object) -> int:
    least = 0 if name == "after" else 1
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise FaultRefusedError(f"when.{name} is {value!r}: give a whole number from {least}")
    return value


def _match(written: object) -> dict[str, str]:
    if not isinstance(written, dict):
        raise FaultRefusedError(f"when.match is {written!r}: give header fields and what they shall be")
    for name in written:
        if name not in FIELDS and name != "channel":
            raise FaultRefusedError(
                f"when.match has no field {name!r}; it has {', '.join((*FIELDS, 'channel'))}"
            )
    wanted = {name: _text(value) for name, value in written.items()}
    for name, value in wanted.items():
        if len(value) > LONGEST_TEXT:
            raise FaultRefusedError(
                f"when.match.{name} has {len(value)} characters, and may have {LONGEST_TEXT}"
            )
    return wanted


def _text(value: object) -> str:
    return "" if value is None else str(value)
