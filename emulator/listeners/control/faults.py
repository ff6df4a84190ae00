"""Faults: list the types and the faults in force; add, change and remove them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from emulator.faults.common_settings import COMMON_SETTINGS
from emulator.faults.fault import Attribute, FaultRefusedError
from emulator.faults.fault import FaultType as Type
from emulator.faults.fault_engine import FaultEngine, UnknownFaultError
from emulator.faults.registry import TYPES
from emulator.listeners.control.endpoint_routing import handles, translate_errors
from rdss_sandbox.api.faults import Faults
from rdss_sandbox.shapes.faults import (
    Fault,
    FaultAttribute,
    FaultChange,
    FaultList,
    FaultType,
    FaultTypes,
    NewFault,
)

_ERRORS: Final = (
    (UnknownFaultError, HTTPStatus.NOT_FOUND, "no_such_fault"),
    (FaultRefusedError, HTTPStatus.BAD_REQUEST, "bad_fault"),
)


def _list_attributes(type_: Type) -> str:
    """A type's attributes with the values that each may have, on one line."""
    of_each = (
        f"{attribute.name} ({' | '.join(attribute.choices) or attribute.bounds or attribute.type})"
        for attribute in type_.attributes
    )
    return f"- {type_.name}: {', '.join(of_each) or 'none'}"


ATTRIBUTES: Final = "Attributes of each type, and what they may be; times in seconds.\n\n" + "\n".join(
    _list_attributes(type_) for type_ in TYPES.values()
)


class FaultResources:
    """``/faults``."""

    def __init__(self, fault_engine: FaultEngine) -> None:
        self._fault_engine = fault_engine

    @handles(Faults.faults)
    def list(self) -> FaultList:
        return FaultList(self._fault_engine.list())

    @handles(Faults.fault_types)
    def types(self) -> FaultTypes:
        common = tuple(map(_describe_attribute, COMMON_SETTINGS))
        return FaultTypes(tuple(map(describe_type, self._fault_engine.types())), common)

    @handles(Faults.add_fault)
    def add(self, fault: NewFault) -> Fault:
        with translate_errors(*_ERRORS):
            return self._fault_engine.add(fault)

    @handles(Faults.fault)
    def get(self, name: str) -> Fault:
        with translate_errors(*_ERRORS):
            return self._fault_engine.get(name)

    @handles(Faults.change_fault)
    def change(self, name: str, change: FaultChange) -> Fault:
        with translate_errors(*_ERRORS):
            return self._fault_engine.change(name, change)

    @handles(Faults.remove_fault)
    def remove(self, name: str) -> Fault:
        with translate_errors(*_ERRORS):
            return self._fault_engine.remove(name)


def describe_type(type_: Type) -> FaultType:
    """Describe a fault type for the control API and the command line."""
    return FaultType(
        type_.name,
        type_.description,
        directions=tuple(direction.value for direction in type_.directions),
        channels=type_.kinds,
        attributes=tuple(_describe_attribute(attribute) for attribute in type_.attributes),
    )


def _describe_attribute(attribute: Attribute) -> FaultAttribute:
    return FaultAttribute(
        attribute.name,
        attribute.type,
        attribute.default,
        attribute.description,
        attribute.unit,
        attribute.choices,
        attribute.least if attribute.bounded else None,
        attribute.most if attribute.bounded else None,
        attribute.longest if attribute.type == "text" else None,
    )
