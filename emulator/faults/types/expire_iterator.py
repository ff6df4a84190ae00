"""A shard iterator that is too old."""

from __future__ import annotations

from emulator.faults.fault import Direction, Done, Failure, FaultType, Hit, Phase
from rdss_sandbox.text.timestamps import timestamp

_LIFETIME = 300
"""Seconds, as in Kinesis."""


def inject(hit: Hit) -> Done:
    hit.call.failure = Failure(
        "ExpiredIteratorException",
        f"Iterator expired. The iterator was created at time {timestamp(hit.now - _LIFETIME - 1)} while "
        f"right now it is {timestamp(hit.now)} which is further in the future than the tolerated delay of "
        f"{_LIFETIME * 1000} milliseconds.",
    )
    return Done("the read's iterator had expired")


TYPE = FaultType(
    "expire_iterator",
    "GetRecords answers ExpiredIteratorException, as Kinesis does five minutes after issuing the iterator.",
    Phase.CALL,
    (Direction.DELIVER,),
    inject,
    kinds=("kinesis",),
)
