"""The integration of a sandbox: its routes, the systems they call, and how source systems are notified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.faults.fault_engine import FaultEngine
from extensions.processing.confirmation_policies import ANY_SOURCE, ByLog, ConfirmBy
from extensions.processing.declared_routes import build_route
from extensions.processing.processing_parameters import Parameters
from extensions.processing.python_routes import Routes
from extensions.processing.simulated_systems import SimulatedSystem, SimulatedSystems
from extensions.processing.steps import CallStep, Step


class System(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated system; ``script`` has its answers to the first calls."""

    script: tuple[str, ...] = ()


class DeclaredRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The route of the messages of one service and operation.

    ``calls`` names systems that are called one after another; it is short for steps of the kind ``call``.
    ``object_id`` is a JSON Pointer to the object id in the body. A message without one is refused.
    """

    service: str
    operation: str
    object_id: str | None = None
    calls: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """The steps, also those that were written as ``calls``."""
        return self.steps or tuple(CallStep(system=name) for name in self.calls)


class Integration(msgspec.Struct, frozen=True):
    """Systems by name, routes, parameters, and by source system (or ``*``) how it is notified.

    ``origins`` gives by source system the file and line of its declaration.
    """

    systems: Mapping[str, System]
    routes: tuple[DeclaredRoute, ...]
    parameters: Parameters = Parameters(throttling=None)
    confirm: Mapping[str, ConfirmBy] = msgspec.field(default_factory=lambda: {ANY_SOURCE: ByLog()})
    origins: Mapping[str, str] = {}


_SYSTEMS: Final = ("repository", "preservation", "catalogue")
DEFAULT: Final = Integration(
    systems={name: System() for name in _SYSTEMS},
    routes=(
        DeclaredRoute("metadata", "create", calls=_SYSTEMS),
        DeclaredRoute("metadata", "update", calls=_SYSTEMS),
        DeclaredRoute("metadata", "delete", calls=("catalogue", "repository")),
    ),
)
"""The integration that is used where no file is given: it follows an RDSS message."""


def build_systems(integration: Integration, clock: Clock, fault_engine: FaultEngine) -> SimulatedSystems:
    """Build the simulated systems; faults reach them as the channels ``outside/NAME``."""
    return SimulatedSystems(
        SimulatedSystem(name, clock, fault_engine, system.script)
        for name, system in integration.systems.items()
    )


def build_routes(integration: Integration) -> Routes:
    """Build the routes. Raises ValueError when two have the same service and operation."""
    routes = Routes()
    for each in integration.routes:
        routes.add(each.service, each.operation, build_route(each.all_steps), object_id=each.object_id)
    return routes
