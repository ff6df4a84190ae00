"""The rules of a fault: whether it is valid, and which channels it means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TypeAlias

from emulator.faults.fault import LONGEST_TEXT, Direction, FaultRefusedError, FaultType
from rdss_sandbox.shapes.faults import Fault

_Kinds: TypeAlias = Mapping[str, Collection[Direction]]


def check_record(fault: Fault, type_: FaultType, channels: Iterable[tuple[str, str]], kinds: _Kinds) -> None:
    """Raise FaultRefusedError for an invalid fault. ``channels`` are the known ones, with their kinds.

    ``kinds`` are the kinds that there are, with the directions of the types that are for them; none is any.
    """
    directions = ", ".join(type_.directions)
    if fault.direction not in type_.directions:
        raise FaultRefusedError(f"{type_.name} has no direction {fault.direction!r}; it has {directions}")
    if not 0 <= fault.toxicity <= 1:
        raise FaultRefusedError(f"toxicity is {fault.toxicity}: give a probability from 0 to 1")
    for name, text in (("name", fault.name), ("channel", fault.channel)):
        if len(text) > LONGEST_TEXT:
            raise FaultRefusedError(f"{name} has {len(text)} characters, and may have {LONGEST_TEXT}")
    if fault.limit is not None and fault.limit < 0:
        raise FaultRefusedError(f"limit is {fault.limit}: give how often the fault may strike, from 0")
    if fault.channel != "*":
        _check_kind(fault, type_, channels, kinds)


def matches_channel(pattern: str, name: str, kind: str) -> bool:
    """Whether the glob ``pattern`` matches the channel's ``name`` or its ``kind:name``."""
    return fnmatchcase(name, pattern) or fnmatchcase(f"{kind}:{name}", pattern)


def _check_kind(fault: Fault, type_: FaultType, channels: Iterable[tuple[str, str]], kinds: _Kinds) -> None:
    named, colon, _ = fault.channel.partition(":")
    meant = {kind for name, kind in channels if matches_channel(fault.channel, name, kind)}
    # The name says its kind, whatever channels there are by now.
    if colon and named in kinds:
        meant = {named}
    if meant and type_.kinds and not meant.intersection(type_.kinds):
        raise FaultRefusedError(
            f"{type_.name} means nothing on {fault.channel!r}, which is {' and '.join(sorted(meant))}: "
            f"it is for {', '.join(type_.kinds)}"
        )
    ways = {way for kind in meant for way in kinds.get(kind) or Direction}
    if meant and fault.direction == Direction.DELIVER and Direction.DELIVER not in ways:
        raise FaultRefusedError(
            f"nothing is delivered by {fault.channel!r}, which is {' and '.join(sorted(meant))}: give the "
            "direction publish"
        )
