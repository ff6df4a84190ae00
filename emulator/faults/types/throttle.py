"""A broker that refuses for lack of throughput."""

from __future__ import annotations

from emulator.faults.fault import THROTTLED, Direction, Done, Failure, FaultType, Hit, Phase


def inject(hit: Hit) -> Done:
    failure = Failure(THROTTLED, f"Rate exceeded for stream {hit.call.channel}.")
    # A read has one answer for all of its records.
    if hit.call.direction is Direction.DELIVER:
        hit.call.failure = failure
        return Done("the read was throttled", {"code": THROTTLED})
    hit.item.failure = failure
    return Done("the message was throttled", {"code": THROTTLED})


TYPE = FaultType(
    "throttle",
    "The broker refuses for lack of throughput: PutRecord fails, PutRecords fails for the entry, GetRecords "
    "fails. RabbitMQ answers with a nack, as for a queue that is full, or delivers nothing for now; its AMQP "
    "port blocks the connection, as a broker does that is short of memory, until the message may pass.",
    Phase.ENTRY,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
)
