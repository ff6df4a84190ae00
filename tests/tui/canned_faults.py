"""Two types of fault, and the settings that every fault has."""

from __future__ import annotations

from emulator.faults.common_settings import COMMON_SETTINGS
from rdss_sandbox.shapes.faults import FaultAttribute, FaultType

_DIRECTIONS = ("publish", "deliver")
_DELAY = FaultAttribute("delay", "duration", 0.2, "how long", "s")
_SHAPE = FaultAttribute("distribution", "choice", "fixed", "how it varies", choices=("fixed", "normal"))
_COPIES = FaultAttribute("copies", "integer", 1, "how many more times it comes")
FAULT_TYPES = (
    FaultType("duplicate", "A message comes twice.", _DIRECTIONS, (), (_COPIES,)),
    FaultType("latency", "Time passes before a call is answered.", _DIRECTIONS, (), (_DELAY, _SHAPE)),
)
FAULT_SETTINGS = tuple(
    FaultAttribute(each.name, each.type, each.default, each.description) for each in COMMON_SETTINGS
)
