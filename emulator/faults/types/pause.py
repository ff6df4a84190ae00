"""A process or container that stands still for a while."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from emulator.faults.targets import find_target, for_a_while


def inject(hit: Hit) -> Done:
    target = find_target(hit.attributes["target"], hit.world.targets)
    return for_a_while(hit, target, "paused", target.pause, target.resume)


TYPE = FaultType(
    "pause",
    "A process or container is halted where it is, and goes on after a while.",
    Phase.CONTROL,
    (Direction.CONTROL,),
    inject,
    (
        Attribute("target", "text", "", "what the sandbox started or was told of, by name or pid"),
        Attribute("lasts", "duration", 5.0, "for how long", "s"),
    ),
)
