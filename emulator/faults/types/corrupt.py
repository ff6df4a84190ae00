"""Bytes that are damaged on the way."""

from __future__ import annotations

from functools import partial

from emulator.faults.fault import Attribute, Direction, Done, FaultType, Hit, Phase
from schemas.contract import Contract
from schemas.headers import leave_headers_out, replace_message


def inject(contract: Contract, hit: Hit) -> Done | None:
    data = leave_headers_out(contract.headers, hit.item.data)
    if not data:
        return None
    if hit.attributes["how"] == "truncate":
        kept = hit.draws.randrange(len(data))
        hit.item.data = replace_message(contract.headers, hit.item.data, data[:kept])
        return Done(f"cut off after {kept} of {len(data)} bytes", {"kept": kept})
    # Without repeats: a bit that is flipped twice is as it was.
    places = sorted(hit.draws.sample(range(len(data)), min(hit.attributes["bytes"], len(data))))
    damaged = bytearray(data)
    for place in places:
        damaged[place] ^= 1 << hit.draws.randrange(8)
    hit.item.data = replace_message(contract.headers, hit.item.data, bytes(damaged))
    return Done(f"flipped a bit in {len(places)} bytes", {"places": places[:100]})


def build_type(contract: Contract) -> FaultType:
    return FaultType(
        "corrupt",
        "A message's bytes are damaged: bits are flipped, or the end is cut off.",
        Phase.CHANGE,
        (Direction.PUBLISH, Direction.DELIVER),
        partial(inject, contract),
        (
            Attribute("how", "choice", "flip", "the damage", choices=("flip", "truncate")),
            Attribute(
                "bytes",
                "integer",
                1,
                "the number of bytes in which a bit is flipped",
                "bytes",
                least=1,
                most=10_000,
            ),
        ),
    )
