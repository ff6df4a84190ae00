"""Faults: list the types and the faults in force; add, change and remove them."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from emulator.faults.engine import FaultEngine, UnknownFaultError
from emulator.faults.fault import Attribute, FaultRefusedError
from emulator.faults.fault import FaultType as Type
from emulator.faults.registry import TYPES
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from rdss_sandbox.shapes.faults import (
    Fault,
    FaultAttribute,
    FaultChange,
    FaultList,
    FaultType,
    FaultTypes,
    NewFault,
)

T = TypeVar("T")


def _list_attributes(type_: Type) -> str:
    """A type's attributes with the values that each may have, on one line."""
    of_each = (
        f"{attribute.name} ({' | '.join(attribute.choices) or attribute.bounds or attribute.type})"
        for attribute in type_.attributes
    )
    return f"- {type_.name}: {', '.join(of_each) or 'none'}"


_ATTRIBUTES: Final = "Attributes of each type, and what they may be; times in seconds.\n\n" + "\n".join(
    _list_attributes(type_) for type_ in TYPES.values()
)


class FaultResources:
    """``/faults``."""

    def __init__(self, fault_engine: FaultEngine) -> None:
        self._fault_engine = fault_engine

    def routes(self) -> list[Route]:
        created = HTTPStatus.CREATED
        return [
            Route("GET", "/faults", "The faults in force", self._list, FaultList),
            Route("GET", "/faults/types", "The types of fault there are", self._types, FaultTypes),
            Route(
                *("POST", "/faults", "Add a fault", self._add, Fault),
                body=NewFault,
                status=created,
                about=_ATTRIBUTES,
            ),
            Route("GET", "/faults/{name}", "A fault and its count", self._get, Fault),
            Route(
                *("PATCH", "/faults/{name}", "Change a fault", self._change, Fault),
                body=FaultChange,
                about=_ATTRIBUTES,
            ),
            Route("DELETE", "/faults/{name}", "Remove a fault", self._remove, Fault),
        ]

    def _list(self, _: Asked[Nothing, None]) -> FaultList:
        return FaultList(self._fault_engine.list())

    def _types(self, _: Asked[Nothing, None]) -> FaultTypes:
        return FaultTypes(tuple(describe_type(type_) for type_ in self._fault_engine.types()))

    def _add(self, asked: Asked[Nothing, NewFault]) -> Fault:
        return _translate_errors(lambda: self._fault_engine.add(asked.body))

    def _get(self, asked: Asked[Nothing, None]) -> Fault:
        return _translate_errors(lambda: self._fault_engine.get(asked.path["name"]))

    def _change(self, asked: Asked[Nothing, FaultChange]) -> Fault:
        return _translate_errors(lambda: self._fault_engine.change(asked.path["name"], asked.body))

    def _remove(self, asked: Asked[Nothing, None]) -> Fault:
        return _translate_errors(lambda: self._fault_engine.remove(asked.path["name"]))


def describe_type(type_: Type) -> FaultType:
    """Describe a fault type for the control API and the command line."""
    return FaultType(
        type_.name,
        type_.description,
        directions=tuple(direction.value for direction in type_.directions),
        channels=tuple(kind.value for kind in type_.kinds),
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


def _translate_errors(do: Callable[[], T]) -> T:
    """Return what ``do`` returns, and raise its errors as ApiError."""
    try:
        return do()
    except UnknownFaultError as error:
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_fault", error.args[0]) from error
    except FaultRefusedError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_fault", str(error)) from error
