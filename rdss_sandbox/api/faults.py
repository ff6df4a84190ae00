"""Faults, and LocalStack's chaos API in terms of them."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import DELETE, GET, PATCH, POST, Mode, Subject
from rdss_sandbox.shapes.chaos import ChaosEffects, ChaosRules
from rdss_sandbox.shapes.faults import (
    Fault,
    FaultAttribute,
    FaultChange,
    FaultList,
    FaultType,
    FaultTypes,
    NewFault,
)

_UNKNOWN: Final = {"no_such_fault": 404}
_BAD_RULE: Final = {"bad_rule": 400}


def _fault_settings(found: FaultTypes) -> tuple[FaultAttribute, ...]:
    """The settings that every fault has, whatever its type."""
    return found.common


class Faults(Subject[Mode], at="/faults"):
    """Faults in force, and the types of fault."""

    @GET("", FaultList, lambda found: found.faults)
    def faults(self) -> tuple[Fault, ...]:
        """The faults in force, in the order they were added."""

    @GET("/types", FaultTypes, lambda found: found.types)
    def fault_types(self) -> tuple[FaultType, ...]:
        """The types of fault, with their attributes."""

    fault_settings = fault_types.part(_fault_settings)

    @POST("", status=201, errors={"bad_fault": 400})
    def add_fault(self, fault: NewFault) -> Fault:
        """Add a fault and return it as it is in force.

        ``GET /faults/types`` has the attributes of each type, and docs/faults.md what they do.
        """

    @GET("/{name}", errors=_UNKNOWN)
    def fault(self, name: str) -> Fault:
        """A fault and the count of its injections."""

    @PATCH("/{name}", errors={**_UNKNOWN, "bad_fault": 400})
    def change_fault(self, name: str, change: FaultChange) -> Fault:
        """Change a fault in force and return its new state."""

    @DELETE("/{name}", errors=_UNKNOWN)
    def remove_fault(self, name: str) -> Fault:
        """Remove a fault and return its final state, the count of injections included."""


class Chaos(Subject[Mode], at="/_localstack/chaos"):
    """LocalStack's chaos API, for existing scripts: its rules become faults of the sandbox."""

    @GET("/faults")
    def rules(self) -> ChaosRules:
        """The chaos rules in force."""

    @POST("/faults", errors=_BAD_RULE)
    def replace(self, rules: ChaosRules) -> ChaosRules:
        """Replace all chaos rules by these."""

    @PATCH("/faults", errors=_BAD_RULE)
    def extend(self, rules: ChaosRules) -> ChaosRules:
        """Add chaos rules and return all of them."""

    @DELETE("/faults")
    def remove(self, rules: ChaosRules | None = None) -> ChaosRules:
        """Remove these chaos rules, or all of them, and return the rest."""

    @GET("/effects")
    def effects(self) -> ChaosEffects:
        """The effects on every call."""

    @POST("/effects", errors=_BAD_RULE)
    def slow(self, effects: ChaosEffects) -> ChaosEffects:
        """Delay the answer of every call."""
