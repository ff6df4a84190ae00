"""What a sandbox does with asynchronous messages: which outside systems are called, in which order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.clock import Clock
from emulator.faults.engine import FaultEngine
from emulator.patterns import BadPatternError, Pattern
from sandbox.processing.calls import KeyKind
from sandbox.processing.exchange import Exchange
from sandbox.processing.parameters import Parameters
from sandbox.processing.routes import Route, Routes
from sandbox.processing.simulated_systems import OutsideSystem, SimulatedSystems, read_answer


class IntegrationError(ValueError):
    """A file that cannot be used: says which, and what is wrong with it."""


class System(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated system, and what it answers to its first calls."""

    script: tuple[str, ...] = ()


class RouteOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Messages of a service's operation: the systems that are called with each, one after another."""

    service: str
    operation: str
    calls: tuple[str, ...]


class Integration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Systems by name, routes, and how the processing is set."""

    systems: dict[str, System]
    routes: tuple[RouteOf, ...]
    parameters: Parameters = Parameters(throttling=None)


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


def read_integration(path: Path | None) -> Integration:
    """From a TOML file; the default without one. Raises ``IntegrationError``."""
    if path is None:
        return DEFAULT
    try:
        found = msgspec.convert(_parsed(path), Integration)
        _check(found)
    except (OSError, ValueError) as error:
        raise IntegrationError(f"{path} cannot be used: {error}") from error
    return found


def _parsed(path: Path) -> dict[str, Any]:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    # The framework takes sixty messages a minute from a source; a sandbox takes what comes, unless told.
    parameters = {"throttling": None} | document.get("parameters", {})
    return document | {"parameters": parameters}


def _check(found: Integration) -> None:
    if found.parameters.skip_targets is not None:
        try:
            Pattern(found.parameters.skip_targets)
        except BadPatternError as error:
            raise ValueError(f"parameters.skip_targets: {error}") from error
    for name, system in found.systems.items():
        for answer in system.script:
            try:
                read_answer(answer)
            except ValueError as error:
                raise ValueError(f"systems.{name}: {error}") from error
    for route in found.routes:
        if unknown := sorted(set(route.calls) - found.systems.keys()):
            there = ", ".join(found.systems) or "none"
            raise ValueError(
                f"{route.service}.{route.operation} calls {', '.join(unknown)}; the systems are {there}"
            )


def systems_of(found: Integration, clock: Clock, fault_engine: FaultEngine) -> SimulatedSystems:
    """The simulated systems, which the faults can strike as the channels ``outside/NAME``."""
    return SimulatedSystems(
        OutsideSystem(name, clock, fault_engine, system.script) for name, system in found.systems.items()
    )


def routes_of(found: Integration) -> Routes:
    """The routes. ValueError when two are of the same operation."""
    routes = Routes()
    for each in found.routes:
        routes.add(each.service, each.operation, _calling(each.calls))
    return routes


def _calling(systems: Iterable[str]) -> Route:
    """A route that calls systems with the message; what succeeded is not called again at the next attempt."""

    def route(exchange: Exchange) -> None:
        # Without an object there is nothing that a newer message could have changed since.
        kind = KeyKind.ENTITY if exchange.message.object_id else KeyKind.MESSAGE
        for system in systems:
            exchange.call_collecting(system, exchange.body, kind=kind)

    return route
