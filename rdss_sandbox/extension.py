"""What a package adds to the sandbox: one object of the class ``Extension``, found by an entry point.

A package names its object in its ``pyproject.toml``, in the group ``rdss_sandbox.extensions``::

    [project.entry-points."rdss_sandbox.extensions"]
    skew = "clock_skew:EXTENSION"

A ``Place`` is ``module:name``. What is there is imported when the sandbox first needs it, so that an extension
that nobody uses costs a start next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, TypeAlias

Place: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of ``sandbox``: ``place`` has a click command or group, ``help`` is its line in the list."""

    name: str
    place: Place
    help: str


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen of the TUI: ``place`` has its class.

    ``key`` opens it and ``label`` is its name in the footer; ``help`` is its sentence on the help page.
    ``actions`` is the place of its own ``tui.keys.actions.Action``s, empty where it has none.
    """

    name: str
    place: Place
    key: str
    label: str
    help: str
    actions: Place = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A feature that the sandbox can do without. Everything but the ``name`` is optional.

    ``component`` is the place of a class ``emulator.assembly.component.Component``: what lives in a running
    sandbox, with its state, its ports and its resources of the control API. ``settings`` has a frozen
    dataclass, each field of which is an ``emulator.settings.declarations.setting``: they stand beside the
    sandbox's own. ``faults`` are places of ``emulator.faults.fault.FaultType``, ``rules`` of
    ``emulator.diagnosis.rule.Rule``, ``clauses`` of ``sandbox.certify.clause.Clause``, ``channels`` of
    ``emulator.channels.kinds.ChannelKind``. ``lessons`` and ``scenarios`` name a package with a folder for
    each lesson, or a YAML file for each scenario. ``spark_sources`` are places of data sources for Spark.

    ``files`` are the names of what it keeps directly in the data directory. ``held`` says of each of its logs,
    by its path there, what is gone with it, for people.
    """

    name: str
    component: Place = ""
    settings: Place = ""
    commands: tuple[Command, ...] = ()
    screens: tuple[Screen, ...] = ()
    faults: tuple[Place, ...] = ()
    rules: tuple[Place, ...] = ()
    clauses: tuple[Place, ...] = ()
    channels: tuple[Place, ...] = ()
    lessons: str = ""
    scenarios: str = ""
    spark_sources: tuple[Place, ...] = ()
    files: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)


def import_place(place: Place) -> Any:
    """Import what is at ``module:name``. Raises ImportError and AttributeError."""
    return resolve_name(place)
