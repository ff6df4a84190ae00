"""Faults in force, new faults, changes of faults, and fault types."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec


class Fault(msgspec.Struct, frozen=True):
    """A fault in force; ``injected`` counts its injections. ``note`` is what whoever added it should know."""

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
    note: str = ""


class NewFault(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A fault to add. The type has a default for every field, the name included."""

    type: Annotated[str, msgspec.Meta(examples=["duplicate"])]
    name: str | None = None
    channel: str | None = None
    direction: str | None = None
    toxicity: float | None = None
    attributes: dict[str, Any] = {}
    when: dict[str, Any] = {}
    limit: int | None = None
    enabled: bool = True


class FaultChange(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A change of a fault. Fields that are None stay; ``attributes`` are merged over the present ones."""

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
    """An attribute of a fault type. ``type``: number, integer, text, flag, choice or duration (seconds).

    ``least`` and ``most`` bound a number, or a duration in seconds. ``longest`` is the most characters of a
    text.
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
    """A type of fault, with the directions and the kinds of channel that it applies to."""

    type: str
    help: str
    directions: tuple[str, ...]
    channels: tuple[str, ...] = ()
    attributes: tuple[FaultAttribute, ...] = ()


class FaultTypes(msgspec.Struct, frozen=True):
    """Every type of fault that can be added, and the settings that all of them have in ``common``.

    Of the common settings, ``at`` and those behind it are in a fault's ``when``.
    """

    types: tuple[FaultType, ...]
    common: tuple[FaultAttribute, ...] = ()
