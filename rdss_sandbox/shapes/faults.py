"""Faults: those in force, new ones, changes, and the types there are."""

from __future__ import annotations

from typing import Any

import msgspec


class Fault(msgspec.Struct, frozen=True):
    """A fault as it stands; ``injected`` counts what it did."""

    name: str
    type: str
    channel: str = "*"
    direction: str = "publish"
    toxicity: float = 1.0
    attributes: dict[str, Any] = {}
    when: dict[str, Any] = {}
    limit: int | None = None
    enabled: bool = True
    injected: int = 0


class NewFault(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A fault to add; what is left out is the type's default, the name included."""

    type: str
    name: str | None = None
    channel: str | None = None
    direction: str | None = None
    toxicity: float | None = None
    attributes: dict[str, Any] = {}
    when: dict[str, Any] = {}
    limit: int | None = None
    enabled: bool = True


class FaultChange(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to change of a fault; attributes given here are put over those it has."""

    channel: str | None = None
    direction: str | None = None
    toxicity: float | None = None
    attributes: dict[str, Any] | None = None
    when: dict[str, Any] | None = None
    limit: int | None = None
    enabled: bool | None = None


class FaultList(msgspec.Struct, frozen=True):
    """The faults in force, in the order they were added."""

    faults: tuple[Fault, ...]


class FaultAttribute(msgspec.Struct, frozen=True):
    """A setting of a fault type; ``type``: number, integer, text, flag, choice or duration (seconds).

    A number is from ``least`` to ``most``, a duration from ``least`` to ``most`` seconds; ``longest`` is how
    many characters a text may have.
    """

    name: str
    type: str
    default: Any = None
    help: str = ""
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    longest: int | None = None


class FaultType(msgspec.Struct, frozen=True):
    """A kind of fault that can be added: where it strikes, on what kinds of channel it means something."""

    type: str
    help: str
    directions: tuple[str, ...]
    channels: tuple[str, ...] = ()
    attributes: tuple[FaultAttribute, ...] = ()


class FaultTypes(msgspec.Struct, frozen=True):
    """The registry of faults."""

    types: tuple[FaultType, ...]
