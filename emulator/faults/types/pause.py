"""A process or container that stands still for a while."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from emulator.faults.targets import find_target


def inject(hit: Hit) -> Done:
    target = find_target(hit.attributes["target"], hit.world.targets)
    seconds = hit.attributes["lasts"]
    target.pause()
    hit.world.later(seconds, target.resume)
    return Done(f"paused {target.name} for {seconds:g} s", {"target": target.name, "seconds": seconds})


TYPE = FaultType(
    "pause",
    "A process or container is halted where it is, and goes on after a while.",
    Phase.CONTROL,
    (Direction.CONTROL,),
    inject,
    (
        Attribute("target", "text", "", "a process id, or a name known to this sandbox"),
        Attribute("lasts", "duration", 5.0, "for how long", "s"),
    ),
)
