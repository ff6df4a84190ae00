"""A read that misses the records that are there."""

from __future__ import annotations

from emulator.faults.fault import STREAMS, Direction, Done, Failure, FaultType, Hit, Phase


def inject(hit: Hit) -> Done:
    hit.call.failure = Failure("StaleRead", "nothing found, though there is something", kind="nothing")
    return Done("the read found nothing, though there was something")


TYPE = FaultType(
    "stale_read",
    "A read finds nothing although records are there, as Kinesis may at any time; the next read finds them.",
    Phase.CALL,
    (Direction.DELIVER,),
    inject,
    kinds=STREAMS,
)
