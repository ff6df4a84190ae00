"""A process or container that is paused for a while."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from emulator.faults.targets import act_for_a_while, find_target


def inject(hit: Hit) -> Done:
    target = find_target(hit.attributes["target"], hit.environment.targets)
    return act_for_a_while(hit, target, "paused", target.pause, target.resume)


TYPE = FaultType(
    "pause",
    "A process or container is stopped, and continues after a while.",
    Phase.CONTROL,
    (Direction.CONTROL,),
    inject,
    (
        Attribute("target", "text", "", "a process of the sandbox, or of --target, by name or pid"),
        Attribute("lasts", "duration", 5.0, "for how long", "s"),
    ),
)
