"""A batch in which some entries fail."""

from __future__ import annotations

from emulator.faults.fault import CARRIERS, Attribute, Direction, Done, Failure, FaultType, Hit, Phase

_MESSAGES = {
    "InternalFailure": "Internal service failure.",
    "ProvisionedThroughputExceededException": "Rate exceeded for shard in stream.",
}


def inject(hit: Hit) -> Done | None:
    # A put of one has no entries: its refusal would fail the call.
    if hit.call.single:
        return None
    code = hit.attributes["code"]
    hit.item.failure = Failure(code, _MESSAGES[code])
    entry = hit.call.items.index(hit.item)
    return Done(f"entry {entry} of {len(hit.call.items)} failed with {code}", {"code": code})


TYPE = FaultType(
    "partial_failure",
    "Some entries of a batch fail while the call succeeds, as in PutRecords. A message put alone is spared; "
    "on the AMQP port each of a channel's confirmed publishes is an entry, and nacked.",
    Phase.ENTRY,
    (Direction.PUBLISH,),
    inject,
    (Attribute("code", "choice", "InternalFailure", "the entry's ErrorCode", choices=tuple(_MESSAGES)),),
    kinds=CARRIERS,
)
