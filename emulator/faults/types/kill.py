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
    "A process or container is ended at once, without a chance to tidy up.",
    Phase.CONTROL,
    (Direction.CONTROL,),
    inject,
    (Attribute("target", "text", "", "what the sandbox started or was told of, by name or pid"),),
)
