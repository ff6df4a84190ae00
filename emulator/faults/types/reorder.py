"""A message that later ones overtake."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, HoldTime, Phase


def inject(hit: Hit) -> Done:
    distance = hit.attributes["distance"]
    hit.item.overtaken_by = distance
    hit.item.patience.append(HoldTime(hit.hold, hit.now + hit.attributes["patience"]))
    return Done(f"let {distance} later messages of its shard go first", {"distance": distance})


TYPE = FaultType(
    "reorder",
    "A message is delivered behind others of its shard that came after it.",
    Phase.FLOW,
    (Direction.DELIVER,),
    inject,
    (
        Attribute("distance", "integer", 1, "how many go first", "records", least=1, most=10_000),
        Attribute("patience", "duration", 1.0, "how long it waits for them at most", "s"),
    ),
)
