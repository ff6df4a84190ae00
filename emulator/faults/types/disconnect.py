"""A connection that is cut."""

from __future__ import annotations

from emulator.faults.fault import Attribute, Direction, Done, Failure, FaultType, Hit, Phase


def inject(hit: Hit) -> Done:
    written = hit.attributes["written"] and hit.call.direction is Direction.PUBLISH
    hit.call.failure = Failure("Disconnected", "The connection was cut.", kind="cut", written=written)
    suffix = " after the message was taken" if written else ""
    return Done(f"the connection was cut{suffix}", {"written": written})


TYPE = FaultType(
    "disconnect",
    "The connection is cut without an answer. With written, the messages are in the channel anyway.",
    Phase.CALL,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
    (Attribute("written", "flag", False, "on publish: cut after the message was taken"),),
)
