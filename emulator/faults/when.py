"""When a fault strikes: a window of time, a count of messages, a match on their headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from emulator.faults.fault import LONGEST_SECONDS, LONGEST_TEXT, FaultRefusedError
from emulator.faults.faulted_message import Message, list_fields
from rdss_sandbox.text.durations import seconds
from schemas.contract import Contract, Peek
from schemas.fields import Field

_TIMES = ("at", "for")
_COUNTS = ("every", "first", "after", "fails")


@dataclass(frozen=True, slots=True)
class When:
    """The conditions of one fault. A condition that is not given is met.

    ``at`` is the start, in seconds after the fault was added, and ``lasts`` (``for`` in
    a request) the length in seconds. ``after``, ``first`` and ``every`` count the distinct
    messages that meet the other conditions: skip ``after`` of them, strike only among the
    next ``first``, and of those only each ``every``-th. ``fails`` strikes each chosen
    message that many times, then lets it pass. ``match`` compares fields of the message
    with values in which ``*`` stands for any text, and ``channel`` the channel's name.
    """

    at: float = 0.0
    lasts: float | None = None
    every: int | None = None
    first: int | None = None
    after: int = 0
    fails: int | None = None
    match: tuple[tuple[Field, str], ...] = ()
    channel: str = "*"

    @property
    def counts(self) -> bool:
        """Whether the ordinal of a message matters."""
        return bool(self.every or self.first or self.after)

    @property
    def strikes(self) -> int | None:
        """How many times one message may be struck; None for no limit."""
        # Who counts messages wants each of them struck once, also if it comes again.
        if self.fails is None and (self.every or self.first):
            return 1
        return self.fails

    @property
    def chooses(self) -> bool:
        """Whether ``match`` leaves messages out."""
        return bool(self.match) or self.channel != "*"

    def matches(self, message: Message, channel: str) -> bool:
        """Whether the message's fields and the channel satisfy ``match``."""
        return fnmatchcase(channel, self.channel) and any(map(self._fits, message.peeks))

    def selects(self, ordinal: int) -> bool:
        """Whether ``after``, ``first`` and ``every`` select the message of this ordinal, counted from 1."""
        rank = ordinal - self.after
        if rank < 1 or (self.first is not None and rank > self.first):
            return False
        return self.every is None or rank % self.every == 0

    def _fits(self, peek: Peek) -> bool:
        return all(
            fnmatchcase(_text(getattr(peek, field.attribute)), patterns) for field, patterns in self.match
        )


def read_when(written: dict[str, Any], contract: Contract) -> When:
    """Parse the conditions of a request, with the fields of ``contract`` to match.

    Raises FaultRefusedError, which names the wrong one.
    """
    known = (*_TIMES, *_COUNTS, "match")
    for name in written:
        if name not in known:
            raise FaultRefusedError(f"when has no {name!r}; it has {', '.join(known)}")
    found: dict[str, Any] = {name: _read_count(name, written[name]) for name in _COUNTS if name in written}
    try:
        found |= {name: _read_seconds(name, written[name]) for name in _TIMES if name in written}
    except ValueError as error:
        raise FaultRefusedError(f"when: {error}") from error
    if "for" in found:
        found["lasts"] = found.pop("for")
    fields = list_fields(contract)
    patterns = _read_match(written.get("match", {}), fields)
    found["channel"] = patterns.pop("channel", "*")
    return When(**found, match=tuple((fields[name], value) for name, value in patterns.items()))


def _read_seconds(name: str, value: object) -> float:
    found = seconds(value)
    if found > LONGEST_SECONDS:
        raise ValueError(f"{name} is {found:g} s, and may be {LONGEST_SECONDS:.0f}")
    return found


def _read_count(name: str, value: object) -> int:
    least = 0 if name == "after" else 1
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise FaultRefusedError(f"when.{name} is {value!r}: give a whole number from {least}")
    return value


def _read_match(written: object, fields: Mapping[str, Field]) -> dict[str, str]:
    if not isinstance(written, dict):
        raise FaultRefusedError(f"when.match is {written!r}: give header fields and what they shall be")
    for name in written:
        if name not in fields and name != "channel":
            raise FaultRefusedError(
                f"when.match has no field {name!r}; it has {', '.join((*fields, 'channel'))}"
            )
    patterns = {name: _text(value) for name, value in written.items()}
    for name, value in patterns.items():
        if len(value) > LONGEST_TEXT:
            raise FaultRefusedError(
                f"when.match.{name} has {len(value)} characters, and may have {LONGEST_TEXT}"
            )
    return patterns


def _text(value: object) -> str:
    return "" if value is None else str(value)
