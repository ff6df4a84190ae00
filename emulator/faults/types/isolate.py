"""A container that runs on without its network for a while."""

from __future__ import annotations

from emulator.faults.containers import Container
from emulator.faults.fault import Attribute, Direction, Done, FaultRefusedError, FaultType, Hit, Phase
from emulator.faults.targets import act_for_a_while, find_target


def inject(hit: Hit) -> Done:
    target = find_target(hit.attributes["target"], hit.environment.targets)
    if not isinstance(target, Container):
        raise FaultRefusedError(
            f"{target.name} is not a container, so it has no network to leave; the fault pause halts it"
        )
    return act_for_a_while(hit, target, "isolated", target.disconnect, target.reconnect)


TYPE = FaultType(
    "isolate",
    "A container is disconnected from its network, and connected again after a while.",
    Phase.CONTROL,
    (Direction.CONTROL,),
    inject,
    (
        Attribute("target", "text", "", "a container of the stack: localstack or rabbitmq"),
        Attribute("lasts", "duration", 60.0, "for how long", "s"),
    ),
)
