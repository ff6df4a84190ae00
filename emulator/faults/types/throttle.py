"""A broker that refuses for lack of throughput."""

from __future__ import annotations

from typing import Final

from emulator.faults.fault import Direction, Done, Failure, FaultType, Hit, Phase

CODE: Final = "ProvisionedThroughputExceededException"


def inject(hit: Hit) -> Done:
    failure = Failure(CODE, f"Rate exceeded for stream {hit.call.channel}.")
    if hit.call.direction is Direction.DELIVER:
        hit.call.failure = failure
        return Done("the read was throttled", {"code": CODE})
    hit.item.failure = failure
    return Done("the message was throttled", {"code": CODE})


TYPE = FaultType(
    "throttle",
    "The broker refuses for lack of throughput: PutRecord fails, PutRecords fails for the entry, GetRecords "
    "fails. RabbitMQ answers with a nack, as for a queue that is full, or delivers nothing for now; its AMQP "
    "port blocks the connection, as a broker does that is short of memory, until the message may pass.",
    Phase.ENTRY,
    (Direction.PUBLISH, Direction.DELIVER),
    inject,
)
