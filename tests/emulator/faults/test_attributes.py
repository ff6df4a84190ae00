"""What attributes of faults may be: bounds for every one, refused with what would do."""

from __future__ import annotations

import math
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.attributes import read_attributes
from emulator.faults.fault import Attribute, FaultRefusedError, FaultType
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.registry import TYPES
from emulator.faults.types.latency import draw_seconds
from emulator.listeners.control.faults import describe_type
from emulator.listeners.control.openapi import describe_api
from emulator.rng import Chance
from rdss_sandbox.api.faults import Faults
from rdss_sandbox.shapes.faults import NewFault
from tests.docs.faults_page import renew

EVERY = [
    pytest.param(type_, attribute, id=f"{type_.name}.{attribute.name}")
    for type_ in TYPES.values()
    for attribute in type_.attributes
]
NUMBERS = [case for case in EVERY if case.values[1].bounded]  # type: ignore[union-attr]
TEXTS = [case for case in EVERY if case.values[1].type == "text"]  # type: ignore[union-attr]


def fault_engine() -> FaultEngine:
    clock = Clock(frozen_at=1_700_000_000.0)
    return FaultEngine(Chance(1), clock, Events(clock))


@pytest.mark.parametrize(("type_", "attribute"), NUMBERS)
def test_every_number_has_a_least_and_a_most(type_: FaultType, attribute: Attribute) -> None:
    """Both are taken, what is beyond is refused with both, and so is what is no number."""
    assert attribute.least <= attribute.default <= attribute.most < math.inf
    for taken in (attribute.least, attribute.most, attribute.default):
        assert read_attributes(type_, {attribute.name: taken})[attribute.name] == taken
    beyond = [attribute.most + 1, attribute.least - 1, 10**30, 10**400, math.inf, -math.inf, math.nan]
    for refused in [*beyond, "9" * 400, "nan", "inf", "1e400", None, [], {}, True, "many"]:
        with pytest.raises(FaultRefusedError, match=rf"{type_.name}: attribute {attribute.name} is ") as told:
            read_attributes(type_, {attribute.name: refused})
        assert len(str(told.value)) < 300
    with pytest.raises(FaultRefusedError, match=f"to {attribute.most:.0f}"):
        read_attributes(type_, {attribute.name: attribute.most + 1})


@pytest.mark.parametrize(("type_", "attribute"), TEXTS)
def test_every_text_has_a_longest(type_: FaultType, attribute: Attribute) -> None:
    read_attributes(type_, {attribute.name: "x" * attribute.longest})
    with pytest.raises(FaultRefusedError, match=f"at most {attribute.longest} characters"):
        read_attributes(type_, {attribute.name: "x" * (attribute.longest + 1)})


@pytest.mark.parametrize(("type_", "attribute"), NUMBERS)
def test_the_bounds_are_shown(type_: FaultType, attribute: Attribute) -> None:
    """In what the API says of a type, in its description, and on the page."""
    shown = next(each for each in describe_type(type_).attributes if each.name == attribute.name)
    assert (shown.least, shown.most) == (attribute.least, attribute.most)
    about = describe_api([Faults.add_fault], "1")["paths"]["/faults"]["post"]["description"]
    (line,) = (line for line in about.splitlines() if line.startswith(f"- {type_.name}:"))
    assert f"{attribute.name} ({attribute.bounds})" in line
    page = renew("".join(f"<!-- {mark} --><!-- end -->" for mark in _MARKS))
    assert f"| `{attribute.name}` |" in page
    assert f"| {attribute.bounds} |" in page


_MARKS = ("fields", "types: made from the registry", "example")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"when": {"at": 2e9}}, "at is 2e"),
        ({"when": {"for": "9" * 400 + "d"}}, "for is inf"),
        ({"when": {"match": {"messageId": "*" * 1001}}}, "1001 characters"),
        ({"channel": "*" * 1001}, "channel has 1001 characters"),
        ({"name": "x" * 1001}, "name has 1001 characters"),
        ({"toxicity": math.nan}, "toxicity is nan"),
    ],
)
def test_what_else_a_fault_says_has_bounds(wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(FaultRefusedError, match=said):
        fault_engine().add(NewFault("duplicate", **wanted))


@pytest.mark.parametrize("distribution", ["constant", "uniform", "normal", "lognormal", "pareto"])
@pytest.mark.parametrize("shape", [0.001, 100])
def test_the_most_extreme_delays_are_within_most(distribution: str, shape: float) -> None:
    attributes = {"delay": 1e9, "jitter": 1e9, "distribution": distribution, "shape": shape, "most": 7.0}
    draws = Chance(1).draws("extreme")
    assert all(0 <= draw_seconds(attributes, draws) <= 7 for _ in range(200))
