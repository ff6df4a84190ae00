"""What a sandbox does with asynchronous messages: routes, the systems they call, and how sources are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.faults.engine import FaultEngine
from sandbox.processing.declared_routes import declared_route
from sandbox.processing.parameters import Parameters
from sandbox.processing.routes import Routes
from sandbox.processing.simulated_systems import OutsideSystem, SimulatedSystems
from sandbox.processing.steps import Call, Step
from sandbox.processing.telling import EVERYBODY, ByLog, Way


class System(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated system, and what it answers to its first calls."""

    script: tuple[str, ...] = ()


class RouteOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is done with the messages of a service's operation.

    ``calls`` are systems that are called with each, one after another: a short way to write steps that call.
    """

    service: str
    operation: str
    calls: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def taken(self) -> tuple[Step, ...]:
        """Its steps, however they were written."""
        return self.steps or tuple(Call(system=name) for name in self.calls)


class Integration(msgspec.Struct, frozen=True):
    """Systems by name, routes, how sources are told by name or ``*``, and how the processing is set.

    ``places`` say where in which file the way of a source is declared.
    """

    systems: Mapping[str, System]
    routes: tuple[RouteOf, ...]
    parameters: Parameters = Parameters(throttling=None)
    confirm: Mapping[str, Way] = msgspec.field(default_factory=lambda: {EVERYBODY: ByLog()})
    places: Mapping[str, str] = {}


_SYSTEMS: Final = ("repository", "preservation", "catalogue")
DEFAULT: Final = Integration(
    systems={name: System() for name in _SYSTEMS},
    routes=(
        RouteOf("metadata", "create", _SYSTEMS),
        RouteOf("metadata", "update", _SYSTEMS),
        RouteOf("metadata", "delete", ("catalogue", "repository")),
    ),
)
"""What follows an RDSS message where nothing else is said."""


def systems_of(found: Integration, clock: Clock, fault_engine: FaultEngine) -> SimulatedSystems:
    """The simulated systems, which the faults can strike as the channels ``outside/NAME``."""
    return SimulatedSystems(
        OutsideSystem(name, clock, fault_engine, system.script) for name, system in found.systems.items()
    )


def routes_of(found: Integration) -> Routes:
    """The routes. ValueError when two are of the same operation."""
    routes = Routes()
    for each in found.routes:
        routes.add(each.service, each.operation, declared_route(each.taken))
    return routes
