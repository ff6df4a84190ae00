"""A broker whose clock is wrong: readers are told another time at which a record came."""

from emulator.faults.fault import STREAMS, Attribute, Direction, Done, FaultType, Hit, Phase
from rdss_sandbox.extension import Extension

_HOUR = 3600.0


def inject(hit: Hit) -> Done:
    drifted = hit.attributes["drift"] * hit.environment.clock.elapsed() / _HOUR
    seconds = round(hit.attributes["skew"] + drifted, 3)
    hit.item.arrived = max(hit.item.arrived + seconds, 0.0)
    return Done(f"it came {seconds:+.3f} s from when it came", {"seconds": seconds})


TYPE = FaultType(
    "clock_skew",
    "Readers are told another ApproximateArrivalTimestamp, as from a broker whose clock is wrong.",
    Phase.FLOW,
    (Direction.DELIVER,),
    inject,
    (
        Attribute("skew", "number", 300.0, "how far the clock is ahead", "s", least=-1e9),
        Attribute("drift", "number", 0.0, "how much further it gets in an hour", "s", least=-3600, most=3600),
    ),
    kinds=STREAMS,
)

EXTENSION = Extension(name="clock_skew", faults=("clock_skew:TYPE",))
