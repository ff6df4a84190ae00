"""A process or container that is killed."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from emulator.faults.targets import find_target


def inject(hit: Hit) -> Done:
    target = find_target(hit.attributes["target"], hit.environment.targets)
    target.kill()
    return Done(f"killed {target.name}", {"target": target.name})


TYPE = FaultType(
    "kill",
    "A process or container is killed at once, without a chance to clean up.",
    Phase.CONTROL,
    (Direction.CONTROL,),
    inject,
    (Attribute("target", "text", "", "a process of the sandbox, or of --target, by name or pid"),),
)
