"""The same message twice: put again by its producer, or delivered again by the broker."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase


def inject(hit: Hit) -> Done:
    copies, distance = hit.attributes["copies"], hit.attributes["distance"]
    if hit.call.direction is Direction.PUBLISH:
        hit.item.copies += copies
        return Done(f"put {copies + 1} times, as by a producer that retries", {"copies": copies})
    hit.item.again += [distance] * copies
    return Done(
        f"delivered {copies + 1} times with the same sequence number",
        {"copies": copies, "distance": distance},
    )


TYPE = FaultType(
    "duplicate",
    "A message comes twice. On publish it is a producer's retry: the same payload, a new sequence number. "
    "On deliver it is a redelivery: the same record with the same sequence number.",
    Phase.FLOW,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
    (
        Attribute("copies", "integer", 1, "how many more times it comes", least=1, most=100),
        Attribute(
            "distance",
            "integer",
            0,
            "on deliver: how much later each copy comes",
            "records",
            most=10_000,
        ),
    ),
)
