"""What a package adds to the sandbox: one object of the class ``Extension``, found by an entry point.

A package names its object in its ``pyproject.toml``, in the group ``rdss_sandbox.extensions``::

    [project.entry-points."rdss_sandbox.extensions"]
    skew = "clock_skew:EXTENSION"

A ``Place`` is ``module:name``. What is there is imported when the sandbox first needs it, so that an
extension that nobody uses costs a start next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

Place: TypeAlias = str
"""Where an object is: ``module:name``."""


class Command(NamedTuple):
    """A command of ``sandbox``: ``place`` has a click command or group, ``help`` is its line in the list.

    The ``name`` of one that is added to the group ``sandbox certify`` begins with ``certify`` and a space.
    """

    name: str
    place: Place
    help: str


class Port(NamedTuple):
    """A port: its ``usual`` number, and what answers there, for people."""

    usual: int
    help: str


class ScreenAction(NamedTuple):
    """What a key does on a screen: the fields of ``tui.keys.actions.Action``."""

    name: str
    keys: str
    label: str
    help: str
    worth: int = 0


class Screen(NamedTuple):
    """A screen of the TUI: ``place`` has its class.

    ``key`` opens it. ``label`` is its name, ``short`` where there is little room; ``help`` is its sentence on
    the help page. Its ``actions`` are bound by ``tui.keys.actions.bindings(label)``.
    """

    name: str
    place: Place
    key: str
    label: str
    help: str
    short: str = ""
    actions: tuple[ScreenAction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A feature that the sandbox can do without. Everything but the ``name`` is optional.

    ``component`` is the place of a class ``emulator.assembly.component.Component``: what lives in a running
    sandbox, with its state, its ports and its resources of the control API. ``settings`` has a frozen
    dataclass, each field of which is an ``emulator.settings.declarations.setting``: they stand beside the
    sandbox's own. ``ports`` has each port of the component, for which the setting ``<name>_port`` can ask
    another number. ``faults`` are places of ``emulator.faults.fault.FaultType``, ``rules``
    of ``emulator.diagnosis.rule.Rule``, ``clauses`` of ``sandbox.certify.clause.Clause``, ``channels`` of
    ``emulator.channels.kinds.ChannelKind``. ``contracts`` are AsyncAPI documents, as ``package:file``; the
    setting ``contract`` may name one without the file's ending. ``lessons`` and ``scenarios`` name a package
    with a folder for each lesson, or a YAML file for each scenario; ``scenario_workers`` is the place of the
    ``sandbox.scenarios.scenario_client.Client`` of scenarios whose messages are claimed. ``spark_source``
    is a module that is a ``sandbox.pipeline.sources.stream_source.StreamSource``, ``later_application`` the
    place of a ``sandbox.applications.later_application.OpenLater``.

    ``message_files`` has, by the ending of a file's name such as ``.tape``, the place of the
    ``rdss_sandbox.files.filed_messages.ReadFile`` of such files.

    ``files`` are the names of what it keeps directly in the data directory. ``held`` says for people what is
    gone with each of its logs, by the path there; of ``folder/``, with ``{first}``, what is gone with a
    segment of a log that begins at that entry. ``repair`` is the place of an
    ``emulator.assembly.repair.RepairFile``.
    """

    name: str
    component: Place = ""
    settings: Place = ""
    ports: Mapping[str, Port] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    screens: tuple[Screen, ...] = ()
    faults: tuple[Place, ...] = ()
    rules: tuple[Place, ...] = ()
    clauses: tuple[Place, ...] = ()
    channels: tuple[Place, ...] = ()
    contracts: tuple[str, ...] = ()
    lessons: str = ""
    scenarios: str = ""
    scenario_workers: Place = ""
    spark_source: Place = ""
    later_application: Place = ""
    message_files: Mapping[str, Place] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    repair: Place = ""


def import_place(place: Place) -> Any:
    """Import what is at ``module:name``, or a module. Raises ImportError and AttributeError."""
    path, _, name = place.partition(":")
    module = import_module(path)
    return getattr(module, name) if name else module
